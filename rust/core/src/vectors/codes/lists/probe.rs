//! A search of the lists that can hold better rows.

use super::super::best::Best;
use super::super::keep::{Keep, Kept, prune};
use super::super::scan::{Chunk, Scratch, Task};
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
/// Where more than one in this many lists is to be read, all are.
const MOST_PART: usize = 3;

/// The rows that a search may miss.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Budget {
    /// Better rows that lists left unread may be expected to hold, by the number of rows wanted.
    pub(in super::super) misses: f32,
    /// As of a `Calibration`.
    pub(in super::super) scale: f32,
}

/// The state of a search that reads lists one by one.
struct Search<'a, 'b> {
    task: &'a Task,
    lists: &'a Lists,
    best: &'a mut Best<'b>,
    /// True if rows are scored on the way.
    learns: bool,
    keep: [Keep; 1],
    kept: Vec<Kept>,
    scratch: Scratch,
}

/// Search the most promising lists, the rows in no list, then further lists until those left are expected to hold too
/// few better rows; true if they hold none for certain, and None if a scan of all rows takes less time.
pub(in super::super) fn probe(
    task: &Task,
    lists: &Lists,
    best: &mut Best<'_>,
    budget: Budget,
    learns: bool,
) -> Result<Option<bool>> {
    let mut left = lists.estimates((best.query(), &task.queries[0]), best.is_by_distance(), task.level, budget.scale);
    let mut search = Search::new(task, lists, best, learns);
    let first = promising(&mut left);
    search.read(left.drain(..first));
    for (segment, part) in task.rows.segments.iter().enumerate().skip(lists.segments) {
        let chunk = Chunk { segment, rows: 0..part.below(task.n) };
        task.scan(&chunk, 0..1, &mut search.keep, &mut search.scratch);
    }
    let mut floor = search.learn();
    if floor == f32::NEG_INFINITY {
        left.sort_unstable_by(|a, b| b.promise().total_cmp(&a.promise()));
    }
    // A filter may leave few rows of a list: without k rows there is no score to reach.
    let mut more = first;
    while floor == f32::NEG_INFINITY && !left.is_empty() {
        if MOST_PART * more > lists.len() {
            return Ok(None);
        }
        search.read(left.drain(..more.min(left.len())));
        floor = search.learn();
        more *= 2;
    }
    // The highest bound of those that were left out for good, and what they may hold.
    let (mut upper, mut lost) = (f32::NEG_INFINITY, 0.0);
    let may_lose = budget.misses * task.k as f32;
    let nothing = NOTHING * may_lose / lists.len().max(1) as f32;
    let mut open: Vec<Open> = left.into_iter().map(|estimate| Open { estimate, chance: 1.0, size: None }).collect();
    loop {
        let mut expected = lost;
        open.retain_mut(|list| {
            let holds = list.holds(floor, |list| search.allowed(list));
            if holds > nothing {
                expected += holds;
                return true;
            }
            lost += holds;
            if list.size != Some(0) {
                upper = upper.max(list.estimate.upper);
            }
            false
        });
        if expected <= may_lose || open.is_empty() {
            break;
        }
        open.sort_unstable_by(|a, b| b.chance.total_cmp(&a.chance));
        let mut wanted = 0;
        while wanted < open.len() && expected > may_lose {
            expected -= open[wanted].chance * open[wanted].size.unwrap_or(0) as f32;
            wanted += 1;
        }
        if MOST_PART * wanted > lists.len() {
            return Ok(None);
        }
        // Half of them, as the floor rises on the way.
        let now = (wanted / 2).max(STEP).min(open.len());
        search.read(open.drain(..now).map(|list| list.estimate));
        floor = search.learn();
    }
    let Search { best, keep: [keep], kept, .. } = search;
    best.find(kept, keep.floor())?;
    let floor = best.reached();
    let upper = open.iter().fold(upper, |upper, list| upper.max(list.estimate.upper));
    Ok(Some(upper == f32::NEG_INFINITY || upper < floor))
}

/// The runs of lists that can hold one of the best rows, and a floor of these rows' scores, in units of the query.
pub(in super::super) fn candidate_runs(
    task: &Task,
    lists: &Lists,
    best: &mut Best<'_>,
    learns: bool,
) -> (f32, Vec<Chunk>) {
    let scale = lists.calibration().scale;
    let estimates = lists.estimates((best.query(), &task.queries[0]), best.is_by_distance(), task.level, scale);
    let mut search = Search::new(task, lists, best, learns);
    let mut order = estimates.clone();
    let first = promising(&mut order);
    search.read(order.drain(..first));
    let score = search.learn();
    let mut runs: Vec<Chunk> = Vec::new();
    for (list, estimate) in lists.lists.iter().zip(&estimates) {
        if estimate.upper < score {
            continue;
        }
        let next = list.chunk();
        match runs.last_mut() {
            Some(run) if run.segment == next.segment && run.rows.end == next.rows.start => run.rows.end = next.rows.end,
            _ => runs.push(next),
        }
    }
    let floor = search.keep[0].floor();
    // The scan meets these rows again.
    best.forget();
    (floor, runs)
}

/// Put the most promising lists first, and return their number.
fn promising(estimates: &mut [Estimate]) -> usize {
    let first = FIRST.min(estimates.len());
    if first < estimates.len() {
        estimates.select_nth_unstable_by(first, |a, b| b.promise().total_cmp(&a.promise()));
    }
    first
}

/// A list that is not read yet.
struct Open {
    estimate: Estimate,
    /// The probability that a row of it is among the best.
    chance: f32,
    /// The number of its rows that may be returned; None until it is needed.
    size: Option<usize>,
}

impl Open {
    /// The number of rows that are expected to reach a score.
    fn holds(&mut self, score: f32, size: impl Fn(u32) -> usize) -> f32 {
        self.chance = if self.estimate.upper < score { 0.0 } else { self.estimate.tail(score) };
        if self.chance == 0.0 {
            return 0.0;
        }
        self.chance * *self.size.get_or_insert_with(|| size(self.estimate.list)) as f32
    }
}

impl<'a, 'b> Search<'a, 'b> {
    fn new(task: &'a Task, lists: &'a Lists, best: &'a mut Best<'b>, learns: bool) -> Self {
        let (keep, kept, scratch) = ([Keep::new(task.k)], Vec::new(), Scratch::default());
        Self { task, lists, best, learns, keep, kept, scratch }
    }

    fn read(&mut self, lists: impl Iterator<Item = Estimate>) {
        let mut chunks = lists.map(|estimate| self.lists.lists[estimate.list as usize].chunk()).peekable();
        while let Some(chunk) = chunks.next() {
            if let Some(next) = chunks.peek() {
                self.task.fetch(next);
            }
            self.task.scan(&chunk, 0..1, &mut self.keep, &mut self.scratch);
        }
    }

    /// The score that k of the rows read so far reach.
    fn learn(&mut self) -> f32 {
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

    /// The number of a list's rows that may be returned.
    fn allowed(&self, list: u32) -> usize {
        let (list, mask) = (self.lists.lists[list as usize], self.task.mask.as_ref());
        let rows = self.task.rows.segments[list.segment as usize].rows();
        let Some((mask, rows)) = mask.zip(rows) else { return list.len() };
        rows[list.from as usize..list.to as usize].iter().filter(|&&row| mask.contains(row as usize)).count()
    }
}
