//! The forward pass of a BERT-type sentence model: from the words' vectors of texts to one unit vector a text.
//!
//! Texts lie one behind the other, without padding. Every sum runs in float32, or in integers within a block of int8
//! numbers, and in one order, so a vector does not depend on the texts beside it nor on the number of threads, to the
//! last bit of one level of instructions.

mod blocks;
mod four_bits;
mod kernel;
mod layer;
mod line;
mod map;
mod matrix;
mod model;
mod plain;
mod pointwise;
mod pooling;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

pub use blocks::{CodedWeights, code_weights};
pub use four_bits::{BLOCK, BLOCK_BYTES, four_bit_numbers};
pub use layer::{LayerWeights, NormWeights};
pub use map::{Linear, Weight};
pub use model::{Encoder, Settings};
pub use pointwise::Activation;
pub use pooling::Pooling;
