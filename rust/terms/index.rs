//! Token counts of texts by slot, document frequencies, and the TF-IDF cosine.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustc_hash::FxHashMap;

use super::tokens::for_each_token;
use crate::error::{Error, Result};

type Names = FxHashMap<Box<str>, u32>;

/// Texts as term numbers, counted from 0 in order of first sight.
#[derive(Default)]
pub(super) struct Batch {
    names: Names,
    terms: Vec<u32>,
    ends: Vec<usize>,
}

impl Batch {
    /// Add a text, whose tokens `each` passes on.
    pub(super) fn push(&mut self, each: impl FnOnce(&mut dyn FnMut(&str))) {
        let Self { names, terms, ends } = self;
        each(&mut |token| {
            let next = names.len() as u32;
            terms.push(match names.get(token) {
                Some(&term) => term,
                None => *names.entry(token.into()).or_insert(next),
            });
        });
        ends.push(terms.len());
    }

    /// The terms' names by number, and each text's terms.
    pub(super) fn finish(self) -> (Vec<Box<str>>, Vec<u32>, Vec<usize>) {
        let mut names = vec![Box::default(); self.names.len()];
        for (name, term) in self.names {
            names[term as usize] = name;
        }
        (names, self.terms, self.ends)
    }
}

/// What an index and the frequencies made from it share.
#[derive(Debug, Default)]
struct Shared {
    names: RwLock<Names>,
    slots: RwLock<Slots>,
}

/// By slot the text's term numbers, ascending, each as often as it occurs.
#[derive(Debug, Default)]
struct Slots {
    terms: Vec<u32>,
    ends: Vec<usize>,
}

impl Slots {
    fn get(&self, slot: usize) -> &[u32] {
        let start = if slot == 0 { 0 } else { self.ends[slot - 1] };
        &self.terms[start..self.ends[slot]]
    }

    fn check(&self, slot: i64) -> Result<usize> {
        match usize::try_from(slot) {
            Ok(i) if i < self.ends.len() => Ok(i),
            _ => Err(Error::OutOfRange { what: "slot", index: slot, len: self.ends.len() }),
        }
    }

    /// Fail for a slot out of range or listed twice.
    fn check_all(&self, slots: &[i64]) -> Result<()> {
        for &slot in slots {
            self.check(slot)?;
        }
        let mut sorted = slots.to_vec();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::Repeated { slot: pair[0] }),
            None => Ok(()),
        }
    }
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
    pub fn append<T: AsRef<str>>(&self, texts: &[T]) -> usize {
        let mut batch = Batch::default();
        let mut buffer = String::new();
        for text in texts {
            batch.push(|emit| for_each_token(text.as_ref(), &mut buffer, emit));
        }
        // Tokenising took no lock; from here on readers wait.
        let (new_names, mut terms, ends) = batch.finish();
        let mut names = write(&self.shared.names);
        let numbers: Vec<u32> = new_names
            .into_iter()
            .map(|name| {
                let next = names.len() as u32;
                *names.entry(name).or_insert(next)
            })
            .collect();
        let mut start = 0;
        for &end in &ends {
            let text = &mut terms[start..end];
            text.iter_mut().for_each(|term| *term = numbers[*term as usize]);
            text.sort_unstable();
            start = end;
        }
        let mut slots = write(&self.shared.slots);
        let (first, offset) = (slots.ends.len(), slots.terms.len());
        slots.terms.extend(terms);
        slots.ends.extend(ends.into_iter().map(|end| offset + end));
        first
    }

    /// Count document frequencies over the given slots `(m,)`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] or [`Error::Repeated`] for a slot.
    pub fn frequencies(&self, slots: &[i64]) -> Result<Frequencies> {
        let none = Frequencies { shared: Arc::clone(&self.shared), counts: Vec::new(), documents: 0 };
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
        slots
            .iter()
            .map(|&slot| {
                let terms = held.get(held.check(slot)?);
                let (dot, square) = dot_and_square(&query, terms, frequencies);
                // One root of the product, so that equal texts give exactly 1.
                let length = (query_square * square).sqrt();
                Ok(if length > 0.0 { (dot / length).min(1.0) } else { 0.0 })
            })
            .collect()
    }

    /// The query's known terms, ascending, with their weights.
    fn query(&self, frequencies: &Frequencies, query: &str) -> Vec<(u32, f64)> {
        let names = read(&self.shared.names);
        let mut terms = Vec::new();
        for_each_token(query, &mut String::new(), |token| terms.extend(names.get(token).copied()));
        terms.sort_unstable();
        counts(&terms).filter_map(|(term, count)| Some((term, frequencies.weight(term, count)?))).collect()
    }
}

/// The distinct terms of an ascending list, with how often each occurs.
fn counts(terms: &[u32]) -> impl Iterator<Item = (u32, usize)> + '_ {
    terms.chunk_by(|a, b| a == b).map(|run| (run[0], run.len()))
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
        Ok(Self { shared: Arc::clone(&self.shared), counts, documents })
    }

    /// Return the number of counted documents that hold the term.
    pub fn document_frequency(&self, term: &str) -> u32 {
        read(&self.shared.names).get(term).map_or(0, |&term| self.count(term))
    }

    /// Return `ln((N + 1) / (df + 1)) + 1`.
    pub fn idf(&self, term: &str) -> f64 {
        self.idf_of(self.document_frequency(term))
    }

    /// Return every term with a document frequency of at least 1, in no particular order.
    pub fn to_vec(&self) -> Vec<(String, u32)> {
        let names = read(&self.shared.names);
        names.iter().map(|(name, &term)| (name.to_string(), self.count(term))).filter(|&(_, count)| count > 0).collect()
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
            frequency => Some(count as f64 * self.idf_of(frequency)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(texts: &[&str]) -> TermIndex {
        let index = TermIndex::new();
        assert_eq!(index.append(texts), 0);
        index
    }

    #[test]
    fn frequencies_move() {
        let index = index(&["red green red", "green blue", "", "red"]);
        let all = index.frequencies(&[0, 1, 2, 3]).unwrap();
        assert_eq!((all.documents(), all.document_frequency("red"), all.document_frequency("none")), (4, 2, 0));
        assert_eq!(all.idf("red"), (5.0_f64 / 3.0).ln() + 1.0);
        assert_eq!(index.append(&["violet red"]), 4);
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
        forward.append(&texts);
        let backward = TermIndex::new();
        for text in texts.iter().rev() {
            backward.append(&[text]);
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
}
