//! Which rows can still be among the k best, given bounds from both sides.

use crate::collections::TopKHeap;

/// A row that may be among the best.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) upper: f32,
    pub(super) lower: f32,
    pub(super) row: usize,
}

/// Map a float to an integer of the same order.
pub(super) fn key(x: f32) -> i32 {
    let bits = x.to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

/// The inverse of [`key`].
pub(super) fn unkey(key: i32) -> f32 {
    f32::from_bits((key ^ ((key >> 31) as u32 >> 1) as i32) as u32)
}

/// The rows whose upper bound reaches the k-th largest lower bound seen so far, here or by another thread.
#[derive(Debug)]
pub(super) struct Keep {
    /// By [`key`].
    lowers: TopKHeap<i32>,
    floor: f32,
    kept: Vec<Kept>,
}

impl Keep {
    /// Nothing seen yet; `k` is at least 1.
    pub(super) fn new(k: usize) -> Self {
        Self { lowers: TopKHeap::new(k), floor: f32::NEG_INFINITY, kept: Vec::new() }
    }

    /// Every row under the floor is beaten by k rows for certain.
    pub(super) fn floor(&self) -> f32 {
        self.floor
    }

    /// Learn of a floor that other rows have set.
    pub(super) fn lift(&mut self, floor: f32) {
        self.floor = self.floor.max(floor);
    }

    /// Take a row whose score lies within the bounds; bounds that are not numbers say nothing.
    pub(super) fn offer(&mut self, row: usize, upper: f32, lower: f32) {
        if upper < self.floor {
            return;
        }
        let upper = if upper.is_nan() { f32::INFINITY } else { upper };
        let lower = if lower.is_nan() { f32::NEG_INFINITY } else { lower };
        self.kept.push(Kept { upper, lower, row });
        // At or under the floor a lower bound can never become the k-th largest above it.
        if lower <= self.floor {
            return;
        }
        if let Some(least) = self.lowers.push(key(lower)) {
            self.lift(unkey(least));
        }
    }

    /// Hand over what was kept since the last time and still reaches the floor.
    pub(super) fn drain(&mut self, into: &mut Vec<Kept>) {
        let floor = self.floor;
        into.extend(self.kept.drain(..).filter(|kept| kept.upper >= floor));
    }
}

/// Drop what the k-th largest lower bound of all of them beats, and return the highest floor known.
pub(super) fn prune(kept: &mut Vec<Kept>, k: usize, floor: f32) -> f32 {
    let mut floor = floor;
    if kept.len() > k {
        let mut lowers: Vec<i32> = kept.iter().map(|kept| key(kept.lower)).collect();
        let (_, &mut least, _) = lowers.select_nth_unstable_by(k - 1, |a, b| b.cmp(a));
        floor = floor.max(unkey(least));
    }
    kept.retain(|kept| kept.upper >= floor);
    floor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_as_floats_do() {
        let floats = [f32::NEG_INFINITY, -3e38, -1.0, -1e-45, -0.0, 0.0, 1e-45, 2.0, 3e38, f32::INFINITY];
        for pair in floats.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{pair:?}");
        }
        for x in floats {
            assert_eq!(unkey(key(x)).to_bits(), x.to_bits());
        }
    }

    #[test]
    fn a_row_at_the_floor_stays_and_one_under_it_goes() {
        let mut keep = Keep::new(2);
        for (row, (upper, lower)) in
            [(5.0, 3.0), (4.0, 2.0), (2.0, 1.0), (1.9, 1.8), (f32::NAN, f32::NAN)].iter().enumerate()
        {
            keep.offer(row, *upper, *lower);
        }
        let mut kept = Vec::new();
        keep.drain(&mut kept);
        assert_eq!(kept.iter().map(|kept| kept.row).collect::<Vec<_>>(), [0, 1, 2, 4]);
        assert_eq!(prune(&mut kept, 1, 0.0), 3.0);
        assert_eq!(kept.iter().map(|kept| kept.row).collect::<Vec<_>>(), [0, 1, 4]);
    }
}
