//! A recall request: its queries, and the candidates and columns that each asks for.

use super::selection::Selection;
use crate::fts::{self, Feedback, Step};
use crate::terms::Needed;

/// One query, as the legs read it.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The query, for the comparison of spelling and for TF-IDF.
    pub text: &'a str,
    /// The terms of full text; none when it is not searched.
    pub terms: &'a [String],
    /// The number of leading terms that are words of the query; others are grams.
    pub words: usize,
    /// True if the table of grams is searched too.
    pub grams: bool,
    /// Entries that hold all of these come before those that hold some; None where they are equal.
    pub needed: Option<&'a [Needed]>,
    /// Terms are beginnings of words, of which entries hold what the first step says that has an answer; None where whole
    /// words count, any of them.
    pub steps: Option<&'a [Step]>,
    /// The query vector: as it was given `(d,)`, and of unit length `(d,)`.
    pub vector: Option<(&'a [f64], &'a [f32])>,
    /// Slots and scores by full text, best first, that FTS5 found: where full text is not in memory, or a term is a
    /// phrase. Scores of other candidates are left unknown then.
    pub found: Option<(&'a [i64], &'a [f64])>,
}

/// The candidates and columns that each query of a batch asks for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Candidates that each leg takes, for a query without a vector and for one with.
    pub k: (usize, usize),
    /// When every match becomes a candidate; None never.
    pub guard: Option<Guard>,
    /// The weights of the five columns of full text.
    pub weights: &'a [f64],
    /// The constants of BM25.
    pub constants: fts::Constants,
    /// The columns to fill.
    pub columns: Columns,
    /// Which slots may be returned; None allows all.
    pub selection: Option<&'a Selection>,
    /// The share of the nearest vectors to expect of codes in lists, above 0; 1 finds all of them.
    pub recall: f64,
    /// The place of the tier, which candidates carry.
    pub tier: u32,
}

/// The small-corpus guard: it fires when fewer than `below` entries match, more than half of which `limit` would drop.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// Matches from which on it does not fire.
    pub below: usize,
    /// The limit that it overrides.
    pub limit: usize,
}

/// The columns that need the corpus, beside those that are always there: FTS5's score `bm25`, 0 where no term matches,
/// and how much of the query the candidate holds (`information`, `matched`, `matched_title`: see [`fts::Matched`];
/// `title`, how nearly the title is the query; `reach`, the score as a part of the most it can be); `all_words`, 1
/// where it holds all that are needed, if words are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Columns {
    /// The share of the grams in `bm25`: `bm25_grams`, 0 without grams.
    pub grams: bool,
    /// The TF-IDF cosine.
    pub tfidf: bool,
    /// BM25 over the trigrams inside words.
    pub trigram: bool,
    /// The match of the candidate with words of the best by text; left out if a candidate holds more of the query's
    /// information than the share.
    pub feedback: Option<(Feedback, f64)>,
    /// The cosine with the query vector, NaN for candidates without a vector; what it is in all of the space
    /// (`cosine_mean`, `cosine_deviation`, `cosine_rows`), and of two rows (`pair_mean`, `pair_deviation`; `agreement`).
    pub cosine: bool,
    /// True if candidates bring their vectors.
    pub vectors: bool,
}

impl Request<'_> {
    /// Maximum candidates of each leg.
    pub(super) fn k(&self, query: &Query<'_>) -> usize {
        if query.vector.is_some() { self.k.1 } else { self.k.0 }
    }

    /// Full-text matches that are wanted: enough to know whether the guard fires.
    pub(super) fn look(&self, query: &Query<'_>) -> usize {
        self.guard.map_or(0, |guard| guard.below).max(self.k(query))
    }
}

impl Guard {
    pub(super) fn fires(self, matches: usize) -> bool {
        matches < self.below && self.limit < matches.div_ceil(2)
    }
}
