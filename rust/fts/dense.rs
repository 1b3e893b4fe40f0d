//! Words of many rows, whose lists are bits too: which rows hold enough of the words to be among the best is found out
//! for 64 rows at a time, and only of those are postings looked at.

use super::best::{Best, Candidate};
use super::bits::Bits;
use super::list::{List, Scorer};
use super::query::{NEGLIGIBLE, too_little};

/// Lists that are looked at together. Sums are kept for every set of them, and a row is tested for some of the sets.
const MOST_LISTS: usize = 10;
/// Words of 64 rows that are tested together; the floor rises between them.
const BLOCK: usize = if cfg!(test) { 2 } else { 32 };

/// A bit for each row of a block.
type Rows = [u64; BLOCK];

/// One run of every list of a query, as bits.
pub(super) struct Dense<'q, 'a> {
    scorers: &'q [Scorer<'a>],
    allowed: &'q [Bits],
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
    run: usize,
    /// The place of the first word, and the words.
    bits: (usize, &'a [u64]),
    /// The rows of the block that hold the term.
    held: Rows,
    /// Those of them that are allowed.
    rows: Rows,
    /// By word of the block, how many postings come before it.
    before: [usize; BLOCK],
    /// How many come before the next block.
    end: usize,
}

impl<'q, 'a> Dense<'q, 'a> {
    /// A run of the lists; None where one of them has no bits, or there is but one list, or many.
    pub(super) fn new(
        scorers: &'q [Scorer<'a>],
        allowed: &'q [Bits],
        lists: &'q [List<'a>],
        run: usize,
    ) -> Option<Self> {
        if !(2..=MOST_LISTS).contains(&lists.len()) {
            return None;
        }
        let lists: Vec<Words<'q, 'a>> = lists.iter().map(|list| Words::new(list, run)).collect::<Option<_>>()?;
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
    pub(super) fn search(mut self, best: &mut Best, near: &mut Vec<(usize, f64)>) {
        for start in self.words.clone().step_by(BLOCK) {
            for words in &mut self.lists {
                words.fill(start, &self.allowed[words.list.part]);
            }
            let any = self.lists.iter().fold([0; BLOCK], |any, words| either(&any, &words.rows));
            let enough = self.enough(0, 0, best);
            for (word, (any, enough)) in any.into_iter().zip(enough).enumerate() {
                let mut rest = any & enough;
                while rest != 0 {
                    let bit = rest.trailing_zeros();
                    rest &= rest - 1;
                    if let Some((least, most)) = self.estimate(word, bit, best) {
                        let slot = (start + word) * 64 + bit as usize;
                        near.push((slot, most));
                        best.push(Candidate { score: least, key: slot as i64, slot });
                    }
                }
            }
        }
    }

    /// The rows of the block that may reach the floor by the lists of the set `held` and those from `list` on.
    fn enough(&self, list: usize, held: usize, best: &Best) -> Rows {
        let rest = self.bounds.len() - (1 << list);
        if too_little(self.bounds[held | rest], best) {
            return [0; BLOCK];
        }
        if !too_little(self.bounds[held], best) {
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

    /// What the score of a row is at least and at most, unless it is out of the question.
    fn estimate(&self, word: usize, bit: u32, best: &Best) -> Option<(f64, f64)> {
        let held = |set, (i, words): (usize, &Words<'_, '_>)| set | (words.rows[word] >> bit & 1) << i;
        let mut rest = self.lists.iter().enumerate().fold(0, held) as usize;
        let mut sum = 0.0;
        loop {
            let bound = self.bounds[rest];
            if too_little(sum + bound, best) {
                return None;
            }
            if bound <= best.floor() * NEGLIGIBLE || rest == 0 {
                return Some((sum, sum + bound));
            }
            let words = &self.lists[rest.trailing_zeros() as usize];
            rest &= rest - 1;
            sum += words.score(word, bit, self.scorers);
        }
    }
}

impl<'q, 'a> Words<'q, 'a> {
    fn new(list: &'q List<'a>, run: usize) -> Option<Self> {
        let bits = list.run(run).bits?;
        Some(Self { list, run, bits, held: [0; BLOCK], rows: [0; BLOCK], before: [0; BLOCK], end: 0 })
    }

    /// Go on to the block that begins with a word.
    fn fill(&mut self, start: usize, allowed: &Bits) {
        let (first, bits) = self.bits;
        for word in 0..BLOCK {
            let at = (start + word).checked_sub(first);
            let held = at.and_then(|at| bits.get(at)).copied().unwrap_or(0);
            self.held[word] = held;
            self.rows[word] = held & allowed.words().get(start + word).copied().unwrap_or(0);
            self.before[word] = self.end;
            self.end += held.count_ones() as usize;
        }
    }

    /// What the list adds to the score of a row that holds its term.
    fn score(&self, word: usize, bit: u32, scorers: &[Scorer<'a>]) -> f64 {
        let lower = self.held[word] & ((1 << bit) - 1);
        let posting = self.list.run(self.run).postings.get(self.before[word] + lower.count_ones() as usize);
        // It is the one of the row, unless bits and postings differ in a file that was tampered with.
        posting.map_or(0.0, |&posting| self.list.times * self.list.score(&scorers[self.list.part], posting))
    }
}

fn either(a: &Rows, b: &Rows) -> Rows {
    let mut either = *a;
    either.iter_mut().zip(b).for_each(|(a, b)| *a |= b);
    either
}
