//! Token counts of texts by slot, and the TF-IDF cosine.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::counting::{Piece, Units, count};
use super::frequencies::{Frequencies, Weights};
use super::held::Held;
use super::slots::{Counted, Slots};
use super::tokens::{Cutter, Tokens};
use crate::arrays::{ArrayFile, ArrayWriter};
use crate::error::Result;
use crate::pool;

/// What an index and the frequencies made from it share.
#[derive(Debug, Default)]
pub(super) struct Shared(RwLock<Arc<Held>>);

impl Shared {
    // A lock is poisoned only by a panic inside `append`, which has none to give.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Arc<Held>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Arc<Held>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Token counts of texts by slot, append-only. Threads may read while one appends.
#[derive(Debug, Default)]
pub struct TermIndex {
    pub(super) shared: Arc<Shared>,
}

impl TermIndex {
    /// An index without slots.
    pub fn new() -> Self {
        Self::default()
    }

    fn of(held: impl Into<Arc<Held>>) -> Self {
        Self { shared: Arc::new(Shared(RwLock::new(held.into()))) }
    }

    /// The index that [`Self::write`] wrote, mapped; what is appended from now on stays in memory.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) where columns are missing or do not fit each other.
    pub fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        Ok(Self::of(Held::open(file, prefix)?))
    }

    /// Write the index as columns of a file, their names beginning with `prefix`.
    ///
    /// Threads may append meanwhile, which costs them a copy of what is not mapped; it is not written.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File).
    pub fn write(&self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        let held = Arc::clone(&self.shared.read());
        held.write(to, prefix)
    }

    /// The index as it is now; appending to one leaves the other alone.
    pub fn frozen(&self) -> Self {
        Self::of(Arc::clone(&self.shared.read()))
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.shared.read().len()
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that the counts take; mapped pages do not count.
    pub fn size_bytes(&self) -> usize {
        self.shared.read().owned_bytes()
    }

    /// Tokenise the texts in order into new slots and return the first new slot.
    ///
    /// `threads`: at least 1; `None` for as many as there are cores, or one where there is little to do. What comes of
    /// it does not depend on them.
    pub fn append<T: AsRef<str> + Sync>(&self, texts: &[T], threads: Option<usize>) -> usize {
        let units = Units::new(texts, threads);
        let tallies = count(Tokens::Signals, texts, &units);
        // New terms are numbered in code point order, whoever counted them.
        let (mut of_tally, mut unknown) = self.shared.read().known(&tallies);
        unknown.sort_unstable_by_key(|new| new.term.name());
        if !unknown.is_empty() {
            let mut held = self.shared.write();
            let held = Arc::make_mut(&mut held);
            for new in unknown {
                of_tally[new.tally][new.at] = held.number(new.term);
            }
        }
        let each = tallies.iter().zip(&of_tally);
        let mut pieces: Vec<(&Piece, &[u32])> =
            each.flat_map(|(tally, of)| tally.pieces.iter().map(move |piece| (piece, &of[..]))).collect();
        pieces.sort_unstable_by_key(|(piece, _)| piece.unit);
        let each = |done: &mut Vec<(usize, Slots)>, unit: usize| {
            let (piece, of) = &pieces[unit];
            done.push((unit, Slots::of(piece, |term| of[term as usize])));
        };
        let parts = pool::fold(pieces.len(), units.threads, Vec::new, each);
        let mut parts: Vec<(usize, Slots)> = parts.into_iter().flatten().collect();
        parts.sort_unstable_by_key(|&(unit, _)| unit);
        // Tokenising shut no reader out; from here on they wait.
        let mut held = self.shared.write();
        let held = Arc::make_mut(&mut held);
        let first = held.len();
        parts.iter().for_each(|(_, part)| held.extend(part));
        first
    }

    /// Count document frequencies over the given slots `(m,)`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) or [`Error::Repeated`](crate::Error::Repeated) for a slot.
    pub fn frequencies(&self, slots: &[i64]) -> Result<Frequencies> {
        Frequencies::none(self).moved(self, slots, &[])
    }

    /// Return the TF-IDF cosine of the query with each slot `(m,)`, 0..1; 0 when either side is empty.
    ///
    /// The weight of a term is `(count / tokens) * idf`; the cosine does not depend on `tokens`, which is left out.
    /// Terms that `frequencies` does not know carry no weight on either side.
    ///
    /// # Errors
    /// [`Error::ForeignIndex`](crate::Error::ForeignIndex); [`Error::OutOfRange`](crate::Error::OutOfRange) for a slot.
    pub fn cosines(&self, frequencies: &Frequencies, query: &str, slots: &[i64]) -> Result<Vec<f64>> {
        frequencies.check_index(self)?;
        let held = self.shared.read();
        let weights = frequencies.weights();
        let query = weighed(&held, weights, query);
        let query_square = square(query.iter().map(|&(_, weight)| weight));
        let texts: Vec<Counted<'_>> = slots.iter().map(|&slot| held.get(slot)).collect::<Result<_>>()?;
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
fn weighed(held: &Held, weights: Weights<'_>, query: &str) -> Vec<(u32, f64)> {
    let mut terms = Vec::new();
    Cutter::new(Tokens::Signals).each(query, |term| terms.extend(held.find(term)));
    terms.sort_unstable();
    let weigh = |run: &[u32]| Some((run[0], weights.of(run[0], run.len() as u32)?));
    terms.chunk_by(|a, b| a == b).filter_map(weigh).collect()
}

fn dot_and_square(query: &[(u32, f64)], text: Counted<'_>, weights: Weights<'_>) -> (f64, f64) {
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

/// A sum that carries its rounding error (Knuth's two-sum), so that it does not depend on the order of the terms, which
/// follows the history of the index: an index built afresh gives the same cosines.
#[derive(Clone, Copy, Default)]
struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    fn add(&mut self, x: f64) {
        let high = self.high + x;
        let rest = high - self.high;
        self.low += (self.high - (high - rest)) + (x - rest);
        self.high = high;
    }

    fn total(self) -> f64 {
        self.high + self.low
    }
}
