//! Products for many queries with AVX-512 VNNI: the codes of a block of rows, laid out so that every lane is a row.
//!
//! Four codes of sixteen rows make a register. Four codes of a query, repeated in every lane, are multiplied with it,
//! and no sum ever has to be added up across lanes.

use std::arch::x86_64::*;

use super::line::{At, BLOCK, FOUR, LINE, Line, Planes};
use super::quantise::CodedQuery;
use crate::simd::Vnni as Token;

/// Rows in a register.
const LANES: usize = 16;
/// Registers that hold the same four codes of every row of a block.
const GROUPS: usize = BLOCK / LANES;

impl Token {
    /// Lay out the codes of rows: line `4 * i + g` of the tile holds codes `4 * i..4 * i + 4` of rows `16 * g..`.
    ///
    /// # Panics
    /// If a row lies outside the planes, or there are more than [`BLOCK`].
    pub(super) fn lay_out(self, planes: Planes<'_>, lines: usize, at: At<'_>, len: usize, tile: &mut Vec<Line>) {
        assert!(len <= BLOCK && planes.high.len() == planes.low.len());
        at.check(len, planes.high.len() / lines);
        tile.resize(2 * lines * BLOCK, Line([0; LINE]));
        for group in 0..len.div_ceil(LANES) {
            // A short last group lays out its last row again.
            let rows: [usize; LANES] = std::array::from_fn(|j| at.row((group * LANES + j).min(len - 1)) * lines);
            for i in 0..lines {
                // SAFETY: a token exists only where the features were detected; every row was found inside both planes,
                // and the tile has 64 * 2 * lines lines, four of them for each of 32 * lines fours of codes.
                unsafe {
                    let high = |j: usize| planes.high.as_ptr().add(rows[j] + i);
                    let low = |j: usize| planes.low.as_ptr().add(rows[j] + i);
                    lay_out(high, low, tile.as_mut_ptr().add(2 * i * LINE + group));
                }
            }
        }
    }

    /// Write the products of four queries with the whole codes (plus `ZERO`) of the rows that were laid out.
    ///
    /// # Panics
    /// If the tile was laid out for rows of another length.
    pub(super) fn tile_products(self, queries: &[&CodedQuery; FOUR], tile: &[Line], out: &mut [[i32; BLOCK]; FOUR]) {
        assert!(queries.iter().all(|query| query.lines.len() * BLOCK == tile.len()));
        // SAFETY: a token exists only where the features were detected; the tile has four lines for each four codes of
        // the queries.
        unsafe { products(queries, tile, out) }
    }
}

/// Put together the codes of one line of sixteen rows, and write their fours, four lines apart.
///
/// # Safety
/// `high` and `low` must give readable lines; the 32 lines from `into` on, four apart, must be writable.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
unsafe fn lay_out(high: impl Fn(usize) -> *const Line, low: impl Fn(usize) -> *const Line, into: *mut Line) {
    let (lower, upper) = (_mm512_set1_epi8(0x0f), _mm512_set1_epi8(0xf0_u8 as i8));
    let (mut even, mut odd) = ([_mm512_setzero_si512(); LANES], [_mm512_setzero_si512(); LANES]);
    for j in 0..LANES {
        // SAFETY: the caller gives readable, aligned lines.
        let (h, l) = unsafe { (_mm512_load_si512(high(j).cast()), _mm512_load_si512(low(j).cast())) };
        // The bits that a shift of 16-bit lanes moves in from the neighbour are masked.
        let up = _mm512_and_si512(_mm512_slli_epi16::<4>(h), upper);
        even[j] = _mm512_or_si512(up, _mm512_and_si512(l, lower));
        let down = _mm512_and_si512(_mm512_srli_epi16::<4>(l), lower);
        odd[j] = _mm512_or_si512(_mm512_and_si512(h, upper), down);
    }
    for (half, lines) in [even, odd].into_iter().enumerate() {
        for (four, line) in transposed(lines).into_iter().enumerate() {
            // SAFETY: 32 lines, four apart, are writable; lines are aligned.
            unsafe { _mm512_store_si512(into.add((half * LANES + four) * GROUPS).cast(), line) };
        }
    }
}

/// Turn sixteen lines of sixteen fours of codes over.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
fn transposed(lines: [__m512i; LANES]) -> [__m512i; LANES] {
    let mut fours = lines;
    // Within each 128-bit quarter: fours of rows 4 * r..4 * r + 4 side by side, of place 4 * quarter + p.
    for r in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|j| lines[4 * r + j]);
        let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
        fours[4 * r] = _mm512_unpacklo_epi64(ab, cd);
        fours[4 * r + 1] = _mm512_unpackhi_epi64(ab, cd);
        let (ab, cd) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
        fours[4 * r + 2] = _mm512_unpacklo_epi64(ab, cd);
        fours[4 * r + 3] = _mm512_unpackhi_epi64(ab, cd);
    }
    let mut turned = fours;
    for p in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|r| fours[4 * r + p]);
        let (ab, cd) = (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0x88>(c, d));
        turned[p] = _mm512_shuffle_i32x4::<0x88>(ab, cd);
        turned[8 + p] = _mm512_shuffle_i32x4::<0xdd>(ab, cd);
        let (ab, cd) = (_mm512_shuffle_i32x4::<0xdd>(a, b), _mm512_shuffle_i32x4::<0xdd>(c, d));
        turned[4 + p] = _mm512_shuffle_i32x4::<0x88>(ab, cd);
        turned[12 + p] = _mm512_shuffle_i32x4::<0xdd>(ab, cd);
    }
    turned
}

/// # Safety
/// The tile must have [`GROUPS`] lines for each four codes of every query.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
unsafe fn products(queries: &[&CodedQuery; FOUR], tile: &[Line], out: &mut [[i32; BLOCK]; FOUR]) {
    let codes = queries.map(|query| query.lines.as_ptr().cast::<i32>());
    let mut sums = [[_mm512_setzero_si512(); GROUPS]; FOUR];
    for i in 0..tile.len() / GROUPS {
        // SAFETY: line 4 * i + g lies in the tile; each query has as many fours as the tile has fours of lines.
        unsafe {
            let rows = [0, 1, 2, 3].map(|g| _mm512_load_si512(tile.as_ptr().add(i * GROUPS + g).cast()));
            for k in 0..FOUR {
                let q = _mm512_set1_epi32(*codes[k].add(i));
                for g in 0..GROUPS {
                    sums[k][g] = _mm512_dpbusd_epi32(sums[k][g], rows[g], q);
                }
            }
        }
    }
    for (out, sums) in out.iter_mut().zip(sums) {
        for (out, sum) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(sums) {
            // SAFETY: there is room for sixteen integers; the store needs no alignment.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), sum) };
        }
    }
}
