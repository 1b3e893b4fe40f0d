//! Products for many queries with NEON's dot product: whole codes of a block of rows, laid out so that every lane is a
//! row.
//!
//! Four codes of four rows make a register. Four codes of a query are multiplied with each of its lanes, and no sum ever
//! has to be added up across lanes. The instruction multiplies signed numbers, so codes lie here without `ZERO`.

use std::arch::aarch64::*;
use std::arch::asm;

use super::line::{At, BLOCK, FOUR, LINE, Line, Planes, SPAN, ZERO};
use super::quantise::CodedQuery;
use crate::simd::Dotprod as Token;

/// Rows in a register, and registers in a line of a tile.
const LANES: usize = 4;
/// Rows in a line of a tile.
const ROWS: usize = 4 * LANES;
/// Lines that hold the same four codes of every row of a block.
const GROUPS: usize = BLOCK / ROWS;
/// Fours of codes per line of a plane, and bytes in a register.
const FOURS: usize = SPAN / 4;
const BYTES: usize = 16;

impl Token {
    /// Lay out the codes of rows: those of rows `16 * g..` are a run of lines, one for each four of their codes.
    ///
    /// # Panics
    /// If a row lies outside the planes, or there are more than [`BLOCK`].
    pub(super) fn lay_out(self, planes: Planes<'_>, lines: usize, at: At<'_>, len: usize, tile: &mut Vec<Line>) {
        assert!(len <= BLOCK && planes.high.len() == planes.low.len());
        at.check(len, planes.high.len() / lines);
        tile.resize(lines * FOURS * GROUPS, Line([0; LINE]));
        for four in 0..len.div_ceil(LANES) {
            // A short last four lays out its last row again.
            let rows = [0, 1, 2, 3].map(|j| at.row((four * LANES + j).min(len - 1)) * lines);
            let (group, register) = (four * LANES / ROWS, four % (ROWS / LANES));
            for i in 0..lines {
                let into = &mut tile[(group * lines + i) * FOURS..][..FOURS];
                let of = rows.map(|row| [&planes.high[row + i], &planes.low[row + i]]);
                // SAFETY: a token exists only where the features were detected.
                unsafe { lay_out(of, register, into) }
            }
        }
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

/// Put together the codes of one line of four rows, and write their fours to a register of each line.
#[target_feature(enable = "neon,dotprod")]
fn lay_out(of: [[&Line; 2]; LANES], register: usize, into: &mut [Line]) {
    let zero = vdupq_n_u8(ZERO);
    for part in 0..LINE / BYTES {
        let (mut even, mut odd) = ([zero; LANES], [zero; LANES]);
        for (j, row) in of.into_iter().enumerate() {
            // SAFETY: a line has four parts of sixteen bytes.
            let [high, low] = row.map(|line| unsafe { vld1q_u8(line.0.as_ptr().add(part * BYTES)) });
            even[j] = veorq_u8(vsliq_n_u8::<4>(low, high), zero);
            odd[j] = veorq_u8(vsriq_n_u8::<4>(high, low), zero);
        }
        for (half, codes) in [even, odd].into_iter().enumerate() {
            let lines = &mut into[(half * LINE / BYTES + part) * LANES..][..LANES];
            for (line, fours) in lines.iter_mut().zip(transposed(codes)) {
                let bytes = &mut line.0[register * BYTES..][..BYTES];
                // SAFETY: there is room for sixteen bytes.
                unsafe { vst1q_u8(bytes.as_mut_ptr(), fours) }
            }
        }
    }
}

/// Turn four registers of four fours of codes over.
#[target_feature(enable = "neon,dotprod")]
fn transposed(rows: [uint8x16_t; LANES]) -> [uint8x16_t; LANES] {
    let [a, b, c, d] = rows.map(|row| vreinterpretq_u32_u8(row));
    let pairs = |a, b| [vreinterpretq_u64_u32(vtrn1q_u32(a, b)), vreinterpretq_u64_u32(vtrn2q_u32(a, b))];
    let ([ab, ab_odd], [cd, cd_odd]) = (pairs(a, b), pairs(c, d));
    let turned = [vtrn1q_u64(ab, cd), vtrn1q_u64(ab_odd, cd_odd), vtrn2q_u64(ab, cd), vtrn2q_u64(ab_odd, cd_odd)];
    turned.map(|fours| vreinterpretq_u8_u64(fours))
}

/// # Safety
/// The tile must have [`GROUPS`] lines for each four codes of every query.
#[target_feature(enable = "neon,dotprod")]
unsafe fn products(queries: &[&CodedQuery; FOUR], tile: &[Line], out: &mut [[i32; BLOCK]; FOUR]) {
    let codes = queries.map(|query| query.lines.as_ptr().cast::<i8>());
    let fours = tile.len() / GROUPS;
    for group in 0..GROUPS {
        let mut sums = queries.map(|query| [vdupq_n_s32(query.sum * i32::from(ZERO)); ROWS / LANES]);
        for first in (0..fours).step_by(BYTES / 4) {
            // SAFETY: each query has as many fours as a group has lines, and these are a multiple of four.
            unsafe {
                let q = codes.map(|codes| vld1q_s8(codes.add(4 * first)));
                let lines = tile.as_ptr().add(group * fours + first);
                each_four::<0>(&mut sums, lines, q);
                each_four::<1>(&mut sums, lines, q);
                each_four::<2>(&mut sums, lines, q);
                each_four::<3>(&mut sums, lines, q);
            }
        }
        for (out, sums) in out.iter_mut().zip(sums) {
            for (out, sum) in out[group * ROWS..].as_chunks_mut::<LANES>().0.iter_mut().zip(sums) {
                // SAFETY: there is room for four integers.
                unsafe { vst1q_s32(out.as_mut_ptr(), sum) }
            }
        }
    }
}

/// Add the products of one four of each query's codes with the line of this number.
///
/// # Safety
/// There must be such a line behind `lines`.
#[inline]
#[expect(clippy::needless_range_loop, reason = "a sum is found by its query and its register")]
#[target_feature(enable = "neon,dotprod")]
unsafe fn each_four<const AT: usize>(
    sums: &mut [[int32x4_t; ROWS / LANES]; FOUR],
    lines: *const Line,
    queries: [int8x16_t; FOUR],
) {
    for r in 0..ROWS / LANES {
        // SAFETY: the caller has the line, which has four registers.
        let rows = unsafe { vld1q_s8(lines.add(AT).cast::<i8>().add(r * BYTES)) };
        for k in 0..FOUR {
            sums[k][r] = dot_lane::<AT>(sums[k][r], rows, queries[k]);
        }
    }
}

/// `vdotq_laneq_s32`, which Rust does not offer yet.
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn dot_lane<const AT: usize>(sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
    let mut out = sum;
    // SAFETY: one instruction on registers, part of the features this function demands.
    unsafe {
        asm!("sdot {out:v}.4s, {a:v}.16b, {b:v}.4b[{at}]", out = inout(vreg) out, a = in(vreg) a, b = in(vreg) b,
            at = const AT, options(pure, nomem, nostack, preserves_flags));
    }
    out
}
