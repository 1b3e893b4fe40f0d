//! The tile kernel with AVX-512 VNNI: up to seven rows by two vectors, fourteen sums of a block and fourteen of all in
//! thirty-two registers.

use std::arch::x86_64::*;

use super::codes::{ROUNDER, start, steps};
use super::{BLOCK, Block, Part, TILE_ROWS};
use crate::encoder::line::Line;
use crate::simd::{self, Vnni as Token};

/// Rows at once.
pub(super) const ROWS: usize = TILE_ROWS;
const LANES: usize = 16;

impl Token {
    /// As `Kernel::tile`.
    pub(super) fn block_tile(self, strip: &[Part], panel: &[Block], fetch: bool, out: &mut [Line]) {
        // SAFETY: a token exists only where the features were detected.
        unsafe {
            match out.len() {
                1 => tile::<1>(strip, panel, fetch, out),
                2 => tile::<2>(strip, panel, fetch, out),
                3 => tile::<3>(strip, panel, fetch, out),
                4 => tile::<4>(strip, panel, fetch, out),
                5 => tile::<5>(strip, panel, fetch, out),
                6 => tile::<6>(strip, panel, fetch, out),
                7 => tile::<7>(strip, panel, fetch, out),
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

/// The sums of `M` rows.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
fn tile<const M: usize>(strip: &[Part], panel: &[Block], fetch: bool, out: &mut [Line]) {
    let mut sums = [[_mm512_setzero_ps(); 2]; M];
    for (at, (parts, block)) in strip.as_chunks::<M>().0.iter().zip(panel).enumerate() {
        if fetch {
            panel.get(at + 1..at + 2).into_iter().for_each(simd::fetch);
        }
        let mut whole = parts.each_ref().map(|part| [_mm512_set1_epi32(part.start); 2]);
        for (four, line) in block.codes.iter().enumerate() {
            let line = line.as_ptr();
            // SAFETY: a line holds two vectors and is aligned to one.
            let weights = [0, size_of::<__m512i>()].map(|from| unsafe { _mm512_load_si512(line.add(from).cast()) });
            for i in 0..M {
                let factor = _mm512_set1_epi32(parts[i].four(four));
                for j in 0..2 {
                    whole[i][j] = _mm512_dpbusd_epi32(whole[i][j], weights[j], factor);
                }
            }
        }
        // SAFETY: a panel's scales are two vectors, aligned to one.
        let scales = [0, LANES].map(|first| unsafe { _mm512_load_ps(block.scales.as_ptr().add(first)) });
        for i in 0..M {
            let scale = _mm512_set1_ps(parts[i].scale);
            for j in 0..2 {
                let both = _mm512_mul_ps(scales[j], scale);
                sums[i][j] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(whole[i][j]), both, sums[i][j]);
            }
        }
    }
    for (line, sum) in out.iter_mut().zip(sums) {
        // SAFETY: a line holds two vectors and is aligned to one.
        unsafe {
            _mm512_store_ps(line.0.as_mut_ptr(), sum[0]);
            _mm512_store_ps(line.0.as_mut_ptr().add(LANES), sum[1]);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
fn code(row: &[f32], parts: &mut [Part], stride: usize) {
    let rounder = _mm512_set1_ps(ROUNDER);
    for (part, block) in parts.iter_mut().step_by(stride).zip(row.as_chunks::<BLOCK>().0) {
        // SAFETY: a block has two vectors; the load needs no alignment.
        let halves = [0, LANES].map(|from| unsafe { _mm512_loadu_ps(block.as_ptr().add(from)) });
        let [low, high] = halves.map(|x| _mm512_castps_si512(_mm512_abs_ps(x)));
        let size = f32::from_bits(_mm512_reduce_max_epu32(_mm512_max_epu32(low, high)));
        let (factor, scale) = steps(size);
        let factor = _mm512_set1_ps(factor);
        let bits = halves.map(|x| _mm512_castps_si512(_mm512_add_ps(_mm512_mul_ps(x, factor), rounder)));
        let [low, high] = bits.map(|bits| _mm512_sub_epi32(bits, _mm512_castps_si512(rounder)));
        let sum = _mm512_reduce_add_epi32(_mm512_add_epi32(low, high));
        let to = part.codes.as_mut_ptr();
        // SAFETY: there is room for two vectors of sixteen codes; the store needs no alignment.
        unsafe {
            _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(low));
            _mm_storeu_si128(to.add(LANES).cast(), _mm512_cvtepi32_epi8(high));
        }
        (part.start, part.scale) = (start(sum), scale);
    }
}
