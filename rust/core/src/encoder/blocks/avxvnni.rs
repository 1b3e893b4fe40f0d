//! The tile kernel with AVX-VNNI: up to six rows by two vectors, twelve sums of a block in sixteen registers.

use std::arch::x86_64::*;

use super::{Block, Part};
use crate::encoder::line::{Line, WIDTH};
use crate::simd::AvxVnni as Token;

/// Rows at once.
pub(super) const ROWS: usize = 6;
const LANES: usize = 8;
/// Columns of one pass over the panel.
const PART: usize = 2 * LANES;

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
                5 => tile::<5>(strip, panel, out),
                6 => tile::<6>(strip, panel, out),
                rows => unreachable!("a tile of {rows} rows"),
            }
        }
    }
}

/// The sums of `M` rows, half a panel at a time.
#[target_feature(enable = "avxvnni,avx2,fma")]
fn tile<const M: usize>(strip: &[Part], panel: &[Block], out: &mut [Line]) {
    for first in (0..WIDTH).step_by(PART) {
        let mut sums = [[_mm256_setzero_ps(); 2]; M];
        for (parts, block) in strip.as_chunks::<M>().0.iter().zip(panel) {
            let mut whole = parts.each_ref().map(|part| [_mm256_set1_epi32(part.start); 2]);
            for (four, line) in block.codes.iter().enumerate() {
                let half = line[4 * first..4 * (first + PART)].as_ptr().cast::<__m256i>();
                // SAFETY: half a line holds two vectors and is aligned to one.
                let weights = unsafe { [_mm256_load_si256(half), _mm256_load_si256(half.add(1))] };
                for i in 0..M {
                    let factor = _mm256_set1_epi32(parts[i].four(four));
                    for j in 0..2 {
                        whole[i][j] = _mm256_dpbusd_avx_epi32(whole[i][j], weights[j], factor);
                    }
                }
            }
            let scales = block.scales[first..first + PART].as_ptr();
            // SAFETY: there are PART scales from `first` on, aligned to a vector.
            let scales = [0, LANES].map(|from| unsafe { _mm256_load_ps(scales.add(from)) });
            for i in 0..M {
                let scale = _mm256_set1_ps(parts[i].scale);
                for j in 0..2 {
                    let both = _mm256_mul_ps(scales[j], scale);
                    sums[i][j] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(whole[i][j]), both, sums[i][j]);
                }
            }
        }
        for (line, sum) in out.iter_mut().zip(sums) {
            // SAFETY: a line holds the PART numbers from `first` on, aligned to a vector.
            unsafe {
                _mm256_store_ps(line.0.as_mut_ptr().add(first), sum[0]);
                _mm256_store_ps(line.0.as_mut_ptr().add(first + LANES), sum[1]);
            }
        }
    }
}
