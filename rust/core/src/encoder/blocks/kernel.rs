//! The choice of instructions for blocks: the one place that calls into their SIMD files.

#[cfg(target_arch = "aarch64")]
use super::codes::code_in_lanes;
#[cfg(target_arch = "aarch64")]
use super::dotprod;
use super::{Block, Part};
#[cfg(target_arch = "x86_64")]
use super::{ZERO, avx2, avxvnni, vnni};
use crate::encoder::line::Line;
#[cfg(target_arch = "x86_64")]
use crate::encoder::line::WIDTH;
#[cfg(target_arch = "aarch64")]
use crate::simd::Dotprod;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, AvxVnni, Vnni};
use crate::simd::{Level, Proof};

/// The instructions that a level has for bytes. A value exists only for what was detected.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Vnni(Vnni),
    #[cfg(target_arch = "x86_64")]
    AvxVnni(AvxVnni),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "aarch64")]
    Dotprod(Dotprod),
}

impl Kernel {
    /// The best that belongs to a level: older AVX-512 machines lack VNNI. None where a level has no products of bytes, as
    /// older NEON ones.
    pub(in super::super) fn of(level: Level) -> Option<Self> {
        match level.proof() {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(_) => Vnni::detect().map(Self::Vnni).or_else(|| Avx2::detect().map(Self::Avx2)),
            #[cfg(target_arch = "x86_64")]
            Proof::AvxVnni(token) => Some(AvxVnni::detect().map_or(Self::Avx2(token), Self::AvxVnni)),
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(token) => Some(Self::Avx2(token)),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(_) => Dotprod::detect().map(Self::Dotprod),
            Proof::Scalar => None,
        }
    }

    /// Maximum rows of a tile.
    pub(super) fn rows(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(_) => vnni::ROWS,
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(_) => avxvnni::ROWS,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => avx2::ROWS,
            #[cfg(target_arch = "aarch64")]
            Self::Dotprod(_) => dotprod::ROWS,
        }
    }

    /// The place of a column's code among those of a four, and its byte.
    pub(super) fn place(self, column: usize, i: usize, code: i8) -> (usize, u8) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(_) | Self::AvxVnni(_) => (4 * column + i, (code as u8).wrapping_add(ZERO as u8)),
            // Two codes of each column, then the other two.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => (i / 2 * 2 * WIDTH + 2 * column + i % 2, code as u8),
            #[cfg(target_arch = "aarch64")]
            Self::Dotprod(_) => (4 * column + i, code as u8),
        }
    }

    /// Write the blocks of a row, `stride` parts apart.
    pub(super) fn code(self, row: &[f32], parts: &mut [Part], stride: usize) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(token) => token.code_blocks(row, parts, stride),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(token) => token.avx2().code_blocks(row, parts, stride),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => token.code_blocks(row, parts, stride),
            #[cfg(target_arch = "aarch64")]
            Self::Dotprod(_) => code_in_lanes(row, parts, stride),
        }
    }

    /// Write the product of a strip of `out.len()` rows, block by block, with a panel. `fetch` says that the panel is
    /// read for the first time, so it is asked of memory early.
    ///
    /// # Panics
    /// If the strip does not fit, or has more than [`Kernel::rows`].
    pub(super) fn tile(self, strip: &[Part], panel: &[Block], fetch: bool, out: &mut [Line]) {
        assert_eq!(strip.len(), out.len() * panel.len());
        #[cfg(not(target_arch = "x86_64"))]
        let _ = fetch;
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(token) => token.block_tile(strip, panel, fetch, out),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(token) => token.block_tile(strip, panel, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => token.block_tile(strip, panel, out),
            #[cfg(target_arch = "aarch64")]
            Self::Dotprod(token) => token.block_tile(strip, panel, out),
        }
    }
}
