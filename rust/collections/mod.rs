//! Data structures that several indexes share.

mod bitmask;
mod delta;
mod top_k_heap;

pub(crate) use bitmask::{BitMask, ones};
pub(crate) use delta::{for_each_count, for_each_number, numbers, push_numbers};
pub(crate) use top_k_heap::TopKHeap;
