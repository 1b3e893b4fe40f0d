//! One query: its terms' lists, and the walk through them that leaves out what cannot be among the best.

use super::dense::Dense;
use super::list::{List, Scorer, check_slot};
use super::statistics::idf;
use super::top_candidates::{Candidate, Floor, NEGLIGIBLE, best_of};
use crate::collections::BitMask;
use crate::error::Result;

/// Slots that are scored together; their sums stay in the processor's first cache.
const WINDOW: usize = 2_048;
/// Cost of looking up a row in a list, in postings walked.
pub(super) const LOOK_UP: usize = 8;

/// The inverse document frequency of a term over all tables; one that is named twice counts once.
fn idf_among(scorers: &[Scorer<'_>], term: &[u8]) -> f64 {
    let (mut rows, mut count) = (0, 0_u32);
    for (at, scorer) in scorers.iter().enumerate() {
        if scorers[..at].iter().any(|before| std::ptr::eq(before.contents, scorer.contents)) {
            continue;
        }
        let held = scorer.contents.term(term).map_or(0, |number| scorer.statistics.count(number));
        (rows, count) = (scorer.statistics.rows().max(rows), count.saturating_add(held));
    }
    idf(rows, count)
}

/// A query over parts that are locked.
pub(super) struct Query<'a> {
    scorers: &'a [Scorer<'a>],
    /// By part the rows that may be returned.
    allowed: &'a [BitMask],
    /// By bound, the largest first.
    lists: Vec<List<'a>>,
    /// By list the bounds from there on, summed.
    rest: Vec<f64>,
    /// By part the lists in the order of the query's terms.
    sequences: Vec<Vec<usize>>,
}

