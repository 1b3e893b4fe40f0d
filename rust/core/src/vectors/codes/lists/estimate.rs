//! The scores that a query can expect of lists, and of the lists of a segment together.
//!
//! Where there are very many lists, the query is compared with their groups first: the lists of a segment are a list
//! themselves, about the segment's centre, whose product with the query every search knows.

use std::ops::Range;
use std::sync::Arc;

use super::super::kernel::Kernel;
use super::super::line::{At, BLOCK};
use super::super::published::Published;
use super::super::quantise::{CodedQuery, Scores, Shift};
use super::super::segment::Segment;
use super::{List, Lists};
use crate::simd::Level;
use crate::vectors::{dot, square_distance};

/// Lists from which on there are groups: of fewer, to look at all takes hardly longer.
const GROUPED: usize = if cfg!(test) { 12 } else { 8_192 };
/// Deviations above the mean score that promise a good row.
const OPTIMISM: f32 = 2.0;

/// Some rows about a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    /// The squared length of the point.
    pub(super) square: f32,
    /// The mean square of the rows' distances from it.
    pub(super) spread: f32,
    /// At least the largest distance.
    pub(super) reach: f32,
}

/// The lists of a segment.
#[derive(Clone, Debug)]
pub(super) struct Group {
    segment: usize,
    pub(super) lists: Range<usize>,
    pub(super) rows: usize,
    /// About the segment's centre.
    extent: Extent,
}

/// The scores that a query can expect of some rows, in float32; a product, or a distance as [`super::super::quantise`]
/// bounds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    /// The list, or the group.
    pub(super) of: u32,
    pub(super) mean: f32,
    /// The standard deviation of the rows' scores.
    pub(super) deviation: f32,
    /// At least the score of each row.
    pub(super) upper: f32,
}

/// A query that is compared with lists.
pub(super) struct Estimator<'a> {
    lists: &'a Lists,
    query: &'a CodedQuery,
    kernel: Kernel,
    /// The codes of the lists' means, and the conversion of products with those of each segment.
    means: Arc<Published>,
    scores: Vec<Scores>,
    distances: bool,
    /// The query's squared length.
    square: f32,
    /// The root of the mean square of `(q . r) / (|q| |r|)`.
    scale: f32,
}

