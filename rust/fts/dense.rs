//! Words of many rows, whose lists are bits too: which rows hold enough of the words to be among the best is found out
//! for 64 rows at a time, and only of those are postings looked at. Lists of few rows may be among them, as bits that are
//! made for the query.

use std::borrow::Cow;

use super::limits::Limits;
use super::list::{List, Scorer};
use super::postings::{Posting, Run};
use super::top_candidates::{Candidate, NEGLIGIBLE, TopCandidates};
use crate::collections::BitMask;

/// Lists that are looked at together. Sums are kept for every set of them, and a row is tested for some of the sets.
const MOST_LISTS: usize = 10;
/// Words of 64 rows that are tested together; the floor rises between them.
const BLOCK: usize = if cfg!(test) { 2 } else { 32 };

/// Limits are looked at where so small a part of a list's postings may be ruled out by them …
const LEAST_PART: usize = 4;
/// … and not for so many blocks where they ruled out no such part.
const PAUSE: usize = 8;

/// A bit for each row of a block.
type RowBits = [u64; BLOCK];

/// One run of every list of a query, as bits.
pub(super) struct Dense<'q, 'a> {
    scorers: &'q [Scorer<'a>],
    allowed: &'q [BitMask],
    /// By bound, the largest first.
    lists: Vec<Words<'q, 'a>>,
    /// By set of lists, the first in the lowest bit, what their bounds add up to.
    bounds: Vec<f64>,
    /// The words of 64 rows that any list has.
    words: std::ops::Range<usize>,
}

/// A list, and the block that was reached.
struct Words<'q, 'a> {
    list: &'q List<'a>,
    postings: &'a [Posting],
    /// The place of the first word, and the words.
    bits: (usize, Cow<'a, [u64]>),
    /// The rows of the block that hold the term.
    held: RowBits,
    /// Those of them that are allowed.
    rows: RowBits,
    /// By word of the block, how many postings come before it.
    before: [usize; BLOCK],
    /// How many come before the next block.
    end: usize,
}

impl<'q, 'a> Dense<'q, 'a> {
    /// A run of the lists; None where there is but one list, or many.
    pub(super) fn new(
        scorers: &'q [Scorer<'a>],
        allowed: &'q [BitMask],
        lists: &'q [List<'a>],
        run: usize,
    ) -> Option<Self> {
        if !(2..=MOST_LISTS).contains(&lists.len()) {
            return None;
        }
        let limit = |list: &List<'a>| allowed[list.part].words().len() * 64;
        let lists: Vec<Words<'q, 'a>> = lists.iter().map(|list| Words::new(list, run, limit(list))).collect();
        let mut bounds = vec![0.0; 1 << lists.len()];
        for set in 1..bounds.len() {
            // Added up afresh for each set: what is taken away from a sum would leave its rounding behind.
            bounds[set] = bounds[set & (set - 1)] + lists[set.trailing_zeros() as usize].list.bound;
        }
        let start = lists.iter().map(|words| words.bits.0).min()?;
        let end = lists.iter().map(|words| words.bits.0 + words.bits.1.len()).max()?;
        Some(Self { scorers, allowed, lists, bounds, words: start..end })
    }

    /// Find the slots, ascending, whose rows may be among the best, with what their scores are at most.
    pub(super) fn search(mut self, best: &mut TopCandidates, near: &mut Vec<(usize, f64)>) {
        let (mut rows, mut pause) = (Vec::new(), 0);
        let mut limits: Vec<Limits> = self.scorers.iter().map(Limits::new).collect();
        for start in self.words.clone().step_by(BLOCK) {
            for words in &mut self.lists {
                words.fill(start, &self.allowed[words.list.part]);
            }
            let weak = self.weak(start, &mut limits, &mut pause, best);
            self.list_rows(&weak, &mut rows, best);
            self.add_scores(&mut rows, best);
            for row in &rows {
                let slot = start * 64 + row.at as usize;
                near.push((slot, row.sum + self.bounds[row.rest as usize]));
                best.push(Candidate { score: row.sum, key: slot as i64, slot });
            }
        }
    }

    /// The rows of the block to which the first list that holds them gives too little for the others to lift them.
    ///
    /// That can be said of one list: rows of those before it may do without it, and rows without these and it never have
    /// enough.
    fn weak(&self, start: usize, limits: &mut [Limits], pause: &mut usize, best: &TopCandidates) -> RowBits {
        let mut weak = [0; BLOCK];
        *pause = pause.saturating_sub(1);
        let from = |list: usize| self.bounds[self.bounds.len() - (1 << list)];
        let needed = (0..self.lists.len()).take_while(|&list| !best.rules_out(from(list))).last();
        let Some(pivot) = needed.filter(|&list| *pause == 0 && best.rules_out(from(list + 1))) else { return weak };
        let before = self.lists[..pivot].iter().fold([0; BLOCK], |any, words| either(&any, &words.held));
        let words = &self.lists[pivot];
        let first = words.rows.iter().zip(before).map(|(rows, before)| (rows & !before).count_ones() as usize);
        let (first, postings) = (first.sum::<usize>(), words.end - words.before[0]);
        if first * LEAST_PART >= postings {
            let (list, scorer) = (words.list, &self.scorers[words.list.part]);
            let limits = &mut limits[list.part];
            limits.begin(pivot, best);
            let ruled_out = words
                .mark(start, &mut weak, |posting| limits.rule_out(posting, (list, scorer), (from(pivot + 1), best)));
            weak.iter_mut().zip(before).for_each(|(weak, before)| *weak &= !before);
            *pause = if ruled_out * LEAST_PART < postings { PAUSE } else { 0 };
        }
        weak
    }

    /// List the rows of the block that have enough of the lists.
    fn list_rows(&self, weak: &RowBits, rows: &mut Vec<CandidateRow>, best: &TopCandidates) {
        rows.clear();
        let any = self.lists.iter().fold([0; BLOCK], |any, words| either(&any, &words.rows));
        for (word, (any, enough)) in any.into_iter().zip(self.enough(0, 0, best)).enumerate() {
            let mut left = any & enough & !weak[word];
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let held = |set, (i, words): (usize, &Words<'_, '_>)| set | (words.rows[word] >> bit & 1) << i;
                let rest = self.lists.iter().enumerate().fold(0, held) as u32;
                rows.push(CandidateRow { at: word as u32 * 64 + bit, rest, sum: 0.0 });
            }
        }
    }

    /// Add up what the lists give to the rows, and drop those that fall behind.
    ///
    /// List by list: the next row's posting is fetched while this one's score is computed, and no branch asks which row
    /// it is that falls behind.
    fn add_scores(&self, rows: &mut Vec<CandidateRow>, best: &TopCandidates) {
        for (i, words) in self.lists.iter().enumerate() {
            if self.bounds[self.bounds.len() - (1 << i)] <= best.floor() * NEGLIGIBLE {
                break;
            }
            let scorer = &self.scorers[words.list.part];
            let mut kept = 0;
            for at in 0..rows.len() {
                let mut row = rows[at];
                if row.rest >> i & 1 == 1 {
                    row.rest &= !(1 << i);
                    row.sum += words.score(row.at, scorer);
                }
                rows[kept] = row;
                kept += usize::from(!best.rules_out(row.sum + self.bounds[row.rest as usize]));
            }
            rows.truncate(kept);
        }
    }

    /// The rows of the block that may reach the floor by the lists of the set `held` and those from `list` on.
    fn enough(&self, list: usize, held: usize, best: &TopCandidates) -> RowBits {
        let rest = self.bounds.len() - (1 << list);
        if best.rules_out(self.bounds[held | rest]) {
            return [0; BLOCK];
        }
        if !best.rules_out(self.bounds[held]) {
            return [u64::MAX; BLOCK];
        }
        let without = self.enough(list + 1, held, best);
        let with = self.enough(list + 1, held | 1 << list, best);
        let mut rows = self.lists[list].rows;
        for ((row, with), without) in rows.iter_mut().zip(with).zip(without) {
            *row = *row & with | without;
        }
        rows
    }
}

