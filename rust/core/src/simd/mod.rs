//! The choice of SIMD instructions: what this processor can run, under which names. Kernels stay beside their callers.
//!
//! - [`Level`]: a named set of instructions, the only thing that callers choose;
//! - tokens ([`tokens`]): the proof that instructions exist, which a kernel demands before it runs.

mod fetch;
mod level;
mod tokens;

pub(crate) use fetch::fetch;
pub use level::Level;
pub(crate) use level::Proof;
#[cfg(target_arch = "x86_64")]
pub(crate) use tokens::{Avx2, Avx512, AvxVnni, Vnni};
#[cfg(target_arch = "aarch64")]
pub(crate) use tokens::{Dotprod, Neon};
