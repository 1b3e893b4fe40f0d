//! Products of int8 numbers: rows and weights in blocks of [`BLOCK`] along the sum, each block with a scale of its own.
//!
//! The sum of a block is an integer, exact at every level of instructions; the scaled sums are added up in float32, in
//! the order of the blocks. So a number of a product is the same to the last bit at every level, whatever the other rows
//! are. A level without products of bytes multiplies what the codes stand for, in float32.
//!
//! AVX multiplies bytes without a sign by bytes with one, so with VNNI weights lie in memory plus [`ZERO`]. Its part of a
//! block's sum, `ZERO` times the sum of the row's codes, is where the sum begins. AVX2's own product of bytes would add two
//! of them in 16 bits, where they do not fit: it multiplies numbers of 16 bits, as which it reads codes.

mod codes;
mod kernel;
mod matrix;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avxvnni;
#[cfg(target_arch = "aarch64")]
mod dotprod;
#[cfg(target_arch = "x86_64")]
mod vnni;

use super::line::WIDTH;

pub use codes::{CodedWeights, code_weights};
pub(super) use kernel::Kernel;
pub(super) use matrix::{Panels, Strips, multiply};

/// Numbers of a block.
pub(super) const BLOCK: usize = 32;
/// Fours of numbers in a block.
const FOURS: usize = BLOCK / 4;
/// The byte of a weight's code of 0, where bytes have no sign.
const ZERO: i32 = 128;
/// No kernel takes more rows at once.
const TILE_ROWS: usize = 7;

/// A block of a row.
#[derive(Clone, Copy)]
#[repr(C)]
struct Part {
    codes: [i8; BLOCK],
    /// `-ZERO` times the sum of the codes.
    start: i32,
    scale: f32,
}

impl Part {
    const ZERO: Self = Self { codes: [0; BLOCK], start: 0, scale: 0.0 };

    /// The codes of a four, the first in the lowest byte where a kernel runs.
    #[inline(always)]
    fn four(&self, i: usize) -> i32 {
        let [a, b, c, d] = self.codes.as_chunks::<4>().0[i];
        i32::from_ne_bytes([a as u8, b as u8, c as u8, d as u8])
    }
}

/// A block of each column of a panel; aligned, so that no load of a vector crosses a cache line.
#[derive(Clone)]
#[repr(C, align(64))]
struct Block {
    /// Four codes of each column, for each four; the kernel says where they lie, and as what bytes.
    codes: [[u8; 4 * WIDTH]; FOURS],
    scales: [f32; WIDTH],
}

impl Block {
    /// No columns: what a panel has beyond its matrix.
    const NONE: Self = Self { codes: [[0; 4 * WIDTH]; FOURS], scales: [0.0; WIDTH] };
}
