//! The tile kernel with AVX-512F: up to fourteen rows by two vectors, twenty-eight sums in thirty-two registers.

use std::arch::x86_64::*;

use super::line::{Line, MOST_ROWS, WIDTH};
use super::pointwise::{self, Activation, Norm};
use crate::simd::Avx512 as Token;

/// Rows at once.
pub(super) const ROWS: usize = MOST_ROWS;
const LANES: usize = 16;
/// Cache lines to prefetch ahead.
const AHEAD: usize = 8;

impl Token {
    /// As `Kernel::tile`.
    pub(super) fn tile(self, strip: &[f32], panel: &[Line], fetch: bool, out: &mut [Line]) {
        assert_eq!(strip.len(), out.len() * panel.len());
        // SAFETY: a token exists only where the features were detected; the strip holds `out.len()` numbers a line.
        unsafe {
            match out.len() {
                1 => tile::<1>(strip, panel, fetch, out),
                2 => tile::<2>(strip, panel, fetch, out),
                3 => tile::<3>(strip, panel, fetch, out),
                4 => tile::<4>(strip, panel, fetch, out),
                5 => tile::<5>(strip, panel, fetch, out),
                6 => tile::<6>(strip, panel, fetch, out),
                7 => tile::<7>(strip, panel, fetch, out),
                8 => tile::<8>(strip, panel, fetch, out),
                9 => tile::<9>(strip, panel, fetch, out),
                10 => tile::<10>(strip, panel, fetch, out),
                11 => tile::<11>(strip, panel, fetch, out),
                12 => tile::<12>(strip, panel, fetch, out),
                13 => tile::<13>(strip, panel, fetch, out),
                14 => tile::<14>(strip, panel, fetch, out),
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

/// The sums of `M` rows.
///
/// # Safety
/// The strip must hold `M` numbers for each line of the panel.
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn tile<const M: usize>(strip: &[f32], panel: &[Line], fetch: bool, out: &mut [Line]) {
    let mut sums = [[_mm512_setzero_ps(); 2]; M];
    let mut x = strip.as_ptr();
    for line in panel {
        // SAFETY: a line holds two vectors; the strip has M numbers for it.
        unsafe {
            if fetch {
                _mm_prefetch::<_MM_HINT_T0>(line.0.as_ptr().wrapping_add(AHEAD * WIDTH).cast());
                _mm_prefetch::<_MM_HINT_T0>(line.0.as_ptr().wrapping_add(AHEAD * WIDTH + LANES).cast());
            }
            let low = _mm512_load_ps(line.0.as_ptr());
            let high = _mm512_load_ps(line.0.as_ptr().add(LANES));
            for (i, sum) in sums.iter_mut().enumerate() {
                let factor = _mm512_set1_ps(*x.add(i));
                sum[0] = _mm512_fmadd_ps(factor, low, sum[0]);
                sum[1] = _mm512_fmadd_ps(factor, high, sum[1]);
            }
            x = x.add(M);
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

#[target_feature(enable = "avx512f,avx2,fma")]
fn activate(values: &mut [f32], activation: Activation) {
    pointwise::activate_in_lanes(values, activation);
}

#[target_feature(enable = "avx512f,avx2,fma")]
fn exps(lines: &mut [Line], scale: f32) -> Line {
    pointwise::exps_in_lanes(lines, scale)
}

#[target_feature(enable = "avx512f,avx2,fma")]
fn normalise(row: &mut [f32], norm: &Norm) {
    pointwise::normalise_in_lanes(row, norm);
}
