//! Token counts of texts by slot, document frequencies, and the TF-IDF cosine.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::counting::{Piece, Tally, Units, count};
use super::lexicon::Lexicon;
use super::memo::Memo;
use super::slots::{Slots, counts};
use super::tokens::{Cutter, Tokens};
use crate::error::{Error, Result};
use crate::pool;

/// What an index and the frequencies made from it share.
#[derive(Debug, Default)]
struct Shared {
    names: RwLock<Lexicon>,
    slots: RwLock<Slots>,
}

// A lock is poisoned only by a panic between two pushes that cannot panic, so what it guards is whole.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Token counts of texts by slot, append-only. Threads may read while one appends.
#[derive(Debug, Default)]
pub struct TermIndex {
    shared: Arc<Shared>,
}

impl TermIndex {
    /// An index without slots.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        read(&self.shared.slots).ends.len()
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tokenise the texts in order into new slots and return the first new slot.
    ///
    /// `threads`: at least 1; `None` for as many as there are cores, or one where there is little to do. What comes of
    /// it does not depend on them.
    pub fn append<T: AsRef<str> + Sync>(&self, texts: &[T], threads: Option<usize>) -> usize {
        let units = Units::new(texts, threads);
        let tallies = count(Tokens::Signals, texts, &units);
        let of_tally = self.number(&tallies);
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
        let mut slots = write(&self.shared.slots);
        let first = slots.ends.len();
        parts.iter().for_each(|(_, part)| slots.append(part));
        first
    }

    /// The number of each tally's terms; new ones are numbered in code point order, whoever counted them.
    fn number(&self, tallies: &[Tally]) -> Vec<Vec<u32>> {
        let mut new = Vec::new();
        let names = read(&self.shared.names);
        let mut numbers: Vec<Vec<u32>> = Vec::with_capacity(tallies.len());
        for (of, tally) in tallies.iter().enumerate() {
            let known = tally.lexicon.terms().enumerate().map(|(at, term)| {
                names.find(term).unwrap_or_else(|| {
                    new.push((term, of, at));
                    0
                })
            });
            numbers.push(known.collect());
        }
        drop(names);
        new.sort_unstable_by_key(|&(term, ..)| term.name());
        // Tokenising took no lock; from here on readers wait.
        let mut names = write(&self.shared.names);
        for (term, of, at) in new {
            numbers[of][at] = names.number(term);
        }
        numbers
    }

    /// Count document frequencies over the given slots `(m,)`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] or [`Error::Repeated`] for a slot.
    pub fn frequencies(&self, slots: &[i64]) -> Result<Frequencies> {
        let none =
            Frequencies { shared: Arc::clone(&self.shared), counts: Vec::new(), documents: 0, idf: Memo::default() };
        none.moved(self, slots, &[])
    }

    /// Return the TF-IDF cosine of the query with each slot `(m,)`, 0..1; 0 when either side is empty.
    ///
    /// The weight of a term is `(count / tokens) * idf`; the cosine does not depend on `tokens`, which is left out.
    /// Terms that `frequencies` does not know carry no weight on either side.
    ///
    /// # Errors
    /// [`Error::ForeignIndex`]; [`Error::OutOfRange`] for a slot.
    pub fn cosines(&self, frequencies: &Frequencies, query: &str, slots: &[i64]) -> Result<Vec<f64>> {
        frequencies.check_index(self)?;
        let query = self.query(frequencies, query);
        let query_square = square(query.iter().map(|&(_, weight)| weight));
        let held = read(&self.shared.slots);
        let texts: Vec<&[u32]> = slots.iter().map(|&slot| Ok(held.get(held.check(slot)?))).collect::<Result<_>>()?;
        fetch(&texts);
        Ok(texts
            .into_iter()
            .map(|terms| {
                let (dot, square) = dot_and_square(&query, terms, frequencies);
                // One root of the product, so that equal texts give exactly 1.
                let length = (query_square * square).sqrt();
                if length > 0.0 { (dot / length).min(1.0) } else { 0.0 }
            })
            .collect())
    }

    /// The query's known terms, ascending, with their weights.
    fn query(&self, frequencies: &Frequencies, query: &str) -> Vec<(u32, f64)> {
        let names = read(&self.shared.names);
        let mut terms = Vec::new();
        Cutter::new(Tokens::Signals).each(query, |term| terms.extend(names.find(term)));
        terms.sort_unstable();
        counts(&terms).filter_map(|(term, count)| Some((term, frequencies.weight(term, count)?))).collect()
    }
}

