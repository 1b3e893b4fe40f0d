//! How much of a query's spelling a text shares: misspelt, inflected and compound words meet here.

mod contents;
mod counts;
mod index;
mod lists;
mod matches;
mod names;
mod numbers;
mod query_profile;
mod spell;
#[cfg(test)]
mod tests;
mod trigram;
mod walk;

pub(super) use counts::Counts;
pub use index::SpellingIndex;
pub(super) use query_profile::QueryProfile;
pub(super) use spell::Speller;
