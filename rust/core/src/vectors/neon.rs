//! The float32 scan with NEON: four rows at a time, four lanes, dot products and squares side by side.

use std::arch::aarch64::*;

use super::lanes::{cosine_in_lanes, dot_in_lanes};
use super::rows::Rows;
use crate::simd::Neon as Token;

/// Partial sums per dot product.
pub(super) const LANES: usize = 4;
const WIDTH: usize = 4;

impl Token {
    /// As `Level::dot`.
    pub(super) fn dot(self, a: &[f32], b: &[f32]) -> f64 {
        dot_in_lanes(a, b)
    }

    /// As `Level::cosine`.
    pub(super) fn cosine(self, query: &[f64], row: &[f32], query_square: f64) -> f64 {
        cosine_in_lanes(query, row, query_square)
    }

    /// As `Level::scan`.
    pub(super) fn scan(self, query: &[f32], rows: Rows<'_>, at: &[usize], dots: &mut [f32], squares: &mut [f32]) {
        assert_eq!(query.len(), rows.d());
        for ((at, dots), squares) in at.chunks(WIDTH).zip(dots.chunks_mut(WIDTH)).zip(squares.chunks_mut(WIDTH)) {
            // A short last group computes its last row again rather than having a loop of its own.
            let four = [0, 1, 2, 3].map(|j| rows.row(at[j.min(at.len() - 1)]));
            // SAFETY: a token exists only where NEON was detected; the rows are as long as the query.
            let (dot, square) = unsafe { four_rows(query, four) };
            dots[..at.len()].copy_from_slice(&dot[..at.len()]);
            squares[..at.len()].copy_from_slice(&square[..at.len()]);
        }
    }
}

/// # Safety
/// Every row must be as long as the query.
#[target_feature(enable = "neon")]
unsafe fn four_rows(query: &[f32], rows: [&[f32]; WIDTH]) -> ([f32; WIDTH], [f32; WIDTH]) {
    let d = query.len();
    let whole = d - d % LANES;
    let mut dots = [vdupq_n_f32(0.0); WIDTH];
    let mut squares = [vdupq_n_f32(0.0); WIDTH];
    let mut i = 0;
    while i < whole {
        // SAFETY: i + LANES <= d, the length of the query and of each row.
        unsafe {
            let q = vld1q_f32(query.as_ptr().add(i));
            for j in 0..WIDTH {
                let x = vld1q_f32(rows[j].as_ptr().add(i));
                dots[j] = vfmaq_f32(dots[j], q, x);
                squares[j] = vfmaq_f32(squares[j], x, x);
            }
        }
        i += LANES;
    }
    if whole < d {
        let q = padded(&query[whole..]);
        for j in 0..WIDTH {
            let x = padded(&rows[j][whole..]);
            dots[j] = vfmaq_f32(dots[j], q, x);
            squares[j] = vfmaq_f32(squares[j], x, x);
        }
    }
    (dots.map(|sum| vaddvq_f32(sum)), squares.map(|sum| vaddvq_f32(sum)))
}

/// The last components of a vector, with zeros behind them.
#[target_feature(enable = "neon")]
fn padded(rest: &[f32]) -> float32x4_t {
    let mut four = [0.0; LANES];
    four[..rest.len()].copy_from_slice(rest);
    // SAFETY: `four` holds four float32 numbers.
    unsafe { vld1q_f32(four.as_ptr()) }
}
