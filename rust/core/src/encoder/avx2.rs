//! The tile kernel with AVX2 and FMA: up to six rows by two vectors, twelve sums in sixteen registers.

use std::arch::x86_64::*;

use super::line::{Line, WIDTH};
use super::pointwise::{self, Activation, Norm};
use crate::simd::Avx2 as Token;

/// Rows at once.
pub(super) const ROWS: usize = 6;
const LANES: usize = 8;
/// Columns of one pass over the panel.
const PART: usize = 2 * LANES;

impl Token {
    /// As `Kernel::tile`.
    pub(super) fn tile(self, strip: &[f32], panel: &[Line], out: &mut [Line]) {
        assert_eq!(strip.len(), out.len() * panel.len());
        // SAFETY: a token exists only where the features were detected; the strip holds `out.len()` numbers a line.
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

    /// As `Kernel::activate`.
    pub(super) fn activate(self, values: &mut [f32], activation: Activation) {
        // SAFETY: a token exists only where the features were detected.
        unsafe { activate(values, activation) }
    }

    /// As `Kernel::exps`.
    pub(super) fn exps(self, lines: &mut [Line], scale: f32) -> Line {
        // SAFETY: a token exists only where the features were detected.
        unsafe { exps(lines, scale) }
    }

    /// As `Kernel::normalise`.
    pub(super) fn normalise(self, row: &mut [f32], norm: &Norm) {
        // SAFETY: a token exists only where the features were detected.
        unsafe { normalise(row, norm) }
    }
}

/// The sums of `M` rows, half a panel at a time.
///
/// # Safety
/// The strip must hold `M` numbers for each line of the panel.
#[target_feature(enable = "avx2,fma")]
unsafe fn tile<const M: usize>(strip: &[f32], panel: &[Line], out: &mut [Line]) {
    for first in (0..WIDTH).step_by(PART) {
        let mut sums = [[_mm256_setzero_ps(); 2]; M];
        let mut x = strip.as_ptr();
        for line in panel {
            // SAFETY: a line holds the PART numbers from `first` on; the strip has M numbers for it.
            unsafe {
                let low = _mm256_load_ps(line.0.as_ptr().add(first));
                let high = _mm256_load_ps(line.0.as_ptr().add(first + LANES));
                for (i, sum) in sums.iter_mut().enumerate() {
                    let factor = _mm256_set1_ps(*x.add(i));
                    sum[0] = _mm256_fmadd_ps(factor, low, sum[0]);
                    sum[1] = _mm256_fmadd_ps(factor, high, sum[1]);
                }
                x = x.add(M);
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

#[target_feature(enable = "avx2,fma")]
fn activate(values: &mut [f32], activation: Activation) {
    pointwise::activate_in_lanes(values, activation);
}

#[target_feature(enable = "avx2,fma")]
fn exps(lines: &mut [Line], scale: f32) -> Line {
    pointwise::exps_in_lanes(lines, scale)
}

#[target_feature(enable = "avx2,fma")]
fn normalise(row: &mut [f32], norm: &Norm) {
    pointwise::normalise_in_lanes(row, norm);
}
