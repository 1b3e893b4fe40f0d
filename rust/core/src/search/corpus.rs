//! The arrays of a snapshot, borrowed for as long as a search reads them.

use crate::error::{Error, Result};
use crate::fts::{self, Constants, Part, Statistics, TextIndex};
use crate::terms::{Frequencies, SpellingIndex, SpellingStatistics, TermIndex};
use crate::vectors::{Codes, Pieces, Sample};

use super::labels::NameTable;

/// A snapshot: what signals read of every slot `(s,)`, and the indexes over the slots.
#[derive(Clone, Copy, Debug)]
pub struct Corpus<'a> {
    /// The store's row of each slot.
    pub rows: &'a [i64],
    /// Epoch seconds.
    pub created_at: &'a [f64],
    /// Epoch seconds.
    pub updated_at: &'a [f64],
    /// Epoch seconds, -inf without a limit.
    pub valid_from: &'a [f64],
    /// Epoch seconds, inf without a limit.
    pub valid_until: &'a [f64],
    /// Numbers into `names`.
    pub kind: &'a [i32],
    /// Numbers into `names`.
    pub severity: &'a [i32],
    /// Numbers into `names`.
    pub domain: &'a [i32],
    /// The names of kinds, severities and domains.
    pub names: &'a NameTable,
    /// Full text; None while it is not in memory.
    pub text: Option<FullText<'a>>,
    /// Token counts, and the document frequencies of this moment.
    pub terms: Option<(&'a TermIndex, &'a Frequencies)>,
}

/// The full-text tables of a snapshot, and the spelling of its texts.
#[derive(Clone, Copy, Debug)]
pub struct FullText<'a> {
    /// The texts of entries, in five columns.
    pub entries: (&'a TextIndex, &'a Statistics),
    /// Their grams, in one column.
    pub grams: (&'a TextIndex, &'a Statistics),
    /// Their words.
    pub spelling: (&'a SpellingIndex, &'a SpellingStatistics),
}

/// The vectors of one space.
#[derive(Clone, Copy, Debug)]
pub struct Space<'a> {
    /// The space's number in its store.
    pub number: i64,
    /// Unit rows `(v, d)`.
    pub rows: Pieces<'a>,
    /// The slot of each row `(v,)`.
    pub slots: &'a [i64],
    /// The rows' codes; None where there are few rows.
    pub codes: Option<&'a Codes>,
    /// The row of each slot `(s,)`, -1 for a slot without a vector.
    pub positions: &'a [i32],
    /// Some of the rows.
    pub sample: &'a Sample,
}

impl<'a> Corpus<'a> {
    /// Fail unless every array has a value for each slot.
    ///
    /// # Errors
    /// [`Error::Length`] naming the array.
    pub fn checked(self) -> Result<Self> {
        let s = self.rows.len();
        for (what, got) in [
            ("created_at", self.created_at.len()),
            ("updated_at", self.updated_at.len()),
            ("valid_from", self.valid_from.len()),
            ("valid_until", self.valid_until.len()),
            ("kind", self.kind.len()),
            ("severity", self.severity.len()),
            ("domain", self.domain.len()),
        ] {
            if got != s {
                return Err(Error::Length { what, got, wanted: s });
            }
        }
        Ok(self)
    }

    /// The slots of vectors that were found, best first; equal ones by their rows, as slots change with each write.
    ///
    /// # Errors
    /// [`Error::Length`] and [`Error::OutOfRange`] for a vector without a slot of this snapshot.
    pub(super) fn slots_of(&self, vectors: &[usize], scores: &[f64], slots: &[i64]) -> Result<Vec<i64>> {
        let slot = |&vector: &usize| slots.get(vector).copied();
        let out_of_range = || Error::Length { what: "the slots of vectors", got: slots.len(), wanted: vectors.len() };
        let mut results: Vec<i64> =
            vectors.iter().map(|vector| slot(vector).ok_or_else(out_of_range)).collect::<Result<_>>()?;
        self.check(&results)?;
        let mut rest = &mut results[..];
        for equal in scores.chunk_by(|one, other| one == other) {
            let (these, others) = rest.split_at_mut(equal.len().min(rest.len()));
            these.sort_unstable_by_key(|&slot| self.rows[slot as usize]);
            rest = others;
        }
        Ok(results)
    }

    /// Fail unless the slots are some of this snapshot's.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for the first that is none.
    pub(super) fn check(&self, slots: &[i64]) -> Result<()> {
        let len = self.rows.len();
        match slots.iter().find(|&&slot| usize::try_from(slot).map_or(true, |slot| slot >= len)) {
            Some(&index) => Err(Error::OutOfRange { what: "slot", index, len }),
            None => Ok(()),
        }
    }
}

impl<'a> FullText<'a> {
    /// Return the number of entries, and how many of them hold each term.
    ///
    /// # Errors
    /// Those of [`fts::rows_holding`].
    pub fn counts(&self, terms: &[String], grams: bool) -> Result<(u64, Vec<usize>)> {
        let weights = [1.0; 5];
        Ok((self.entries.1.rows(), fts::rows_holding(&self.parts(&weights, fts::FTS5, grams), terms)?))
    }

    /// Return the number of entries, and how many of them hold what each word begins, in columns of a weight above 0.
    ///
    /// # Errors
    /// Those of [`fts::beginnings`].
    pub fn counts_begun(&self, words: &[String], weights: &[f64]) -> Result<(u64, Vec<usize>)> {
        Ok((self.entries.1.rows(), fts::beginnings(self.entries(weights, fts::FTS5), words)?.counts()))
    }

    /// True if there is a term that no row holds.
    pub(super) fn lacks_any(&self, terms: &[String], grams: bool) -> bool {
        terms.iter().any(|term| {
            let [name] = &fts::index_terms(term)[..] else { return false };
            self.entries.1.document_frequency(name) == 0 && !(grams && self.grams.1.document_frequency(name) > 0)
        })
    }

    /// The entries, without the grams.
    pub(super) fn entries<'w>(&self, weights: &'w [f64], constants: Constants) -> Part<'w>
    where
        'a: 'w,
    {
        Part { index: self.entries.0, statistics: self.entries.1, weights, constants }
    }

    /// The parts that a query ranks over: the entries, and the grams if they are wanted and there are any.
    pub(super) fn parts<'w>(&self, weights: &'w [f64], constants: Constants, grams: bool) -> Vec<Part<'w>>
    where
        'a: 'w,
    {
        let mut parts = vec![self.entries(weights, constants)];
        if grams && self.grams.1.rows() > 0 {
            parts.push(Part { index: self.grams.0, statistics: self.grams.1, weights: &[1.0], constants });
        }
        parts
    }
}
