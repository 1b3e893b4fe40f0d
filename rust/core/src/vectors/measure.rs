//! What the exact scores of a search are, and which inner product a score proves.

use super::dot::{dot, square_distance};
use crate::simd::Level;

/// How a query is compared with rows. A higher score is better.
#[derive(Clone, Copy, Debug)]
pub(super) enum Measure {
    /// The inner product.
    Product,
    /// The squared Euclidean distance, negated, with the query's squared length.
    Distance { square: f64 },
}

impl Measure {
    /// By distance, or by product.
    pub(super) fn of(query: &[f32], distances: bool) -> Self {
        if distances { Self::Distance { square: dot(query, query) } } else { Self::Product }
    }

    /// The float64 score.
    pub(super) fn score(self, level: Level, query: &[f32], row: &[f32]) -> f64 {
        match self {
            Self::Product => level.dot(query, row),
            Self::Distance { .. } => -square_distance(query, row),
        }
    }

    /// What `q . x`, for distances less `|x|^2 / 2`, is at least for a row of this score; `relative` is what sums of
    /// squares can be off by.
    pub(super) fn least(self, score: f64, relative: f64) -> f64 {
        match self {
            Self::Product => score,
            Self::Distance { .. } if score == f64::NEG_INFINITY => score,
            Self::Distance { square } => (square + score) / 2.0 - relative * (square - score),
        }
    }
}
