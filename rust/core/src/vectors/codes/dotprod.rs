//! Products of nibbles and bytes with NEON's dot product: 32 codes at a time, four rows side by side.

use std::arch::aarch64::*;
use std::arch::asm;

use super::line::{At, LINE, Line};
use super::quantise::CodedQuery;
use crate::simd::Dotprod as Token;

const WIDTH: usize = 4;
const LANES: usize = 16;

impl Token {
    /// As `Kernel::products`.
    pub(super) fn products(self, query: &CodedQuery, plane: &[Line], at: At<'_>, out: &mut [i32]) {
        let lines = query.lines.len() / 2;
        at.check(out.len(), plane.len() / lines);
        let last = out.len().saturating_sub(1);
        for (group, out) in out.chunks_mut(WIDTH).enumerate() {
            // A short last group computes its last row again rather than having a loop of its own.
            let four = [0, 1, 2, 3].map(|j| {
                let row = at.row((group * WIDTH + j).min(last));
                &plane[row * lines..(row + 1) * lines]
            });
            // SAFETY: a token exists only where the features were detected; the query has two lines for
            // each of a row.
            let sums = unsafe { four_rows(&query.lines, four) };
            out.copy_from_slice(&sums[..out.len()]);
        }
    }
}

/// # Safety
/// The query must have two lines for each line of every row.
#[target_feature(enable = "neon,dotprod")]
unsafe fn four_rows(query: &[Line], rows: [&[Line]; WIDTH]) -> [i32; WIDTH] {
    let nibble = vdupq_n_u8(0x0f);
    let mut sums = [vdupq_n_s32(0); WIDTH];
    for (i, [even, odd]) in query.as_chunks::<2>().0.iter().enumerate() {
        for part in (0..LINE).step_by(LANES) {
            // SAFETY: `part` counts sixteen bytes of a line; every row has a line for two of the query.
            unsafe {
                let even = vld1q_s8(even.0.as_ptr().cast::<i8>().add(part));
                let odd = vld1q_s8(odd.0.as_ptr().cast::<i8>().add(part));
                for j in 0..WIDTH {
                    let x = vld1q_u8(rows[j].as_ptr().add(i).cast::<u8>().add(part));
                    sums[j] = dot(sums[j], vreinterpretq_s8_u8(vandq_u8(x, nibble)), even);
                    sums[j] = dot(sums[j], vreinterpretq_s8_u8(vshrq_n_u8::<4>(x)), odd);
                }
            }
        }
    }
    sums.map(|sum| vaddvq_s32(sum))
}

/// `vdotq_s32`, which Rust does not offer yet.
#[target_feature(enable = "neon,dotprod")]
fn dot(sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
    let mut out = sum;
    // SAFETY: one instruction on registers, part of the features this function demands.
    unsafe {
        asm!("sdot {out:v}.4s, {a:v}.16b, {b:v}.16b", out = inout(vreg) out, a = in(vreg) a, b = in(vreg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    out
}
