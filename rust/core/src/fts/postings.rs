//! The rows that hold a term, by slot, with what bounds their scores.

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;

use super::column_counts::ColumnCounts;
use super::place::place_of;
use crate::arrays::{Array, ArrayFile, ArrayWriter};
use crate::collections::BitMask;
use crate::error::{Error, Result};

/// Postings that share one bound.
const BLOCK: usize = 128;
/// A term gets bits when it is in at least every sixteenth slot: then they take no more than a quarter of the postings.
const DENSE: usize = 16;
/// Least postings of a dense term: fewer are as quick to walk. Tests meet it early.
const LEAST_DENSE: usize = if cfg!(test) { 128 } else { 1_024 };

/// Stands for a tuple or a number of tokens that does not fit into a posting. Tests meet it early.
const TOO_LARGE: u16 = if cfg!(test) { 12 } else { u16::MAX };

/// One row of a term. All that scoring needs is here, in eight bytes: a look-up by slot would be a wait for memory.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Posting {
    /// The row's slot.
    pub(super) slot: u32,
    /// The number of the tuple that says how often the term occurs in each column.
    tuple: u16,
    /// The number of tokens of the row.
    tokens: u16,
}

impl Posting {
    /// The number of its tuple, below [`Posting::TUPLES`] if it fits into a posting, and of its tokens, or fewer if there
    /// are more than fit.
    pub(super) fn kept(self) -> (usize, u32) {
        (self.tuple.into(), self.tokens.into())
    }

    /// Tuples that fit into a posting.
    pub(super) const TUPLES: usize = TOO_LARGE as usize;
}

/// True if a term with `postings` postings in `slots` slots gets bits.
pub(super) fn is_dense(postings: usize, slots: usize) -> bool {
    postings * DENSE >= slots && postings >= LEAST_DENSE
}

/// The tables that postings refer to.
#[derive(Clone, Debug)]
pub(super) struct Details {
    pub(super) column_counts: ColumnCounts,
    /// By slot the number of tokens of all columns: those of a file, then those added since.
    base_tokens: Array<u32>,
    tokens: Vec<u32>,
    /// The same of the second column, the title of an entry.
    base_titles: Array<u32>,
    titles: Vec<u32>,
    /// By term and slot, ascending, the tuples that do not fit into a posting.
    base_large: Array<[u32; 2]>,
    base_large_tuples: Array<u32>,
    large: FxHashMap<(u32, u32), u32>,
}

