//! The exact end of a search: float64 scores of the rows that its bounds leave.

use super::keep::{Kept, prune};
use super::kernel::Kernel;
use super::quantise::relative;
use super::work::Work;
use crate::error::Result;
use crate::vectors::measure::Measure;
use crate::vectors::{Hits, Level, Pieces};

/// Rows to prefetch ahead of the one being scored.
const AHEAD: usize = 4;

/// The exact end of a search.
pub(super) struct Best<'a> {
    query: &'a [f32],
    rows: Pieces<'a>,
    k: usize,
    level: Level,
    measure: Measure,
    unit: f64,
    /// The score that a row must have.
    within: f64,
    /// The best scores known so far, of rows that are all known.
    scored: Vec<(f64, usize)>,
    known: Vec<usize>,
}

impl<'a> Best<'a> {
    /// No row scored yet; the number of rows to return, and the score that each must have.
    pub(super) fn new(
        query: &'a [f32],
        rows: Pieces<'a>,
        (k, within): (usize, f64),
        level: Level,
        measure: Measure,
        unit: f64,
    ) -> Self {
        Self { query, rows, k, level, measure, unit, within, scored: Vec::new(), known: Vec::new() }
    }

    /// The units that the scanned products are in.
    pub(super) fn unit(&self) -> f64 {
        self.unit
    }

    /// Score the most promising rows that a part of the scan left, and return the floor that they prove.
    ///
    /// The k-th best score is the highest floor there is: by bounds of whole codes it would lie an error lower, and half
    /// as many rows again would be left over by their upper four bits.
    pub(super) fn learn(&mut self, fresh: &[Kept]) -> f32 {
        let least = self.least(&self.scored);
        let mut fresh: Vec<Kept> = fresh.iter().copied().filter(|kept| self.reaches(kept, least)).collect();
        if fresh.len() > self.k {
            fresh.select_nth_unstable_by(self.k - 1, |a, b| b.upper.total_cmp(&a.upper));
            fresh.truncate(self.k);
        }
        let mut scored = self.scored.clone();
        if self.score(&mut fresh, least, &mut scored).is_err() {
            // Rows that cannot be read are met again at the end, where an error can be reported.
            return f32::NEG_INFINITY;
        }
        self.cut(&mut scored);
        self.scored = scored;
        self.known.extend(fresh.iter().map(|kept| kept.row));
        self.floor()
    }

    /// Score what the scan left in float64 and keep the k best.
    ///
    /// The k rows with the highest upper bounds come first: their exact scores set a floor one error margin higher than
    /// the scan could, and most of the others never have to be read.
    pub(super) fn find(&mut self, mut kept: Vec<Kept>, floor: f32) -> Result<()> {
        prune(&mut kept, self.k, floor);
        self.known.sort_unstable();
        kept.retain(|kept| self.known.binary_search(&kept.row).is_err());
        let mut scored = std::mem::take(&mut self.scored);
        let first = self.k.saturating_sub(scored.len()).min(kept.len());
        if first > 0 && first < kept.len() {
            kept.select_nth_unstable_by(first - 1, |a, b| b.upper.total_cmp(&a.upper));
        }
        let mut rest = kept.split_off(first);
        self.score(&mut kept, self.within, &mut scored)?;
        let mut least = self.least(&scored);
        rest.retain(|kept| self.reaches(kept, least));
        rest.sort_unstable_by(|a, b| b.upper.total_cmp(&a.upper));
        // In ever larger parts, so that a better floor found on the way spares the later ones.
        let mut part = self.k.max(32);
        while !rest.is_empty() {
            let mut now: Vec<Kept> = rest.drain(..part.min(rest.len())).collect();
            self.score(&mut now, least, &mut scored)?;
            self.cut(&mut scored);
            least = self.least(&scored);
            rest.retain(|kept| self.reaches(kept, least));
            part *= 2;
        }
        self.cut(&mut scored);
        self.scored = scored;
        Ok(())
    }

