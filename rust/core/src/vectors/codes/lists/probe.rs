//! A search of the lists that can hold better rows.

use super::super::best::Best;
use super::super::keep::{Keep, Kept, prune};
use super::super::scan::{Chunk, Scratch, Task};
use super::Lists;
use super::estimate::{Estimate, Estimator};
use crate::error::Result;

/// Lists that are read before any other is ruled out.
const FIRST: usize = 8;
/// Lists that are looked at for each that is read, where they are in groups.
const AROUND: usize = 64;
/// The part of what a search may leave out that is left out with groups whose lists are not looked at.
const CLOSED: f32 = 0.1;
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
    estimator: Estimator<'a>,
    best: &'a mut Best<'b>,
    /// True if rows are scored on the way.
    learns: bool,
    /// Lists that were not read, and groups of others whose lists were not looked at.
    left: Vec<Estimate>,
    closed: Vec<Estimate>,
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
    let mut search = Search::new(task, lists, best, learns, budget.scale);
    search.read_promising(FIRST);
    for (segment, part) in task.rows.segments.iter().enumerate().skip(lists.segments) {
        let chunk = Chunk { segment, rows: 0..part.below(task.n) };
        task.scan(&chunk, 0..1, &mut search.keep, &mut search.scratch);
    }
    let mut floor = search.learn();
    // A filter may leave few rows of a list: without k rows there is no score to reach.
    let mut more = FIRST;
    while floor == f32::NEG_INFINITY && search.has_more() {
        if MOST_PART * more > lists.len() {
            return Ok(None);
        }
        search.read_promising(more);
        floor = search.learn();
        more *= 2;
    }
    let may_lose = budget.misses * task.k as f32;
    let nothing = NOTHING * may_lose / lists.len().max(1) as f32;
    // The highest bound of those that were left out for good, and what they may hold.
    let (mut upper, mut lost) = search.close(floor, may_lose * CLOSED);
    let mut open: Vec<Open> =
        search.left.drain(..).map(|estimate| Open { estimate, chance: 1.0, size: None }).collect();
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
    let mut search = Search::new(task, lists, best, learns, lists.calibration().scale);
    let groups = search.closed.clone();
    let mut estimates = search.left.clone();
    search.read_promising(FIRST);
    let score = search.learn();
    for group in groups.iter().filter(|group| group.reaches(score)) {
        search.estimator.lists(lists.groups[group.of as usize].lists.clone(), &mut estimates);
    }
    let mut runs: Vec<Chunk> = Vec::new();
    for estimate in estimates.iter().filter(|estimate| estimate.reaches(score)) {
        let next = lists.lists[estimate.of as usize].chunk();
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
        self.chance = self.estimate.tail(score);
        if self.chance == 0.0 {
            return 0.0;
        }
        self.chance * *self.size.get_or_insert_with(|| size(self.estimate.of)) as f32
    }
}

impl<'a, 'b> Search<'a, 'b> {
    fn new(task: &'a Task, lists: &'a Lists, best: &'a mut Best<'b>, learns: bool, scale: f32) -> Self {
        let query = (best.query(), &task.queries[0]);
        let estimator = Estimator::new(lists, query, best.is_by_distance(), task.level, scale);
        let (mut left, closed) = (Vec::new(), estimator.groups(&task.shifts));
        if closed.is_empty() {
            estimator.lists(0..lists.len(), &mut left);
        }
        let (keep, kept, scratch) = ([Keep::new(task.k)], Vec::new(), Scratch::default());
        Self { task, lists, estimator, best, learns, left, closed, keep, kept, scratch }
    }

    fn has_more(&self) -> bool {
        !self.left.is_empty() || !self.closed.is_empty()
    }

    /// Estimate the lists of a group.
    fn open(&mut self, group: u32) {
        self.estimator.lists(self.lists.groups[group as usize].lists.clone(), &mut self.left);
    }

    /// Read the most promising lists of those that were not read.
    fn read_promising(&mut self, count: usize) {
        if !self.closed.is_empty() {
            let lists = |group: &Estimate| self.lists.groups[group.of as usize].lists.len();
            let (mut first, mut known) = (0, self.left.len());
            self.closed.sort_unstable_by(|a, b| b.promise().total_cmp(&a.promise()));
            while first < self.closed.len() && known < AROUND * count {
                known += lists(&self.closed[first]);
                first += 1;
            }
            let groups: Vec<u32> = self.closed.drain(..first).map(|group| group.of).collect();
            groups.into_iter().for_each(|group| self.open(group));
        }
        let count = count.min(self.left.len());
        if count < self.left.len() {
            self.left.select_nth_unstable_by(count, |a, b| b.promise().total_cmp(&a.promise()));
        }
        let first: Vec<Estimate> = self.left.drain(..count).collect();
        self.read(first.into_iter());
    }

    /// Open groups until the others are expected to hold few rows that reach a score; return the highest bound of these
    /// others and the number of such rows.
    fn close(&mut self, score: f32, few: f32) -> (f32, f32) {
        let mut closed = std::mem::take(&mut self.closed);
        // Rows that a filter leaves out count too: to count them takes longer than to look at the lists.
        let holds = |group: &Estimate| group.tail(score) * self.lists.groups[group.of as usize].rows as f32;
        let mut holds: Vec<(f32, Estimate)> = closed.drain(..).map(|group| (holds(&group), group)).collect();
        holds.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut upper, mut lost) = (f32::NEG_INFINITY, 0.0);
        for (holds, group) in holds {
            if lost + holds > few {
                self.open(group.of);
            } else {
                lost += holds;
                upper = upper.max(group.upper);
            }
        }
        (upper, lost)
    }

    fn read(&mut self, lists: impl Iterator<Item = Estimate>) {
        let mut chunks = lists.map(|estimate| self.lists.lists[estimate.of as usize].chunk()).peekable();
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

    /// The number of a list's rows that may be returned, or an upper bound.
    fn allowed(&self, list: u32) -> usize {
        let (list, mask) = (self.lists.lists[list as usize], self.task.mask.as_ref());
        let rows = self.task.rows.segments[list.segment as usize].rows();
        let Some((mask, rows)) = mask.zip(rows) else { return list.len() };
        if 2 * self.task.allowed >= self.task.n {
            // To count takes longer than to read a few lists more: 0.18 of 0.48 ms with one of 200,000 rows removed.
            return list.len();
        }
        rows[list.from as usize..list.to as usize].iter().filter(|&&row| mask.contains(row as usize)).count()
    }
}
