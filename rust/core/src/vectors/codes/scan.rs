//! From the codes of a chunk of rows to those rows that can be among the best.
//!
//! One query reads the upper four bits first. A row whose upper bound by them is under the floor is beaten; the others
//! wait until there is a block of them, while memory is batch for their lower four bits, and are bounded again by whole
//! codes. The floor rises by whole codes, and between chunks by exact scores, so a row needs to be under it by one error
//! of the upper four bits, not two. Where most rows are left over, whole codes are read at once, and the upper four bits
//! are tried again now and then.
//!
//! Many queries go over a block together: see [`super::many`].

use std::ops::Range;
use std::sync::Arc;

use super::keep::Keep;
use super::kernel::{Kernel, Tile, join};
use super::line::{At, BLOCK, FOUR};
use super::many::Batch;
use super::published::Published;
use super::quantise::{CodedQuery, Columns, Scores, Shift};
use super::segment::Segment;
use crate::collections::{BitMask, Bits, ones};
use crate::simd::Level;

/// Blocks that are read whole after the upper four bits left over most of one: twice as many each time, up to a most.
const SKIPPED: Range<usize> = 2..64;

/// Rows of a chunk that are prefetched.
const FETCHED: usize = 8;

/// A part of a segment.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) segment: usize,
    pub(super) rows: Range<usize>,
}

/// The rows and queries of a search.
pub(super) struct Task {
    pub(super) kernel: Kernel,
    pub(super) level: Level,
    pub(super) rows: Arc<Published>,
    /// The runs of lists that are scanned; None for all.
    pub(super) runs: Option<Vec<Chunk>>,
    /// Only rows below this one count: later ones came after the caller's matrix.
    pub(super) n: usize,
    pub(super) mask: Option<BitMask>,
    /// Rows that the mask allows.
    pub(super) allowed: usize,
    pub(super) queries: Vec<CodedQuery>,
    /// Per segment and query, what the segment's centre adds.
    pub(super) shifts: Vec<Arc<[Shift]>>,
    /// At least 1.
    pub(super) k: usize,
    /// True if the upper four bits are read first; `None` lets the rows left over decide.
    pub(super) front: Option<bool>,
}

/// The scratch of a thread, reused from chunk to chunk.
#[derive(Default)]
pub(super) struct Scratch {
    tile: Tile,
    surveys: [Survey; FOUR],
}

/// The rows of a query that the upper four bits did not rule out.
#[derive(Clone, Copy, Default)]
struct Survey {
    /// Blocks to be read whole before the next try.
    rest: usize,
    /// The number at the last look.
    last: usize,
}

impl Survey {
    /// True if to try the upper four bits of the next block.
    fn tries(&mut self) -> bool {
        let tries = self.rest == 0;
        self.rest = self.rest.saturating_sub(1);
        tries
    }

    /// The share of a block's rows that was not ruled out.
    fn learn(&mut self, left: usize, of: usize) {
        let most = 2 * left > of;
        self.last = if most { (2 * self.last).clamp(SKIPPED.start, SKIPPED.end) } else { 0 };
        self.rest = self.last;
    }
}

/// Some rows of a segment, with their factors.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) at: At<'a>,
    /// Which of the rows may be returned, a bit each.
    pub(super) allowed: u64,
    pub(super) rough: Columns<'a>,
    pub(super) fine: Columns<'a>,
}

/// Allowed rows of a segment with few allowed neighbours, until there is a block of them.
struct Singles<'a> {
    rough: Columns<'a>,
    fine: Columns<'a>,
    rows: [u32; 2 * BLOCK],
    len: usize,
    picked: [[f32; BLOCK]; 4],
    halves: [[f32; BLOCK]; 1],
}

impl Singles<'_> {
    fn add(&mut self, rows: impl Iterator<Item = usize>) {
        let room = &mut self.rows[self.len..];
        self.len += room.iter_mut().zip(rows).map(|(slot, row)| *slot = row as u32).count();
    }

    /// Hand out a block, if there are enough for one.
    fn hand_out(&mut self, enough: usize, each: &mut impl FnMut(Block<'_>)) {
        if self.len < enough {
            return;
        }
        let (rough, fine, len) = (self.rough, self.fine, self.len.min(BLOCK));
        let at = &self.rows[..len];
        pick(&mut self.picked, at, [rough.scales, rough.residuals, fine.residuals, rough.norms]);
        let [scales, roughs, residuals, norms] = self.picked.each_ref().map(|column| &column[..len]);
        let halves = picked_halves(&mut self.halves, at, fine);
        each(Block {
            at: At::List(at),
            allowed: !0,
            rough: Columns { scales, residuals: roughs, norms, halves },
            fine: Columns { scales, residuals, norms, halves },
        });
        self.rows.copy_within(len..self.len, 0);
        self.len -= len;
    }
}

