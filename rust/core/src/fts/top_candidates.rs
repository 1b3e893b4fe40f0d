//! The best candidates so far, and the score below which no other can be among them.

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

/// The best `k` candidates so far.
pub(super) struct TopCandidates {
    heap: TopKHeap<Candidate>,
    /// A score that at least `k` candidates are known to reach.
    floor: f64,
}

impl TopCandidates {
    pub(super) fn new(k: usize) -> Self {
        Self { heap: TopKHeap::new(k), floor: f64::NEG_INFINITY }
    }

    /// The score below which a candidate cannot be among the best.
    pub(super) fn floor(&self) -> f64 {
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

    pub(super) fn push(&mut self, candidate: Candidate) {
        if let Some(least) = self.heap.push(candidate) {
            self.raise(least.score);
        }
    }

    /// The candidates, best first.
    pub(super) fn into_sorted(self) -> Vec<Candidate> {
        self.heap.into_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_ties_go_by_key() {
        let mut best = TopCandidates::new(3);
        for (slot, (score, key)) in [(1.0, 5), (3.0, 9), (2.0, 4), (2.0, 3), (2.0, 8), (0.5, 0)].into_iter().enumerate()
        {
            best.push(Candidate { score, key, slot });
        }
        assert_eq!(best.floor(), 2.0);
        let slots: Vec<usize> = best.into_sorted().iter().map(|candidate| candidate.slot).collect();
        assert_eq!(slots, [1, 3, 2]);
        let mut none = TopCandidates::new(0);
        none.push(Candidate { score: 1.0, key: 0, slot: 0 });
        assert!(none.into_sorted().is_empty());
    }

    #[test]
    fn a_bound_that_rounding_may_have_lowered_is_not_ruled_out() {
        let mut best = TopCandidates::new(1);
        best.raise(0.7);
        // A sum of a thousand terms is off by at most a thousand half-ulps, relatively.
        let rounded = 0.7 * (1.0 - 1_000.0 * f64::EPSILON / 2.0);
        assert!(rounded < 0.7);
        assert!(!best.rules_out(rounded) && !best.rules_out(0.7));
        assert!(best.rules_out(0.7 * (1.0 - 1e-8)), "bounds must still rule out what is clearly below");
    }

    #[test]
    fn where_all_weights_are_0_a_score_of_0_may_still_come_first_by_its_key() {
        let mut best = TopCandidates::new(1);
        best.push(Candidate { score: 0.0, key: 7, slot: 0 });
        assert!(!best.rules_out(0.0));
    }
}