    /// As [`Best::find`], where more rows than can be held may be among the best: they are scored as they are found.
    pub(super) fn find_in_crowd(&mut self, work: &Work, query: usize) -> Result<()> {
        self.scored.clear();
        work.again(query, |fresh| {
            let mut scored = std::mem::take(&mut self.scored);
            let least = self.least(&scored);
            let mut fresh: Vec<Kept> = fresh.iter().copied().filter(|kept| self.reaches(kept, least)).collect();
            self.score(&mut fresh, least, &mut scored)?;
            self.cut(&mut scored);
            self.scored = scored;
            Ok(self.floor())
        })
    }

    /// Forget the rows that were scored.
    pub(super) fn forget(&mut self) {
        self.scored.clear();
        self.known.clear();
    }

    pub(super) fn query(&self) -> &[f32] {
        self.query
    }

    pub(super) fn is_by_distance(&self) -> bool {
        matches!(self.measure, Measure::Distance { .. })
    }

    /// The score that a row needs to be among the best, as lists estimate scores; once they were found.
    pub(super) fn reached(&self) -> f32 {
        (self.product(self.least(&self.scored)) as f32).next_down()
    }

    /// The k best, once they were found.
    pub(super) fn hits(self) -> Hits {
        let (scores, rows) = self.scored.into_iter().unzip();
        Hits { rows, scores }
    }

    /// The floor that the known scores prove, in units of the query: a row under it is not among the best.
    pub(super) fn floor(&self) -> f32 {
        let floor = (self.product(self.least(&self.scored)) / self.unit) as f32;
        if floor.is_finite() { floor.next_down() } else { f32::NEG_INFINITY }
    }

    /// True if a row can have this score. Not a number: it can.
    fn reaches(&self, kept: &Kept, least: f64) -> bool {
        let upper = f64::from(kept.upper) * self.unit;
        upper >= self.product(least) || upper.is_nan()
    }

    /// The lower bound of the scanned product that a row needs to reach this score.
    fn product(&self, least: f64) -> f64 {
        self.measure.least(least, relative(self.query.len()))
    }

    /// Add the float64 scores of rows that can reach the least, in the order in which they lie in memory.
    fn score(&self, kept: &mut [Kept], least: f64, scored: &mut Vec<(f64, usize)>) -> Result<()> {
        kept.sort_unstable_by_key(|kept| kept.row);
        let kernel = Kernel::of(self.level);
        let fetch = |kept: &Kept| self.rows.in_memory(kept.row).into_iter().for_each(|row| kernel.fetch(row));
        #[cfg(test)]
        tests::SCORED.set(tests::SCORED.get() + kept.len());
        let mut buffer = Vec::new();
        kept.iter().take(AHEAD).for_each(fetch);
        for (j, here) in kept.iter().enumerate() {
            if let Some(next) = kept.get(j + AHEAD) {
                fetch(next);
            }
            let score = self.measure.score(self.level, self.query, self.rows.row(here.row, &mut buffer)?);
            // Rows that changed after they were coded must not upset the order of the others.
            if score >= least || (least == f64::NEG_INFINITY && !score.is_nan()) {
                scored.push((score, here.row));
            }
        }
        Ok(())
    }

    /// The k-th best score, once there are k; before, the one that a row must have.
    fn least(&self, scored: &[(f64, usize)]) -> f64 {
        if scored.len() < self.k {
            return self.within;
        }
        scored.iter().take(self.k).map(|&(score, _)| score).fold(f64::INFINITY, f64::min)
    }

    /// Keep the k best, in order.
    fn cut(&self, scored: &mut Vec<(f64, usize)>) {
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored.truncate(self.k);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    thread_local! {
        /// The rows that this thread's searches read again to score them.
        pub(in super::super) static SCORED: Cell<usize> = const { Cell::new(0) };
    }
}
