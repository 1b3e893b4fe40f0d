//! The walk over links from some entries, the anchors, to those near them.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Links;

/// The entries near some anchors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Near {
    /// The steps to each entry that was asked for `(m,)`, 0 for one that is not near.
    pub known: Vec<i64>,
    /// The rows of all others that are near `(f,)`, the nearest first.
    pub rows: Vec<i64>,
    /// The steps to them `(f,)`.
    pub steps: Vec<i64>,
}

impl Links {
    /// Find the entries within `depth` steps of an anchor that is not themselves.
    ///
    /// From each entry only its first `most` neighbours are walked to; None walks to all. A known entry is also near when
    /// its own walk meets that of an anchor: among thousands of links of another entry its own need not be the first.
    /// No walk leads back to the anchor where it began, so an anchor is near only to others.
    pub fn near(&self, anchors: &[i64], known: &[i64], depth: usize, most: Option<usize>) -> Near {
        let anchors: Vec<u32> = anchors.iter().filter_map(|&row| self.number(row)).collect();
        let mut nearest = vec![0_u32; self.numbered()];
        // The last anchor whose walk came by, counted from 1.
        let mut seen = vec![0_usize; self.numbered()];
        let mut reached = Vec::new();
        for (walk, &anchor) in (1..).zip(&anchors) {
            let mut frontier = vec![anchor];
            seen[anchor as usize] = walk;
            for step in 1..=depth as u32 {
                let mut next = Vec::new();
                for &of in &frontier {
                    self.each_neighbour(of, most, |number| {
                        if std::mem::replace(&mut seen[number as usize], walk) != walk {
                            next.push(number);
                        }
                    });
                }
                for &number in &next {
                    let place = &mut nearest[number as usize];
                    if *place == 0 {
                        reached.push(number);
                    }
                    *place = if *place == 0 { step } else { step.min(*place) };
                }
                frontier = next;
            }
        }
        if let Some(most) = most {
            let walks: Vec<FxHashMap<u32, usize>> = anchors.iter().map(|&of| self.walk(of, depth, most)).collect();
            for number in known.iter().filter_map(|&row| self.number(row)) {
                let others: Vec<_> = anchors.iter().zip(&walks).filter(|&(&anchor, _)| anchor != number).collect();
                let own = self.walk(number, depth, most);
                let met = others.iter().flat_map(|(_, walk)| own.iter().filter_map(|(at, j)| Some(walk.get(at)? + j)));
                let place = &mut nearest[number as usize];
                if let Some(steps) = met.filter(|&steps| steps <= depth).min() {
                    *place = if *place == 0 { steps as u32 } else { (steps as u32).min(*place) };
                }
            }
        }
        let wanted: Vec<Option<u32>> = known.iter().map(|&row| self.number(row)).collect();
        let steps = |number: u32| i64::from(nearest[number as usize]);
        let results = wanted.iter().map(|number| number.map_or(0, steps)).collect();
        wanted.iter().flatten().for_each(|&number| seen[number as usize] = usize::MAX);
        reached.retain(|&number| seen[number as usize] != usize::MAX);
        reached.sort_by_key(|&number| nearest[number as usize]);
        let rows = reached.iter().map(|&number| self.row(number)).collect();
        Near { known: results, rows, steps: reached.into_iter().map(steps).collect() }
    }

    /// The steps to what an entry reaches, itself at 0.
    fn walk(&self, from: u32, depth: usize, most: usize) -> FxHashMap<u32, usize> {
        let mut steps = FxHashMap::from_iter([(from, 0)]);
        let mut frontier = vec![from];
        for step in 1..=depth {
            let mut next = Vec::new();
            for &of in &frontier {
                self.each_neighbour(of, Some(most), |number| {
                    if let Entry::Vacant(place) = steps.entry(number) {
                        place.insert(step);
                        next.push(number);
                    }
                });
            }
            frontier = next;
        }
        steps
    }

    /// Pass the first neighbours of an entry on, each at least once.
    fn each_neighbour(&self, of: u32, most: Option<usize>, mut each: impl FnMut(u32)) {
        let Some(most) = most else { return self.neighbours(of).for_each(each) };
        let mut taken = FxHashSet::default();
        self.neighbours(of).filter(|&number| taken.insert(number)).take(most).for_each(&mut each);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Change;
    use super::*;

    fn links(pairs: &[(i64, i64)]) -> Links {
        let change = |&(source, target): &(i64, i64)| Change { source, target, age: 0, there: true };
        Links::new(&pairs.iter().map(change).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn steps_are_counted_from_the_nearest_other_anchor() {
        let chain = links(&[(1, 2), (2, 3), (3, 4), (4, 5)]);
        let results = chain.near(&[1], &[1, 2, 9], 2, None);
        assert_eq!(results, Near { known: vec![0, 1, 0], rows: vec![3], steps: vec![2] });
        // Two anchors that are neighbours are near each other, and neither to itself.
        let results = chain.near(&[2, 3], &[2, 3], 3, None);
        assert_eq!(results, Near { known: vec![1, 1], rows: vec![1, 4, 5], steps: vec![1, 1, 2] });
        assert_eq!(chain.near(&[7], &[1], 2, None), Near { known: vec![0], ..Near::default() });
        assert_eq!(chain.near(&[1], &[2], 0, None), Near { known: vec![0], ..Near::default() });
    }

    #[test]
    fn from_a_hub_only_so_many_are_walked_to() {
        let star = links(&(2..5_000).map(|leaf| (leaf, 1)).collect::<Vec<_>>());
        let results = star.near(&[77], &[1], 2, Some(5));
        assert_eq!((results.known, results.rows), (vec![1], vec![2, 3, 4, 5, 6]));
        // A known leaf meets the anchor at the hub, though it is not among the hub's first.
        assert_eq!(star.near(&[77], &[78, 77], 2, Some(5)).known, [2, 0]);
        assert_eq!(star.near(&[77], &[78], 1, Some(5)).known, [0]);
        assert_eq!(star.near(&[77], &[], 2, None).rows.len(), 4_998);
        assert_eq!(star.near(&[77], &[], 2, Some(0)).rows.len(), 0);
    }
}
