//! Dense vectors: unit rows, exact dot products, exact top-k.
//!
//! The scan runs in float32 on the fastest level the processor has ([`Level`]); every answer is a float64 one.

mod codes;
mod cosine;
mod dispatch;
mod dot;
mod gram;
mod lanes;
mod measure;
mod pieces;
mod rows;
mod sample;
mod scalar;
mod select;
mod top_k;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;

pub use codes::{Codes, MOST_DIMENSIONS, Request, probe_coded, top_k_batch_coded, top_k_coded};
pub use cosine::{Cosine, cosine_at};
pub use dot::{dot, square_distance};
pub use gram::gram;
pub use pieces::{FileRows, Pieces, ReadRows};
pub use rows::{Rows, unit_query, unit_rows};
pub use sample::{Moments, Sample, row_keys};
pub use top_k::{Hits, Mask, top_k, top_k_of_few};

pub use crate::simd::Level;
