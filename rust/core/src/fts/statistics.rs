//! The statistics of the rows that count, for BM25.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, PoisonError, RwLock};

use super::contents::Contents;
use super::index::TextIndex;
use crate::arrays::{ArrayFile, ArrayWriter};
use crate::collections::{BitMask, SharedCounts, Term};
use crate::error::{Error, Result};

/// The constants of BM25.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// The saturation of term frequency, above 0.
    pub k1: f64,
    /// The weight of the row's length, 0 to 1.
    pub b: f64,
}

/// Those of FTS5.
pub const FTS5: Constants = Constants { k1: 1.2, b: 0.75 };

impl Constants {
    /// The maximum score of a term, in units of its inverse document frequency.
    pub fn most(self) -> f64 {
        self.k1 + 1.0
    }
}

impl Default for Constants {
    fn default() -> Self {
        FTS5
    }
}

/// FTS5's substitute for an inverse document frequency that is not above 0.
pub(super) const LEAST_IDF: f64 = 1e-6;
/// Lengths whose part of the formula is kept.
const COMMON_LENGTHS: u32 = 1_024;

/// FTS5's inverse document frequency of a term that `count` of `rows` rows hold.
pub(super) fn idf(rows: u64, count: u32) -> f64 {
    let others = rows.saturating_sub(u64::from(count));
    let idf = ((others as f64 + 0.5) / (f64::from(count) + 0.5)).ln();
    if idf <= 0.0 { LEAST_IDF } else { idf }
}

/// The statistics of a corpus of which an index has some rows.
#[derive(Clone, Debug)]
pub struct Given<'a, H> {
    /// The number of rows.
    pub rows: u64,
    /// The number of tokens of all rows.
    pub tokens: u64,
    /// By index term how many rows hold it in any column.
    pub counts: &'a HashMap<Vec<u8>, u32, H>,
    /// By stem how many rows hold a term that begins with it in a column that counts.
    pub begun: &'a HashMap<Vec<u8>, u32, H>,
}

/// The rows that count at one moment, their tokens and document frequencies: immutable, made from a [`TextIndex`].
#[derive(Debug)]
pub struct Statistics {
    contents: Arc<RwLock<Arc<Contents>>>,
    slots: BitMask,
    rows: u64,
    tokens: u64,
    /// By term number.
    counts: SharedCounts,
    /// By number of tokens the part of the formula that depends on it.
    lengths: Vec<f64>,
    /// By stem how many rows hold words that begin with it, where all of this was given rather than counted.
    begun: Option<HashMap<Vec<u8>, u32>>,
}

impl Statistics {
    /// No rows.
    pub(super) fn none(index: &TextIndex) -> Self {
        let (slots, counts, lengths) = (BitMask::default(), SharedCounts::default(), Vec::new());
        Self { contents: Arc::clone(&index.contents), slots, rows: 0, tokens: 0, counts, lengths, begun: None }
    }

    /// The statistics that [`Self::write`] wrote, over the same index.
    ///
    /// # Errors
    /// [`Error::Damaged`] where columns are missing or do not fit the index.
    pub fn open(file: &ArrayFile, prefix: &str, index: &TextIndex) -> Result<Self> {
        let fault = Err(Error::Damaged { what: "the counts of rows" });
        let numbers = file.column::<u64>(&format!("{prefix}totals"))?;
        let words = file.column::<u64>(&format!("{prefix}rows"))?;
        let counts = file.column::<u32>(&format!("{prefix}counts"))?;
        let (&[rows, tokens], contents) = (&*numbers, index.read()) else { return fault };
        let slots = BitMask::from(words.to_vec());
        let counted: u64 = slots.words().iter().map(|word| u64::from(word.count_ones())).sum();
        if slots.last().is_some_and(|last| last >= contents.forward.len()) || rows != counted {
            return fault;
        }
        // Written in whole pieces; counts beyond the terms count nothing.
        let counts = SharedCounts::from_slice(&counts[..counts.len().min(contents.terms())]);
        let results = Self { slots, rows, tokens, counts, ..Self::none(index) };
        Ok(results.with_lengths())
    }

