//! How much of a query's spelling a text shares: misspelt, inflected and compound words meet here.

mod asked;
mod counts;
mod index;
mod lists;
mod matches;
mod names;
mod numbers;
mod query;
mod spell;
#[cfg(test)]
mod tests;
mod trigram;

pub(super) use asked::Asked;
pub(super) use counts::Counts;
pub use index::SpellingIndex;
pub(super) use spell::Speller;
