//! The best of many candidates, kept in a heap of bounded size.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A slot that was scored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) score: f64,
    /// Of equal scores the smaller key comes first.
    pub(super) key: i64,
    pub(super) slot: usize,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    /// Better candidates are less.
    fn cmp(&self, other: &Self) -> Ordering {
        let equal_scores = || (self.key, self.slot).cmp(&(other.key, other.slot));
        other.score.total_cmp(&self.score).then_with(equal_scores)
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best `k` candidates so far, the worst of them on top.
pub(super) struct Best {
    k: usize,
    heap: BinaryHeap<Candidate>,
    /// A score that at least `k` candidates are known to reach.
    floor: f64,
}

impl Best {
    pub(super) fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::new(), floor: f64::NEG_INFINITY }
    }

    /// The score below which a candidate cannot be among the best.
    pub(super) fn floor(&self) -> f64 {
        self.floor
    }

    /// Say that at least `k` candidates reach a score.
    pub(super) fn raise(&mut self, floor: f64) {
        self.floor = self.floor.max(floor);
    }

    pub(super) fn push(&mut self, candidate: Candidate) {
        if self.heap.len() == self.k {
            match self.heap.peek_mut() {
                Some(mut worst) if candidate < *worst => *worst = candidate,
                _ => return,
            }
        } else {
            self.heap.push(candidate);
        }
        if self.heap.len() == self.k
            && let Some(worst) = self.heap.peek()
        {
            self.floor = self.floor.max(worst.score);
        }
    }

    /// The candidates, best first.
    pub(super) fn into_sorted(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_ties_go_by_key() {
        let mut best = Best::new(3);
        for (slot, (score, key)) in [(1.0, 5), (3.0, 9), (2.0, 4), (2.0, 3), (2.0, 8), (0.5, 0)].into_iter().enumerate()
        {
            best.push(Candidate { score, key, slot });
        }
        assert_eq!(best.floor(), 2.0);
        let slots: Vec<usize> = best.into_sorted().iter().map(|candidate| candidate.slot).collect();
        assert_eq!(slots, [1, 3, 2]);
        let mut none = Best::new(0);
        none.push(Candidate { score: 1.0, key: 0, slot: 0 });
        assert!(none.into_sorted().is_empty());
    }
}