    /// Write the statistics as columns of a file, their names beginning with `prefix`.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Given`].
    pub fn write(&self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        if self.is_given() {
            return Err(Error::Given);
        }
        to.column(&format!("{prefix}totals"), &[self.rows, self.tokens])?;
        to.column(&format!("{prefix}rows"), self.slots.words())?;
        to.begin::<u32>(&format!("{prefix}counts"))?;
        self.counts.pieces().try_for_each(|piece| to.put(piece))
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of tokens of all rows.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Return new statistics with slots added and removed; equal to counting from scratch.
    ///
    /// # Errors
    /// [`Error::ForeignStatistics`]; [`Error::OutOfRange`] for a slot; [`Error::Repeated`] for one that is counted
    /// already, [`Error::NotCounted`] for one to be removed that is not; [`Error::Given`].
    pub fn moved(&self, index: &TextIndex, added: &[i64], removed: &[i64]) -> Result<Self> {
        self.check_index(index)?;
        if self.is_given() {
            return Err(Error::Given);
        }
        let contents = index.read();
        let mut moved = Self {
            slots: self.slots.clone(),
            rows: self.rows,
            tokens: self.tokens,
            counts: self.counts.clone(),
            ..Self::none(index)
        };
        moved.counts.grow(contents.terms());
        for &slot in removed {
            let at = contents.check_slot(slot)?;
            if !moved.slots.contains(at) {
                return Err(Error::NotCounted { slot });
            }
            moved.slots.remove(at);
            moved.rows = moved.rows.saturating_sub(1);
            moved.tokens = moved.tokens.saturating_sub(u64::from(contents.details.tokens(at)));
            moved.counts.step(contents.forward.get(at), false);
        }
        for &slot in added {
            let at = contents.check_slot(slot)?;
            if moved.slots.contains(at) {
                return Err(Error::Repeated { slot });
            }
            moved.slots.insert(at);
            moved.rows = moved.rows.saturating_add(1);
            moved.tokens = moved.tokens.saturating_add(u64::from(contents.details.tokens(at)));
            moved.counts.step(contents.forward.get(at), true);
        }
        Ok(moved.with_lengths())
    }

    /// Return the number of rows that hold an index term in any column.
    pub fn document_frequency(&self, term: &[u8]) -> u32 {
        let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
        contents.term(term).map_or(0, |term| self.count(term))
    }

    /// Return every index term that a row holds with its document frequency, in no particular order.
    pub fn to_vec(&self) -> Vec<(Vec<u8>, u32)> {
        let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
        let names = contents.names().names().zip(0..);
        names.map(|(name, term)| (name.to_vec(), self.count(term))).filter(|&(_, count)| count > 0).collect()
    }

    /// Fail unless the statistics were made from the index.
    pub(super) fn check_index(&self, index: &TextIndex) -> Result<()> {
        if Arc::ptr_eq(&self.contents, &index.contents) { Ok(()) } else { Err(Error::ForeignStatistics) }
    }

    /// The slots of the rows.
    pub(super) fn slots(&self) -> &BitMask {
        &self.slots
    }

    /// True if they are of more rows than the index has.
    pub(super) fn is_given(&self) -> bool {
        self.begun.is_some()
    }

    /// The number of rows with words that begin with a stem, if that was passed.
    ///
    /// # Errors
    /// [`Error::Missing`] where other numbers were given, and not this one.
    pub(super) fn begun(&self, stem: &[u8]) -> Result<Option<u32>> {
        let fault = Error::Missing { what: "the numbers of rows that hold beginnings" };
        self.begun.as_ref().map(|begun| begun.get(stem).copied().ok_or(fault)).transpose()
    }

    /// The number of rows that hold a term.
    pub(super) fn count(&self, term: u32) -> u32 {
        self.counts.get(term)
    }

    /// FTS5's inverse document frequency of a term that `count` rows hold.
    pub(super) fn idf(&self, count: u32) -> f64 {
        idf(self.rows, count)
    }

    /// [`Self::length`] of the usual numbers of tokens, if it is known for the constants.
    pub(super) fn lengths(&self, constants: Constants) -> &[f64] {
        if constants == FTS5 { &self.lengths } else { &[] }
    }

    fn with_lengths(mut self) -> Self {
        self.lengths = (0..COMMON_LENGTHS).map(|tokens| self.length(tokens, FTS5)).collect();
        self
    }

    /// `k1 * (1 - b + b * tokens / average)`, in FTS5's order of operations.
    pub(super) fn length(&self, tokens: u32, Constants { k1, b }: Constants) -> f64 {
        let average = self.tokens as f64 / self.rows as f64;
        k1 * (1.0 - b + b * f64::from(tokens) / average)
    }
}

impl TextIndex {
    /// Count the rows of the given slots `(m,)`: the rows of the FTS5 table.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] or [`Error::Repeated`] for a slot.
    pub fn statistics(&self, slots: &[i64]) -> Result<Statistics> {
        Statistics::none(self).moved(self, slots, &[])
    }

