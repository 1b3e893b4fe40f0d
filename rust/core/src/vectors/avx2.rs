//! The float32 scan with AVX2 and FMA: four rows at a time, eight lanes, dot products and squares side by side.

use std::arch::x86_64::*;

use super::lanes::{cosine_in_lanes, dot_in_lanes};
use super::rows::Rows;
use crate::simd::Avx2 as Token;

/// Partial sums per dot product.
pub(super) const LANES: usize = 8;
const WIDTH: usize = 4;

impl Token {
    /// As `Level::dot`.
    pub(super) fn dot(self, a: &[f32], b: &[f32]) -> f64 {
        // SAFETY: a token exists only where the features were detected.
        unsafe { dot(a, b) }
    }

    /// As `Level::cosine`.
    pub(super) fn cosine(self, query: &[f64], row: &[f32], query_square: f64) -> f64 {
        // SAFETY: a token exists only where the features were detected.
        unsafe { cosine(query, row, query_square) }
    }

    /// As `Level::scan`.
    pub(super) fn scan(self, query: &[f32], rows: Rows<'_>, at: &[usize], dots: &mut [f32], squares: &mut [f32]) {
        assert_eq!(query.len(), rows.d());
        let rows_of = |at: &[usize]| [0, 1, 2, 3].map(|j| rows.row(at[j.min(at.len() - 1)]));
        let mut groups = at.chunks(WIDTH).zip(dots.chunks_mut(WIDTH).zip(squares.chunks_mut(WIDTH))).peekable();
        while let Some((at, (dots, squares))) = groups.next() {
            // A short last group computes its last row again rather than having a loop of its own.
            let (four, next) = (rows_of(at), rows_of(groups.peek().map_or(at, |(at, _)| at)));
            // SAFETY: a token exists only where the features were detected; the rows are as long as the query.
            let (dot, square) = unsafe { four_rows::<true>(query, four, next) };
            dots.copy_from_slice(&dot[..at.len()]);
            squares.copy_from_slice(&square[..at.len()]);
        }
    }

    /// As `Level::dots`.
    pub(super) fn dots(self, query: &[f32], rows: Rows<'_>, dots: &mut [f32]) {
        assert_eq!(query.len(), rows.d());
        for (group, dots) in dots.chunks_mut(WIDTH).enumerate() {
            // As in `scan`.
            let four = [0, 1, 2, 3].map(|j| rows.row(group * WIDTH + j.min(dots.len() - 1)));
            // SAFETY: a token exists only where the features were detected; the rows are as long as the query.
            let (dot, _) = unsafe { four_rows::<false>(query, four, four) };
            dots.copy_from_slice(&dot[..dots.len()]);
        }
    }
}

#[target_feature(enable = "avx2,fma")]
fn dot(a: &[f32], b: &[f32]) -> f64 {
    dot_in_lanes(a, b)
}

#[target_feature(enable = "avx2,fma")]
fn cosine(query: &[f64], row: &[f32], query_square: f64) -> f64 {
    cosine_in_lanes(query, row, query_square)
}

/// The sums of four rows, while the four to come are fetched: rows may lie anywhere, so the processor cannot guess them.
///
/// # Safety
/// Every row must be as long as the query.
#[target_feature(enable = "avx2,fma")]
unsafe fn four_rows<const SQUARES: bool>(
    query: &[f32],
    rows: [&[f32]; WIDTH],
    next: [&[f32]; WIDTH],
) -> ([f32; WIDTH], [f32; WIDTH]) {
    let d = query.len();
    let whole = d - d % LANES;
    let mut dots = [_mm256_setzero_ps(); WIDTH];
    let mut squares = [_mm256_setzero_ps(); WIDTH];
    let mut i = 0;
    while i < whole {
        // SAFETY: i + LANES <= d, the length of the query and of each row.
        unsafe {
            let q = _mm256_loadu_ps(query.as_ptr().add(i));
            for j in 0..WIDTH {
                if SQUARES {
                    _mm_prefetch::<_MM_HINT_T0>(next[j].as_ptr().wrapping_add(i).cast());
                }
                let x = _mm256_loadu_ps(rows[j].as_ptr().add(i));
                dots[j] = _mm256_fmadd_ps(q, x, dots[j]);
                if SQUARES {
                    squares[j] = _mm256_fmadd_ps(x, x, squares[j]);
                }
            }
        }
        i += LANES;
    }
    if whole < d {
        let mask = first(d - whole);
        // SAFETY: the mask lets only the d - whole components that exist be read.
        unsafe {
            let q = _mm256_maskload_ps(query.as_ptr().add(whole), mask);
            for j in 0..WIDTH {
                let x = _mm256_maskload_ps(rows[j].as_ptr().add(whole), mask);
                dots[j] = _mm256_fmadd_ps(q, x, dots[j]);
                if SQUARES {
                    squares[j] = _mm256_fmadd_ps(x, x, squares[j]);
                }
            }
        }
    }
    (reduce(dots), reduce(squares))
}

/// A mask of the first `count` of eight lanes.
#[target_feature(enable = "avx2,fma")]
fn first(count: usize) -> __m256i {
    let numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), numbers)
}

/// Add up the lanes of each sum, in three steps.
#[target_feature(enable = "avx2,fma")]
fn reduce(sums: [__m256; WIDTH]) -> [f32; WIDTH] {
    let half = sums.map(|sum| _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum)));
    let pairs = _mm_hadd_ps(_mm_hadd_ps(half[0], half[1]), _mm_hadd_ps(half[2], half[3]));
    let mut out = [0.0; WIDTH];
    // SAFETY: `out` holds four float32 numbers; the store needs no alignment.
    unsafe { _mm_storeu_ps(out.as_mut_ptr(), pairs) };
    out
}
