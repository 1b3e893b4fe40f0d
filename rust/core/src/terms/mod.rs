//! Terms: what counts as a word in any script, extra index terms, TF-IDF.

mod ascii;
mod contents;
mod cosine;
mod counting;
mod fold;
mod forms;
mod frequencies;
mod grams;
mod index;
mod listed;
mod memo;
mod names;
mod runs;
mod scripts;
mod sparse_accumulator;
mod spelling;
mod stop_words;
mod stored;
#[cfg(test)]
mod tests;
mod tfidf;
mod token_lists;
mod tokens;
mod words;

pub(crate) use ascii::for_each_run;
pub use fold::fold;
pub use frequencies::Frequencies;
pub use grams::{Needed, grams, needed, places_with_grams, query_grams, words_of_names};
pub use index::TermIndex;
pub(crate) use scripts::is_unspaced;
pub use sparse_accumulator::{Norm, Weighting};
pub use spelling::{ListedSpelling, SpellingIndex, SpellingStatistics, trigram_numbers};
pub use stop_words::{STOP_WORDS, is_stop_word};
pub use stored::{TermLists, stored_term};
pub use tfidf::{Csr, Options, TfidfVectorizer};
pub use tokens::{Cutting, Tokens, tokenize};
pub use words::words;