impl Task {
    /// Offer the rows of a chunk to the queries of a range.
    pub(super) fn scan(&self, chunk: &Chunk, queries: Range<usize>, keeps: &mut [Keep], scratch: &mut Scratch) {
        let segment = &*self.rows.segments[chunk.segment];
        let shifts = &self.shifts[chunk.segment][queries.clone()];
        let queries = &self.queries[queries];
        if queries.len() >= FOUR {
            let batch = Batch::new(queries, shifts);
            self.blocks(chunk, |block| self.many(segment, block, &batch, keeps, &mut scratch.tile));
            return;
        }
        for (((query, &shift), keep), survey) in queries.iter().zip(shifts).zip(keeps).zip(&mut scratch.surveys) {
            let mut single = Single {
                task: self,
                segment,
                query,
                rough: query.rough(shift),
                fine: query.fine(shift),
                keep,
                survey,
                waiting: Waiting::default(),
            };
            self.blocks(chunk, |block| single.meet(block));
            single.drain(0);
        }
    }

    /// Ask memory for the first rows of a chunk that lies anywhere.
    pub(super) fn fetch(&self, chunk: &Chunk) {
        let (segment, from) = (&self.rows.segments[chunk.segment], chunk.rows.start);
        let (lines, rough) = (self.queries[0].lines.len() / 2, segment.rough().of(chunk.rows.clone()));
        let end = chunk.rows.end.min(from + FETCHED);
        self.kernel.fetch(&segment.planes().high[from * lines..end * lines]);
        [rough.scales, rough.residuals, rough.norms].into_iter().for_each(|column| self.kernel.fetch(column));
    }

    /// Cut a chunk into blocks with all allowed rows: neighbours where most of them are, single ones elsewhere.
    fn blocks(&self, chunk: &Chunk, mut each: impl FnMut(Block<'_>)) {
        let segment = &*self.rows.segments[chunk.segment];
        let (rough, fine) = (segment.rough(), segment.fine());
        let run = |rows: Range<usize>, allowed| Block {
            at: At::Run(rows.start),
            allowed,
            rough: rough.of(rows.clone()),
            fine: fine.of(rows),
        };
        let Some(mask) = &self.mask else {
            for from in chunk.rows.clone().step_by(BLOCK) {
                each(run(from..chunk.rows.end.min(from + BLOCK), !0));
            }
            return;
        };
        let (picked, halves) = ([[0.0; BLOCK]; 4], [[0.0; BLOCK]; 1]);
        let mut singles = Singles { rough, fine, rows: [0; 2 * BLOCK], len: 0, picked, halves };
        let mut meet = |stretch: Bits| {
            if stretch.is_dense() {
                each(run(stretch.first..stretch.first + stretch.len, stretch.bits));
            } else {
                singles.add(ones(stretch.bits).map(|j| stretch.first + j));
                singles.hand_out(BLOCK, &mut each);
            }
        };
        if let Some(rows) = segment.rows() {
            let stretches = chunk.rows.clone().step_by(BLOCK).map(|first| {
                let of = &rows[first..chunk.rows.end.min(first + BLOCK)];
                let bit = |(j, &row): (usize, &u32)| u64::from(mask.contains(row as usize)) << j;
                Bits { first, len: of.len(), bits: of.iter().enumerate().map(bit).sum() }
            });
            stretches.filter(|stretch| stretch.bits != 0).for_each(&mut meet);
        } else {
            let first = segment.first();
            let stretches = mask.bits_in(first + chunk.rows.start..first + chunk.rows.end);
            stretches.map(|stretch| Bits { first: stretch.first - first, ..stretch }).for_each(&mut meet);
        }
        singles.hand_out(1, &mut each);
    }

    /// Offer the rows whose upper bound by whole codes reaches the floor.
    pub(super) fn offer(
        &self,
        segment: &Segment,
        (at, allowed): (At<'_>, u64),
        of: Columns<'_>,
        scores: &Scores,
        products: &[i32],
        keep: &mut Keep,
    ) {
        let mut uppers = [0.0; BLOCK];
        for j in ones(self.kernel.bounds(scores, of, products, keep.floor(), &mut uppers) & allowed) {
            let lower = scores.middle(products[j], of.scales[j]) - scores.error(of.residuals[j], of.norms[j]);
            let lower = of.halves.map_or(lower, |halves| lower - scores.less(halves[j]).1);
            keep.offer(segment.row(at.row(j)), uppers[j], lower);
        }
    }

    /// Offer some rows, given their products with upper nibbles, by whole codes.
    pub(super) fn refine(
        &self,
        segment: &Segment,
        (query, scores): (&CodedQuery, &Scores),
        (at, products): (&[u32], &mut [i32]),
        keep: &mut Keep,
    ) {
        let (mut low, mut picked) = ([0; BLOCK], [[0.0; BLOCK]; 3]);
        let low = &mut low[..at.len()];
        self.kernel.products(query, segment.planes().low, At::List(at), false, low);
        join(products, low);
        let fine = segment.fine();
        pick(&mut picked, at, [fine.scales, fine.residuals, fine.norms]);
        let [scales, residuals, norms] = picked.each_ref().map(|column| &column[..at.len()]);
        let mut halves = [[0.0; BLOCK]; 1];
        let of = Columns { scales, residuals, norms, halves: picked_halves(&mut halves, at, fine) };
        self.offer(segment, (At::List(at), !0), of, scores, products, keep);
    }
}

/// One query on its way through a chunk.
struct Single<'a> {
    task: &'a Task,
    segment: &'a Segment,
    query: &'a CodedQuery,
    rough: Scores,
    fine: Scores,
    keep: &'a mut Keep,
    survey: &'a mut Survey,
    waiting: Waiting,
}

/// Rows left over by their upper four bits.
struct Waiting {
    len: usize,
    rows: [u32; 2 * BLOCK],
    products: [i32; 2 * BLOCK],
    uppers: [f32; 2 * BLOCK],
}

impl Default for Waiting {
    fn default() -> Self {
        Self { len: 0, rows: [0; 2 * BLOCK], products: [0; 2 * BLOCK], uppers: [0.0; 2 * BLOCK] }
    }
}

impl Single<'_> {
    fn meet(&mut self, block: Block<'_>) {
        // Without a floor nothing can be under it.
        let pays = || self.keep.floor() > f32::NEG_INFINITY && self.survey.tries();
        if self.task.front.unwrap_or_else(pays) { self.front(block) } else { self.whole(block) }
    }

