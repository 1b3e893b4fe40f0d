//! A run of coded rows: one contiguous column each of upper nibbles, lower nibbles and factors.

use std::sync::Arc;

use super::centre::{Centre, ENOUGH};
use super::kernel::Kernel;
use super::line::{LINE, Line, Planes, SPAN, ZERO, lines, split};
use super::quantise::{Columns, Factors};
use crate::vectors::Rows;

/// A segment with fewer rows takes in the next ones. While a search holds it, that costs a copy of it.
const FULL: usize = 1024;
/// Codes of a segment made at once, at most: small enough to be allocated and freed without a thought.
const MOST_BYTES: usize = 16 << 20;

/// Coded rows `first..end`.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    first: usize,
    centre: Arc<Centre>,
    high: Vec<Line>,
    low: Vec<Line>,
    scales: Vec<f32>,
    roughs: Vec<f32>,
    residuals: Vec<f32>,
    norms: Vec<f32>,
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
        kernel: Kernel,
    ) -> Self {
        let (n, lines_per_row) = (to - from, lines(rows.d()));
        let column = || Vec::with_capacity(n);
        let mut segment = Self {
            first,
            centre,
            high: Vec::with_capacity(n * lines_per_row),
            low: Vec::with_capacity(n * lines_per_row),
            scales: column(),
            roughs: column(),
            residuals: column(),
            norms: column(),
        };
        let mut codes = vec![ZERO; lines_per_row * SPAN];
        for row in from..to {
            let components = segment.centre.components();
            let Factors { scale, rough, residual, norm } =
                kernel.code(rows.row(row), components, &mut codes[..rows.d()]);
            split(&codes, |high, low| {
                segment.high.push(high);
                segment.low.push(low);
            });
            segment.scales.push(scale);
            segment.roughs.push(rough);
            segment.residuals.push(residual);
            segment.norms.push(norm);
        }
        segment
    }

    /// Add rows that were coded elsewhere, with the same centre.
    pub(super) fn extend(&mut self, more: &Self) {
        self.high.extend_from_slice(&more.high);
        self.low.extend_from_slice(&more.low);
        self.scales.extend_from_slice(&more.scales);
        self.roughs.extend_from_slice(&more.roughs);
        self.residuals.extend_from_slice(&more.residuals);
        self.norms.extend_from_slice(&more.norms);
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
        let (lines, scale) = (lines(d), self.scales[row]);
        self.centre.components().iter().enumerate().map(move |(i, &m)| {
            let (line, byte) = (row * lines + i / SPAN, i % LINE);
            let (high, low) = (self.high[line].0[byte], self.low[line].0[byte]);
            let code = if i % SPAN < LINE { high << 4 | low & 15 } else { high & 0xf0 | low >> 4 };
            m + scale * (f32::from(code) - f32::from(ZERO))
        })
    }

    pub(super) fn len(&self) -> usize {
        self.scales.len()
    }

    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// The row after the last.
    pub(super) fn end(&self) -> usize {
        self.first + self.len()
    }

    /// How many rows it still takes in.
    pub(super) fn room(&self) -> usize {
        FULL.saturating_sub(self.len())
    }

    pub(super) fn centre(&self) -> &Arc<Centre> {
        &self.centre
    }

    pub(super) fn planes(&self) -> Planes<'_> {
        Planes { high: &self.high, low: &self.low }
    }

    /// The factors of every row, for bounds by the upper four bits.
    pub(super) fn rough(&self) -> Columns<'_> {
        Columns { scales: &self.scales, residuals: &self.roughs, norms: &self.norms }
    }

    /// The factors of every row, for bounds by the whole codes.
    pub(super) fn fine(&self) -> Columns<'_> {
        Columns { scales: &self.scales, residuals: &self.residuals, norms: &self.norms }
    }

    pub(super) fn size_bytes(&self) -> usize {
        let floats = [&self.scales, &self.roughs, &self.residuals, &self.norms];
        size_of::<Line>() * (self.high.capacity() + self.low.capacity())
            + floats.iter().map(|column| size_of::<f32>() * column.capacity()).sum::<usize>()
    }
}
