//! The postings of the first slots, flat, as they lie in a mapped file. Later slots are in the tail.
//!
//! Nothing in the file is believed: a place that leads outside, or a list that makes no sense, is taken for an empty list
//! and spoils the file ([`crate::arrays::Source::spoil`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::postings::{Peak, Posting, Run};
use crate::arrays::{Array, ArrayFile, Source, part_of};
use crate::error::{Error, Result};

/// Stands in `dense` for a term without bits.
pub(super) const NO_BITS: u32 = u32::MAX;

/// The statistics of each term, by its number.
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
    /// By term, a bit each, whether its lists were found to make sense.
    checked: Arc<[AtomicU64]>,
}

impl Base {
    /// The base in a file whose columns' names begin with `prefix`, for `slots` slots and `terms` terms.
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
            checked: (0..terms.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
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
    ///
    /// A list is checked when it is first asked for; one that makes no sense spoils the file, and is none.
    pub(super) fn run(&self, term: u32) -> Run<'_> {
        let Some(checked) = self.checked.get(term as usize / 64) else { return Run::default() };
        let bit = 1 << (term % 64);
        let run = self.listed(term);
        if checked.load(Ordering::Relaxed) & bit != 0 {
            return run.unwrap_or_default();
        }
        match run.filter(|run| run.makes_sense(self.slots)) {
            Some(run) => {
                checked.fetch_or(bit, Ordering::Relaxed);
                run
            }
            None => {
                self.postings.spoil();
                Run::default()
            }
        }
    }

    fn listed(&self, term: u32) -> Option<Run<'_>> {
        let words = self.slots.div_ceil(64);
        let Some(&number) = self.dense.get(term as usize) else { return Some(Run::default()) };
        let bits = if number == NO_BITS {
            None
        } else {
            let start = (number as usize).checked_mul(words)?;
            Some((0, self.bits.get(start..start.checked_add(words)?)?))
        };
        let (postings, peaks) =
            (part_of(&self.postings, &self.posting_ends, term), part_of(&self.peaks, &self.peak_ends, term));
        Some(Run { postings, peaks, bits })
    }
}
