//! Products of nibbles and bytes with AVX2: 64 codes at a time, four rows side by side.

use std::arch::x86_64::*;

use super::line::{At, BLOCK, Line};
use super::quantise::{CodedQuery, Columns, Factors, Scores, bounds_in_lanes, code_in_lanes};
use crate::simd::Avx2 as Token;

const WIDTH: usize = 4;
const AHEAD: usize = 12;
/// Lines whose products are added up in 16 bits: eight products of pairs, each at most 2 * 15 * 127.
const SHORT: usize = 2;

impl Token {
    /// As `Kernel::code`.
    pub(super) fn code(self, row: &[f32], centre: &[f32], codes: &mut [u8]) -> Factors {
        // SAFETY: a token exists only where the features were detected.
        unsafe { code(row, centre, codes) }
    }

    /// As `Kernel::bounds`.
    pub(super) fn bounds(
        self,
        scores: &Scores,
        of: Columns<'_>,
        products: &[i32],
        floor: f32,
        uppers: &mut [f32; BLOCK],
    ) -> u64 {
        // SAFETY: a token exists only where the features were detected.
        unsafe { bounds(scores, of, products, floor, uppers) }
    }

    /// As `Kernel::products`.
    pub(super) fn products(self, query: &CodedQuery, plane: &[Line], at: At<'_>, fetch: bool, out: &mut [i32]) {
        at.check(out.len(), plane.len() / (query.lines.len() / 2));
        let Some(last) = out.len().checked_sub(1) else { return };
        // SAFETY: a token exists only where the features were detected; `check` found every row inside the plane.
        unsafe {
            match (at, fetch) {
                (At::Run(first), true) => products::<true>(query, plane, |j| first + j, out),
                (At::Run(first), false) => products::<false>(query, plane, |j| first + j, out),
                (At::List(at), true) => products::<true>(query, plane, |j| at[j.min(last)] as usize, out),
                (At::List(at), false) => products::<false>(query, plane, |j| at[j.min(last)] as usize, out),
            }
        }
    }
}

/// Ask memory for what will be read soon, line by line.
pub(super) fn fetch<T>(items: &[T]) {
    let first = items.as_ptr().cast::<i8>();
    for at in (0..size_of_val(items)).step_by(64) {
        // SAFETY: prefetching reads nothing; SSE is part of every x86-64 processor.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(at)) };
    }
}

#[target_feature(enable = "avx2,fma")]
fn code(row: &[f32], centre: &[f32], codes: &mut [u8]) -> Factors {
    code_in_lanes(row, centre, codes)
}

#[target_feature(enable = "avx2,fma")]
fn bounds(scores: &Scores, of: Columns<'_>, products: &[i32], floor: f32, uppers: &mut [f32; BLOCK]) -> u64 {
    bounds_in_lanes(scores, of, products, floor, uppers)
}

/// # Safety
/// `row_of` must give rows inside the plane for every output; past the last it may give anything.
#[target_feature(enable = "avx2,fma")]
unsafe fn products<const FETCH: bool>(
    query: &CodedQuery,
    plane: &[Line],
    row_of: impl Fn(usize) -> usize,
    out: &mut [i32],
) {
    let (lines, codes) = (query.lines.len() / 2, query.lines.as_ptr().cast::<__m256i>());
    let (nibble, ones) = (_mm256_set1_epi8(0x0f), _mm256_set1_epi16(1));
    let last = out.len() - 1;
    let row = |row: usize| plane.as_ptr().wrapping_add(row.wrapping_mul(lines));
    for (group, out) in out.chunks_mut(WIDTH).enumerate() {
        let first = group * WIDTH;
        // A short last group computes its last row again rather than having a loop of its own.
        let here = [0, 1, 2, 3].map(|j| row(row_of((first + j).min(last))));
        let next = [0, 1, 2, 3].map(|j| row(row_of(first + AHEAD + j)));
        let mut sums = [_mm256_setzero_si256(); WIDTH];
        for start in (0..lines).step_by(SHORT) {
            let mut short = [_mm256_setzero_si256(); WIDTH];
            for half in 2 * start..2 * lines.min(start + SHORT) {
                let (line, side) = (half / 2, half % 2);
                // SAFETY: half counts half lines, of which every row has 2 * lines and the query twice as many;
                // prefetching may name any address.
                unsafe {
                    let even = _mm256_load_si256(codes.add(4 * line + side));
                    let odd = _mm256_load_si256(codes.add(4 * line + 2 + side));
                    for j in 0..WIDTH {
                        if FETCH && side == 0 {
                            _mm_prefetch::<_MM_HINT_T0>(next[j].wrapping_add(line).cast());
                        }
                        let x = _mm256_load_si256(here[j].cast::<__m256i>().add(half));
                        let low = _mm256_maddubs_epi16(_mm256_and_si256(x, nibble), even);
                        let up = _mm256_and_si256(_mm256_srli_epi16::<4>(x), nibble);
                        let high = _mm256_maddubs_epi16(up, odd);
                        short[j] = _mm256_add_epi16(short[j], _mm256_add_epi16(low, high));
                    }
                }
            }
            sums = [0, 1, 2, 3].map(|j| _mm256_add_epi32(sums[j], _mm256_madd_epi16(short[j], ones)));
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