impl Details {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            column_counts: ColumnCounts::new(columns),
            base_tokens: Array::default(),
            tokens: Vec::new(),
            base_titles: Array::default(),
            titles: Vec::new(),
            base_large: Array::default(),
            base_large_tuples: Array::default(),
            large: FxHashMap::default(),
        }
    }

    /// The details in a file.
    pub(super) fn open(file: &ArrayFile, prefix: &str, columns: usize) -> Result<Self> {
        let column_counts = ColumnCounts::from_base(columns, file.column(&format!("{prefix}shapes"))?)?;
        let (base_tokens, base_titles): (Array<u32>, Array<u32>) =
            (file.column(&format!("{prefix}tokens"))?, file.column(&format!("{prefix}titles"))?);
        if base_titles.len() != base_tokens.len() {
            return Err(Error::Damaged { what: "the lengths of titles" });
        }
        let (base_large, base_large_tuples): (Array<[u32; 2]>, Array<u32>) =
            (file.column(&format!("{prefix}large"))?, file.column(&format!("{prefix}large_shapes"))?);
        if base_large.len() != base_large_tuples.len() {
            return Err(Error::Damaged { what: "the shapes that are large" });
        }
        Ok(Self { column_counts, base_tokens, base_titles, base_large, base_large_tuples, ..Self::new(columns) })
    }

    /// Write all but the tuples as columns of a file.
    pub(super) fn write(&self, to: &mut ArrayWriter, name: impl Fn(&str) -> String) -> Result<()> {
        to.begin::<u32>(&name("tokens"))?;
        to.put(&self.base_tokens)?;
        to.put(&self.tokens)?;
        to.begin::<u32>(&name("titles"))?;
        to.put(&self.base_titles)?;
        to.put(&self.titles)?;
        let base = self.base_large.iter().copied().zip(self.base_large_tuples.iter().copied());
        let tail = self.large.iter().map(|(&(term, slot), &tuple)| ([term, slot], tuple));
        let mut large: Vec<_> = base.chain(tail).collect();
        large.sort_unstable();
        to.column(&name("large"), &large.iter().map(|&(key, _)| key).collect::<Vec<_>>())?;
        to.column(&name("large_shapes"), &large.iter().map(|&(_, tuple)| tuple).collect::<Vec<_>>())
    }

    /// The number of slots.
    pub(super) fn slots(&self) -> usize {
        self.base_tokens.len() + self.tokens.len()
    }

    /// The number of tokens of a row.
    pub(super) fn tokens(&self, slot: usize) -> u32 {
        of_slot(&self.base_tokens, &self.tokens, slot)
    }

    /// The number of tokens of a row's second column.
    pub(super) fn title(&self, slot: usize) -> u32 {
        of_slot(&self.base_titles, &self.titles, slot)
    }

    /// Add a slot with its tokens, and those of its second column.
    pub(super) fn push(&mut self, tokens: u32, title: u32) {
        self.tokens.push(tokens);
        self.titles.push(title);
    }

    /// The word of 64 bits in which the slots of the tail begin.
    fn first_word(&self) -> usize {
        self.base_tokens.len() / 64
    }

    /// The posting of a term in the row of the last slot.
    fn last_posting(&mut self, term: u32, tuple: u32) -> Posting {
        let slot = self.slots() as u32 - 1;
        let fitting = |number: u32| number.min(u32::from(TOO_LARGE)) as u16;
        if fitting(tuple) == TOO_LARGE {
            self.large.insert((term, slot), tuple);
        }
        Posting { slot, tuple: fitting(tuple), tokens: fitting(self.tokens(slot as usize)) }
    }

    fn large(&self, term: u32, slot: u32) -> u32 {
        let in_base = || {
            let at = self.base_large.binary_search(&[term, slot]).ok()?;
            self.base_large_tuples.get(at)
        };
        let results = if (slot as usize) < self.base_tokens.len() { in_base() } else { self.large.get(&(term, slot)) };
        results.copied().unwrap_or(u32::from(TOO_LARGE))
    }

    /// The tuple and the number of tokens of a term's posting.
    #[inline]
    pub(super) fn of(&self, term: u32, posting: Posting) -> (u32, u32) {
        let tuple = match posting.tuple {
            TOO_LARGE => self.large(term, posting.slot),
            tuple => u32::from(tuple),
        };
        let tokens = match posting.tokens {
            TOO_LARGE => self.tokens(posting.slot as usize),
            tokens => u32::from(tokens),
        };
        (tuple, tokens)
    }
}

/// The value of a slot, of a file or added since; 0 beyond the end.
fn of_slot(base: &[u32], added: &[u32], slot: usize) -> u32 {
    let value = slot.checked_sub(base.len()).map_or_else(|| base.get(slot), |slot| added.get(slot));
    value.copied().unwrap_or(0)
}

/// The bounds of a block's postings: the largest counts, and the fewest tokens of a row.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Peak {
    pub(super) tuple: u32,
    pub(super) tokens: u32,
}

/// A run of a term's postings, slots ascending.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run<'a> {
    pub(super) postings: &'a [Posting],
    /// The peaks of its blocks; none for a short run.
    pub(super) peaks: &'a [Peak],
    /// Its slots as bits, if it is dense: the place of the first word, and the words.
    pub(super) bits: Option<(usize, &'a [u64])>,
}

