//! The tile kernel with NEON's dot product: up to four rows by four vectors, sixteen sums of a block in thirty-two
//! registers.

use std::arch::aarch64::*;
use std::arch::asm;

use super::{Block, Part};
use crate::encoder::line::{Line, WIDTH};
use crate::simd::Dotprod as Token;

/// Rows at once.
pub(super) const ROWS: usize = 4;
const LANES: usize = 4;
/// Columns of one pass over the panel.
const PART: usize = 4 * LANES;

impl Token {
    /// As `Kernel::tile`.
    pub(super) fn block_tile(self, strip: &[Part], panel: &[Block], out: &mut [Line]) {
        // SAFETY: a token exists only where the features were detected.
        unsafe {
            match out.len() {
                1 => tile::<1>(strip, panel, out),
                2 => tile::<2>(strip, panel, out),
                3 => tile::<3>(strip, panel, out),
                4 => tile::<4>(strip, panel, out),
                rows => unreachable!("a tile of {rows} rows"),
            }
        }
    }
}

/// The sums of `M` rows, half a panel at a time.
#[target_feature(enable = "neon,dotprod")]
fn tile<const M: usize>(strip: &[Part], panel: &[Block], out: &mut [Line]) {
    let vectors = [0, 1, 2, 3].map(|j| j * LANES);
    for first in (0..WIDTH).step_by(PART) {
        let mut sums = [[vdupq_n_f32(0.0); 4]; M];
        for (parts, block) in strip.as_chunks::<M>().0.iter().zip(panel) {
            let mut whole = [[vdupq_n_s32(0); 4]; M];
            for (four, line) in block.codes.iter().enumerate() {
                let line = line[4 * first..4 * (first + PART)].as_ptr();
                // SAFETY: there are PART columns from `first` on, four codes each.
                let weights = vectors.map(|from| unsafe { vld1q_s8(line.add(4 * from).cast()) });
                for i in 0..M {
                    let factor = vreinterpretq_s8_s32(vdupq_n_s32(parts[i].four(four)));
                    for j in 0..4 {
                        whole[i][j] = dot(whole[i][j], weights[j], factor);
                    }
                }
            }
            let scales = block.scales[first..first + PART].as_ptr();
            // SAFETY: there are PART scales from `first` on.
            let scales = vectors.map(|from| unsafe { vld1q_f32(scales.add(from)) });
            for i in 0..M {
                for j in 0..4 {
                    let both = vmulq_n_f32(scales[j], parts[i].scale);
                    sums[i][j] = vfmaq_f32(sums[i][j], vcvtq_f32_s32(whole[i][j]), both);
                }
            }
        }
        for (line, sums) in out.iter_mut().zip(sums) {
            for (out, sum) in line.0[first..first + PART].as_chunks_mut::<LANES>().0.iter_mut().zip(sums) {
                // SAFETY: there is room for four numbers.
                unsafe { vst1q_f32(out.as_mut_ptr(), sum) }
            }
        }
    }
}

/// `vdotq_s32`, which Rust does not offer yet.
#[inline]
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
