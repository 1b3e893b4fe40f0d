//! Words of many rows, whose lists are bits too: which rows hold enough of the words to be among the best is found out
//! for 64 rows at a time, and only of those are postings looked at. Lists of few rows may be among them, as bits that are
//! made for the query.

use std::borrow::Cow;

use super::limits::Limits;
use super::list::{List, Scorer};
use super::postings::{Posting, Run};
use super::top_candidates::{Floor, NEGLIGIBLE};
use crate::collections::BitMask;

/// Lists that are looked at together. Sums are kept for every set of them, and a row is tested for some of the sets.
const MOST_LISTS: usize = 10;
/// Words of 64 rows that are tested together; the floor rises between them.
const BLOCK: usize = if cfg!(test) { 2 } else { 32 };

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
    /// The number of them before the next block.
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
    pub(super) fn search(mut self, best: &mut Floor, near: &mut Vec<(usize, f64)>) {
        let mut rows = Vec::new();
        let mut limits: Vec<Limits> = self.scorers.iter().map(Limits::new).collect();
        for start in self.words.clone().step_by(BLOCK) {
            for words in &mut self.lists {
                words.fill(start, &self.allowed[words.list.part]);
            }
            self.list_rows(start, &mut rows, &mut limits, best);
            self.add_scores(&mut rows, best);
            for row in &rows {
                let slot = start * 64 + row.at as usize;
                near.push((slot, row.sum + self.bounds[row.rest as usize]));
                best.push(row.sum);
            }
        }
    }

    /// List the rows of the block that have enough of the lists.
    ///
    /// There may be a list without which no row has enough but those of the lists before it, nor with it alone. The rows
    /// that it is the first to hold have to have enough by its posting and what all lists after it give at most, which rules
    /// most of them out. So its postings are walked, one after the other.
    fn list_rows(&self, start: usize, rows: &mut Vec<CandidateRow>, limits: &mut [Limits], best: &Floor) {
        rows.clear();
        let (enough, from) = (self.enough(0, 0, best), |list: usize| self.bounds[self.bounds.len() - (1 << list)]);
        let needed = (0..self.lists.len()).take_while(|&list| !best.rules_out(from(list))).last();
        let pivot = needed.filter(|&list| best.rules_out(from(list + 1)));
        let (before, _) = self.lists.split_at(pivot.unwrap_or(self.lists.len()));
        let before = before.iter().fold([0; BLOCK], |any, words| either(&any, &words.rows));
        for (word, (before, enough)) in before.iter().zip(enough).enumerate() {
            let mut left = before & enough;
            while left != 0 {
                let at = word as u32 * 64 + left.trailing_zeros();
                left &= left - 1;
                rows.push(CandidateRow { at, rest: self.held(at), sum: 0.0 });
            }
        }
        let Some(pivot) = pivot else { return };
        let (words, most) = (&self.lists[pivot], from(pivot + 1));
        let (list, scorer) = (words.list, &self.scorers[words.list.part]);
        let limits = &mut limits[list.part];
        limits.begin(pivot, best);
        let first = |word: usize| words.rows[word] & enough[word] & !before[word];
        words.each(start, first, |at, posting| {
            if limits.rule_out(posting, (list, scorer), (most, best)) {
                return;
            }
            let (sum, rest) = (list.times * list.score(scorer, posting), self.held(at) & !(1 << pivot));
            if !best.rules_out(sum + self.bounds[rest as usize]) {
                rows.push(CandidateRow { at, rest, sum });
            }
        });
    }

    /// The set of the lists that hold a row of the block.
    fn held(&self, at: u32) -> u32 {
        let held = |words: &Words<'_, '_>| (words.rows[at as usize / 64] >> (at % 64) & 1) as u32;
        self.lists.iter().enumerate().fold(0, |set, (i, words)| set | held(words) << i)
    }

    /// Add up what the lists give to the rows, and drop those that fall behind.
    ///
    /// List by list: the next row's posting is fetched while this one's score is computed, and no branch asks which row
    /// it is that falls behind.
    fn add_scores(&self, rows: &mut Vec<CandidateRow>, best: &Floor) {
        for (i, words) in self.lists.iter().enumerate() {
            if self.bounds[self.bounds.len() - (1 << i)] <= best.score() * NEGLIGIBLE {
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
    fn enough(&self, list: usize, held: usize, best: &Floor) -> RowBits {
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
        let result = || {
            let mut result = BitMask::default();
            list.run(run).mark(&mut result, limit);
            (0, Cow::Owned(result.words().to_vec()))
        };
        let bits = bits.map_or_else(result, |(first, words)| (first, Cow::Borrowed(words)));
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

    /// Pass on the postings of some rows of the block, given by word, with the places of these.
    fn each(&self, start: usize, rows: impl Fn(usize) -> u64, mut each: impl FnMut(u32, Posting)) {
        let ends = self.before[1..].iter().chain(std::iter::once(&self.end));
        for (word, (&begin, &end)) in self.before.iter().zip(ends).enumerate() {
            let wanted = rows(word);
            if wanted == 0 {
                continue;
            }
            for &posting in self.postings.get(begin..end).unwrap_or_default() {
                // Always in this word, unless bits and postings differ in a file that was tampered with.
                let is_here = posting.slot as usize / 64 == start + word;
                if is_here && wanted >> (posting.slot % 64) & 1 == 1 {
                    each(word as u32 * 64 + posting.slot % 64, posting);
                }
            }
        }
    }

    /// The score that the list adds to a row of the block that holds its term.
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
    /// The sum of the others.
    sum: f64,
}

fn either(a: &RowBits, b: &RowBits) -> RowBits {
    let mut either = *a;
    either.iter_mut().zip(b).for_each(|(a, b)| *a |= b);
    either
}