impl Run<'_> {
    /// Add the slots below a limit to a set, and maybe others of the limit's word of 64 slots.
    ///
    /// Only a file that was tampered with has slots beyond its rows. Without the limit one posting could make the set
    /// take half a gigabyte; checking at opening instead would read every page of the file.
    pub(super) fn mark(&self, set: &mut BitMask, limit: usize) {
        match self.bits {
            Some((first, words)) => {
                let within = limit.div_ceil(64).saturating_sub(first).min(words.len());
                set.unite(first, &words[..within]);
            }
            None => {
                let slots = self.postings.iter().map(|posting| posting.slot as usize);
                slots.filter(|&slot| slot < limit).for_each(|slot| set.insert(slot));
            }
        }
    }

    /// True if it can be the run of a term over `slots` slots: slots ascend, each block has a peak, the bits fit.
    pub(super) fn makes_sense(&self, slots: usize) -> bool {
        let Self { postings, peaks, bits } = self;
        postings.is_sorted_by(|a, b| a.slot < b.slot)
            && postings.last().is_none_or(|last| (last.slot as usize) < slots)
            // Two runs that became one have a block more, where the first was not full.
            && (peaks.is_empty() || (postings.len().div_ceil(BLOCK)..=postings.len()).contains(&peaks.len()))
            && bits.is_none_or(|(_, words)| {
                words.iter().map(|word| word.count_ones() as usize).sum::<usize>() == postings.len()
            })
    }

    /// The posting of a slot.
    pub(super) fn find(&self, slot: usize) -> Option<Posting> {
        let slot = u32::try_from(slot).ok()?;
        if let Some((first, words)) = self.bits {
            // Most of what is looked for is not there, and a bit says so at once.
            let word = (slot as usize / 64).checked_sub(first).and_then(|at| words.get(at))?;
            if word >> (slot % 64) & 1 == 0 {
                return None;
            }
        }
        self.postings.get(place_of(self.postings, slot)).copied().filter(|posting| posting.slot == slot)
    }
}

/// The peaks of a term whose runs become one; none if that is short.
pub(super) fn peaks_of(
    runs: [Run<'_>; 2],
    mut larger: impl FnMut(u32, u32) -> u32,
    of: impl Fn(Posting) -> (u32, u32),
) -> Vec<Peak> {
    let mut peaks = Vec::new();
    if runs.iter().map(|run| run.postings.len()).sum::<usize>() < BLOCK {
        return peaks;
    }
    for run in runs {
        peaks.extend_from_slice(run.peaks);
        if run.peaks.is_empty() {
            let all = run.postings.iter().map(|&posting| of(posting));
            let peak = all.reduce(|(tuple, tokens), (other, more)| (larger(tuple, other), tokens.min(more)));
            peaks.extend(peak.map(|(tuple, tokens)| Peak { tuple, tokens }));
        }
    }
    peaks
}

/// A frequent term's peaks and, if it is dense, its slots as bits, counted from the tail's first word.
#[derive(Clone, Debug, Default)]
struct Summary {
    peaks: Vec<Peak>,
    bits: Option<BitMask>,
}

/// A term's postings, slots ascending. Most terms of a corpus have one, which needs no memory of its own.
#[derive(Clone, Debug)]
enum List {
    One(Posting),
    Many(Vec<Posting>),
}

/// A term's postings in the tail, slots ascending, append-only.
#[derive(Clone, Debug)]
pub(super) struct Postings {
    list: List,
    summary: Option<Box<Summary>>,
}

impl Postings {
    /// The postings of a term that no row holds.
    pub(super) fn none() -> Self {
        Self { list: List::Many(Vec::new()), summary: None }
    }

    pub(super) fn as_slice(&self) -> &[Posting] {
        match &self.list {
            List::One(posting) => std::slice::from_ref(posting),
            List::Many(postings) => postings,
        }
    }

    /// All of them; `details` are those they were made with.
    pub(super) fn run(&self, details: &Details) -> Run<'_> {
        let summary = self.summary.as_ref();
        Run {
            postings: self.as_slice(),
            peaks: summary.map_or(&[], |summary| &summary.peaks),
            bits: summary.and_then(|summary| summary.bits.as_ref()).map(|bits| (details.first_word(), bits.words())),
        }
    }

    /// Add the row of the last slot.
    pub(super) fn push(&mut self, term: u32, tuple: u32, details: &mut Details) {
        let posting = details.last_posting(term, tuple);
        match &mut self.list {
            List::Many(none) if none.is_empty() => self.list = List::One(posting),
            List::One(first) => self.list = List::Many(vec![*first, posting]),
            List::Many(postings) => {
                if postings.len() == postings.capacity() {
                    // A vector left to itself doubles: across a corpus, a third of the memory stays empty.
                    postings.reserve_exact(postings.len().div_ceil(4));
                }
                postings.push(posting);
            }
        }
        let count = self.as_slice().len();
        if count == BLOCK {
            let mut summary = Summary::default();
            self.as_slice().iter().enumerate().for_each(|(at, &p)| summary.push(at, term, p, details));
            self.summary = Some(Box::new(summary));
        } else if let Some(summary) = &mut self.summary {
            summary.push(count - 1, term, posting, details);
            if summary.bits.is_none() && is_dense(count, details.tokens.len()) {
                let (mut bits, first) = (BitMask::default(), details.first_word() * 64);
                self.as_slice().iter().for_each(|p| bits.insert(p.slot as usize - first));
                if let Some(summary) = &mut self.summary {
                    summary.bits = Some(bits);
                }
            }
        }
    }
}

