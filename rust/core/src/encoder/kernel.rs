//! The choice of instructions for the encoder: the one place that calls into its SIMD files.

use super::line::Line;
use super::plain;
use super::pointwise::{Activation, Norm, activate_in_lanes, exps_in_lanes, normalise_in_lanes};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{Level, Proof};

/// The instructions of a level. A value exists only for what was detected.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    Plain,
}

impl Kernel {
    /// The kernel of a level. NEON needs none: the compiler turns the plain one into it.
    pub(super) fn of(level: Level) -> Self {
        match level.proof() {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(token) => Self::Avx512(token),
            #[cfg(target_arch = "x86_64")]
            Proof::AvxVnni(token) | Proof::Avx2(token) => Self::Avx2(token),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(_) => Self::Plain,
            Proof::Scalar => Self::Plain,
        }
    }

    /// Maximum rows of a tile.
    pub(super) fn rows(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => avx512::ROWS,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => avx2::ROWS,
            Self::Plain => plain::ROWS,
        }
    }

    /// Write the product of a strip of `out.len()` rows, column by column, with a panel. `fetch` says that the panel is
    /// read for the first time, so its lines are asked of memory early: a question's vector took 1.7 ms with it, 2.2
    /// without.
    ///
    /// # Panics
    /// If the strip does not fit, or has more than [`Kernel::rows`].
    pub(super) fn tile(self, strip: &[f32], panel: &[Line], fetch: bool, out: &mut [Line]) {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = fetch;
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => token.tile(strip, panel, fetch, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => token.tile(strip, panel, out),
            Self::Plain => plain::tile(strip, panel, out),
        }
    }

    /// Apply the activation to each value.
    pub(super) fn activate(self, values: &mut [f32], activation: Activation) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => token.activate(values, activation),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => token.activate(values, activation),
            Self::Plain => activate_in_lanes(values, activation),
        }
    }

    /// Replace the numbers of each column by those that the softmax of `scale` times the column is a multiple of, at
    /// most 1, and return the columns' sums.
    pub(super) fn exps(self, lines: &mut [Line], scale: f32) -> Line {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => token.exps(lines, scale),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => token.exps(lines, scale),
            Self::Plain => exps_in_lanes(lines, scale),
        }
    }

    /// Normalise a row to mean 0 and variance 1, then scale and shift it.
    pub(super) fn normalise(self, row: &mut [f32], norm: &Norm) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => token.normalise(row, norm),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => token.normalise(row, norm),
            Self::Plain => normalise_in_lanes(row, norm),
        }
    }
}
