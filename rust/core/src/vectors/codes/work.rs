//! One search cut into small units that any thread may take.
//!
//! The thread that owns the search has the float32 rows, and may compute exact scores of the rows that its units keep,
//! which raise the floor for all threads. The number kept until the end is bounded, whatever the rows are.

use std::ops::Range;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::keep::{Keep, Kept, key, prune, unkey};
use super::line::{BLOCK, LINE};
use super::scan::{Chunk, Scratch, Task};
use super::segment::Segment;
use crate::error::Result;
use crate::pool::Job;

/// Queries that pass over the same block of rows before the next block is read.
const TILE: usize = 256;
/// Maximum bytes kept of all queries together; of each query at least a few times the k best are kept.
const ROOM_BYTES: usize = 64 << 20;
const LEAST_ROOM: usize = 1024;
/// Upper halves of codes read by one unit: about ten microseconds for one query.
const UNIT_BYTES: usize = 400 << 10;
/// Maximum bytes that a unit keeps of the queries of a tile, if all of its rows can be among the best of each.
const UNIT_ROOM_BYTES: usize = 4 << 20;

/// A task with its state: the units that are taken, those that are done, and their results.
///
/// Free threads take units in order. The owner scans units again that were taken and not delivered; the first delivery
/// of a unit counts.
pub(super) struct Work {
    task: Task,
    chunks: Vec<Chunk>,
    /// The chunks of each unit.
    units: Vec<Range<usize>>,
    next: AtomicUsize,
    /// Per query, the highest floor that any thread has found, as [`key`].
    floors: Vec<AtomicI32>,
    /// Rows that may be kept of a query.
    room: usize,
    /// Per tile of queries.
    found: Vec<Mutex<Found>>,
}

struct Found {
    /// Per chunk.
    delivered: Vec<bool>,
    /// Per query of the tile; None where there was no room for all.
    kept: Vec<Option<Vec<Kept>>>,
}

/// The state of one thread in its tile.
struct State {
    tile: usize,
    keeps: Vec<Keep>,
    /// The rows that the last unit kept, per query.
    fresh: Vec<Vec<Kept>>,
    scratch: Scratch,
}

impl State {
    fn new() -> Self {
        Self { tile: usize::MAX, keeps: Vec::new(), fresh: Vec::new(), scratch: Scratch::default() }
    }
}

/// Given what a unit kept for a query, returns a floor that its exact scores prove, or minus infinity.
pub(super) type Learn<'a> = dyn FnMut(usize, &[Kept]) -> f32 + 'a;

/// The rows that may be kept of each query.
pub(super) fn room(queries: usize, k: usize) -> usize {
    (ROOM_BYTES / size_of::<Kept>() / queries.max(1)).max(LEAST_ROOM).max(k.saturating_mul(4))
}

impl Work {
    /// A task with a floor to begin with and room for `room` rows of each query.
    pub(super) fn new(task: Task, floors: &[f32], room: usize) -> Self {
        let (chunks, units) = chunks(&task);
        let found = task.queries.chunks(TILE).map(|tile| {
            Mutex::new(Found { delivered: vec![false; units.len()], kept: vec![Some(Vec::new()); tile.len()] })
        });
        Self {
            found: found.collect(),
            next: AtomicUsize::new(0),
            floors: floors.iter().map(|&floor| AtomicI32::new(key(floor))).collect(),
            chunks,
            units,
            room,
            task,
        }
    }

    pub(super) fn units(&self) -> usize {
        self.units.len() * self.found.len()
    }

    /// Take units until none is left.
    pub(super) fn take(&self, learn: &mut Learn<'_>) {
        let mut state = State::new();
        loop {
            let unit = self.next.fetch_add(1, Ordering::Relaxed);
            if unit >= self.units() {
                return;
            }
            self.unit(unit / self.units.len(), unit % self.units.len(), &mut state, learn);
        }
    }

    /// Do what helpers have begun and not delivered, then hand out per query what can be among the best, and a floor.
    ///
    /// None stands for more rows than there is room for, as where many are equal: see [`Work::again`].
    pub(super) fn finish(&self, learn: &mut Learn<'_>) -> Vec<(Option<Vec<Kept>>, f32)> {
        let mut state = State::new();
        for unit in 0..self.units() {
            let (tile, unit) = (unit / self.units.len(), unit % self.units.len());
            if !self.found(tile).delivered[unit] {
                self.unit(tile, unit, &mut state, learn);
            }
        }
        let kept = (0..self.found.len()).flat_map(|tile| std::mem::take(&mut self.found(tile).kept));
        kept.zip(&self.floors).map(|(kept, floor)| (kept, unkey(floor.load(Ordering::Relaxed)))).collect()
    }

