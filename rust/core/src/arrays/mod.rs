//! Arrays that live in memory or in a mapped file, and the files that hold them.
//!
//! An [`ArrayFile`] is written once, under a name of its own, and never changed: columns of plain numbers, each at a
//! multiple of 64 bytes, then a table of contents. Opening one reads its head and its table and checks them; the
//! columns are mapped, so a process loads only what it touches, and processes share it. The contents of columns are not
//! trusted: readers check what they rely on, and [`ArrayFile::verify`] compares the checksums.

mod array;
mod file;
#[cfg(test)]
pub(crate) mod folder;
mod names;
mod pages;
mod parts;
mod places;
mod source;
mod table;
#[cfg(all(test, windows))]
mod windows_tests;
mod write;

pub use array::Array;
pub use file::ArrayFile;
pub use names::Names;
pub use pages::room_for;
pub use parts::{Ends, part, part_of};
pub use places::Places;
pub use source::{READ_BYTES, Source, plain, whole};
pub use write::ArrayWriter;

/// Columns begin at multiples of this, so that the widest loads never cross a cache line.
const ALIGNMENT: u64 = 64;
/// The layout described in `table.rs`; another number is another layout.
const FORMAT: u32 = 2;