impl<'a> Query<'a> {
    pub(super) fn new(scorers: &'a [Scorer<'a>], allowed: &'a [BitMask], terms: &[Vec<u8>]) -> Self {
        let mut lists: Vec<List<'a>> = Vec::new();
        // By part the terms' numbers in the order of the query, and by list its number.
        let mut order: Vec<Vec<usize>> = Vec::new();
        for (part, scorer) in scorers.iter().enumerate() {
            let (mut sequence, mut seen) = (Vec::new(), Vec::<(u32, usize)>::new());
            for term in terms {
                let Some(number) = scorer.contents.term(term) else { continue };
                let count = scorer.statistics.count(number);
                if count == 0 {
                    continue;
                }
                if let Some(&(_, list)) = seen.iter().find(|(other, _)| *other == number) {
                    lists[list].times += 1.0;
                    sequence.push(list);
                    continue;
                }
                seen.push((number, lists.len()));
                sequence.push(lists.len());
                lists.push(List::new(part, number, idf_among(scorers, term), scorer));
            }
            order.push(sequence);
        }
        Self::sorted(scorers, allowed, lists, order)
    }

    /// Sort the lists by bound.
    fn sorted(
        scorers: &'a [Scorer<'a>],
        allowed: &'a [BitMask],
        mut lists: Vec<List<'a>>,
        mut sequences: Vec<Vec<usize>>,
    ) -> Self {
        lists.iter_mut().for_each(|list| list.bound *= list.times);
        let mut by_bound: Vec<usize> = (0..lists.len()).collect();
        by_bound.sort_by(|&a, &b| lists[b].bound.total_cmp(&lists[a].bound));
        let mut place = vec![0; lists.len()];
        by_bound.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        sequences.iter_mut().flatten().for_each(|list| *list = place[*list]);
        let mut lists: Vec<(usize, List<'a>)> = place.into_iter().zip(lists).collect();
        lists.sort_unstable_by_key(|(place, _)| *place);
        let lists: Vec<List<'a>> = lists.into_iter().map(|(_, list)| list).collect();
        let mut rest = vec![0.0; lists.len() + 1];
        for i in (0..lists.len()).rev() {
            rest[i] = rest[i + 1] + lists[i].bound;
        }
        Self { scorers, allowed, lists, rest, sequences }
    }

    /// The allowed rows that hold a term.
    pub(super) fn matches(&self) -> BitMask {
        let mut all = BitMask::default();
        for (part, allowed) in self.allowed.iter().enumerate() {
            let (mut results, limit) = (BitMask::default(), allowed.words().len() * 64);
            self.lists.iter().filter(|list| list.part == part).for_each(|list| list.mark(&mut results, limit));
            results.intersect(allowed);
            all.unite(0, results.words());
        }
        all
    }

    /// Find the best `k` of the allowed rows.
    pub(super) fn best(&mut self, k: usize, ties: Option<&[i64]>) -> Vec<Candidate> {
        if k == 0 {
            return Vec::new();
        }
        let rows = self.allowed.iter().map(|set| set.words().len() * 64).max().unwrap_or(0);
        let mut best = Floor::new(k);
        self.raise_floor(&mut best, k);
        self.search(best, k, ties, rows)
    }

    /// Find the best `k` of given rows, slots ascending.
    pub(super) fn best_of(&self, slots: Vec<usize>, k: usize, ties: Option<&[i64]>) -> Vec<Candidate> {
        let (scores, _) = self.exact(&slots, |part| &self.allowed[part]);
        let key = |slot: usize| ties.map_or(slot as i64, |ties| ties[slot]);
        let candidates = slots.into_iter().zip(scores).map(|(slot, score)| Candidate { score, key: key(slot), slot });
        best_of(candidates.collect(), k)
    }

    /// The number of rows that come before another one by score, then by key.
    pub(super) fn count_before(&self, mut rows: BitMask, own: Candidate, ties: Option<&[i64]>) -> usize {
        let mut best = Floor::new(0);
        best.raise(own.score);
        let essential = self.essential(&best);
        if essential < self.lists.len() {
            let (mut any, limit) = (BitMask::default(), rows.words().len() * 64);
            self.lists[..essential].iter().for_each(|list| list.mark(&mut any, limit));
            rows.intersect(&any);
        }
        let key = |slot: usize| ties.map_or(slot as i64, |ties| ties[slot]);
        let is_before = |slot: usize, score: f64| Candidate { score, key: key(slot), slot } > own;
        let count = rows.count();
        // For a few rows of many it is not worth it to keep a sum for each row.
        if count * self.lists.len() * LOOK_UP < self.postings() || count * LOOK_UP < rows.words().len() * 64 {
            let mut slots = Vec::new();
            rows.drain(|slot| slots.push(slot));
            let (scores, _) = self.exact(&slots, |part| &self.allowed[part]);
            return slots.into_iter().zip(scores).filter(|&(slot, score)| is_before(slot, score)).count();
        }
        let (scores, mut before) = (self.sums(&rows), 0);
        rows.drain(|slot| before += usize::from(is_before(slot, scores[slot])));
        before
    }

    /// By slot the scores of rows, summed in FTS5's order by walks through whole lists.
    fn sums(&self, rows: &BitMask) -> Vec<f64> {
        let mut totals = vec![0.0; rows.words().len() * 64];
        for (part, sequence) in self.sequences.iter().enumerate().filter(|(_, sequence)| !sequence.is_empty()) {
            let (scorer, mut rows) = (&self.scorers[part], rows.clone());
            rows.intersect(&self.allowed[part]);
            let mut sums = vec![0.0; totals.len()];
            for &at in sequence {
                let list = &self.lists[at];
                for run in [list.run(0), list.run(1)] {
                    for &posting in run.postings.iter().filter(|posting| rows.contains(posting.slot as usize)) {
                        sums[posting.slot as usize] += list.score(scorer, posting);
                    }
                }
            }
            totals.iter_mut().zip(&sums).for_each(|(total, sum)| *total += sum);
        }
        totals
    }

    /// The number of postings of all lists.
    pub(super) fn postings(&self) -> usize {
        self.lists.iter().map(List::len).sum()
    }

    /// The number of lists.
    pub(super) fn lists(&self) -> usize {
        self.lists.len()
    }

    /// A row's score is at least what one term adds to it, so the k-th best of the rarest term is a first floor.
    fn raise_floor(&self, best: &mut Floor, k: usize) {
        // Among words of many rows the floor rises as quickly by itself.
        let dense = |run: usize| self.lists.iter().all(|list| list.run(run).bits.is_some());
        if self.lists.len() < 2 || dense(0) || dense(1) {
            return;
        }
        for list in &self.lists {
            let (scorer, allowed) = (&self.scorers[list.part], &self.allowed[list.part]);
            let allowed = list.postings().filter(|posting| allowed.contains(posting.slot as usize));
            let mut scores: Vec<f64> = allowed.map(|posting| list.score(scorer, posting)).collect();
            if scores.len() >= k {
                let (_, floor, _) = scores.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
                best.raise(*floor);
                return;
            }
        }
    }

    /// Find the best `k` rows; `best` knows a first floor.
    fn search(&mut self, best: Floor, k: usize, ties: Option<&[i64]>, rows: usize) -> Vec<Candidate> {
        let near = self.near(best, rows);
        self.best_of(near, k, ties)
    }

    /// The slots, ascending, whose rows may be among the best: walk the lists window by window.
    fn near(&mut self, mut best: Floor, rows: usize) -> Vec<usize> {
        let mut near = Vec::new();
        for (run, end) in [self.split(), usize::MAX].into_iter().enumerate() {
            if let Some(dense) = self.dense(run, &best) {
                dense.search(&mut best, &mut near);
                self.lists.iter_mut().for_each(|list| list.pass(run));
            } else {
                self.walk(end, &mut best, &mut near, rows);
            }
        }
        near.into_iter().filter(|&(_, most)| !best.rules_out(most)).map(|(slot, _)| slot).collect()
    }

    /// The slot before which the first runs of all lists end, and at which the second runs begin; 0 if each has its own,
    /// for no slot lies before it.
    fn split(&self) -> usize {
        let split = self.lists.first().map_or(0, List::split);
        if self.lists.iter().all(|list| list.split() == split) { split } else { 0 }
    }

    /// A run of the lists as bits, if that is how to go through it: where a list that has to be walked is long.
    fn dense(&self, run: usize, best: &Floor) -> Option<Dense<'_, 'a>> {
        let apart = self.lists.iter().any(|list| list.split() != self.split());
        let essential = &self.lists[..self.essential(best)];
        let short = essential.iter().all(|list| list.run(run).bits.is_none());
        if apart || short { None } else { Dense::new(self.scorers, self.allowed, &self.lists, run) }
    }

    /// The number of lists that must be walked: those after them cannot lift a row to the floor by themselves.
    fn essential(&self, best: &Floor) -> usize {
        let ruled_out = self.rest.iter().position(|&rest| best.rules_out(rest)).unwrap_or(self.lists.len());
        ruled_out.min(self.lists.len())
    }

    /// Walk the lists to a slot.
    fn walk(&mut self, end: usize, best: &mut Floor, near: &mut Vec<(usize, f64)>, rows: usize) {
        let mut sums = vec![0.0; WINDOW.min(rows)];
        let mut touched = BitMask::with_capacity(WINDOW);
        loop {
            let essential = self.essential(best);
            let first = self.lists[..essential].iter().filter_map(List::slot).min();
            let Some(slot) = first.filter(|&slot| slot < end) else { break };
            let start = slot / WINDOW * WINDOW;
            for list in &mut self.lists[..essential] {
                let (scorer, allowed) = (&self.scorers[list.part], &self.allowed[list.part]);
                list.walk(end.min(start + WINDOW), allowed, scorer, |slot, score| {
                    // Always there, unless slots do not ascend in a file that was tampered with.
                    if let Some(sum) = sums.get_mut(slot.wrapping_sub(start)) {
                        *sum += score;
                        touched.insert(slot - start);
                    }
                });
            }
            touched.drain(|at| {
                let (slot, sum) = (start + at, std::mem::replace(&mut sums[at], 0.0));
                if let Some((least, most)) = self.estimate(slot, sum, essential, best) {
                    near.push((slot, most));
                    best.push(least);
                }
            });
        }
    }

    /// The bounds of a slot's score, unless it cannot be among the best; its essential lists add up to `sum`.
    fn estimate(&mut self, slot: usize, mut sum: f64, essential: usize, best: &Floor) -> Option<(f64, f64)> {
        for i in essential..self.lists.len() {
            let rest = self.rest[i];
            if best.rules_out(sum + rest) {
                return None;
            }
            if rest <= best.score() * NEGLIGIBLE {
                return Some((sum, sum + rest));
            }
            sum += self.lists[i].times * self.add(i, slot);
        }
        if best.rules_out(sum) { None } else { Some((sum, sum)) }
    }

    /// The score that a list adds to a slot.
    fn add(&mut self, list: usize, slot: usize) -> f64 {
        let list = &mut self.lists[list];
        if !self.allowed[list.part].contains(slot) {
            return 0.0;
        }
        list.at(slot).map_or(0.0, |posting| list.score(&self.scorers[list.part], posting))
    }

    /// The scores of slots, summed in FTS5's order, and whether they hold a term, given by part the rows that count.
    ///
    /// List by list, so that a list stays in the cache and many look-ups in it are under way; a list that is hardly longer
    /// than the slots is walked.
    fn exact<'r>(&self, slots: &[usize], rows: impl Fn(usize) -> &'r BitMask) -> (Vec<f64>, Vec<bool>) {
        let (mut totals, mut matches) = (vec![0.0; slots.len()], vec![false; slots.len()]);
        let mut added: Vec<Option<Vec<f64>>> = vec![None; self.lists.len()];
        let ascends = slots.is_sorted();
        for sequence in &self.sequences {
            let mut sums = vec![0.0; slots.len()];
            for &at in sequence {
                let list = &self.lists[at];
                let (scorer, rows) = (&self.scorers[list.part], rows(list.part));
                let mut walk = (ascends && list.len() < LOOK_UP * slots.len()).then_some([0; 2]);
                let add = |(&slot, matches): (&usize, &mut bool)| {
                    let find =
                        |at: Option<&mut [usize; 2]>| at.map_or_else(|| list.find(slot), |at| list.find_from(at, slot));
                    let posting = if rows.contains(slot) { find(walk.as_mut()) } else { None };
                    *matches |= posting.is_some();
                    posting.map_or(0.0, |posting| list.score(scorer, posting))
                };
                // A term that the query has twice is looked up once.
                let added = added[at].get_or_insert_with(|| slots.iter().zip(&mut matches).map(add).collect());
                sums.iter_mut().zip(added).for_each(|(sum, added)| *sum += *added);
            }
            totals.iter_mut().zip(&sums).for_each(|(total, sum)| *total += sum);
        }
        (totals, matches)
    }

    /// The same query, of which one part's lists alone count; inverse document frequencies stay those of all.
    pub(super) fn only(mut self, part: usize) -> Self {
        self.sequences.iter_mut().enumerate().filter(|(at, _)| *at != part).for_each(|(_, lists)| lists.clear());
        self
    }

    /// The scores of slots `(m,)`; NaN for those that hold no term or no row.
    ///
    /// # Errors
    /// [`crate::Error::OutOfRange`] for a slot.
    pub(super) fn scores_at(&self, slots: &[i64]) -> Result<Vec<f64>> {
        let slots: Vec<usize> = slots.iter().map(|&slot| check_slot(self.scorers, slot)).collect::<Result<_>>()?;
        let (scores, matches) = self.exact(&slots, |part| self.scorers[part].statistics.slots());
        let known = |(score, matches)| if matches { score } else { f64::NAN };
        Ok(scores.into_iter().zip(matches).map(known).collect())
    }
}
