//! FTS5's full-text ranking from memory: its tokens, its document frequencies, its `bm25()` to the last bit.
//!
//! - [`index_terms`]: the terms that FTS5 with `porter unicode61 remove_diacritics 2` makes of a text; [`tokens`]: with their
//!   places;
//! - [`TextIndex`]: postings of texts by slot, append-only; [`Statistics`]: the rows that count, immutable;
//! - [`bm25_top_k`], [`bm25_at`]: the best slots for query terms, and the scores of given slots; [`rows_holding`];
//! - [`rank_of()`]: the place of one slot among all matches; [`held_at`]: the terms that it holds;
//! - [`beginnings()`], [`cascade_top_k`]: words as beginnings, all of them, fewer of them, or any;
//! - [`matched_at`]: how much of a query slots hold; [`feedback_at`]: how like the best slots they are.

mod base;
mod beginnings;
mod cascade;
mod column_counts;
mod contents;
mod dense;
mod feedback;
mod forward;
mod index;
mod limits;
mod list;
mod listed;
mod matched;
mod needed;
mod order;
mod place;
mod porter;
mod postings;
mod query;
mod rank;
mod rank_of;
mod statistics;
mod tables;
#[cfg(test)]
mod tests;
mod tokens;
mod top_candidates;
mod unicode61;
mod write;

pub use beginnings::{Beginnings, beginnings};
pub use cascade::{Step, cascade_at, cascade_top_k};
pub(crate) use column_counts::weighted;
pub use feedback::{Feedback, feedback_at};
pub use index::TextIndex;
pub use listed::ListedRows;
pub use matched::{Matched, matched_at, matched_in};
pub use needed::{bm25_top_k_first, holds_all_at};
pub use rank::{Hits, Part, Wanted, bm25_at, bm25_of_part_at, bm25_top_k, rows_holding};
pub use rank_of::{TextRank, cascade_rank_of, held_at, rank_of};
pub use statistics::{Constants, FTS5, Given, Statistics};
pub use tokens::{Token, index_terms, tokens};
