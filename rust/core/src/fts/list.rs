//! Scores of postings, and the lists of them that a query walks.

use std::cell::Cell;

use super::contents::Contents;
use super::postings::{Posting, Run};
use super::statistics::{Constants, LEAST_IDF, Statistics};
use crate::collections::BitMask;
use crate::error::Result;

/// Tuples whose frequency is kept during a query. Those seen first are the common ones; the table must be quick to make.
pub(super) const COMMON_TUPLES: usize = if cfg!(test) { 20 } else { 1_024 };

/// FTS5's formula over the rows of one index.
pub(super) struct Scorer<'a> {
    pub(super) contents: &'a Contents,
    pub(super) statistics: &'a Statistics,
    weights: &'a [f64],
    pub(super) constants: Constants,
    /// By number of tokens the part of the formula that depends on it, as far as it is known.
    lengths: &'a [f64],
    /// The weighted frequency by common tuple, NaN until it is first asked for.
    frequencies: Vec<Cell<f64>>,
}

impl<'a> Scorer<'a> {
    pub(super) fn new(
        contents: &'a Contents,
        statistics: &'a Statistics,
        weights: &'a [f64],
        constants: Constants,
    ) -> Self {
        let common = contents.details.column_counts.len().min(COMMON_TUPLES);
        let (lengths, frequencies) = (statistics.lengths(constants), vec![Cell::new(f64::NAN); common]);
        Self { contents, statistics, weights, constants, lengths, frequencies }
    }

    /// The score that a term's posting adds to its row.
    pub(super) fn score(&self, idf: f64, term: u32, posting: Posting) -> f64 {
        let (tuple, tokens) = self.contents.details.of(term, posting);
        self.formula(idf, tuple, tokens)
    }

    /// The upper bound of the scores of a term's postings.
    fn bound(&self, idf: f64, term: u32, runs: &[Run<'_>; 2]) -> f64 {
        if idf == LEAST_IDF {
            // The frequency divided by itself and more is under 1; nothing is gained by being more precise.
            return idf * self.constants.most();
        }
        let most = |run: &Run<'_>| {
            if run.peaks.is_empty() {
                return run.postings.iter().map(|&posting| self.score(idf, term, posting)).fold(0.0, f64::max);
            }
            run.peaks.iter().map(|peak| self.formula(idf, peak.tuple, peak.tokens)).fold(0.0, f64::max)
        };
        runs.iter().map(most).fold(0.0, f64::max)
    }

    /// The score that the postings of several terms add to one row, where the terms count as one.
    pub(super) fn score_together(&self, idf: f64, postings: &[(u32, Posting)]) -> f64 {
        match postings {
            [] => 0.0,
            &[(term, posting)] => self.score(idf, term, posting),
            [(term, posting), ..] => {
                let details = &self.contents.details;
                let tuples = postings.iter().map(|&(term, posting)| details.of(term, posting).0);
                let frequency = details.column_counts.frequency_together(tuples, self.weights);
                self.weighed(idf, frequency, details.of(*term, *posting).1)
            }
        }
    }

    /// True if every column has a weight above 0.
    pub(super) fn counts_everything(&self) -> bool {
        self.weights.iter().all(|&weight| weight > 0.0)
    }

    /// True if a posting is of a column whose weight is above 0.
    pub(super) fn occurs(&self, term: u32, posting: Posting) -> bool {
        self.frequency(self.contents.details.of(term, posting).0) > 0.0
    }

    fn formula(&self, idf: f64, tuple: u32, tokens: u32) -> f64 {
        self.weighed(idf, self.frequency(tuple), tokens)
    }

    fn weighed(&self, idf: f64, frequency: f64, tokens: u32) -> f64 {
        let length = self.lengths.get(tokens as usize).copied();
        let length = length.unwrap_or_else(|| self.statistics.length(tokens, self.constants));
        idf * ((frequency * self.constants.most()) / (frequency + length))
    }

