//! A run of coded rows: one contiguous column each of upper nibbles, lower nibbles and factors.

use std::sync::Arc;

use super::centre::{Centre, ENOUGH};
use super::kernel::Kernel;
use super::line::{LINE, Line, Planes, SPAN, ZERO, lines, split};
use super::quantise::{Columns, Factors};
use crate::arrays::{Array, room_for};
use crate::vectors::{Rows, dot};

/// A segment with fewer rows takes in the next ones. While a search holds it, that costs a copy of it.
const FULL: usize = 1024;
/// Codes of a segment made at once, at most: small enough to be allocated and freed without a thought.
const MOST_BYTES: usize = 16 << 20;

/// The arrays of coded rows, one item a row (of the planes, as many lines as a row has).
#[derive(Clone, Debug, Default)]
pub(super) struct Coded {
    pub(super) high: Array<Line>,
    pub(super) low: Array<Line>,
    pub(super) scales: Array<f32>,
    pub(super) roughs: Array<f32>,
    pub(super) residuals: Array<f32>,
    pub(super) norms: Array<f32>,
    /// Half of the squared lengths, where distances are wanted; else empty.
    pub(super) halves: Array<f32>,
}

/// Coded rows `first..end`.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    first: usize,
    /// The rows of the whole that these are; None if they are consecutive.
    rows: Option<Array<u32>>,
    centre: Arc<Centre>,
    coded: Coded,
    /// True if later rows get a segment of their own, as those after a mapped one do.
    closed: bool,
}

impl Segment {
    /// The most rows of one segment.
    pub(super) fn most_rows(d: usize) -> usize {
        (MOST_BYTES / (2 * lines(d) * LINE)).max(FULL)
    }

    /// Code the finite rows `from..to`, the first of which is row `first` of the whole.
    pub(super) fn coded(
        first: usize,
        centre: Arc<Centre>,
        rows: Rows<'_>,
        (from, to): (usize, usize),
        (kernel, distances): (Kernel, bool),
    ) -> Self {
        let (n, lines) = (to - from, lines(rows.d()));
        let plane = || room_for(n * lines);
        let (mut high, mut low, mut factors) = (plane(), plane(), Vec::with_capacity(n));
        let mut codes = vec![ZERO; lines * SPAN];
        for row in from..to {
            factors.push(kernel.code(rows.row(row), centre.components(), &mut codes[..rows.d()]));
            split(&codes, |h, l| {
                high.push(h);
                low.push(l);
            });
        }
        let column = |of: fn(&Factors) -> f32| factors.iter().map(of).collect::<Vec<_>>().into();
        let coded = Coded {
            high: high.into(),
            low: low.into(),
            scales: column(|row| row.scale),
            roughs: column(|row| row.rough),
            residuals: column(|row| row.residual),
            norms: column(|row| row.norm),
            halves: if distances { halves(rows, from..to).into() } else { Array::default() },
        };
        Self { first, rows: None, centre, coded, closed: false }
    }

    /// Rows that were coded before, whose columns fit each other.
    pub(super) fn closed(first: usize, centre: Arc<Centre>, coded: Coded) -> Self {
        Self { first, rows: None, centre, coded, closed: true }
    }

    /// As [`Segment::closed`], of these rows of the whole.
    pub(super) fn of_lists(rows: Array<u32>, centre: Arc<Centre>, coded: Coded) -> Self {
        Self { rows: Some(rows), ..Self::closed(0, centre, coded) }
    }

    /// The segment with these rows of the whole.
    pub(super) fn listed(self, rows: Vec<u32>) -> Self {
        Self { rows: Some(rows.into()), closed: true, ..self }
    }

    /// Add rows that were coded elsewhere, with the same centre.
    pub(super) fn extend(&mut self, more: &Self) {
        let (own, more) = (&mut self.coded, &more.coded);
        own.high.to_mut().extend_from_slice(&more.high);
        own.low.to_mut().extend_from_slice(&more.low);
        own.scales.to_mut().extend_from_slice(&more.scales);
        own.roughs.to_mut().extend_from_slice(&more.roughs);
        own.residuals.to_mut().extend_from_slice(&more.residuals);
        own.norms.to_mut().extend_from_slice(&more.norms);
        own.halves.to_mut().extend_from_slice(&more.halves);
    }

    /// The centre for rows that come after these: their mean, once there are enough of them.
    pub(super) fn next_centre(&self, d: usize) -> Centre {
        let n = self.len().min(FULL);
        if n < ENOUGH {
            return (*self.centre).clone();
        }
        let decoded: Vec<f32> = (0..n).flat_map(|row| self.decoded(row, d)).collect();
        Rows::new(&decoded, n, d).map_or_else(|_| Centre::none(d), |rows| Centre::of(rows, 0, n))
    }