    /// Hand out once more, chunk by chunk, what can be among the best of a query; `best` returns the floor of what it
    /// got.
    ///
    /// # Errors
    /// As `best`.
    pub(super) fn again(&self, query: usize, mut best: impl FnMut(&[Kept]) -> Result<f32>) -> Result<()> {
        let (mut keep, mut scratch, mut fresh) = ([Keep::new(self.task.k)], Scratch::default(), Vec::new());
        keep[0].lift(unkey(self.floors[query].load(Ordering::Relaxed)));
        for chunk in &self.chunks {
            self.task.scan(chunk, query..query + 1, &mut keep, &mut scratch);
            fresh.clear();
            keep[0].drain(&mut fresh);
            keep[0].lift(best(&fresh)?);
        }
        Ok(())
    }

    fn found(&self, tile: usize) -> std::sync::MutexGuard<'_, Found> {
        self.found[tile].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queries(&self, tile: usize) -> Range<usize> {
        tile * TILE..self.task.queries.len().min((tile + 1) * TILE)
    }

    /// Scan the chunks of a unit for one tile and deliver what was found.
    fn unit(&self, tile: usize, unit: usize, state: &mut State, learn: &mut Learn<'_>) {
        let queries = self.queries(tile);
        if state.tile != tile {
            state.tile = tile;
            state.keeps = queries.clone().map(|_| Keep::new(self.task.k)).collect();
            state.fresh = vec![Vec::new(); queries.len()];
        }
        for (keep, floor) in state.keeps.iter_mut().zip(&self.floors[queries.clone()]) {
            keep.lift(unkey(floor.load(Ordering::Relaxed)));
        }
        for chunk in &self.chunks[self.units[unit].clone()] {
            self.task.scan(chunk, queries.clone(), &mut state.keeps, &mut state.scratch);
        }
        for (query, (keep, fresh)) in queries.clone().zip(state.keeps.iter_mut().zip(&mut state.fresh)) {
            fresh.clear();
            keep.drain(fresh);
            keep.lift(learn(query, fresh));
            self.floors[query].fetch_max(key(keep.floor()), Ordering::Relaxed);
        }
        let mut found = self.found(tile);
        if !std::mem::replace(&mut found.delivered[unit], true) {
            for ((slot, fresh), keep) in found.kept.iter_mut().zip(&state.fresh).zip(&state.keeps) {
                let Some(kept) = slot else { continue };
                if kept.len() + fresh.len() <= self.room {
                    kept.extend_from_slice(fresh);
                    continue;
                }
                // Not in place: a list that grew keeps its memory when it is cut.
                let mut all = [kept, &**fresh].concat();
                prune(&mut all, self.task.k, keep.floor());
                // A list that stays long would be pruned again and again.
                *slot = (all.len() <= self.room / 2).then(|| all.as_slice().to_vec());
            }
        }
    }
}

impl Job for Work {
    fn run(&self) {
        // Helpers have no rows, so they learn nothing.
        self.take(&mut |_, _| f32::NEG_INFINITY);
    }
}

/// Cut the rows into chunks, and put these together into units that take about the same time.
fn chunks(task: &Task) -> (Vec<Chunk>, Vec<Range<usize>>) {
    let lines = task.queries.first().map_or(1, |query| query.lines.len() / 2);
    // Where few rows are allowed, a chunk spans more of them.
    let density = task.allowed.max(1) as f64 / task.n.max(1) as f64;
    let room = UNIT_ROOM_BYTES / size_of::<Kept>() / task.queries.len().clamp(1, TILE);
    let rows = ((UNIT_BYTES / (lines * LINE)).min(room) as f64 / density) as usize;
    let rows = rows.next_multiple_of(BLOCK).max(4 * BLOCK);
    let whole = |(segment, part): (usize, &Arc<Segment>)| Chunk { segment, rows: 0..part.below(task.n) };
    let others = task.rows.segments.iter().enumerate().skip(task.runs.as_ref().map_or(0, |_| task.rows.listed()));
    let (mut chunks, mut units, mut begun, mut size) = (Vec::new(), Vec::new(), 0, 0);
    for Chunk { segment, rows: run } in task.runs.iter().flatten().cloned().chain(others.map(whole)) {
        for from in run.clone().step_by(rows) {
            let part = from..run.end.min(from + rows);
            if size > 0 && size + part.len() > rows {
                units.push(begun..chunks.len());
                (begun, size) = (chunks.len(), 0);
            }
            size += part.len();
            chunks.push(Chunk { segment, rows: part });
        }
    }
    if begun < chunks.len() {
        units.push(begun..chunks.len());
    }
    (chunks, units)
}
