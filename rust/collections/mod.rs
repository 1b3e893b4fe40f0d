//! Data structures that several indexes share.

mod bitmask;
mod top_k_heap;

pub(crate) use bitmask::{BitMask, ones};
pub(crate) use top_k_heap::TopKHeap;