/// Ask memory for every text at once: they lie far apart, and one by one each would be waited for.
fn fetch(texts: &[&[u32]]) {
    const LINE: usize = 16;
    for terms in texts {
        std::hint::black_box(terms.iter().step_by(LINE).fold(0, |all, term| all | term));
    }
}

fn dot_and_square(query: &[(u32, f64)], terms: &[u32], frequencies: &Frequencies) -> (f64, f64) {
    let (mut dot, mut square) = (Sum::default(), Sum::default());
    let mut wanted = query.iter().peekable();
    for (term, count) in counts(terms) {
        let Some(weight) = frequencies.weight(term, count) else { continue };
        square.add(weight * weight);
        while wanted.next_if(|(other, _)| *other < term).is_some() {}
        if let Some((_, other)) = wanted.next_if(|(other, _)| *other == term) {
            dot.add(weight * other);
        }
    }
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

/// Document frequencies at one moment: immutable, made from a [`TermIndex`].
#[derive(Debug)]
pub struct Frequencies {
    shared: Arc<Shared>,
    /// By term number; a term beyond the end is unknown.
    counts: Vec<u32>,
    documents: usize,
    /// The idf of counts that were asked for: logarithms are most of the work on a candidate.
    idf: Memo,
}

impl Frequencies {
    /// The number of documents counted.
    pub fn documents(&self) -> usize {
        self.documents
    }

    /// Return new frequencies with slots added and removed; equal to counting from scratch.
    ///
    /// # Errors
    /// [`Error::ForeignIndex`]; [`Error::OutOfRange`] or [`Error::Repeated`] for a slot; [`Error::NotCounted`] for a
    /// removed slot whose terms these frequencies do not hold.
    pub fn moved(&self, index: &TermIndex, added: &[i64], removed: &[i64]) -> Result<Self> {
        self.check_index(index)?;
        let held = read(&self.shared.slots);
        held.check_all(added)?;
        held.check_all(removed)?;
        let mut counts = self.counts.clone();
        counts.resize(read(&self.shared.names).len(), 0);
        for &slot in added {
            for (term, _) in self::counts(held.get(held.check(slot)?)) {
                counts[term as usize] += 1;
            }
        }
        let mut documents = self.documents + added.len();
        for &slot in removed {
            documents = documents.checked_sub(1).ok_or(Error::NotCounted { slot })?;
            for (term, _) in self::counts(held.get(held.check(slot)?)) {
                let count = &mut counts[term as usize];
                *count = count.checked_sub(1).ok_or(Error::NotCounted { slot })?;
            }
        }
        Ok(Self { shared: Arc::clone(&self.shared), counts, documents, idf: Memo::default() })
    }

    /// Return the number of counted documents that hold the term.
    pub fn document_frequency(&self, term: &str) -> u32 {
        read(&self.shared.names).find_text(term).map_or(0, |term| self.count(term))
    }

    /// Return `ln((N + 1) / (df + 1)) + 1`.
    pub fn idf(&self, term: &str) -> f64 {
        self.idf_of(self.document_frequency(term))
    }

    /// Return every term with a document frequency of at least 1, in no particular order.
    pub fn to_vec(&self) -> Vec<(String, u32)> {
        let names = read(&self.shared.names);
        names.texts().zip(0..).map(|(name, term)| (name, self.count(term))).filter(|&(_, count)| count > 0).collect()
    }

    fn check_index(&self, index: &TermIndex) -> Result<()> {
        if Arc::ptr_eq(&self.shared, &index.shared) { Ok(()) } else { Err(Error::ForeignIndex) }
    }

    fn count(&self, term: u32) -> u32 {
        self.counts.get(term as usize).copied().unwrap_or(0)
    }

    fn idf_of(&self, count: u32) -> f64 {
        ((self.documents as f64 + 1.0) / (f64::from(count) + 1.0)).ln() + 1.0
    }

    /// A term's weight in a text, but for the factor `1 / tokens`; None for an unknown term.
    fn weight(&self, term: u32, count: usize) -> Option<f64> {
        match self.count(term) {
            0 => None,
            frequency => Some(count as f64 * self.idf.get(frequency, |frequency| self.idf_of(frequency))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(texts: &[&str]) -> TermIndex {
        let index = TermIndex::new();
        assert_eq!(index.append(texts, None), 0);
        index
    }

    #[test]
    fn frequencies_move() {
        let index = index(&["red green red", "green blue", "", "red"]);
        let all = index.frequencies(&[0, 1, 2, 3]).unwrap();
        assert_eq!((all.documents(), all.document_frequency("red"), all.document_frequency("none")), (4, 2, 0));
        assert_eq!(all.idf("red"), (5.0_f64 / 3.0).ln() + 1.0);
        assert_eq!(index.append(&["violet red"], None), 4);
        assert_eq!(all.document_frequency("violet"), 0);
        let moved = all.moved(&index, &[4], &[0, 1]).unwrap();
        let fresh = index.frequencies(&[2, 3, 4]).unwrap();
        assert_eq!(moved.documents(), 3);
        assert_eq!(moved.counts, fresh.counts);
        let mut terms = moved.to_vec();
        terms.sort();
        assert_eq!(terms, [("red".to_owned(), 2), ("violet".to_owned(), 1)]);
    }

    #[test]
    fn cosines() {
        let index = index(&["red green red", "green blue", "", "red", "the a"]);
        let all = index.frequencies(&[0, 1, 2, 3]).unwrap();
        let cosines = index.cosines(&all, "red unknown", &[3, 0, 1, 2, 4]).unwrap();
        let (red, green) = (all.idf("red"), all.idf("green"));
        let wanted = 2.0 * red / (4.0 * red * red + green * green).sqrt();
        assert_eq!((cosines[0], cosines[2], cosines[3], cosines[4]), (1.0, 0.0, 0.0, 0.0));
        assert!((cosines[1] - wanted).abs() < 1e-15);
        assert_eq!(index.cosines(&all, "", &[0]), Ok(vec![0.0]));
    }

    #[test]
    fn terms_not_counted_carry_no_weight() {
        let index = index(&["red green", "red"]);
        let some = index.frequencies(&[1]).unwrap();
        assert_eq!(index.cosines(&some, "red green", &[0]), Ok(vec![1.0]));
    }

    #[test]
    fn history_does_not_show() {
        let texts: Vec<String> =
            (0..40).map(|i| (0..60).map(|j| format!("w{:03} ", (i * 37 + j * j) % 211)).collect()).collect();
        let forward = TermIndex::new();
        forward.append(&texts, None);
        let backward = TermIndex::new();
        for text in texts.iter().rev() {
            backward.append(&[text], None);
        }
        let slots: Vec<i64> = (0..40).collect();
        let reversed: Vec<i64> = slots.iter().rev().copied().collect();
        let query = "w001 w002 w100 w100 w007";
        let there = forward.cosines(&forward.frequencies(&slots).unwrap(), query, &slots).unwrap();
        let back = backward.cosines(&backward.frequencies(&slots).unwrap(), query, &reversed).unwrap();
        assert_eq!(there, back);
    }

    #[test]
    fn faults() {
        let index = index(&["red", "green"]);
        let all = index.frequencies(&[0, 1]).unwrap();
        assert_eq!(index.frequencies(&[2]).unwrap_err(), Error::OutOfRange { what: "slot", index: 2, len: 2 });
        assert_eq!(index.frequencies(&[1, 0, 1]).unwrap_err(), Error::Repeated { slot: 1 });
        assert_eq!(all.moved(&TermIndex::new(), &[], &[]).unwrap_err(), Error::ForeignIndex);
        let one = index.frequencies(&[0]).unwrap();
        assert_eq!(one.moved(&index, &[], &[1]).unwrap_err(), Error::NotCounted { slot: 1 });
        assert!(index.cosines(&all, "red", &[-1]).is_err());
        assert!(TermIndex::new().cosines(&all, "red", &[]).is_err());
    }
    #[test]
    fn threads_do_not_show() {
        let texts: Vec<String> =
            (0..3_000).map(|i| (0..40).map(|j| format!("word{} ", (i * 37 + j * j) % 2_111)).collect()).collect();
        let one = TermIndex::new();
        one.append(&texts[..9], Some(1));
        one.append(&texts[9..], Some(1));
        for threads in [2, 4] {
            let many = TermIndex::new();
            many.append(&texts[..9], Some(threads));
            assert_eq!(many.append(&texts[9..], Some(threads)), 9);
            assert_eq!(read(&many.shared.slots).terms, read(&one.shared.slots).terms);
            assert_eq!(read(&many.shared.slots).ends, read(&one.shared.slots).ends);
            assert!(read(&many.shared.names).texts().eq(read(&one.shared.names).texts()));
        }
    }
}
