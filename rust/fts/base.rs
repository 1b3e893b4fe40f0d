//! The postings of the first slots, flat, as they lie in a mapped file. Later slots are in the tail.
//!
//! Nothing in the file is believed: a place that leads outside is taken for an empty list, so that a file that was
//! tampered with may spoil an answer, but never a process.

use std::sync::Arc;

use super::postings::{Peak, Posting, Run};
use crate::arrays::{Array, ArrayFile, Source, part};
use crate::error::{Error, Result};

/// Stands in `dense` for a term without bits.
pub(super) const NO_BITS: u32 = u32::MAX;

/// What is known of each term, by its number.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    slots: usize,
    postings: Array<Posting>,
    posting_ends: Array<u64>,
    peaks: Array<Peak>,
    peak_ends: Array<u64>,
    /// By term which set of `bits` is its own.
    dense: Array<u32>,
    bits: Array<u64>,
}

impl Base {
    /// The base in a file whose columns' names begin with `prefix`, for so many slots and terms.
    ///
    /// # Errors
    /// [`Error::Damaged`] where columns are missing or do not fit each other.
    pub(super) fn open(file: &ArrayFile, prefix: &str, slots: usize, terms: usize) -> Result<Self> {
        let name = |column: &str| format!("{prefix}{column}");
        let base = Self {
            slots,
            postings: file.column(&name("postings"))?,
            posting_ends: file.column(&name("posting_ends"))?,
            peaks: file.column(&name("peaks"))?,
            peak_ends: file.column(&name("peak_ends"))?,
            dense: file.column(&name("dense"))?,
            bits: file.column(&name("bits"))?,
        };
        let fits = [base.posting_ends.len(), base.peak_ends.len(), base.dense.len()].iter().all(|&len| len == terms)
            && u32::try_from(slots).is_ok();
        if fits { Ok(base) } else { Err(Error::Damaged { what: "the length of a column of terms" }) }
    }

    /// The file's bytes that the postings lie in, if any.
    pub(super) fn source(&self) -> Option<&Arc<Source>> {
        self.postings.source()
    }

    /// The number of slots.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// The postings of a term; none for a term of the tail.
    pub(super) fn run(&self, term: u32) -> Run<'_> {
        let words = self.slots.div_ceil(64);
        let bits = self.dense.get(term as usize).filter(|&&number| number != NO_BITS).and_then(|&number| {
            let start = (number as usize).checked_mul(words)?;
            self.bits.get(start..start.checked_add(words)?)
        });
        Run {
            postings: part(&self.postings, &self.posting_ends, term),
            peaks: part(&self.peaks, &self.peak_ends, term),
            bits: bits.map(|words| (0, words)),
        }
    }
}