impl<'q, 'a> Words<'q, 'a> {
    /// A run of a list; slots below a limit count.
    fn new(list: &'q List<'a>, run: usize, limit: usize) -> Self {
        let Run { postings, bits, .. } = *list.run(run);
        let made = || {
            let mut made = BitMask::default();
            list.run(run).mark(&mut made, limit);
            (0, Cow::Owned(made.words().to_vec()))
        };
        let bits = bits.map_or_else(made, |(first, words)| (first, Cow::Borrowed(words)));
        Self { list, postings, bits, held: [0; BLOCK], rows: [0; BLOCK], before: [0; BLOCK], end: 0 }
    }

    /// Go on to the block that begins with a word.
    fn fill(&mut self, start: usize, allowed: &BitMask) {
        let (first, bits) = &self.bits;
        for word in 0..BLOCK {
            let at = (start + word).checked_sub(*first);
            let held = at.and_then(|at| bits.get(at)).copied().unwrap_or(0);
            self.held[word] = held;
            self.rows[word] = held & allowed.words().get(start + word).copied().unwrap_or(0);
            self.before[word] = self.end;
            self.end += held.count_ones() as usize;
        }
    }

    /// Mark the rows of the block whose postings are such, and say how many these are.
    fn mark(&self, start: usize, rows: &mut RowBits, mut is_such: impl FnMut(Posting) -> bool) -> usize {
        let mut count = 0;
        let ends = self.before[1..].iter().chain(std::iter::once(&self.end));
        for ((word, rows), (&begin, &end)) in rows.iter_mut().enumerate().zip(self.before.iter().zip(ends)) {
            for &posting in self.postings.get(begin..end).unwrap_or_default() {
                // Always in this word, unless bits and postings differ in a file that was tampered with.
                let is_here = posting.slot as usize / 64 == start + word;
                *rows |= u64::from(is_here && is_such(posting)) << (posting.slot % 64);
            }
            count += rows.count_ones() as usize;
        }
        count
    }

    /// What the list adds to the score of a row of the block that holds its term.
    fn score(&self, row: u32, scorer: &Scorer<'a>) -> f64 {
        let word = row as usize / 64;
        let lower = self.held[word] & ((1 << (row % 64)) - 1);
        // It is the one of the row, unless bits and postings differ in a file that was tampered with.
        let posting = self.postings.get(self.before[word] + lower.count_ones() as usize);
        posting.map_or(0.0, |&posting| self.list.times * self.list.score(scorer, posting))
    }
}

/// A row that may be among the best.
#[derive(Clone, Copy, Debug)]
struct CandidateRow {
    /// Its place in the block.
    at: u32,
    /// The set of lists that hold it and were not looked at.
    rest: u32,
    /// What the others add up to.
    sum: f64,
}

fn either(a: &RowBits, b: &RowBits) -> RowBits {
    let mut either = *a;
    either.iter_mut().zip(b).for_each(|(a, b)| *a |= b);
    either
}
