//! The lists of neighbours as one array.

use super::End;
use crate::error::{Error, Result};

/// By entry the ends of its links, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    /// The rows that have links, ascending; an entry's number is its place.
    pub(super) rows: Vec<i64>,
    /// Where the list of each ends.
    ends: Vec<usize>,
    lists: Vec<End>,
}

impl Base {
    pub(super) fn of_columns(rows: &[i64], ends: &[i64], lists: &[u32]) -> Result<Self> {
        let fault = || Error::Damaged { what: "the lists of links" };
        let ends: Vec<usize> =
            ends.iter().map(|&end| usize::try_from(end).map_err(|_| fault())).collect::<Result<_>>()?;
        let lists: Vec<End> = lists.iter().map(|&end| End(end)).collect();
        let fits = rows.len() == ends.len()
            && rows.is_sorted_by(|a, b| a < b)
            && ends.is_sorted()
            && ends.last().copied().unwrap_or(0) == lists.len()
            && lists.iter().all(|end| (end.number() as usize) < rows.len());
        if fits { Ok(Self { rows: rows.to_vec(), ends, lists }) } else { Err(fault()) }
    }

    pub(super) fn columns(self) -> (Vec<i64>, Vec<i64>, Vec<u32>) {
        let ends = self.ends.into_iter().map(|end| end as i64).collect();
        (self.rows, ends, self.lists.into_iter().map(|end| end.0).collect())
    }

    pub(super) fn push(&mut self, row: i64, list: impl Iterator<Item = End>) {
        self.rows.push(row);
        self.lists.extend(list);
        self.ends.push(self.lists.len());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of ends, two for a link.
    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }

    pub(super) fn number(&self, row: i64) -> Option<u32> {
        self.rows.binary_search(&row).ok().map(|at| at as u32)
    }

    /// The list of an entry, empty for one that is not here.
    pub(super) fn list(&self, of: u32) -> &[End] {
        let at = of as usize;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(at).and_then(|&end| self.lists.get(start..end)).unwrap_or(&[])
    }

    /// True if there is a link; the shorter list is searched.
    pub(super) fn has(&self, source: u32, target: u32) -> bool {
        let (from, to) = (self.list(source), self.list(target));
        if from.len() <= to.len() {
            from.contains(&End::new(target, false))
        } else {
            to.contains(&End::new(source, true))
        }
    }
}
