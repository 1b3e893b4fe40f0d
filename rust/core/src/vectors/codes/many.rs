//! From a block of rows to those that can be among the best of many queries, four at a time.
//!
//! The block is laid out once for all of them. Where whole codes are twice the work of their upper halves, these come
//! first, as with one query; rows that they leave over are bounded by whole codes at once, as the lower halves are near.

use super::keep::Keep;
use super::kernel::{Tile, join};
use super::line::{BLOCK, FOUR};
use super::quantise::{CodedQuery, Scores, Shift};
use super::scan::{Block, Task};
use super::segment::Segment;
use crate::collections::ones;

/// Rows that the upper halves leave over of four queries together, at most, to be read one by one.
const SINGLE: u32 = BLOCK as u32;

/// Queries, and the conversions of their products with the rows of a segment.
pub(super) struct Batch<'a> {
    queries: &'a [CodedQuery],
    rough: Vec<Scores>,
    fine: Vec<Scores>,
}

impl<'a> Batch<'a> {
    /// The queries, and the addend of the segment's centre to the scores of each.
    pub(super) fn new(queries: &'a [CodedQuery], shifts: &[Shift]) -> Self {
        let each = || queries.iter().zip(shifts);
        let rough = each().map(|(query, &shift)| query.rough(shift)).collect();
        Self { queries, rough, fine: each().map(|(query, &shift)| query.fine(shift)).collect() }
    }

    /// Four queries from one on; fewer are filled up with the last one again.
    fn four(&self, first: usize) -> [&CodedQuery; FOUR] {
        [0, 1, 2, 3].map(|i| &self.queries[(first + i).min(self.queries.len() - 1)])
    }
}

impl Task {
    /// Offer a block of rows to many queries.
    pub(super) fn many(
        &self,
        segment: &Segment,
        block: Block<'_>,
        batch: &Batch<'_>,
        keeps: &mut [Keep],
        tile: &mut Tile,
    ) {
        let (planes, len) = (segment.planes(), block.fine.scales.len());
        let lines = batch.queries[0].lines.len() / 2;
        self.kernel.lay_out(planes, lines, block.at, len, tile);
        // Memory brings the next block while this one is compared.
        let mut next = block.at.behind(len, planes.high.len() / lines);
        let step = next.len().div_ceil(batch.queries.len().div_ceil(FOUR)).max(1);
        let mut products = [[0; BLOCK]; FOUR];
        for (i, keeps) in keeps.chunks_mut(FOUR).enumerate() {
            let now = next.start * lines..next.end.min(next.start + step) * lines;
            self.kernel.fetch(&planes.high[now.clone()]);
            self.kernel.fetch(&planes.low[now]);
            next.start = next.end.min(next.start + step);
            if self.kernel.multiplies_halves() {
                self.by_halves(segment, block, (batch, i * FOUR), keeps, (tile, &mut products));
            } else {
                self.by_whole_codes(segment, block, (batch, i * FOUR), keeps, (tile, &mut products));
            }
        }
    }

    fn by_whole_codes(
        &self,
        segment: &Segment,
        block: Block<'_>,
        (batch, first): (&Batch<'_>, usize),
        keeps: &mut [Keep],
        (tile, products): (&Tile, &mut [[i32; BLOCK]; FOUR]),
    ) {
        let len = block.fine.scales.len();
        self.kernel.of_four(&batch.four(first), (segment.planes(), block.at, len), tile, products);
        for ((scores, keep), products) in batch.fine[first..].iter().zip(keeps).zip(&*products) {
            self.offer(segment, (block.at, block.allowed), block.fine, scores, &products[..len], keep);
        }
    }

    fn by_halves(
        &self,
        segment: &Segment,
        block: Block<'_>,
        (batch, first): (&Batch<'_>, usize),
        keeps: &mut [Keep],
        (tile, products): (&mut Tile, &mut [[i32; BLOCK]; FOUR]),
    ) {
        let (planes, len, four) = (segment.planes(), block.rough.scales.len(), batch.four(first));
        let (mut uppers, mut reach) = ([0.0; BLOCK], [0; FOUR]);
        self.kernel.upper_of_four(&four, tile, products);
        for (k, (scores, keep)) in batch.rough[first..].iter().zip(&*keeps).enumerate() {
            let bits = self.kernel.bounds(scores, block.rough, &products[k][..len], keep.floor(), &mut uppers);
            reach[k] = bits & block.allowed;
        }
        if reach.iter().map(|bits| bits.count_ones()).sum::<u32>() > SINGLE {
            let mut low = [[0; BLOCK]; FOUR];
            self.kernel.lower_of_four(&four, (planes.low, block.at, len), tile, &mut low);
            for (k, (scores, keep)) in batch.fine[first..].iter().zip(keeps).enumerate() {
                join(&mut products[k], &low[k]);
                self.offer(segment, (block.at, reach[k]), block.fine, scores, &products[k][..len], keep);
            }
            return;
        }
        for (k, keep) in keeps.iter_mut().enumerate().filter(|&(k, _)| reach[k] != 0) {
            let (mut rows, mut picked, mut left) = ([0; BLOCK], [0; BLOCK], 0);
            for j in ones(reach[k]) {
                (rows[left], picked[left]) = (block.at.row(j) as u32, products[k][j]);
                left += 1;
            }
            self.refine(segment, (four[k], &batch.fine[first + k]), (&rows[..left], &mut picked[..left]), keep);
        }
    }
}
