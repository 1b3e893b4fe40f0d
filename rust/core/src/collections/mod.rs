//! Data structures that several indexes share.

mod bitmask;
mod delta;
mod interner;
mod lexicon;
mod shared_counts;
mod sum;
mod top_k_heap;

pub(crate) use bitmask::{BitMask, Bits, ones};
pub(crate) use delta::{for_each_count, for_each_number, numbers, push_numbers};
pub(crate) use interner::Interner;
pub(crate) use lexicon::{Lexicon, SHORT, Term, text, united};
pub(crate) use shared_counts::SharedCounts;
pub(crate) use sum::Sum;
pub(crate) use top_k_heap::TopKHeap;