    /// Take the rows of the given slots `(m,)` for some of a larger corpus: what the statistics of that corpus are is
    /// given, and scores are those in it. A term that is not named counts 0; what begins with an empty stem is nothing.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] or [`Error::Repeated`] for a slot.
    pub fn statistics_given<H: BuildHasher>(&self, slots: &[i64], input: &Given<'_, H>) -> Result<Statistics> {
        let mut result = Statistics::none(self);
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        for &slot in slots {
            let at = contents.check_slot(slot)?;
            if result.slots.contains(at) {
                return Err(Error::Repeated { slot });
            }
            result.slots.insert(at);
        }
        let contents = Arc::make_mut(&mut contents);
        // A term that no row here holds gets a number too: its count is asked for by name.
        let mut number = |name: &[u8]| Some(contents.number(Term::of_bytes(name)?));
        let named = input.counts.iter().filter_map(|(name, &count)| Some((number(name)?, count)));
        let named: Vec<(u32, u32)> = named.collect();
        result.counts.grow(contents.terms());
        named.into_iter().for_each(|(term, count)| result.counts.set(term, count));
        (result.rows, result.tokens) = (input.rows, input.tokens);
        result.begun =
            Some(input.begun.iter().map(|(stem, &count)| (stem.to_vec(), count)).chain([(Vec::new(), 0)]).collect());
        Ok(result.with_lengths())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::folder::Folder;

    #[test]
    fn statistics_move() {
        let index = TextIndex::new(1).unwrap();
        index.append(&[["red green red"], ["green blue"], [""], ["red"]]).unwrap();
        let all = index.statistics(&[0, 1, 2, 3]).unwrap();
        assert_eq!((all.rows(), all.tokens(), all.document_frequency(b"red")), (4, 6, 2));
        assert_eq!(all.document_frequency(b"none"), 0);
        index.append(&[["violet red"]]).unwrap();
        let moved = all.moved(&index, &[4], &[0, 1]).unwrap();
        let fresh = index.statistics(&[2, 3, 4]).unwrap();
        assert_eq!((moved.rows(), moved.tokens()), (3, 3));
        assert_eq!((&moved.counts, &moved.slots), (&fresh.counts, &fresh.slots));
        let mut terms = moved.to_vec();
        terms.sort();
        assert_eq!(terms, [(b"red".to_vec(), 2), (b"violet".to_vec(), 1)]);
        // A slot may go and come back in one step.
        assert_eq!(all.moved(&index, &[0], &[0]).unwrap().rows(), 4);
    }

    #[test]
    fn the_formula_has_ftss_floor() {
        let index = TextIndex::new(1).unwrap();
        index.append(&[["red"], ["red"], ["blue"]]).unwrap();
        let all = index.statistics(&[0, 1, 2]).unwrap();
        assert_eq!((all.idf(1), all.idf(2)), ((2.5_f64 / 1.5).ln(), LEAST_IDF));
        assert_eq!(all.length(1, FTS5), FTS5.k1);
        assert_eq!(all.length(5_000, FTS5), FTS5.k1 * (0.25 + 3_750.0));
    }

    #[test]
    fn statistics_of_a_slot_that_the_index_does_not_have_are_damaged() {
        let index = TextIndex::new(1).unwrap();
        index.append(&[["red"], ["green"]]).unwrap();
        let longer = index.frozen();
        longer.append(&[["blue"]]).unwrap();
        let folder = Folder::new("statistics");
        let mut writer = ArrayWriter::create(&folder.file("a"), b"").unwrap();
        longer.statistics(&[1]).unwrap().write(&mut writer, "second.").unwrap();
        longer.statistics(&[0, 2]).unwrap().write(&mut writer, "third.").unwrap();
        writer.finish().unwrap();
        let file = ArrayFile::open(&folder.file("a")).unwrap();
        assert_eq!(Statistics::open(&file, "second.", &index).unwrap().rows(), 1);
        assert_eq!(Statistics::open(&file, "third.", &longer).unwrap().rows(), 2);
        let fault = Statistics::open(&file, "third.", &index).unwrap_err();
        assert_eq!(fault, Error::Damaged { what: "the counts of rows" });
    }

    #[test]
    fn given_statistics_are_those_of_a_larger_corpus() {
        let (index, none) = (TextIndex::new(1).unwrap(), HashMap::new());
        index.append(&[["red"], ["green red"]]).unwrap();
        let counts: HashMap<Vec<u8>, u32> =
            [("red", 7), ("violet", 3), ("", 1), ("a\0", 1)].map(|(name, count)| (name.into(), count)).into();
        let input = |slots: &[i64]| {
            index.statistics_given(slots, &Given { rows: 90, tokens: 400, counts: &counts, begun: &none })
        };
        let result = input(&[1]).unwrap();
        assert_eq!((result.rows(), result.tokens(), result.slots().count()), (90, 400, 1));
        let counted = [&b"red"[..], b"violet", b"green", b"", b"a\0"].map(|term| result.document_frequency(term));
        assert_eq!(counted, [7, 3, 0, 0, 0]);
        assert_eq!(result.length(4, FTS5), FTS5.k1 * (0.25 + 0.75 * 4.0 / (400.0 / 90.0)));
        assert_eq!(input(&[2]).unwrap_err(), Error::OutOfRange { what: "slot", index: 2, len: 2 });
        assert_eq!(input(&[0, 0]).unwrap_err(), Error::Repeated { slot: 0 });
        assert_eq!(result.moved(&index, &[0], &[]).unwrap_err(), Error::Given);
        let folder = Folder::new("given");
        let mut writer = ArrayWriter::create(&folder.file("a"), b"").unwrap();
        assert_eq!(result.write(&mut writer, ""), Err(Error::Given));
        assert_eq!((result.begun(b""), result.begun(b"re").is_err()), (Ok(Some(0)), true));
        // A term that got its number before any row held it is like another.
        index.append(&[["violet violet"]]).unwrap();
        let later = index.statistics(&[0, 1, 2]).unwrap();
        assert_eq!((later.document_frequency(b"violet"), later.rows()), (1, 3));
        index.write(&mut writer, "i.").unwrap();
        writer.finish().unwrap();
        let opened = TextIndex::open(&ArrayFile::open(&folder.file("a")).unwrap(), "i.").unwrap();
        assert_eq!(opened.statistics(&[2]).unwrap().to_vec(), [(b"violet".to_vec(), 1)]);
    }

    #[test]
    fn faults() {
        let index = TextIndex::new(1).unwrap();
        index.append(&[["red"], ["green"]]).unwrap();
        let fault = |statistics: Result<Statistics>| statistics.unwrap_err();
        assert_eq!(fault(index.statistics(&[2])), Error::OutOfRange { what: "slot", index: 2, len: 2 });
        assert_eq!(fault(index.statistics(&[1, 0, 1])), Error::Repeated { slot: 1 });
        let one = index.statistics(&[0]).unwrap();
        assert_eq!(fault(one.moved(&index, &[0], &[])), Error::Repeated { slot: 0 });
        assert_eq!(fault(one.moved(&index, &[], &[1])), Error::NotCounted { slot: 1 });
        assert_eq!(fault(one.moved(&TextIndex::new(1).unwrap(), &[], &[])), Error::ForeignStatistics);
    }
}
