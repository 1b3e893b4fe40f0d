//! A query's trigrams.

use super::spell::Speller;
use super::trigram::{Trigram, for_each_trigram};

/// The trigrams of a query, ascending: one order of summation, so that equal input gives equal doubles.
pub(super) struct QueryProfile {
    pub(super) trigrams: Vec<Trigram>,
    /// Occurrences of each in the query.
    pub(super) times: Vec<f64>,
}

impl QueryProfile {
    pub(super) fn new(query: &str) -> Self {
        let mut all = Vec::new();
        Speller::default().for_each(query, |word| {
            if let Ok(word) = str::from_utf8(word) {
                for_each_trigram(word, |trigram| all.push(trigram));
            }
        });
        all.sort_unstable();
        let runs = all.chunk_by(|a, b| a == b);
        let (trigrams, times) = runs.map(|run| (run[0], run.len() as f64)).unzip();
        Self { trigrams, times }
    }
}
