//! Kernels of Septet: exact cosine top-k, FTS5's ranking, terms and TF-IDF, fusion,
//! the forward pass of sentence models, long texts cut into windows, the files below a folder
//! and what they define.
//!
//! The crate is Rust alone: `rust/binding` is the border to Python.
//! Shapes in the documentation: `n` rows, `d` dimensions, `m` candidates, `c` columns, `k` wanted.

pub mod arrays;
pub mod blocks;
mod collections;
pub mod encoder;
pub mod entries;
pub mod error;
pub mod facts;
pub mod formula;
pub mod fts;
pub mod fuse;
pub mod inventory;
pub mod links;
mod pool;
pub mod search;
pub mod simd;
pub mod symbols;
mod system;
pub mod terms;
pub mod text;
pub mod unigram;
pub mod vectors;
pub mod walk;

pub use error::{Error, Result};

/// Property tests draw the same cases in every run.
#[cfg(test)]
fn seeded(cases: u32) -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, RngSeed};
    Config { cases, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..Config::default() }
}
