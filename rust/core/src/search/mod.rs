//! A search over one snapshot: from query terms and a query vector to ranked candidates.
//!
//! - [`Corpus`]: the arrays of a snapshot, borrowed; [`Selection`]: which of its slots a search may return;
//! - [`recall()`]: both legs, their union, and every column that needs the corpus, for one query or many;
//! - [`text_place`], [`vector_place`]: the place of one slot in a leg;
//! - [`Pool`]: candidates as parallel arrays, also those of several tiers, united;
//! - [`spans()`]: where the terms of a query stand in a text; [`FullText::words_near`]: words that may be meant;
//! - [`rank()`]: facts, signals, weights and order of a pool; [`Balance`] of two weights, [`Smoothing`] of signals, [`Adjustment`] of
//!   scores, [`Confidence`].

mod adjustment;
mod balance;
mod cascade;
mod confidence;
mod corpus;
mod labels;
mod place;
mod pool;
mod query;
mod rank;
mod recall;
mod request;
mod selection;
mod smoothing;
mod spans;
mod vocabulary;

pub use adjustment::Adjustment;
pub use balance::Balance;
pub use confidence::Confidence;
pub use corpus::{Corpus, FullText, Space};
pub use labels::{Labels, NameTable};
pub use place::{TextPlace, VectorPlace, text_place, vector_place};
pub use pool::Pool;
pub use query::{CascadeWords, MOST_NEEDED, StopWords, Terms, cascade_words, needed_words, query_terms};
pub use rank::{FactRules, Fixed, Least, Placed, QueryFacts, Ranking, Rules, rank};
pub use recall::{Recalled, candidates_at, recall};
pub use request::{Columns, Guard, Query, Request};
pub use selection::Selection;
pub use smoothing::{Smoothing, Unless};
pub use spans::{Span, spans};
pub use vocabulary::{Word, edits_between};
