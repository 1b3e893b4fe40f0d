//! Links between entries: the neighbours of each, newest first, and the walk from some entries to those near them.
//!
//! Entries are named by their rows in the store, which do not change when they are written again.

mod list;
mod walk;

use std::cmp::Reverse;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Result};
use list::Base;
pub use walk::Near;

/// Maximum changed links kept beside the lists before these are rebuilt: a number, and a share of all links.
const LEAST_CHANGES: usize = 1_024;
const CHANGED_PART: usize = 4;

/// A link that was stored or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The row it leads from.
    pub source: i64,
    /// The row it leads to.
    pub target: i64,
    /// Larger for later changes.
    pub age: i64,
    /// True if it is there now.
    pub there: bool,
}

/// The links of a store, immutable; a link is walked in both directions.
#[derive(Clone, Debug, Default)]
pub struct Links {
    base: Arc<Base>,
    /// Entries that are not in the base, by row and by number, which follow those of the base.
    numbers: FxHashMap<i64, u32>,
    rows: Vec<i64>,
    /// By number of an entry its newer neighbours, newest first.
    added: FxHashMap<u32, Vec<End>>,
    /// Links of the base, from number to number, that were removed or stored again.
    removed: FxHashSet<(u32, u32)>,
}

/// One end of a link, as the entry at the other end knows it: its number, and whether the link comes from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End(u32);

impl End {
    fn new(number: u32, incoming: bool) -> Self {
        Self(number << 1 | u32::from(incoming))
    }

    fn number(self) -> u32 {
        self.0 >> 1
    }

    /// The link from number to number, given the number of the entry that has this end in its list.
    fn link(self, of: u32) -> (u32, u32) {
        if self.0 & 1 == 1 { (self.number(), of) } else { (of, self.number()) }
    }
}

impl Links {
    /// The links of a store.
    ///
    /// # Errors
    /// [`Error::Parameter`] for more than 2³¹ entries.
    pub fn new(links: &[Change]) -> Result<Self> {
        Self::default().moved(links)
    }

    /// The links that [`Self::columns`] returned: rows, ends of lists, and lists.
    ///
    /// # Errors
    /// [`Error::Damaged`] where they do not fit each other.
    pub fn of_columns(rows: &[i64], ends: &[i64], lists: &[u32]) -> Result<Self> {
        Ok(Self { base: Arc::new(Base::of_columns(rows, ends, lists)?), ..Self::default() })
    }

    /// The rows that have links, ascending; where the list of each ends; and the lists.
    pub fn columns(&self) -> (Vec<i64>, Vec<i64>, Vec<u32>) {
        self.merged().columns()
    }

    /// The links after some were stored or removed; of several changes of one link the last counts.
    ///
    /// # Errors
    /// [`Error::Parameter`] for more than 2³¹ entries.
    pub fn moved(&self, changes: &[Change]) -> Result<Self> {
        let mut moved = self.clone();
        let mut latest: FxHashMap<(i64, i64), Change> = FxHashMap::default();
        for &change in changes {
            let known = latest.entry((change.source, change.target)).or_insert(change);
            *known = if change.age >= known.age { change } else { *known };
        }
        // An entry in no list need not be searched for there.
        let fresh = self.base.is_empty() && self.added.is_empty();
        let mut ends = Vec::with_capacity(2 * latest.len());
        for change in latest.into_values() {
            let (source, target) = (moved.number_of(change.source)?, moved.number_of(change.target)?);
            if !fresh {
                moved.remove(source, target);
            }
            if change.there {
                ends.push((change.age, Reverse(change.target), source, End::new(target, false)));
                ends.push((change.age, Reverse(change.source), target, End::new(source, true)));
            }
        }
        // The newest comes first in a list, and of equally old ones the lower row, so these are put there last.
        ends.sort_unstable_by_key(|&(age, row, of, end)| (age, row, of, end.0));
        for (_, _, of, end) in ends {
            moved.added.entry(of).or_default().push(end);
        }
        let changed = moved.added.values().map(Vec::len).sum::<usize>() + moved.removed.len();
        if changed > LEAST_CHANGES.max(moved.base.len() / CHANGED_PART) {
            return Ok(Self { base: Arc::new(moved.merged()), ..Self::default() });
        }
        Ok(moved)
    }

    fn remove(&mut self, source: u32, target: u32) {
        for (of, end) in [(source, End::new(target, false)), (target, End::new(source, true))] {
            if let Some(list) = self.added.get_mut(&of) {
                list.retain(|other| *other != end);
            }
        }
        if self.base.has(source, target) {
            self.removed.insert((source, target));
        }
    }

