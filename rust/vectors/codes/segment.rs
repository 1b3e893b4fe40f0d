//! A run of coded rows: one contiguous column each of codes, scales, residuals and lengths.

use super::kernel::Kernel;
use super::line::{LINE, Line, ZERO, lines};
use super::quantise::{FactorColumns, Factors};
use crate::vectors::Rows;

/// A segment with fewer rows takes in the next ones. While a search holds it, that costs a copy of it.
const FULL: usize = 1024;
/// Codes of a segment made at once, at most: small enough to be allocated and freed without a thought.
const MOST_BYTES: usize = 16 << 20;

/// Coded rows `first..end`.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    first: usize,
    codes: Vec<Line>,
    scales: Vec<f32>,
    residuals: Vec<f32>,
    norms: Vec<f32>,
}

impl Segment {
    /// The most rows of one segment.
    pub(super) fn most_rows(d: usize) -> usize {
        (MOST_BYTES / (lines(d) * LINE)).max(FULL)
    }

    /// Code the finite rows `from..to`, the first of which is row `first` of the whole.
    pub(super) fn coded(first: usize, rows: Rows<'_>, from: usize, to: usize, kernel: Kernel) -> Self {
        let (n, lines_per_row) = (to - from, lines(rows.d()));
        let mut segment = Self {
            first,
            codes: Vec::with_capacity(n * lines_per_row),
            scales: Vec::with_capacity(n),
            residuals: Vec::with_capacity(n),
            norms: Vec::with_capacity(n),
        };
        let mut codes = vec![ZERO; lines_per_row * LINE];
        for row in from..to {
            let Factors { scale, residual, norm } = kernel.code(rows.row(row), &mut codes[..rows.d()]);
            segment.codes.extend(codes.as_chunks::<LINE>().0.iter().map(|&line| Line(line)));
            segment.scales.push(scale);
            segment.residuals.push(residual);
            segment.norms.push(norm);
        }
        segment
    }

    /// Add rows that were coded elsewhere.
    pub(super) fn extend(&mut self, more: &Self) {
        self.codes.extend_from_slice(&more.codes);
        self.scales.extend_from_slice(&more.scales);
        self.residuals.extend_from_slice(&more.residuals);
        self.norms.extend_from_slice(&more.norms);
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

    pub(super) fn codes(&self) -> &[Line] {
        &self.codes
    }

    /// The factors of rows `from..to` of this segment.
    pub(super) fn factors(&self, from: usize, to: usize) -> FactorColumns<'_> {
        FactorColumns {
            scales: &self.scales[from..to],
            residuals: &self.residuals[from..to],
            norms: &self.norms[from..to],
        }
    }

    pub(super) fn size_bytes(&self) -> usize {
        size_of::<Line>() * self.codes.capacity()
            + size_of::<f32>() * (self.scales.capacity() + self.residuals.capacity() + self.norms.capacity())
    }
}
