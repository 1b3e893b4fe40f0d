//! The measures of a search: its exact scores, and the inner product that a score proves.

use super::dot::{dot, square_distance};
use crate::simd::Level;

/// The comparison of a query with rows. A higher score is better.
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

    /// The lower bound of `q . x`, for distances less `|x|^2 / 2`, for a row of this score; `relative` is the relative
    /// error bound of sums of squares.
    pub(super) fn least(self, score: f64, relative: f64) -> f64 {
        match self {
            Self::Product => score,
            Self::Distance { .. } if score == f64::NEG_INFINITY => score,
            Self::Distance { square } => (square + score) / 2.0 - relative * (square - score),
        }
    }
}
