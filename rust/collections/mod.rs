//! Data structures that several indexes share.

mod bitmask;

pub(crate) use bitmask::{BitMask, ones};