impl<'a> Estimator<'a> {
    pub(super) fn new(
        lists: &'a Lists,
        (query, coded): (&[f32], &'a CodedQuery),
        distances: bool,
        level: Level,
        scale: f32,
    ) -> Self {
        let means = lists.centres.published();
        let scores = |segment: &Arc<Segment>| coded.fine(segment.centre().shift(query, coded, level));
        let scores = means.segments.iter().map(scores).collect();
        let (kernel, square, scale) = (Kernel::of(level), dot(query, query) as f32, scale.sqrt());
        Self { lists, query: coded, kernel, means, scores, distances, square, scale }
    }

    /// Estimate the scores of a run of lists, in their order.
    pub(super) fn lists(&self, run: Range<usize>, into: &mut Vec<Estimate>) {
        let unit = self.query.unit as f32;
        into.reserve(run.len());
        for (segment, scores) in self.means.segments.iter().zip(&self.scores) {
            let own = run.start.max(segment.first())..run.end.min(segment.end());
            let (planes, of, mut products) = (segment.planes(), segment.fine(), [0; BLOCK]);
            for first in own.clone().step_by(BLOCK) {
                let (from, products) = (first - segment.first(), &mut products[..BLOCK.min(own.end - first)]);
                self.kernel.whole(self.query, planes, At::Run(from), true, products);
                for (i, (&product, list)) in (from..).zip(products.iter().zip(&self.lists.lists[first..])) {
                    let middle = scores.middle(product, of.scales[i]) * unit;
                    let error = scores.error(of.residuals[i], of.norms[i]) * unit;
                    into.push(self.estimate(segment.first() + i, (middle, error), &list.extent));
                }
            }
        }
    }

    /// Estimate the scores of all groups, given what the centres of their segments add.
    pub(super) fn groups(&self, shifts: &[Arc<[Shift]>]) -> Vec<Estimate> {
        let unit = self.query.unit as f32;
        let estimate = |(at, group): (usize, &Group)| {
            let Shift { by, error } = shifts[group.segment][0];
            self.estimate(at, (by * unit, error * unit), &group.extent)
        };
        self.lists.groups.iter().enumerate().map(estimate).collect()
    }

    /// Estimate the scores of rows about a point, given its product with the query and how far this is off.
    #[inline(always)]
    fn estimate(&self, of: usize, (middle, error): (f32, f32), extent: &Extent) -> Estimate {
        let square = self.square;
        let (mean, away, upper) = if self.distances {
            let away = (square - 2.0 * middle + extent.square).max(0.0);
            let nearest = ((away - 2.0 * error).max(0.0).sqrt() - extent.reach).max(0.0);
            ((square - away - extent.spread) / 2.0, away.sqrt(), (square - nearest * nearest) / 2.0)
        } else {
            (middle, square.sqrt(), middle + error + square.sqrt() * extent.reach)
        };
        // More than the roundings of these few steps, which are absolute near zero.
        let upper = upper + (upper.abs() + square + extent.square) * (16.0 * f32::EPSILON) + f32::MIN_POSITIVE;
        // Beyond float32 nothing is known, and of a query whose square vanishes only distances.
        let vanishes = !self.distances && square < f32::MIN_POSITIVE;
        let upper = if upper.is_nan() || vanishes { f32::INFINITY } else { upper };
        let deviation = (self.scale * away * extent.spread.sqrt()).max(f32::MIN_POSITIVE);
        Estimate { of: of as u32, mean, deviation, upper }
    }
}

impl Estimate {
    /// An optimistic score of its rows, to compare lists by before a score is known.
    pub(super) fn promise(&self) -> f32 {
        self.mean + OPTIMISM * self.deviation
    }

    /// True unless no row reaches a score for certain.
    pub(super) fn reaches(&self, score: f32) -> bool {
        let under = self.upper < score;
        !under
    }

    /// The probability that a row reaches a score.
    pub(super) fn tail(&self, score: f32) -> f32 {
        if self.reaches(score) { tail((score - self.mean) / self.deviation) } else { 0.0 }
    }
}

/// The groups of lists, if there are enough lists; their segments, and their means, one behind the other.
pub(super) fn groups(lists: &[List], means: &[f32], segments: &[Arc<Segment>]) -> Vec<Group> {
    if lists.len() < GROUPED {
        return Vec::new();
    }
    let (d, mut from) = (means.len() / lists.len(), 0);
    let group = |of: &[List]| {
        let run = from..from + of.len();
        from = run.end;
        let segment = of[0].segment as usize;
        let centre = segments[segment].centre().components();
        let (mut sum, mut rows, mut reach) = (0.0, 0, 0.0_f64);
        for (list, at) in of.iter().zip(run.clone()) {
            let away = square_distance(&means[at * d..(at + 1) * d], centre);
            sum += (f64::from(list.extent.spread) + away) * list.len() as f64;
            rows += list.len();
            reach = reach.max((f64::from(list.extent.reach) + away.sqrt()) * (1.0 + 1e-6));
        }
        let spread = (sum / rows.max(1) as f64) as f32;
        let extent = Extent { square: dot(centre, centre) as f32, spread, reach: (reach as f32).next_up() };
        Group { segment, lists: run, rows, extent }
    };
    lists.chunk_by(|a, b| a.segment == b.segment).map(group).collect()
}

/// The upper tail of the normal distribution, within a hundredth of its value.
///
/// Börjesson and Sundberg, Simple approximations of the error function Q(x) for communications applications, 1979.
fn tail(z: f32) -> f32 {
    let x = z.abs();
    let upper = (-x * x / 2.0).exp() / ((0.661 * x + 0.339 * (x * x + 5.51).sqrt()) * std::f32::consts::TAU.sqrt());
    match z {
        _ if z.is_nan() => 1.0,
        _ if z < 0.0 => 1.0 - upper,
        _ => upper,
    }
}
