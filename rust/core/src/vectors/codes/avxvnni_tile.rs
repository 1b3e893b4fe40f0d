//! Products for many queries with AVX-VNNI: whole codes of a block of rows, laid out so that every lane is a row.
//!
//! As with AVX2, but a product of whole codes is no more work than one of their halves.

use std::arch::x86_64::*;

use super::line::{At, BLOCK, FOUR, Line, Planes};
use super::maddubs_tile::{FOURS, GROUPS, LANES, ROWS, each_eight, transposed};
use super::quantise::CodedQuery;
use crate::simd::AvxVnni as Token;

impl Token {
    /// Lay out the codes of rows: those of rows `16 * g..` are a run of lines, one for each four of their codes.
    ///
    /// # Panics
    /// If a row lies outside the planes, or there are more than [`BLOCK`].
    pub(super) fn lay_out(self, planes: Planes<'_>, lines: usize, at: At<'_>, len: usize, tile: &mut Vec<Line>) {
        assert!(len <= BLOCK && planes.high.len() == planes.low.len());
        at.check(len, planes.high.len() / lines);
        each_eight(lines, at, len, tile, |rows, into| {
            // SAFETY: a token exists only where the features were detected; every row was found inside both planes, and
            // `into` has room.
            unsafe { lay_out([planes.high, planes.low].map(|plane| rows.map(|row| plane.as_ptr().add(row))), into) }
        });
    }

    /// Write the products of four queries with the whole codes (plus `ZERO`) of the rows that were laid out.
    ///
    /// # Panics
    /// If the tile was laid out for rows of another length.
    pub(super) fn tile_products(self, queries: &[&CodedQuery; FOUR], tile: &[Line], out: &mut [[i32; BLOCK]; FOUR]) {
        assert!(queries.iter().all(|query| query.lines.len() * BLOCK == tile.len()));
        // SAFETY: a token exists only where the features were detected; the tile has a line of every group for each four
        // codes of the queries.
        unsafe { products(queries, tile, out) }
    }
}

/// Put together the codes of one line of eight rows, and write their fours to every other register.
///
/// # Safety
/// The lines must be readable, and every other one of `2 * FOURS` registers from `into` on writable.
#[target_feature(enable = "avxvnni,avx2,fma")]
unsafe fn lay_out([high, low]: [[*const Line; LANES]; 2], into: *mut __m256i) {
    let lower = _mm256_set1_epi8(0x0f);
    for side in 0..2 {
        let (mut even, mut odd) = ([_mm256_setzero_si256(); LANES], [_mm256_setzero_si256(); LANES]);
        for j in 0..LANES {
            // SAFETY: lines are aligned and have two halves; the caller gives readable ones.
            let [h, l] = [high, low].map(|lines| unsafe { _mm256_load_si256(lines[j].cast::<__m256i>().add(side)) });
            // The bits that a shift of 16-bit lanes moves in from the neighbour are masked.
            let up = _mm256_andnot_si256(lower, _mm256_slli_epi16::<4>(h));
            even[j] = _mm256_or_si256(up, _mm256_and_si256(l, lower));
            let down = _mm256_and_si256(_mm256_srli_epi16::<4>(l), lower);
            odd[j] = _mm256_or_si256(_mm256_andnot_si256(lower, h), down);
        }
        for (first, codes) in [(0, even), (FOURS / 2, odd)] {
            for (four, register) in transposed(codes).into_iter().enumerate() {
                // SAFETY: `first + side * LANES + four` is less than FOURS; registers of lines are aligned.
                unsafe { _mm256_store_si256(into.add(2 * (first + side * LANES + four)), register) };
            }
        }
    }
}

/// # Safety
/// The tile must have [`GROUPS`] lines for each four codes of every query.
#[target_feature(enable = "avxvnni,avx2,fma")]
unsafe fn products(queries: &[&CodedQuery; FOUR], tile: &[Line], out: &mut [[i32; BLOCK]; FOUR]) {
    let codes = queries.map(|query| query.lines.as_ptr().cast::<i32>());
    let fours = tile.len() / GROUPS;
    for group in 0..GROUPS {
        let mut sums = [[_mm256_setzero_si256(); 2]; FOUR];
        for i in 0..fours {
            // SAFETY: each query has as many fours as a group has lines.
            unsafe {
                let line = tile.as_ptr().add(group * fours + i).cast::<__m256i>();
                let rows = [_mm256_load_si256(line), _mm256_load_si256(line.add(1))];
                for k in 0..FOUR {
                    let q = _mm256_set1_epi32(*codes[k].add(i));
                    for r in 0..2 {
                        sums[k][r] = _mm256_dpbusd_avx_epi32(sums[k][r], rows[r], q);
                    }
                }
            }
        }
        for (out, sums) in out.iter_mut().zip(sums) {
            for (r, sum) in sums.into_iter().enumerate() {
                let out = &mut out[group * ROWS + r * LANES..][..LANES];
                // SAFETY: there is room for eight integers; the store needs no alignment.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), sum) };
            }
        }
    }
}
