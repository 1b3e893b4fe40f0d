//! Limits of row lengths: they rule out postings with too low a score without computing it.

use super::list::{COMMON_TUPLES, List, Scorer};
use super::postings::Posting;
use super::top_candidates::Floor;

/// Stands for what was not asked for yet.
const UNKNOWN: u32 = 0;
/// Stands for rows of any length.
const NEVER: u32 = u32::MAX;

/// By tuple the tokens of a row from which on a list's posting is too little to lift it to a floor, whatever other lists
/// give to it. Scores fall with the tokens, so a comparison does for a division.
pub(super) struct Limits {
    too_many: Vec<u32>,
    /// The list and the floor that they are of.
    of: (usize, f64),
}

impl Limits {
    /// Limits for the rows of an index.
    pub(super) fn new(scorer: &Scorer<'_>) -> Self {
        let common = scorer.contents.details.column_counts.len().min(COMMON_TUPLES).min(Posting::TUPLES);
        Self { too_many: vec![UNKNOWN; common], of: (0, f64::NEG_INFINITY) }
    }

    /// Forget what was known, unless it was of the same list and floor.
    pub(super) fn begin(&mut self, list: usize, best: &Floor) {
        let of = (list, best.score());
        if self.of != of {
            self.of = of;
            self.too_many.fill(UNKNOWN);
        }
    }

    /// True if the posting of a row rules it out, where other lists give it at most `rest`. False where that is not
    /// known.
    #[inline]
    pub(super) fn rule_out(
        &mut self,
        posting: Posting,
        (list, scorer): (&List<'_>, &Scorer<'_>),
        (rest, best): (f64, &Floor),
    ) -> bool {
        let (tuple, tokens) = posting.kept();
        let Some(too_many) = self.too_many.get_mut(tuple) else { return false };
        if *too_many == UNKNOWN {
            let ruled_out = |score: f64| best.rules_out(score + rest);
            *too_many = list.tokens_too_many(scorer, tuple as u32, best.score() - rest, ruled_out).unwrap_or(NEVER);
        }
        tokens >= *too_many
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::TextIndex;
    use super::super::statistics::Constants;
    use super::*;

    #[test]
    fn only_rows_that_stay_below_the_floor_are_ruled_out_and_most_of_these_are() {
        let index = TextIndex::new(2).unwrap();
        let text = |i: usize| ["red ".repeat(1 + i % 4) + &"blue ".repeat(i * 7 % 6), "red ".repeat(i % 3)];
        index.append(&(0..700).map(text).collect::<Vec<_>>()).unwrap();
        let statistics = index.statistics(&(0..600).collect::<Vec<i64>>()).unwrap();
        let contents = index.read();
        let fair = [0.0, 1.2, 1e-9].into_iter().flat_map(|k1| [0.0, 0.75, 1.0, 1e-12].map(|b| Constants { k1, b }));
        for constants in fair {
            let scorer = Scorer::new(&contents, &statistics, &[1.0, 0.7], constants);
            let red = contents.term(b"red").unwrap();
            let mut list = List::new(0, red, 1.3, &scorer);
            list.times = 2.0;
            let score = |posting| list.times * list.score(&scorer, posting);
            for (floor, rest) in [(3.5, 0.5), (4.1, 0.1), (5.0, 0.0), (0.1, 0.0), (9.0, 1.0), (1.0, 0.999_999_999)] {
                let mut best = Floor::new(1);
                best.push(floor);
                let mut limits = Limits::new(&scorer);
                limits.begin(0, &best);
                let (mut ruled_out, mut below) = (0, 0);
                for posting in list.postings() {
                    let is_below = best.rules_out(score(posting) + rest);
                    let out = limits.rule_out(posting, (&list, &scorer), (rest, &best));
                    assert!(is_below || !out, "{constants:?} {floor} {rest}");
                    (ruled_out, below) = (ruled_out + usize::from(out), below + usize::from(is_below));
                }
                if constants == Constants::default() && floor < 9.0 {
                    // In tests few tuples fit into a posting.
                    assert!(ruled_out * 3 >= below, "{ruled_out} of {below} at {floor}");
                }
            }
        }
    }
}
