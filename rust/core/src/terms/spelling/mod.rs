//! The share of a query's spelling in a text: misspelt, inflected and compound words meet here.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod contents;
mod index;
mod listed;
mod lists;
mod matches;
mod names;
mod numbers;
mod query_profile;
mod shared;
mod spell;
mod statistics;
#[cfg(test)]
mod tests;
mod trigram;
mod walk;

pub use index::SpellingIndex;
pub use listed::ListedSpelling;
pub use statistics::{SpellingStatistics, trigram_numbers};
