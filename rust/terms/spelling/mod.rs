//! How much of a query's spelling a text shares: misspelt, inflected and compound words meet here.

mod asked;
mod counts;
mod spell;
mod trigram;

pub(super) use asked::Asked;
pub(super) use counts::Counts;
pub(super) use spell::Speller;
