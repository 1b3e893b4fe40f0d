//! A search of the lists that can hold better rows.

use super::super::keep::{Keep, Kept, prune};
use super::super::scan::{Chunk, Scratch, Task};
use super::super::search::Best;
use super::{Estimate, Lists};
use crate::error::Result;

/// Lists that are read before any other is ruled out.
const FIRST: usize = 8;
/// Least lists between two looks at those that are left.
const STEP: usize = 8;
/// Rows kept of the lists that are read, before those that were beaten are dropped.
const ROOM: usize = 1 << 16;
/// The part of what a search may leave out that is left out list by list, as too little to come back to.
const NOTHING: f32 = 0.05;

/// How much a search may leave unread.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Lean {
    /// Better rows that lists left unread may be expected to hold, by the number of rows wanted.
    pub(in super::super) doubt: f32,
    pub(in super::super) scale: f32,
}

/// Search the rows in no list, then lists, the most promising first, until those left are expected to hold too few
/// better rows; true if they hold none for certain.
pub(in super::super) fn probe(
    task: &Task,
    lists: &Lists,
    best: &mut Best<'_>,
    lean: Lean,
    learns: bool,
) -> Result<bool> {
    let mut search =
        Search { task, best, learns, keep: [Keep::new(task.k)], kept: Vec::new(), scratch: Scratch::default() };
    for (segment, part) in task.rows.segments.iter().enumerate().skip(lists.len()) {
        search.read(segment, part.below(task.n));
    }
    let query = (&*task.raw, &task.queries[0]);
    let mut left = lists.estimates(query, search.best.is_by_distance(), task.level, lean.scale);
    let first = FIRST.min(left.len());
    if first < left.len() {
        left.select_nth_unstable_by(first, |a, b| b.promise().total_cmp(&a.promise()));
    }
    let begun = search.lists(left.drain(..first));
    // The highest bound of those that were left out for good, and what they may hold.
    let (mut upper, mut lost) = (f32::NEG_INFINITY, 0.0);
    let may_lose = lean.doubt * task.k as f32;
    let mut floor = begun;
    let mut open: Vec<(f32, f32, Estimate)> = left.into_iter().map(|estimate| (1.0, -1.0, estimate)).collect();
    loop {
        let nothing = NOTHING * may_lose / lists.len() as f32;
        let mut expected = lost;
        open.retain_mut(|(chance, size, estimate)| {
            *chance = if estimate.upper < floor { 0.0 } else { estimate.tail(floor) };
            if *size < 0.0 && *chance > 0.0 {
                *size = search.allowed(estimate.list) as f32;
            }
            let holds = *chance * size.max(0.0);
            if holds <= nothing {
                lost += holds;
                upper = upper.max(if *size == 0.0 { f32::NEG_INFINITY } else { estimate.upper });
                return false;
            }
            expected += holds;
            true
        });
        if expected <= may_lose || open.is_empty() {
            break;
        }
        open.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let mut wanted = 0;
        while wanted < open.len() && expected > may_lose {
            expected -= open[wanted].0 * open[wanted].1;
            wanted += 1;
        }
        let now = (wanted / 2).max(STEP).min(open.len());
        floor = search.lists(open.drain(..now).map(|(_, _, estimate)| estimate));
    }
    let Search { keep: [keep], kept, .. } = search;
    best.find(kept, keep.floor())?;
    let floor = best.reached();
    Ok((upper == f32::NEG_INFINITY || upper < floor) && open.iter().all(|(_, _, estimate)| estimate.upper < floor))
}

/// A search on its way through the lists.
struct Search<'a, 'b> {
    task: &'a Task,
    best: &'a mut Best<'b>,
    /// True if rows are scored on the way.
    learns: bool,
    keep: [Keep; 1],
    kept: Vec<Kept>,
    scratch: Scratch,
}

impl Search<'_, '_> {
    /// Read the first rows of a segment.
    fn read(&mut self, segment: usize, rows: usize) {
        let chunk = Chunk { segment, rows: 0..rows, upper: f32::INFINITY };
        self.task.scan(&chunk, 0..1, &mut self.keep, &mut self.scratch);
    }

    /// Read lists, and return a score that k rows have.
    fn lists(&mut self, lists: impl Iterator<Item = Estimate>) -> f32 {
        let mut lists = lists.map(|estimate| estimate.list as usize).peekable();
        while let Some(segment) = lists.next() {
            if let Some(&next) = lists.peek() {
                self.task.fetch(next);
            }
            self.read(segment, self.task.rows.segments[segment].len());
        }
        let from = self.kept.len();
        self.keep[0].drain(&mut self.kept);
        if self.learns {
            let floor = self.best.learn(&self.kept[from..]);
            self.keep[0].lift(floor);
        }
        if self.kept.len() > ROOM {
            prune(&mut self.kept, self.task.k, self.keep[0].floor());
        }
        (f64::from(self.keep[0].floor()) * self.task.queries[0].unit) as f32
    }

    /// The rows of a list that may be returned.
    fn allowed(&self, list: u32) -> usize {
        let segment = &self.task.rows.segments[list as usize];
        match (&self.task.mask, segment.rows()) {
            (Some(mask), Some(rows)) => rows.iter().filter(|&&row| mask.contains(row as usize)).count(),
            _ => segment.len(),
        }
    }
}
