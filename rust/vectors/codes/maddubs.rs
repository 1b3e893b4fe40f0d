//! Products of bytes with AVX2: thirty-two at a time, four rows side by side.

use std::arch::x86_64::*;

use super::line::{At, Line, ZERO};
use super::quantise::{CodedQuery, FactorColumns, Factors, bounds_in_lanes, code_in_lanes};

const WIDTH: usize = 4;
const AHEAD: usize = 12;

/// Proof that this processor has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token(());

impl Token {
    /// A token, where the processor has the instructions.
    pub(super) fn detect() -> Option<Self> {
        let here = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        here.then_some(Self(()))
    }

    /// As `Kernel::code`.
    pub(super) fn code(self, row: &[f32], codes: &mut [u8]) -> Factors {
        // SAFETY: a token exists only where the features were detected.
        unsafe { code(row, codes) }
    }

    /// As `Kernel::bounds`.
    pub(super) fn bounds(
        self,
        query: &CodedQuery,
        of: FactorColumns<'_>,
        products: &[i32],
        floor: f32,
        uppers: &mut [f32],
    ) -> bool {
        // SAFETY: a token exists only where the features were detected.
        unsafe { bounds(query, of, products, floor, uppers) }
    }

    /// As `Kernel::products`.
    pub(super) fn products(self, query: &CodedQuery, rows: &[Line], at: At<'_>, fetch: bool, out: &mut [i32]) {
        at.check(out.len(), rows.len() / query.lines.len());
        let Some(last) = out.len().checked_sub(1) else { return };
        // SAFETY: a token exists only where the features were detected; `check` found every row inside `rows`.
        unsafe {
            match (at, fetch) {
                (At::Run(first), true) => products::<true>(query, rows, |j| first + j, out),
                (At::Run(first), false) => products::<false>(query, rows, |j| first + j, out),
                (At::List(at), true) => products::<true>(query, rows, |j| at[j.min(last)] as usize, out),
                (At::List(at), false) => products::<false>(query, rows, |j| at[j.min(last)] as usize, out),
            }
        }
    }
}

/// Ask memory for a row, line by line.
pub(super) fn fetch(row: &[f32]) {
    for line in row.chunks(16) {
        // SAFETY: prefetching reads nothing; SSE is part of every x86-64 processor.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
}

#[target_feature(enable = "avx2,fma")]
fn code(row: &[f32], codes: &mut [u8]) -> Factors {
    code_in_lanes(row, codes)
}

#[target_feature(enable = "avx2,fma")]
fn bounds(query: &CodedQuery, of: FactorColumns<'_>, products: &[i32], floor: f32, uppers: &mut [f32]) -> bool {
    bounds_in_lanes(query, of, products, floor, uppers)
}

/// # Safety
/// `row_of` must give rows inside `rows` for every output; past the last it may give anything.
#[target_feature(enable = "avx2,fma")]
unsafe fn products<const FETCH: bool>(
    query: &CodedQuery,
    rows: &[Line],
    row_of: impl Fn(usize) -> usize,
    out: &mut [i32],
) {
    let lines = query.lines.len();
    let (base, codes) = (rows.as_ptr(), query.lines.as_ptr());
    let (zero, ones) = (_mm256_set1_epi8(ZERO as i8), _mm256_set1_epi16(1));
    let last = out.len() - 1;
    for (group, out) in out.chunks_mut(WIDTH).enumerate() {
        let first = group * WIDTH;
        // A short last group computes its last row again rather than having a loop of its own.
        let here = [0, 1, 2, 3].map(|j| base.wrapping_add(row_of((first + j).min(last)) * lines));
        let next = [0, 1, 2, 3].map(|j| base.wrapping_add(row_of(first + AHEAD + j).wrapping_mul(lines)));
        let mut sums = [_mm256_setzero_si256(); WIDTH];
        for i in 0..2 * lines {
            // SAFETY: i counts half lines, of which the query and every row have 2 * lines; prefetching may name any
            // address.
            unsafe {
                let q = _mm256_load_si256(codes.cast::<__m256i>().add(i));
                for j in 0..WIDTH {
                    if FETCH && i % 2 == 0 {
                        _mm_prefetch::<_MM_HINT_T0>(next[j].wrapping_add(i / 2).cast());
                    }
                    // The first factor must be without sign, so the row's sign goes to the query's code. Two products
                    // of at most 127 * 127 fit 16 bits, so nothing saturates.
                    let x = _mm256_xor_si256(_mm256_load_si256(here[j].cast::<__m256i>().add(i)), zero);
                    let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(q, x));
                    sums[j] = _mm256_add_epi32(sums[j], _mm256_madd_epi16(pairs, ones));
                }
            }
        }
        let mut four = [0; WIDTH];
        // SAFETY: `four` holds four integers; the store needs no alignment.
        unsafe { _mm_storeu_si128(four.as_mut_ptr().cast(), reduce(sums)) };
        out.copy_from_slice(&four[..out.len()]);
    }
}

/// Add up the lanes of each sum, in three steps.
#[target_feature(enable = "avx2,fma")]
fn reduce(sums: [__m256i; WIDTH]) -> __m128i {
    let [a, b, c, d] = sums;
    let all = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all))
}