impl Summary {
    /// Take note of the posting at a place.
    fn push(&mut self, at: usize, term: u32, posting: Posting, details: &mut Details) {
        let (tuple, tokens) = details.of(term, posting);
        match self.peaks.get_mut(at / BLOCK) {
            None => self.peaks.push(Peak { tuple, tokens }),
            Some(peak) => {
                peak.tuple = details.column_counts.peak(peak.tuple, tuple);
                peak.tokens = peak.tokens.min(tokens);
            }
        }
        if let Some(bits) = &mut self.bits {
            bits.insert(posting.slot as usize - details.first_word() * 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_beyond_the_rows_takes_no_memory() {
        let postings = [3, 129, 130, u32::MAX].map(|slot| Posting { slot, tuple: 0, tokens: 1 });
        let listed = Run { postings: &postings, ..Run::default() };
        let dense = Run { bits: Some((1, &[1, 6, 1 << 63, 7])), ..Run::default() };
        for run in [listed, dense] {
            let mut set = BitMask::default();
            run.mark(&mut set, 130);
            assert!(set.words().len() <= 3 && set.contains(129) && !set.contains(192), "{set:?}");
        }
    }

    #[test]
    fn peaks_bound_their_block_and_bits_equal_the_list() {
        let mut details = Details::new(2);
        let numbers: Vec<u32> = (0..25).map(|i| details.column_counts.number(&[i % 5, i / 5])).collect();
        let mut postings = Postings::none();
        for slot in 0..5_000_u32 {
            details.push(3 + slot * 7 % 31, 0);
            if slot % 3 < 2 {
                postings.push(9, numbers[(slot * 5 % 23) as usize], &mut details);
            }
        }
        let run = postings.run(&details);
        assert_eq!(run.peaks.len(), run.postings.len().div_ceil(BLOCK));
        for (block, peak) in run.postings.chunks(BLOCK).zip(run.peaks) {
            let highest = details.column_counts.get(peak.tuple);
            for &p in block {
                let (tuple, tokens) = details.of(9, p);
                assert_eq!((tuple, tokens), (numbers[(p.slot * 5 % 23) as usize], 3 + p.slot * 7 % 31));
                assert!(peak.tokens <= tokens);
                assert!(details.column_counts.get(tuple).iter().zip(highest).all(|(a, b)| a <= b));
            }
        }
        let (mut dense, mut listed) = (BitMask::default(), BitMask::default());
        assert!(run.bits.is_some());
        run.mark(&mut dense, 5_000);
        run.postings.iter().for_each(|p| listed.insert(p.slot as usize));
        assert_eq!(dense, listed);
    }
}
