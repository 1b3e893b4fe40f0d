//! A query's trigrams and what a text shares of them.

use super::counts::{Counts, Place, weight};
use super::spell::Speller;
use super::trigram::Trigram;

/// The trigrams of a query, ascending: one order of summation, so that equal input gives equal doubles.
pub(in crate::terms) struct QueryProfile {
    pub(super) trigrams: Vec<Trigram>,
    /// Where texts that are counted have them.
    places: Vec<Place>,
    weights: Vec<f64>,
    square: f64,
}

impl QueryProfile {
    pub(in crate::terms) fn new(query: &str, counts: &mut Counts, speller: &mut Speller) -> Self {
        counts.fill(query, speller, |_| {});
        let mut trigrams: Vec<Trigram> = counts.trigrams().collect();
        trigrams.sort_unstable();
        trigrams.dedup();
        let weights = trigrams.iter().map(|&trigram| weight(counts.at(Place::of(trigram)))).collect();
        let places = trigrams.iter().map(|&trigram| Place::of(trigram)).collect();
        Self { trigrams, places, weights, square: counts.square() }
    }

    /// The cosine with a text: from how often it has each of the trigrams, by their places, ascending, and its square.
    /// Those that it does not have may be left out.
    pub(super) fn cosine(&self, counts: impl Iterator<Item = (usize, u32)>, square: f64) -> f64 {
        let shared: f64 = counts.map(|(at, count)| self.weights[at] * weight(count)).sum();
        // One root of the product, so that equal profiles give 1.
        if shared > 0.0 { (shared / (self.square * square).sqrt()).min(1.0) } else { 0.0 }
    }

    /// The cosine with a text that was counted.
    pub(in crate::terms) fn cosine_with(&self, counts: &Counts) -> f64 {
        self.cosine(self.places.iter().map(|&place| counts.at(place)).enumerate(), counts.square())
    }
}
