//! Lists: runs of rows that lie near each other, for searches that read the lists near the query alone.
//!
//! A list knows its mean `c`, the mean square `R^2` of its rows' distances from it, and the largest of them, `m`. For a
//! query `q` the scores of its rows lie about `q . c` and at most `|q| m` above it, which rules lists out for certain.
//! Far fewer can hold a row that reaches a score `t` by chance: their rows' scores are taken as normal, with deviation
//! `s |q| R`, where `s` is measured when the lists are built ([`calibration`]). So a list of `n` rows is expected to hold
//! `n Q((t - q . c) / (s |q| R))` better ones, and a search ends when all lists left are expected to hold few ([`probe`]).
//!
//! By distance the scores are `|q|^2 - |q - x|^2` over 2, which lie about `(|q|^2 - |q - c|^2 - R^2) / 2`, and `|q - c|`
//! stands for `|q|`.
//!
//! Lists near each other are neighbours in one segment, so that a search that reads all of them reads long runs.

mod arrange;
mod calibration;
mod cluster;
mod file;
mod probe;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use super::Codes;
use super::kernel::Kernel;
use super::line::{At, BLOCK};
use super::quantise::CodedQuery;
use super::scan::Chunk;
use crate::arrays::Array;
use crate::error::Result;
use crate::simd::Level;
use crate::vectors::{Rows, dot};
use calibration::Calibration;

pub(super) use probe::{Budget, candidate_runs, probe};

/// Deviations above the mean score that promise a good row.
const OPTIMISM: f32 = 2.0;

/// The lists of the first segments of some codes.
#[derive(Debug)]
pub(super) struct Lists {
    /// The rows that were there when the lists were made, dead ones too.
    pub(super) rows: usize,
    /// The segments that are lists.
    pub(super) segments: usize,
    /// The lists' means, one behind the other.
    means: Array<f32>,
    /// Their codes, by distance.
    centres: Codes,
    /// In the order of their rows.
    lists: Vec<List>,
    /// Set once, by searches of these lists.
    calibration: OnceLock<Calibration>,
}

/// A list: a run of a segment's rows, and their extent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct List {
    segment: u32,
    from: u32,
    to: u32,
    /// The squared length of its mean.
    square: f32,
    /// The mean square of its rows' distances from it.
    spread: f32,
    /// At least the largest distance.
    reach: f32,
}

/// The scores that a query can expect of a list, in float32; a product, or a distance as [`super::quantise`] bounds it.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    list: u32,
    mean: f32,
    /// The standard deviation of its rows' scores.
    deviation: f32,
    /// At least the score of each row.
    upper: f32,
}

impl Lists {
    /// The number of lists.
    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.means.owned_bytes() + self.centres.size_bytes() + self.lists.capacity() * size_of::<List>()
    }

    /// Lists with their means, one behind the other.
    fn new(
        rows: usize,
        segments: usize,
        lists: Vec<List>,
        means: Vec<f32>,
        d: usize,
        calibration: OnceLock<Calibration>,
    ) -> Result<Self> {
        let centres = Codes::of_distances(d)?;
        centres.append(Rows::new(&means, lists.len(), d)?)?;
        Ok(Self { rows, segments, means: means.into(), centres, lists, calibration })
    }

    /// The budget of a search that is to find this share of the best rows.
    pub(super) fn budget(&self, recall: f64) -> Budget {
        Budget { misses: self.calibration().misses(recall), scale: self.calibration().scale }
    }

    fn calibration(&self) -> &Calibration {
        static NONE: Calibration = Calibration::NONE;
        self.calibration.get().unwrap_or(&NONE)
    }

    /// Estimate the scores of every list, in their order.
    fn estimates(
        &self,
        (query, coded): (&[f32], &CodedQuery),
        distances: bool,
        level: Level,
        scale: f32,
    ) -> Vec<Estimate> {
        let square = dot(query, query) as f32;
        let (scale, length) = (scale.sqrt(), square.sqrt());
        let mut estimates = Vec::with_capacity(self.len());
        let (kernel, unit) = (Kernel::of(level), coded.unit as f32);
        for segment in &self.centres.published().segments {
            let scores = coded.fine(segment.centre().shift(query, coded, level));
            let (planes, of, mut products) = (segment.planes(), segment.fine(), [0; BLOCK]);
            for from in (0..segment.len()).step_by(BLOCK) {
                let products = &mut products[..BLOCK.min(segment.len() - from)];
                kernel.whole(coded, planes, At::Run(from), true, products);
                for (i, &product) in (from..).zip(&*products) {
                    let list = &self.lists[estimates.len()];
                    let middle = scores.middle(product, of.scales[i]) * unit;
                    let error = scores.error(of.residuals[i], of.norms[i]) * unit;
                    let (mean, away, upper) = if distances {
                        let away = (square - 2.0 * middle + list.square).max(0.0);
                        let nearest = ((away - 2.0 * error).max(0.0).sqrt() - list.reach).max(0.0);
                        ((square - away - list.spread) / 2.0, away.sqrt(), (square - nearest * nearest) / 2.0)
                    } else {
                        (middle, length, middle + error + length * list.reach)
                    };
                    // More than the roundings of these few steps.
                    let upper = upper + (upper.abs() + square + list.square) * (16.0 * f32::EPSILON);
                    // Beyond float32 nothing is known.
                    let upper = if upper.is_nan() { f32::INFINITY } else { upper };
                    let deviation = (scale * away * list.spread.sqrt()).max(f32::MIN_POSITIVE);
                    estimates.push(Estimate { list: estimates.len() as u32, mean, deviation, upper });
                }
            }
        }
        estimates
    }

    /// The lists whose rows' mean score is highest, best first.
    fn nearest(&self, query: &[f32], count: usize, distances: bool, level: Level) -> Vec<List> {
        let mut all = self.estimates((query, &CodedQuery::new(query, level)), distances, level, 0.0);
        all.sort_unstable_by(|a, b| b.mean.total_cmp(&a.mean));
        all.iter().take(count).map(|estimate| self.lists[estimate.list as usize]).collect()
    }
}

impl List {
    fn len(&self) -> usize {
        (self.to - self.from) as usize
    }

    fn chunk(&self) -> Chunk {
        Chunk { segment: self.segment as usize, rows: self.from as usize..self.to as usize }
    }
}

impl Estimate {
    /// An optimistic score of its rows, to compare lists by before a score is known.
    fn promise(&self) -> f32 {
        self.mean + OPTIMISM * self.deviation
    }

    /// The probability that a row of the list reaches a score.
    fn tail(&self, score: f32) -> f32 {
        tail((score - self.mean) / self.deviation)
    }
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
