//! Products for many queries with AVX2: the nibbles of a block of rows, laid out so that every lane is a row.
//!
//! Four nibbles of eight rows make a register. Four codes of a query, repeated in every lane, are multiplied with it, and
//! no sum ever has to be added up across lanes. Nibbles are so small that the products of eight fours or more are added
//! up in 16 bits, where one of whole codes would not fit: half of the codes is half of the work.

use std::arch::x86_64::*;

use super::line::{At, BLOCK, FOUR, LINE, Line, SPAN};
use super::quantise::CodedQuery;
use crate::simd::Avx2 as Token;

/// Rows in a register.
pub(super) const LANES: usize = 8;
/// Rows in a line of a tile.
pub(super) const ROWS: usize = 2 * LANES;
/// Lines that hold the same four nibbles of every row of a block.
pub(super) const GROUPS: usize = BLOCK / ROWS;
/// Nibbles of a row that lie together in a tile, in fours, per line of its plane.
pub(super) const FOURS: usize = SPAN / 4;

impl Token {
    /// Lay out a plane's nibbles of rows: those of rows `16 * g..` are a run of lines, one for each four of their codes.
    ///
    /// # Panics
    /// If a row lies outside the plane, or there are more than [`BLOCK`].
    pub(super) fn lay_out(self, plane: &[Line], lines: usize, at: At<'_>, len: usize, tile: &mut Vec<Line>) {
        assert!(len <= BLOCK);
        at.check(len, plane.len() / lines);
        each_eight(lines, at, len, tile, |rows, into| {
            // SAFETY: a token exists only where the features were detected; every row was found inside the plane, and
            // `into` has room.
            unsafe { lay_out(rows.map(|row| plane.as_ptr().add(row)), into) }
        });
    }

    /// Write the products of four queries with the nibbles of the rows that were laid out.
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

/// Call `write` with each line of eight rows of a block, and where its fours begin in the tile: every other one of
/// `2 * FOURS` registers from there on is theirs.
#[inline(always)]
pub(super) fn each_eight(
    lines: usize,
    at: At<'_>,
    len: usize,
    tile: &mut Vec<Line>,
    mut write: impl FnMut([usize; LANES], *mut __m256i),
) {
    tile.resize(lines * FOURS * GROUPS, Line([0; LINE]));
    for group in 0..len.div_ceil(LANES) {
        // A short last group lays out its last row again.
        let rows: [usize; LANES] = std::array::from_fn(|j| at.row((group * LANES + j).min(len - 1)) * lines);
        for i in 0..lines {
            // A tile has a run of FOURS lines for each line of sixteen rows.
            let into = tile[(group / 2 * lines + i) * FOURS..][..FOURS].as_mut_ptr().cast::<__m256i>();
            write(rows.map(|row| row + i), into.wrapping_add(group % 2));
        }
    }
}

/// Write the nibbles of one line of eight rows, in fours, to every other register.
///
/// # Safety
/// The lines must be readable, and every other one of `2 * FOURS` registers from `into` on writable.
#[target_feature(enable = "avx2,fma")]
unsafe fn lay_out(lines: [*const Line; LANES], into: *mut __m256i) {
    let nibble = _mm256_set1_epi8(0x0f);
    for side in 0..2 {
        // SAFETY: lines are aligned and have two halves; the caller gives readable ones.
        let halves = lines.map(|line| unsafe { _mm256_load_si256(line.cast::<__m256i>().add(side)) });
        let low = halves.map(|half| _mm256_and_si256(half, nibble));
        let high = halves.map(|half| _mm256_and_si256(_mm256_srli_epi16::<4>(half), nibble));
        for (first, nibbles) in [(0, low), (FOURS / 2, high)] {
            for (four, register) in transposed(nibbles).into_iter().enumerate() {
                // SAFETY: `first + side * LANES + four` is less than FOURS; registers of lines are aligned.
                unsafe { _mm256_store_si256(into.add(2 * (first + side * LANES + four)), register) };
            }
        }
    }
}

/// Turn eight registers of eight fours over.
#[target_feature(enable = "avx2,fma")]
pub(super) fn transposed(rows: [__m256i; LANES]) -> [__m256i; LANES] {
    let mut fours = rows;
    // Within each 128-bit half: fours of rows 4 * r..4 * r + 4 side by side, of place 4 * half + p.
    for r in 0..2 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|j| rows[4 * r + j]);
        let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
        fours[4 * r] = _mm256_unpacklo_epi64(ab, cd);
        fours[4 * r + 1] = _mm256_unpackhi_epi64(ab, cd);
        let (ab, cd) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
        fours[4 * r + 2] = _mm256_unpacklo_epi64(ab, cd);
        fours[4 * r + 3] = _mm256_unpackhi_epi64(ab, cd);
    }
    let mut turned = fours;
    for p in 0..4 {
        turned[p] = _mm256_permute2x128_si256::<0x20>(fours[p], fours[4 + p]);
        turned[4 + p] = _mm256_permute2x128_si256::<0x31>(fours[p], fours[4 + p]);
    }
    turned
}

/// # Safety
/// The tile must have [`GROUPS`] lines for each four codes of every query.
#[target_feature(enable = "avx2,fma")]
unsafe fn products(queries: &[&CodedQuery; FOUR], tile: &[Line], out: &mut [[i32; BLOCK]; FOUR]) {
    let codes = queries.map(|query| query.lines.as_ptr().cast::<i32>());
    let short = queries.iter().fold(usize::MAX, |least, query| least.min(query.short));
    let (fours, ones) = (tile.len() / GROUPS, _mm256_set1_epi16(1));
    for group in 0..GROUPS {
        let mut sums = [[_mm256_setzero_si256(); 2]; FOUR];
        for first in (0..fours).step_by(short) {
            let mut part = [[_mm256_setzero_si256(); 2]; FOUR];
            for i in first..fours.min(first + short) {
                // SAFETY: each query has as many fours as a group has lines.
                unsafe {
                    let line = tile.as_ptr().add(group * fours + i).cast::<__m256i>();
                    let rows = [_mm256_load_si256(line), _mm256_load_si256(line.add(1))];
                    for k in 0..FOUR {
                        let q = _mm256_set1_epi32(*codes[k].add(i));
                        for r in 0..2 {
                            part[k][r] = _mm256_add_epi16(part[k][r], _mm256_maddubs_epi16(rows[r], q));
                        }
                    }
                }
            }
            // By numbers that are known here: an iterator would keep these arrays in memory, not in registers.
            for k in 0..FOUR {
                for r in 0..2 {
                    sums[k][r] = _mm256_add_epi32(sums[k][r], _mm256_madd_epi16(part[k][r], ones));
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
