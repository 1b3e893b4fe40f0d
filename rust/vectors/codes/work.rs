//! One search cut into small units that any thread may take.

use std::ops::Range;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::allowed::Allowed;
use super::keep::{Keep, Kept, key, unkey};
use super::kernel::Kernel;
use super::line::{At, FOUR, LINE};
use super::quantise::{CodedQuery, FactorColumns};
use super::segment::Segment;
use crate::pool::Job;

/// Rows between two looks at the scores; with 384 components their codes fill half of the first-level cache.
const BLOCK: usize = 64;
/// Queries that pass over the same block of rows before the next block is read.
const TILE: usize = 64;
/// Codes read by one unit: about ten microseconds for one query.
const UNIT_BYTES: usize = 400 << 10;

/// A part of a segment.
struct Chunk {
    segment: usize,
    rows: Range<usize>,
}

/// What is searched, and for what.
pub(super) struct Task {
    pub(super) kernel: Kernel,
    pub(super) segments: Arc<Vec<Arc<Segment>>>,
    /// Only rows below this one count: later ones came after the caller's matrix.
    pub(super) n: usize,
    pub(super) mask: Option<Allowed>,
    /// Rows that the mask allows.
    pub(super) allowed: usize,
    pub(super) queries: Vec<CodedQuery>,
    /// At least 1.
    pub(super) k: usize,
}

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
}

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

    /// Do what helpers have begun and not delivered, then hand out per query what can be among the best, and a floor.
    pub(super) fn finish(&self) -> Vec<(Vec<Kept>, f32)> {
        let mut state = State { tile: usize::MAX, keeps: Vec::new() };
        for unit in 0..self.units() {
            let (tile, chunk) = (unit / self.chunks.len(), unit % self.chunks.len());
            if !self.found(tile).delivered[chunk] {
                self.unit(tile, chunk, &mut state);
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
    fn unit(&self, tile: usize, chunk: usize, state: &mut State) {
        let queries = self.queries(tile);
        if state.tile != tile {
            *state = State { tile, keeps: queries.clone().map(|_| Keep::new(self.task.k)).collect() };
        }
        for (keep, floor) in state.keeps.iter_mut().zip(&self.floors[queries.clone()]) {
            keep.lift(unkey(floor.load(Ordering::Relaxed)));
        }
        self.task.scan(&self.chunks[chunk], &self.task.queries[queries.clone()], &mut state.keeps);
        for (keep, floor) in state.keeps.iter().zip(&self.floors[queries]) {
            floor.fetch_max(key(keep.floor()), Ordering::Relaxed);
        }
        let mut found = self.found(tile);
        let late = std::mem::replace(&mut found.delivered[chunk], true);
        let mut unwanted = Vec::new();
        for (keep, kept) in state.keeps.iter_mut().zip(&mut found.kept) {
            keep.drain(if late { &mut unwanted } else { kept });
        }
    }
}

impl Job for Work {
    fn run(&self) {
        let mut state = State { tile: usize::MAX, keeps: Vec::new() };
        loop {
            let unit = self.next.fetch_add(1, Ordering::Relaxed);
            if unit >= self.units() {
                return;
            }
            self.unit(unit / self.chunks.len(), unit % self.chunks.len(), &mut state);
        }
    }
}

/// Cut the segments into chunks that take about the same time.
fn chunks(task: &Task) -> Vec<Chunk> {
    let lines = task.queries.first().map_or(1, |query| query.lines.len());
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

/// What one block of rows needs on the stack.
struct Block {
    at: [u32; BLOCK],
    scales: [f32; BLOCK],
    residuals: [f32; BLOCK],
    norms: [f32; BLOCK],
    products: [[i32; BLOCK]; FOUR],
}

impl Task {
    fn scan(&self, chunk: &Chunk, queries: &[CodedQuery], keeps: &mut [Keep]) {
        let segment: &Segment = &self.segments[chunk.segment];
        let mut block = Block {
            at: [0; BLOCK],
            scales: [0.0; BLOCK],
            residuals: [0.0; BLOCK],
            norms: [0.0; BLOCK],
            products: [[0; BLOCK]; FOUR],
        };
        let mut next = chunk.rows.start;
        let Some(mask) = &self.mask else {
            while next < chunk.rows.end {
                let end = chunk.rows.end.min(next + BLOCK);
                let factors = segment.factors(next, end);
                self.block(segment, At::Run(next), factors, queries, keeps, &mut block.products);
                next = end;
            }
            return;
        };
        let mut walk = mask.of(segment.first() + chunk.rows.start..segment.first() + chunk.rows.end);
        let all = segment.factors(0, segment.len());
        loop {
            let len = walk.fill(segment.first(), &mut block.at);
            if len == 0 {
                return;
            }
            for (j, &row) in block.at[..len].iter().enumerate() {
                let row = row as usize;
                block.scales[j] = all.scales[row];
                block.residuals[j] = all.residuals[row];
                block.norms[j] = all.norms[row];
            }
            let factors = FactorColumns {
                scales: &block.scales[..len],
                residuals: &block.residuals[..len],
                norms: &block.norms[..len],
            };
            let at = At::List(&block.at[..len]);
            self.block(segment, at, factors, queries, keeps, &mut block.products);
        }
    }

    /// Offer the rows `at` of a segment to every query: the first alone, as it brings the rows into the cache, the
    /// others by fours.
    fn block(
        &self,
        segment: &Segment,
        at: At<'_>,
        factors: FactorColumns<'_>,
        queries: &[CodedQuery],
        keeps: &mut [Keep],
        products: &mut [[i32; BLOCK]; FOUR],
    ) {
        let len = factors.scales.len();
        let (Some((query, queries)), Some((keep, keeps))) = (queries.split_first(), keeps.split_first_mut()) else {
            return;
        };
        self.kernel.products(query, segment.codes(), at, true, &mut products[0][..len]);
        self.offer(segment, at, factors, query, &products[0][..len], keep);
        let (fours, rest) = queries.as_chunks::<FOUR>();
        let (keeps_of_fours, keeps_of_rest) = keeps.split_at_mut(fours.len() * FOUR);
        for (four, keeps) in fours.iter().zip(keeps_of_fours.chunks_mut(FOUR)) {
            let out = products.each_mut().map(|products| &mut products[..len]);
            self.kernel.products_of_four(four, segment.codes(), at, out);
            for ((query, keep), products) in four.iter().zip(keeps).zip(&*products) {
                self.offer(segment, at, factors, query, &products[..len], keep);
            }
        }
        for (query, keep) in rest.iter().zip(keeps_of_rest) {
            self.kernel.products(query, segment.codes(), at, false, &mut products[0][..len]);
            self.offer(segment, at, factors, query, &products[0][..len], keep);
        }
    }

    /// Offer the rows whose upper bound reaches the floor.
    fn offer(
        &self,
        segment: &Segment,
        at: At<'_>,
        factors: FactorColumns<'_>,
        query: &CodedQuery,
        products: &[i32],
        keep: &mut Keep,
    ) {
        let mut uppers = [0.0; BLOCK];
        let uppers = &mut uppers[..products.len()];
        if !self.kernel.bounds(query, factors, products, keep.floor(), uppers) {
            return;
        }
        for (j, &upper) in uppers.iter().enumerate() {
            if upper < keep.floor() {
                continue;
            }
            let error = query.a * factors.residuals[j] + query.b * factors.norms[j];
            let lower = products[j] as f32 * factors.scales[j] - error;
            keep.offer(segment.first() + at.row(j), upper, lower);
        }
    }
}