    /// The approximate maximum of tokens in a row for a term's posting to add `least` to its score; NaN if the length
    /// does not matter.
    fn tokens_within(&self, idf: f64, tuple: u32, least: f64) -> f64 {
        let (frequency, Constants { k1, b }) = (self.frequency(tuple), self.constants);
        let length = idf * frequency * self.constants.most() / least - frequency;
        (length - k1 * (1.0 - b)) / (self.statistics.length(1, self.constants) - k1 * (1.0 - b))
    }

    fn frequency(&self, tuple: u32) -> f64 {
        let compute = || self.contents.details.column_counts.frequency(tuple, self.weights);
        let Some(known) = self.frequencies.get(tuple as usize) else { return compute() };
        if known.get().is_nan() {
            known.set(compute());
        }
        known.get()
    }
}

/// A slot as an index, if all parts have it.
///
/// # Errors
/// [`crate::Error::OutOfRange`].
pub(super) fn check_slot(scorers: &[Scorer<'_>], slot: i64) -> Result<usize> {
    scorers.iter().try_for_each(|scorer| scorer.contents.check_slot(slot).map(|_| ()))?;
    Ok(slot as usize)
}

/// One term of a query in one index, walked from low slots to high ones.
pub(super) struct List<'a> {
    /// The index's place among the parts.
    pub(super) part: usize,
    term: u32,
    runs: [Run<'a>; 2],
    split: usize,
    idf: f64,
    /// Occurrences of the term in the query.
    pub(super) times: f64,
    /// The upper bound of the score of all occurrences of the term.
    pub(super) bound: f64,
    next: [usize; 2],
    probe: [usize; 2],
}

impl<'a> List<'a> {
    /// The list of a term, given its inverse document frequency.
    pub(super) fn new(part: usize, term: u32, idf: f64, scorer: &Scorer<'a>) -> Self {
        let runs = scorer.contents.runs(term);
        let bound = scorer.bound(idf, term, &runs);
        Self { part, term, runs, split: scorer.contents.split(), idf, times: 1.0, bound, next: [0; 2], probe: [0; 2] }
    }

    /// The score that a posting of the list adds to its row, for each occurrence in the query.
    pub(super) fn score(&self, scorer: &Scorer<'_>, posting: Posting) -> f64 {
        scorer.score(self.idf, self.term, posting)
    }

    /// The number of tokens from which a posting of a tuple adds too little to its row; `least` is about enough.
    pub(super) fn tokens_too_many(
        &self,
        scorer: &Scorer<'_>,
        tuple: u32,
        least: f64,
        is_too_little: impl Fn(f64) -> bool,
    ) -> Option<u32> {
        let most = scorer.tokens_within(self.idf, tuple, least / self.times);
        // Rounding may have moved it. That it is too little is certain, and more tokens never add more.
        let beyond = if most.is_nan() { None } else { (most as u32).checked_add(2) };
        beyond.filter(|&tokens| is_too_little(self.times * scorer.formula(self.idf, tuple, tokens)))
    }

    /// One of the two runs.
    pub(super) fn run(&self, run: usize) -> &Run<'a> {
        &self.runs[run]
    }

    /// The first slot of the second run's kind.
    pub(super) fn split(&self) -> usize {
        self.split
    }

    /// Say that a run was walked to its end.
    pub(super) fn pass(&mut self, run: usize) {
        self.next[run] = self.runs[run].postings.len();
    }

    /// The postings, slots ascending.
    pub(super) fn postings(&self) -> impl Iterator<Item = Posting> + '_ {
        self.runs.iter().flat_map(|run| run.postings).copied()
    }

    /// The number of postings.
    pub(super) fn len(&self) -> usize {
        self.runs.iter().map(|run| run.postings.len()).sum()
    }

    /// Add the slots below a limit to a set; see [`Run::mark`].
    pub(super) fn mark(&self, set: &mut BitMask, limit: usize) {
        self.runs.iter().for_each(|run| run.mark(set, limit));
    }

    /// The slot the walk has reached.
    pub(super) fn slot(&self) -> Option<usize> {
        let next = self.runs.iter().zip(self.next).find_map(|(run, next)| run.postings.get(next));
        next.map(|posting| posting.slot as usize)
    }

    /// Walk to the slot `end`, passing on the slots before it that are allowed, each with what the list adds to it.
    pub(super) fn walk(
        &mut self,
        end: usize,
        allowed: &BitMask,
        scorer: &Scorer<'_>,
        mut each: impl FnMut(usize, f64),
    ) {
        for (i, run) in self.runs.iter().enumerate() {
            let rest = &run.postings[self.next[i]..];
            let mut walked = 0;
            for &posting in rest {
                if posting.slot as usize >= end {
                    break;
                }
                walked += 1;
                if allowed.contains(posting.slot as usize) {
                    each(posting.slot as usize, self.times * self.score(scorer, posting));
                }
            }
            self.next[i] += walked;
            if walked < rest.len() {
                break;
            }
        }
    }

    /// The posting of a slot; slots must be asked for in ascending order.
    pub(super) fn at(&mut self, slot: usize) -> Option<Posting> {
        let i = usize::from(slot >= self.split);
        let (postings, probe) = (self.runs[i].postings, &mut self.probe[i]);
        let before = |posting: &Posting| (posting.slot as usize) < slot;
        // Doubling steps: the slot is near when many are asked for, and may be far when few are.
        let mut step = 1;
        while postings.get(*probe + step).is_some_and(before) {
            *probe += step;
            step *= 2;
        }
        let end = postings.len().min(*probe + step + 1);
        *probe += postings[(*probe).min(end)..end].partition_point(before);
        postings.get(*probe).copied().filter(|posting| posting.slot as usize == slot)
    }

    /// The posting of a slot, by a walk on from the places that the last slot left; slots ascend.
    pub(super) fn find_from(&self, at: &mut [usize; 2], slot: usize) -> Option<Posting> {
        let run = usize::from(slot >= self.split);
        let rest = &self.runs[run].postings[at[run]..];
        at[run] += rest.iter().take_while(|posting| (posting.slot as usize) < slot).count();
        self.runs[run].postings.get(at[run]).copied().filter(|posting| posting.slot as usize == slot)
    }

    /// The posting of a slot, looked up afresh.
    pub(super) fn find(&self, slot: usize) -> Option<Posting> {
        self.runs[usize::from(slot >= self.split)].find(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::TextIndex;
    use super::*;

    #[test]
    fn lists_are_walked_and_probed() {
        let index = TextIndex::new(1).unwrap();
        let rows: Vec<[&str; 1]> = (0..1_000).map(|i| [if i % 7 == 0 { "red fox" } else { "blue" }]).collect();
        index.append(&rows).unwrap();
        let statistics = index.statistics(&(0..1_000).collect::<Vec<i64>>()).unwrap();
        let contents = index.read();
        let scorer = Scorer::new(&contents, &statistics, &[1.0], Constants::default());
        let red = contents.term(b"red").unwrap();
        let mut list = List::new(0, red, statistics.idf(statistics.count(red)), &scorer);
        for slot in [0, 1, 6, 7, 7, 8, 700, 903, 904, 999] {
            assert_eq!(list.at(slot).map(|p| p.slot as usize), (slot % 7 == 0).then_some(slot), "{slot}");
            assert_eq!(list.find(slot).is_some(), slot % 7 == 0);
        }
        let mut seen = Vec::new();
        list.walk(30, statistics.slots(), &scorer, |slot, _| seen.push(slot));
        assert_eq!(seen, [0, 7, 14, 21, 28]);
        assert_eq!(list.slot(), Some(35));
        assert!(list.postings().all(|posting| list.score(&scorer, posting) <= list.bound));
    }
}
