//! One search cut into small units that any thread may take.

use std::ops::Range;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::keep::{Keep, Kept, key, unkey};
use super::line::{BLOCK, LINE};
use super::scan::{Chunk, Scratch, Task};
use crate::pool::Job;

/// Queries that pass over the same block of rows before the next block is read.
const TILE: usize = 256;
/// Upper halves of codes read by one unit: about ten microseconds for one query.
const UNIT_BYTES: usize = 400 << 10;

/// A task with its state: which units are taken, which are done, what they found.
///
/// Units are taken in order by whoever is free. The owner scans again what somebody took and has not delivered; a unit
/// counts once, whoever delivers it first.
pub(super) struct Work {
    task: Task,
    chunks: Vec<Chunk>,
    next: AtomicUsize,
    /// Per query, the highest floor that any thread has found, as [`key`].
    floors: Vec<AtomicI32>,
    /// Per tile of queries.
    found: Vec<Mutex<Found>>,
}

struct Found {
    /// Per chunk.
    delivered: Vec<bool>,
    /// Per query of the tile.
    kept: Vec<Vec<Kept>>,
}

/// What one thread knows of the tile it works at.
struct State {
    tile: usize,
    keeps: Vec<Keep>,
    /// What the last unit kept, per query.
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

impl Work {
    pub(super) fn new(task: Task) -> Self {
        let chunks = chunks(&task);
        let found = task
            .queries
            .chunks(TILE)
            .map(|tile| Mutex::new(Found { delivered: vec![false; chunks.len()], kept: vec![Vec::new(); tile.len()] }));
        Self {
            found: found.collect(),
            next: AtomicUsize::new(0),
            floors: task.queries.iter().map(|_| AtomicI32::new(key(f32::NEG_INFINITY))).collect(),
            chunks,
            task,
        }
    }

    pub(super) fn units(&self) -> usize {
        self.chunks.len() * self.found.len()
    }

    /// Take units until none is left.
    pub(super) fn take(&self, learn: &mut Learn<'_>) {
        let mut state = State::new();
        loop {
            let unit = self.next.fetch_add(1, Ordering::Relaxed);
            if unit >= self.units() {
                return;
            }
            self.unit(unit / self.chunks.len(), unit % self.chunks.len(), &mut state, learn);
        }
    }

    /// Do what helpers have begun and not delivered, then hand out per query what can be among the best, and a floor.
    pub(super) fn finish(&self, learn: &mut Learn<'_>) -> Vec<(Vec<Kept>, f32)> {
        let mut state = State::new();
        for unit in 0..self.units() {
            let (tile, chunk) = (unit / self.chunks.len(), unit % self.chunks.len());
            if !self.found(tile).delivered[chunk] {
                self.unit(tile, chunk, &mut state, learn);
            }
        }
        let kept = (0..self.found.len()).flat_map(|tile| std::mem::take(&mut self.found(tile).kept));
        kept.zip(&self.floors).map(|(kept, floor)| (kept, unkey(floor.load(Ordering::Relaxed)))).collect()
    }

    fn found(&self, tile: usize) -> std::sync::MutexGuard<'_, Found> {
        self.found[tile].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queries(&self, tile: usize) -> Range<usize> {
        tile * TILE..self.task.queries.len().min((tile + 1) * TILE)
    }

    /// Scan one chunk for one tile and deliver what was found.
    fn unit(&self, tile: usize, chunk: usize, state: &mut State, learn: &mut Learn<'_>) {
        let queries = self.queries(tile);
        if state.tile != tile {
            state.tile = tile;
            state.keeps = queries.clone().map(|_| Keep::new(self.task.k)).collect();
            state.fresh = vec![Vec::new(); queries.len()];
        }
        for (keep, floor) in state.keeps.iter_mut().zip(&self.floors[queries.clone()]) {
            keep.lift(unkey(floor.load(Ordering::Relaxed)));
        }
        self.task.scan(&self.chunks[chunk], queries.clone(), &mut state.keeps, &mut state.scratch);
        for (query, (keep, fresh)) in queries.clone().zip(state.keeps.iter_mut().zip(&mut state.fresh)) {
            fresh.clear();
            keep.drain(fresh);
            keep.lift(learn(query, fresh));
            self.floors[query].fetch_max(key(keep.floor()), Ordering::Relaxed);
        }
        let mut found = self.found(tile);
        if !std::mem::replace(&mut found.delivered[chunk], true) {
            for (kept, fresh) in found.kept.iter_mut().zip(&state.fresh) {
                kept.extend_from_slice(fresh);
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

/// Cut the segments into chunks that take about the same time.
fn chunks(task: &Task) -> Vec<Chunk> {
    let lines = task.queries.first().map_or(1, |query| query.lines.len() / 2);
    // Where few rows are allowed, a chunk spans more of them.
    let density = task.allowed.max(1) as f64 / task.n.max(1) as f64;
    let rows = ((UNIT_BYTES / (lines * LINE)) as f64 / density) as usize;
    let rows = rows.next_multiple_of(BLOCK).max(4 * BLOCK);
    let mut chunks = Vec::new();
    for (segment, part) in task.segments.iter().enumerate() {
        let end = part.len().min(task.n.saturating_sub(part.first()));
        chunks.extend((0..end).step_by(rows).map(|from| Chunk { segment, rows: from..end.min(from + rows) }));
    }
    chunks
}
