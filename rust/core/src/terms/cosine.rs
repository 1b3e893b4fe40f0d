//! The TF-IDF cosine of a query with texts of an index.

use super::contents::Contents;
use super::frequencies::{Frequencies, Weights};
use super::index::TermIndex;
use super::token_lists::TokenList;
use super::tokens::{Cutter, Tokens};
use crate::collections::Sum;
use crate::error::Result;

impl TermIndex {
    /// Return the TF-IDF cosine of the query with each slot `(m,)`, 0..1; 0 when either side is empty.
    ///
    /// The weight of a term is `(count / tokens) * idf`; the cosine does not depend on `tokens`, which is left out.
    /// Terms that `frequencies` does not know carry no weight on either side.
    ///
    /// # Errors
    /// [`Error::ForeignIndex`](crate::Error::ForeignIndex); [`Error::OutOfRange`](crate::Error::OutOfRange) for a slot.
    pub fn cosines(&self, frequencies: &Frequencies, query: &str, slots: &[i64]) -> Result<Vec<f64>> {
        frequencies.check_index(self)?;
        let contents = self.shared.read();
        let weights = frequencies.weights();
        let query = weighed(&contents, weights, query);
        let query_square = square(query.iter().map(|&(_, weight)| weight));
        let texts: Vec<TokenList<'_>> = slots.iter().map(|&slot| contents.get(slot)).collect::<Result<_>>()?;
        // They lie far apart, and one by one each would be waited for.
        texts.iter().for_each(|text| text.fetch());
        Ok(texts
            .into_iter()
            .map(|text| {
                let (dot, square) = dot_and_square(&query, text, weights);
                // One root of the product, so that equal texts give exactly 1.
                let length = (query_square * square).sqrt();
                if length > 0.0 { (dot / length).min(1.0) } else { 0.0 }
            })
            .collect())
    }
}

/// The query's known terms, ascending, with their weights.
fn weighed(contents: &Contents, weights: Weights<'_>, query: &str) -> Vec<(u32, f64)> {
    let mut terms = Vec::new();
    Cutter::new(Tokens::Signals).each(query, |term| terms.extend(contents.find(term)));
    terms.sort_unstable();
    let weigh = |run: &[u32]| Some((run[0], weights.of(run[0], run.len() as u32)?));
    terms.chunk_by(|a, b| a == b).filter_map(weigh).collect()
}

fn dot_and_square(query: &[(u32, f64)], text: TokenList<'_>, weights: Weights<'_>) -> (f64, f64) {
    let (mut dot, mut square) = (Sum::default(), Sum::default());
    let mut wanted = query.iter().peekable();
    text.for_each(|term, count| {
        let Some(weight) = weights.of(term, count) else { return };
        square.add(weight * weight);
        while wanted.next_if(|(other, _)| *other < term).is_some() {}
        if let Some((_, other)) = wanted.next_if(|(other, _)| *other == term) {
            dot.add(weight * other);
        }
    });
    (dot.total(), square.total())
}

fn square(weights: impl Iterator<Item = f64>) -> f64 {
    let mut square = Sum::default();
    weights.for_each(|weight| square.add(weight * weight));
    square.total()
}