    /// The row that its codes stand for; only a guess at rows that could not be coded.
    fn decoded(&self, row: usize, d: usize) -> impl Iterator<Item = f32> {
        let (lines, scale, Planes { high, low }) = (lines(d), self.coded.scales[row], self.planes());
        self.centre.components().iter().enumerate().map(move |(i, &m)| {
            let (line, byte) = (row * lines + i / SPAN, i % LINE);
            let (high, low) = (high[line].0[byte], low[line].0[byte]);
            let code = if i % SPAN < LINE { high << 4 | low & 15 } else { high & 0xf0 | low >> 4 };
            m + scale * (f32::from(code) - f32::from(ZERO))
        })
    }

    pub(super) fn len(&self) -> usize {
        self.coded.scales.len()
    }

    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// The rows of the whole that these are; None if they are consecutive.
    pub(super) fn rows(&self) -> Option<&Array<u32>> {
        self.rows.as_ref()
    }

    /// The row of the whole at a position.
    pub(super) fn row(&self, at: usize) -> usize {
        self.rows.as_ref().map_or_else(|| self.first + at, |rows| rows[at] as usize)
    }

    /// The number of rows below row `n` of the whole; a list has no others.
    pub(super) fn below(&self, n: usize) -> usize {
        if self.rows.is_some() { self.len() } else { self.len().min(n.saturating_sub(self.first)) }
    }

    /// The row after the last, of consecutive ones.
    pub(super) fn end(&self) -> usize {
        self.first + self.len()
    }

    /// The number of rows that still fit.
    pub(super) fn room(&self) -> usize {
        if self.closed { 0 } else { FULL.saturating_sub(self.len()) }
    }

    pub(super) fn centre(&self) -> &Arc<Centre> {
        &self.centre
    }

    pub(super) fn planes(&self) -> Planes<'_> {
        Planes { high: &self.coded.high, low: &self.coded.low }
    }

    /// The factors of every row, for bounds by the upper four bits.
    pub(super) fn rough(&self) -> Columns<'_> {
        let Coded { scales, roughs, norms, .. } = &self.coded;
        Columns { scales, residuals: roughs, norms, halves: self.halves() }
    }

    /// The factors of every row, for bounds by the whole codes.
    pub(super) fn fine(&self) -> Columns<'_> {
        let Coded { scales, residuals, norms, .. } = &self.coded;
        Columns { scales, residuals, norms, halves: self.halves() }
    }

    fn halves(&self) -> Option<&[f32]> {
        let halves = &*self.coded.halves;
        (!halves.is_empty()).then_some(halves)
    }

    /// These rows of the whole, from the codes of two segments of one centre: each row's is the second, and its place.
    pub(super) fn gathered(rows: Vec<u32>, from: [&Self; 2], places: &[(bool, u32)], lines: usize) -> Self {
        let of = |&(second, at): &(bool, u32)| (&from[usize::from(second)].coded, at as usize);
        let plane = |plane: fn(&Coded) -> &Array<Line>| {
            let mut all = room_for(places.len() * lines);
            for (coded, at) in places.iter().map(of) {
                all.extend_from_slice(&plane(coded)[at * lines..(at + 1) * lines]);
            }
            all.into()
        };
        let column = |column: fn(&Coded) -> &Array<f32>| {
            places.iter().map(of).filter_map(|(coded, at)| column(coded).get(at).copied()).collect::<Vec<_>>().into()
        };
        let coded = Coded {
            high: plane(|coded| &coded.high),
            low: plane(|coded| &coded.low),
            scales: column(|coded| &coded.scales),
            roughs: column(|coded| &coded.roughs),
            residuals: column(|coded| &coded.residuals),
            norms: column(|coded| &coded.norms),
            halves: column(|coded| &coded.halves),
        };
        Self::of_lists(rows.into(), Arc::clone(&from[0].centre), coded)
    }

    /// All columns.
    pub(super) fn columns(&self) -> &Coded {
        &self.coded
    }

    /// The memory of its own that it takes: next to none where it is mapped.
    pub(super) fn size_bytes(&self) -> usize {
        let Coded { high, low, scales, roughs, residuals, norms, halves } = &self.coded;
        let floats =
            [scales, roughs, residuals, norms, halves].iter().map(|column| column.owned_bytes()).sum::<usize>();
        high.owned_bytes() + low.owned_bytes() + floats + self.rows.as_ref().map_or(0, Array::owned_bytes)
    }
}

/// Half of the squared lengths of some rows; not a number where float32 cannot hold it.
fn halves(rows: Rows<'_>, of: std::ops::Range<usize>) -> Vec<f32> {
    let half = |row: &[f32]| (dot(row, row) / 2.0) as f32;
    let of = of.map(|row| half(rows.row(row)));
    of.map(|half| if half.is_finite() { half } else { f32::NAN }).collect()
}
