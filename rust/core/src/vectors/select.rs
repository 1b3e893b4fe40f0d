//! Which rows can still be among the k best, given scores with known error.

use std::cmp::Ordering;

use crate::collections::TopKHeap;

/// A double in the total order, for the heap.
#[derive(Clone, Copy, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The rows whose upper bound reaches the k-th largest lower bound seen so far.
///
/// A row under that floor is beaten by k rows for certain; a row at the floor may still win its tie by index, so it
/// stays.
pub(super) struct Survivors {
    lowers: TopKHeap<Ordered>,
    floor: f64,
    kept: Vec<(f64, usize)>,
    room: usize,
}

impl Survivors {
    /// Nothing seen yet; `k` is at least 1.
    pub(super) fn new(k: usize) -> Self {
        Self { lowers: TopKHeap::new(k), floor: f64::NEG_INFINITY, kept: Vec::new(), room: 4096.max(2 * k) }
    }

    /// Take rows `at` with scores that are each within `error` of the truth (infinite when nothing is known).
    pub(super) fn offer(&mut self, at: &[usize], scores: &[f32], error: f64) {
        // One step down makes up for the rounding to float32. NaN fails the comparison, so it is looked at.
        let cut = ((self.floor - error) as f32).next_down();
        if scores.iter().all(|&score| score < cut) {
            return;
        }
        for (&row, &score) in at.iter().zip(scores) {
            if score < cut {
                continue;
            }
            let (lower, upper) = if error.is_finite() {
                (f64::from(score) - error, f64::from(score) + error)
            } else {
                (f64::NEG_INFINITY, f64::INFINITY)
            };
            if upper >= self.floor {
                self.kept.push((upper, row));
                self.raise(lower);
            }
        }
        if self.kept.len() > self.room {
            self.prune();
            self.room = self.room.max(2 * self.kept.len());
        }
    }

    /// The rows left, in the order in which they were offered.
    pub(super) fn rows(mut self) -> Vec<usize> {
        self.prune();
        self.kept.into_iter().map(|(_, row)| row).collect()
    }

    fn raise(&mut self, lower: f64) {
        if let Some(least) = self.lowers.push(Ordered(lower)) {
            self.floor = least.0;
        }
    }

    fn prune(&mut self) {
        let floor = self.floor;
        self.kept.retain(|&(upper, _)| upper >= floor);
    }
}
