//! The tile kernel with AVX2: up to four rows by two vectors, products of numbers of 16 bits, eight sums of a block.

use std::arch::x86_64::*;

use super::codes::code_in_lanes;
use super::{BLOCK, Block, Part};
use crate::encoder::line::{Line, WIDTH};
use crate::simd::Avx2 as Token;

/// Rows at once.
pub(super) const ROWS: usize = 4;
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
                rows => unreachable!("a tile of {rows} rows"),
            }
        }
    }

    /// As `Kernel::code`.
    pub(super) fn code_blocks(self, row: &[f32], parts: &mut [Part], stride: usize) {
        // SAFETY: a token exists only where the features were detected.
        unsafe { code(row, parts, stride) }
    }
}

/// The sums of `M` rows, half a panel at a time.
#[target_feature(enable = "avx2,fma")]
fn tile<const M: usize>(strip: &[Part], panel: &[Block], out: &mut [Line]) {
    for first in (0..WIDTH).step_by(PART) {
        let mut sums = [[_mm256_setzero_ps(); 2]; M];
        for (parts, block) in strip.as_chunks::<M>().0.iter().zip(panel) {
            let factors = parts.each_ref().map(|part| pairs(part));
            let mut whole = [[_mm256_setzero_si256(); 2]; M];
            for (pair, codes) in block.codes.as_flattened().as_chunks::<{ 2 * WIDTH }>().0.iter().enumerate() {
                let codes = codes[2 * first..2 * (first + PART)].as_ptr().cast::<__m128i>();
                // SAFETY: half of the columns have two vectors of sixteen codes, aligned to one.
                let weights = [0, 1].map(|j| unsafe { _mm256_cvtepi8_epi16(_mm_load_si128(codes.add(j))) });
                for i in 0..M {
                    let factor = _mm256_set1_epi32(factors[i].0[pair]);
                    for j in 0..2 {
                        whole[i][j] = _mm256_add_epi32(whole[i][j], _mm256_madd_epi16(weights[j], factor));
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

/// Codes of a block of a row as numbers of 16 bits, in pairs.
#[repr(C, align(32))]
struct Pairs([i32; BLOCK / 2]);

#[inline]
#[target_feature(enable = "avx2,fma")]
fn pairs(part: &Part) -> Pairs {
    let mut out = Pairs([0; BLOCK / 2]);
    for half in 0..2 {
        // SAFETY: a block has two vectors of sixteen codes, and the pairs two of eight, aligned to one.
        unsafe {
            let codes = _mm_loadu_si128(part.codes.as_ptr().cast::<__m128i>().add(half));
            _mm256_store_si256(out.0.as_mut_ptr().cast::<__m256i>().add(half), _mm256_cvtepi8_epi16(codes));
        }
    }
    out
}

#[target_feature(enable = "avx2,fma")]
fn code(row: &[f32], parts: &mut [Part], stride: usize) {
    code_in_lanes(row, parts, stride);
}
