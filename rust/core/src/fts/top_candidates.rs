//! The best candidates, and the score below which none can be among them.

use std::cmp::Ordering;

use crate::collections::TopKHeap;

/// Upper bounds are stretched by this before they are compared with the floor: more than rounding can add to a sum of
/// some thousand numbers.
const SLACK: f64 = 1.0 + 1e-9;
/// Maximum share of the floor that unread lists may add until the floor is final. Words of every second row
/// add a millionth, and each look into their long lists is a wait for memory.
pub(super) const NEGLIGIBLE: f64 = 1e-3;

/// A slot that was scored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) score: f64,
    /// The smaller key comes first among equal scores.
    pub(super) key: i64,
    pub(super) slot: usize,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    /// Better candidates are greater.
    fn cmp(&self, other: &Self) -> Ordering {
        let equal_scores = || (other.key, other.slot).cmp(&(self.key, self.slot));
        self.score.total_cmp(&other.score).then_with(equal_scores)
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best `k` candidates, best first.
pub(super) fn best_of(mut candidates: Vec<Candidate>, k: usize) -> Vec<Candidate> {
    let best_first = |a: &Candidate, b: &Candidate| b.cmp(a);
    if k < candidates.len() {
        candidates.select_nth_unstable_by(k, best_first);
        candidates.truncate(k);
    }
    candidates.sort_unstable_by(best_first);
    candidates
}

/// The score below which no candidate can be among the best `k`.
pub(super) struct Floor {
    /// By [`key`].
    scores: TopKHeap<i64>,
    /// A score that at least `k` candidates are known to reach.
    floor: f64,
}

impl Floor {
    pub(super) fn new(k: usize) -> Self {
        Self { scores: TopKHeap::new(k), floor: f64::NEG_INFINITY }
    }

    /// The score below which a candidate cannot be among the best.
    pub(super) fn score(&self) -> f64 {
        self.floor
    }

    /// True if a candidate whose score is at most `upper`, but for rounding, cannot be among the best.
    pub(super) fn rules_out(&self, upper: f64) -> bool {
        upper * SLACK < self.floor
    }

    /// Raise the floor to a score that at least `k` candidates reach.
    pub(super) fn raise(&mut self, floor: f64) {
        self.floor = self.floor.max(floor);
    }

    /// Take note of the score of one more candidate.
    pub(super) fn push(&mut self, score: f64) {
        if let Some(least) = self.scores.push(key(score)) {
            self.raise(unkey(least));
        }
    }
}

/// A number that orders as a score does: it is compared faster.
fn key(score: f64) -> i64 {
    let bits = score.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The inverse of [`key`].
fn unkey(key: i64) -> f64 {
    f64::from_bits((key ^ ((key >> 63) as u64 >> 1) as i64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_ties_go_by_key() {
        let all = [(1.0, 5), (3.0, 9), (2.0, 4), (2.0, 3), (2.0, 8), (0.5, 0)];
        let all = || all.into_iter().enumerate().map(|(slot, (score, key))| Candidate { score, key, slot }).collect();
        let slots = |k| best_of(all(), k).iter().map(|candidate| candidate.slot).collect::<Vec<_>>();
        assert_eq!((slots(3), slots(0), slots(9)), (vec![1, 3, 2], vec![], vec![1, 3, 2, 4, 0, 5]));
    }

    #[test]
    fn the_floor_is_the_lowest_of_the_best_scores() {
        let mut floor = Floor::new(3);
        for (score, wanted) in
            [(1.0, f64::NEG_INFINITY), (-2.0, f64::NEG_INFINITY), (0.0, -2.0), (0.5, 0.0), (0.2, 0.2)]
        {
            floor.push(score);
            assert_eq!(floor.score(), wanted);
        }
        let mut none = Floor::new(0);
        none.push(1.0);
        assert_eq!(none.score(), f64::NEG_INFINITY);
    }

    #[test]
    fn a_bound_that_rounding_may_have_lowered_is_not_ruled_out() {
        let mut best = Floor::new(1);
        best.raise(0.7);
        // A sum of a thousand terms is off by at most a thousand half-ulps, relatively.
        let rounded = 0.7 * (1.0 - 1_000.0 * f64::EPSILON / 2.0);
        assert!(rounded < 0.7);
        assert!(!best.rules_out(rounded) && !best.rules_out(0.7));
        assert!(best.rules_out(0.7 * (1.0 - 1e-8)), "bounds must still rule out what is clearly below");
    }

    #[test]
    fn where_all_weights_are_0_a_score_of_0_may_still_come_first_by_its_key() {
        let mut best = Floor::new(1);
        best.push(0.0);
        assert!(!best.rules_out(0.0));
    }
}
