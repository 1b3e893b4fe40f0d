//! Document frequencies of a term index.
//!
//! The counts lie in one array, mapped where they come from a file: a candidate looks up the count of each of its terms.
//! Full text ([`crate::fts`]) looks up those of a query only, so its counts lie in pieces that versions share.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::index::{Shared, TermIndex};
use super::memo::Memo;
use crate::arrays::{Array, ArrayFile, ArrayWriter, Source};
use crate::collections::{Term, text};
use crate::error::{Error, Result};

/// Document frequencies at one moment: immutable, made from a [`TermIndex`].
#[derive(Debug)]
pub struct Frequencies {
    shared: Arc<Shared>,
    /// By term number; a term beyond the end is unknown.
    counts: Array<u32>,
    documents: usize,
    /// Counts that come from a file may be wrong; then they are not said to be the caller's fault.
    is_of_file: bool,
    /// The idf of counts that were asked for: logarithms are most of the work on a candidate.
    idf: Memo,
}

impl Frequencies {
    /// No documents.
    pub(super) fn none(index: &TermIndex) -> Self {
        Self::of(&index.shared, Array::default(), 0, false)
    }

    fn of(shared: &Arc<Shared>, counts: Array<u32>, documents: usize, is_of_file: bool) -> Self {
        Self { shared: Arc::clone(shared), counts, documents, is_of_file, idf: Memo::default() }
    }

    /// The frequencies that [`Self::write`] wrote, over the same index and `documents` documents.
    ///
    /// # Errors
    /// [`Error::Damaged`] where there is no such column.
    pub fn open(file: &ArrayFile, prefix: &str, index: &TermIndex, documents: usize) -> Result<Self> {
        Ok(Self::of(&index.shared, file.column(&format!("{prefix}frequencies"))?, documents, true))
    }

    /// Write the frequencies as a column of a file, its name beginning with `prefix`.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        to.column(&format!("{prefix}frequencies"), &self.counts)
    }

    /// The file's bytes that it lies in, if any.
    pub fn source(&self) -> Option<Arc<Source>> {
        self.counts.source().cloned()
    }

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
        let contents = self.shared.read();
        contents.check_all(added)?;
        contents.check_all(removed)?;
        let mut counts = self.counts.to_vec();
        counts.resize(contents.terms().max(counts.len()), 0);
        for &slot in added {
            // A term that a file which was tampered with invents counts nowhere.
            contents.get(slot)?.for_each(|term, _| {
                if let Some(count) = counts.get_mut(term as usize) {
                    *count = count.saturating_add(1);
                }
            });
        }
        let mut documents = self.documents + added.len();
        for &slot in removed {
            let mut was_counted = documents > 0;
            documents = documents.saturating_sub(1);
            contents.get(slot)?.for_each(|term, _| {
                if let Some(count) = counts.get_mut(term as usize) {
                    was_counted &= *count > 0;
                    *count = count.saturating_sub(1);
                }
            });
            if !was_counted && !self.is_of_file {
                return Err(Error::NotCounted { slot });
            }
        }
        Ok(Self::of(&self.shared, counts.into(), documents, self.is_of_file))
    }

    /// Return the number of counted documents that hold the term.
    pub fn document_frequency(&self, term: &str) -> u32 {
        self.shared.read().find_text(term).map_or(0, |term| self.count(term))
    }

    /// Return `ln((N + 1) / (df + 1)) + 1`.
    pub fn idf(&self, term: &str) -> f64 {
        self.idf_of(self.document_frequency(term))
    }

    /// Return every term with a document frequency of at least 1, in no particular order.
    pub fn to_vec(&self) -> Vec<(String, u32)> {
        let contents = self.shared.read();
        let counts = contents.names().zip(0..).map(|(name, term)| (text(name), self.count(term)));
        counts.filter(|&(_, count)| count > 0).collect()
    }

    pub(super) fn check_index(&self, index: &TermIndex) -> Result<()> {
        if Arc::ptr_eq(&self.shared, &index.shared) { Ok(()) } else { Err(Error::ForeignIndex) }
    }

    /// The weights of terms, but for the factor `1 / tokens`.
    pub(super) fn weights(&self) -> Weights<'_> {
        Weights { counts: &self.counts, frequencies: self }
    }

    fn count(&self, term: u32) -> u32 {
        self.counts.get(term as usize).copied().unwrap_or(0)
    }

    fn idf_of(&self, count: u32) -> f64 {
        ((self.documents as f64 + 1.0) / (f64::from(count) + 1.0)).ln() + 1.0
    }
}

impl TermIndex {
    /// Count document frequencies over the given slots `(m,)`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] or [`Error::Repeated`] for a slot.
    pub fn frequencies(&self, slots: &[i64]) -> Result<Frequencies> {
        Frequencies::none(self).moved(self, slots, &[])
    }

    /// Take the slots for some of a larger corpus: how many documents it has and how many of them hold each term is given.
    /// A term that is not named is unknown.
    pub fn frequencies_given<H: BuildHasher>(&self, documents: usize, input: &HashMap<String, u32, H>) -> Frequencies {
        let mut contents = self.shared.write();
        let contents = Arc::make_mut(&mut contents);
        let mut counts = vec![0; contents.terms()];
        for (name, &count) in input {
            // A term that no text here holds gets a number too: the query may hold it.
            let Some(term) = Term::of_bytes(name.as_bytes()) else { continue };
            let number = contents.number(term) as usize;
            counts.resize(counts.len().max(number + 1), 0);
            counts[number] = count;
        }
        Frequencies::of(&self.shared, counts.into(), documents, false)
    }
}

/// Frequencies whose counts were looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights<'a> {
    counts: &'a [u32],
    frequencies: &'a Frequencies,
}

impl Weights<'_> {
    /// The weight of a term in a text that holds it so often; None for an unknown term.
    #[inline]
    pub(super) fn of(self, term: u32, count: u32) -> Option<f64> {
        match self.counts.get(term as usize).copied().unwrap_or(0) {
            0 => None,
            frequency => {
                let of = |frequency| self.frequencies.idf_of(frequency);
                Some(f64::from(count) * self.frequencies.idf.get(frequency, of))
            }
        }
    }
}