    /// Bound a block by its upper four bits.
    fn front(&mut self, block: Block<'_>) {
        let (kernel, planes, len) = (self.task.kernel, self.segment.planes(), block.rough.scales.len());
        let (mut products, mut uppers) = ([0; BLOCK], [0.0; BLOCK]);
        let products = &mut products[..len];
        kernel.products(self.query, planes.high, block.at, true, products);
        let reach = kernel.bounds(&self.rough, block.rough, products, self.keep.floor(), &mut uppers) & block.allowed;
        self.survey.learn(reach.count_ones() as usize, len);
        let (lines, residuals) = (self.query.lines.len() / 2, self.segment.fine().residuals);
        for j in ones(reach) {
            let (row, to) = (block.at.row(j), self.waiting.len);
            kernel.fetch(&planes.low[row * lines..(row + 1) * lines]);
            kernel.fetch(&residuals[row..=row]);
            self.waiting.rows[to] = row as u32;
            self.waiting.products[to] = products[j];
            self.waiting.uppers[to] = uppers[j];
            self.waiting.len += 1;
        }
        self.drain(BLOCK);
    }

    /// Bound a block by whole codes.
    fn whole(&mut self, block: Block<'_>) {
        let mut products = [0; BLOCK];
        let products = &mut products[..block.fine.scales.len()];
        self.task.kernel.whole(self.query, self.segment.planes(), block.at, true, products);
        self.task.offer(self.segment, (block.at, block.allowed), block.fine, &self.fine, products, self.keep);
    }

    /// Bound waiting rows by whole codes, the oldest first, until fewer than a block (or none) are left.
    fn drain(&mut self, enough: usize) {
        while self.waiting.len >= enough.max(1) {
            let taken = self.waiting.len.min(BLOCK);
            self.refine(taken);
            let rest = taken..self.waiting.len;
            self.waiting.rows.copy_within(rest.clone(), 0);
            self.waiting.products.copy_within(rest.clone(), 0);
            self.waiting.uppers.copy_within(rest, 0);
            self.waiting.len -= taken;
        }
    }

    /// Bound the first waiting rows by whole codes.
    fn refine(&mut self, taken: usize) {
        let floor = self.keep.floor();
        let Waiting { rows, products, uppers, .. } = &mut self.waiting;
        let mut len = 0;
        for i in 0..taken {
            // The floor has risen since; what is not a number reaches any.
            let under = uppers[i] < floor;
            (rows[len], products[len]) = (rows[i], products[i]);
            len += usize::from(!under);
        }
        let left = (&rows[..len], &mut products[..len]);
        self.task.refine(self.segment, (self.query, &self.fine), left, self.keep);
    }
}

/// Copy the halves of some rows' squared lengths, if there are any.
fn picked_halves<'a>(into: &'a mut [[f32; BLOCK]; 1], at: &[u32], from: Columns<'_>) -> Option<&'a [f32]> {
    from.halves.map(|halves| {
        pick(into, at, [halves]);
        &into[0][..at.len()]
    })
}

/// Copy the factors of some rows.
fn pick<const COLUMNS: usize>(into: &mut [[f32; BLOCK]; COLUMNS], at: &[u32], columns: [&[f32]; COLUMNS]) {
    for (into, column) in into.iter_mut().zip(columns) {
        for (slot, &row) in into.iter_mut().zip(at) {
            *slot = column[row as usize];
        }
    }
}