    fn number(&self, row: i64) -> Option<u32> {
        self.base.number(row).or_else(|| self.numbers.get(&row).copied())
    }

    fn number_of(&mut self, row: i64) -> Result<u32> {
        if let Some(number) = self.number(row) {
            return Ok(number);
        }
        let number = self.base.rows.len() + self.rows.len();
        if number >= 1 << 31 {
            return Err(Error::Parameter { what: "entries with links", wanted: "under 2^31", got: number as f64 });
        }
        self.rows.push(row);
        self.numbers.insert(row, number as u32);
        Ok(number as u32)
    }

    fn row(&self, number: u32) -> i64 {
        let at = number as usize;
        self.base.rows.get(at).or_else(|| self.rows.get(at - self.base.rows.len())).copied().unwrap_or(-1)
    }

    /// The number of entries with numbers.
    fn numbered(&self) -> usize {
        self.base.rows.len() + self.rows.len()
    }

    /// The neighbours of an entry, newest first; one that is linked both ways comes twice.
    fn neighbours(&self, of: u32) -> impl Iterator<Item = u32> + '_ {
        self.ends(of).map(End::number)
    }

    fn ends(&self, of: u32) -> impl Iterator<Item = End> + '_ {
        let added = self.added.get(&of).map_or(&[][..], Vec::as_slice);
        let stays = move |end: &End| self.removed.is_empty() || !self.removed.contains(&end.link(of));
        added.iter().rev().copied().chain(self.base.list(of).iter().copied().filter(stays))
    }

    fn merged(&self) -> Base {
        let mut order: Vec<u32> = (0..self.numbered() as u32).filter(|&of| self.ends(of).next().is_some()).collect();
        order.sort_unstable_by_key(|&number| self.row(number));
        let mut place = vec![0; self.numbered()];
        order.iter().zip(0..).for_each(|(&old, new)| place[old as usize] = new);
        let mut base = Base::default();
        for &old in &order {
            let moved = self.ends(old).map(|end| End::new(place[end.number() as usize], end.0 & 1 == 1));
            base.push(self.row(old), moved);
        }
        base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(source: i64, target: i64, age: i64, there: bool) -> Change {
        Change { source, target, age, there }
    }

    fn near(links: &Links, of: i64, most: Option<usize>) -> Vec<i64> {
        links.near(&[of], &[], 1, most).rows
    }

    #[test]
    fn the_newest_neighbours_come_first_and_of_equally_old_ones_the_lower_row() {
        let links = Links::new(&[change(5, 9, 1, true), change(5, 7, 1, true), change(8, 5, 3, true)]).unwrap();
        assert_eq!(near(&links, 5, None), [8, 7, 9]);
        assert_eq!(near(&links, 5, Some(2)), [8, 7]);
        assert_eq!(near(&links, 7, None), [5]);
        assert!(near(&links, 6, None).is_empty());
    }

    #[test]
    fn a_link_both_ways_is_one_neighbour_until_both_are_removed() {
        let both = [change(1, 2, 1, true), change(2, 1, 2, true), change(1, 3, 1, true)];
        let links = Links::new(&both).unwrap();
        assert_eq!(near(&links, 1, Some(2)), [2, 3]);
        let one = links.moved(&[change(2, 1, 3, false)]).unwrap();
        assert_eq!((near(&one, 1, None), near(&one, 2, None)), (vec![2, 3], vec![1]));
        let none = one.moved(&[change(1, 2, 4, false)]).unwrap();
        assert_eq!((near(&none, 1, None), near(&none, 2, None)), (vec![3], vec![]));
        // Published lists do not change.
        assert_eq!(near(&links, 2, None), [1]);
    }

    #[test]
    fn columns_give_the_same_links_again_and_damaged_ones_are_refused() {
        let result = Links::new(&[change(1, 2, 1, true), change(9, 1, 2, true)]).unwrap();
        let moved = result.moved(&[change(1, 4, 3, true), change(1, 2, 4, false)]).unwrap();
        let (rows, ends, lists) = moved.columns();
        assert_eq!(rows, [1, 4, 9]);
        let again = Links::of_columns(&rows, &ends, &lists).unwrap();
        assert_eq!((near(&again, 1, None), near(&again, 9, None)), (vec![4, 9], vec![1]));
        for (rows, ends, lists) in [
            (&rows[..2], &ends[..], &lists[..]),
            (&[4, 1, 9], &ends, &lists),
            (&rows, &[2, 1, 4], &lists),
            (&rows, &[-2, 3, 4], &lists),
            (&rows, &ends, &lists[1..]),
            (&rows, &ends, &[u32::MAX; 4]),
        ] {
            assert!(Links::of_columns(rows, ends, lists).is_err());
        }
    }
}
