//! The nearest mean of each row, as far as codes tell: of few means by comparing all, of many by their groups.

use std::ops::Range;
use std::thread::ScopedJoinHandle;

use super::super::kernel::{Kernel, Tile};
use super::super::line::{At, BLOCK, FOUR, lines};
use super::super::quantise::{CodedQuery, Scores};
use super::super::segment::Segment;
use super::cluster::{Means, PER_GROUP, gathered};
use crate::error::Result;
use crate::pool;
use crate::simd::Level;
use crate::vectors::Pieces;

/// Means from which on rows are compared with groups of near ones first, then with the means of the nearest groups.
const GROUPED: usize = if cfg!(test) { 12 } else { 4_096 };
/// Groups whose means a row is compared with.
const NEAR: usize = if cfg!(test) { 8 } else { 16 };
/// Rows that are compared together: with all means, and with groups, each of which is near some of them.
const BATCH: usize = 256;
const GROUPED_BATCH: usize = 4_096;

/// Means in groups of near ones.
struct Groups {
    /// The groups' own means.
    upper: Means,
    /// The means, group by group.
    means: Means,
    /// The place of each of these in the order in which they were given.
    order: Vec<u32>,
    /// The means of each group.
    runs: Vec<Range<usize>>,
}

/// Rows that are compared with means.
struct Points {
    data: Vec<f32>,
    coded: Vec<CodedQuery>,
    all: Vec<u32>,
}

/// The nearest means of a point, nearest first, with the scores by which they are compared.
#[derive(Clone, Copy)]
struct Near<const COUNT: usize>([(f32, u32); COUNT]);

impl Means {
    /// The nearest mean of each row, or of very many means one of the nearest.
    pub(super) fn nearest(&self, rows: Pieces<'_>, of: &[u32], threads: Option<usize>) -> Result<Vec<u32>> {
        if self.len() < GROUPED || of.len() < self.len() {
            return in_threads(of, BATCH, threads, |part| self.nearest_of(rows, part));
        }
        let groups = Groups::new(self, threads)?;
        in_threads(of, GROUPED_BATCH, threads, |part| groups.nearest_of(rows, part))
    }

    fn nearest_of(&self, rows: Pieces<'_>, of: &[u32]) -> Result<Vec<u32>> {
        let points = Points::new(rows, of)?;
        Ok(points.nearest::<1>(self).iter().map(|near| near.0[0].1).collect())
    }
}

impl Groups {
    fn new(means: &Means, threads: Option<usize>) -> Result<Self> {
        let all: Vec<u32> = (0..means.len() as u32).collect();
        let rows = means.rows()?;
        let upper = Means::learnt(rows.into(), &all, PER_GROUP, threads)?;
        let homes = upper.nearest(rows.into(), &all, threads)?;
        let mut order = all;
        order.sort_by_key(|&mean| homes[mean as usize]);
        let (mut runs, mut data, mut from) = (Vec::new(), Vec::new(), 0);
        for group in order.chunk_by(|&a, &b| homes[a as usize] == homes[b as usize]) {
            runs.push(from..from + group.len());
            data.extend_from_slice(upper.mean(homes[group[0] as usize] as usize));
            from += group.len();
        }
        let means = Means::new(gathered(rows.into(), &order)?, rows.d())?;
        Ok(Self { upper: Means::new(data, rows.d())?, means, order, runs })
    }

    fn nearest_of(&self, rows: Pieces<'_>, of: &[u32]) -> Result<Vec<u32>> {
        let points = Points::new(rows, of)?;
        let mut of_group: Vec<Vec<u32>> = vec![Vec::new(); self.runs.len()];
        for (point, near) in points.nearest::<NEAR>(&self.upper).iter().enumerate() {
            near.each().for_each(|group| of_group[group as usize].push(point as u32));
        }
        let (mut nearest, mut tile) = (vec![Near::<1>::NONE; of.len()], Tile::default());
        for segment in self.means.segments().iter() {
            let scores = points.scores(segment);
            let own = segment.first()..segment.end();
            for (run, which) in self.runs.iter().zip(&of_group) {
                let run = run.start.max(own.start)..run.end.min(own.end);
                points.compare(segment, &scores, which, run, &mut tile, &mut nearest);
            }
        }
        Ok(nearest.iter().map(|near| self.order[near.0[0].1 as usize]).collect())
    }
}

impl Points {
    fn new(rows: Pieces<'_>, of: &[u32]) -> Result<Self> {
        let data = gathered(rows, of)?;
        let code = |at: usize| CodedQuery::new(&data[at * rows.d()..(at + 1) * rows.d()], Level::best());
        let coded = (0..of.len()).map(code).collect();
        Ok(Self { data, coded, all: (0..of.len() as u32).collect() })
    }

    /// The nearest of some means to each point.
    fn nearest<const COUNT: usize>(&self, means: &Means) -> Vec<Near<COUNT>> {
        let (mut nearest, mut tile) = (vec![Near::NONE; self.coded.len()], Tile::default());
        for segment in means.segments().iter() {
            let run = segment.first()..segment.end();
            self.compare(segment, &self.scores(segment), &self.all, run, &mut tile, &mut nearest);
        }
        nearest
    }

    /// The conversion of each point's products with means of a segment.
    fn scores(&self, segment: &Segment) -> Vec<Scores> {
        let (centre, level) = (segment.centre(), Level::best());
        let d = centre.components().len();
        let of = |(at, coded): (usize, &CodedQuery)| {
            coded.fine(centre.shift(&self.data[at * d..(at + 1) * d], coded, level))
        };
        self.coded.iter().enumerate().map(of).collect()
    }

    /// Compare some points with a run of a segment's means, a block of these at a time.
    fn compare<const COUNT: usize>(
        &self,
        segment: &Segment,
        scores: &[Scores],
        which: &[u32],
        run: Range<usize>,
        tile: &mut Tile,
        nearest: &mut [Near<COUNT>],
    ) {
        let kernel = Kernel::of(Level::best());
        let lines = lines(segment.centre().components().len());
        for first in run.clone().step_by(BLOCK) {
            let (from, len) = (first - segment.first(), BLOCK.min(run.end - first));
            let (of, columns) = ((segment.planes(), At::Run(from), len), segment.fine().of(from..from + len));
            kernel.lay_out(of.0, lines, of.1, len, tile);
            for points in which.chunks(FOUR) {
                let mut products = [[0; BLOCK]; FOUR];
                let four = [0, 1, 2, 3].map(|i| &self.coded[points[i.min(points.len() - 1)] as usize]);
                kernel.of_four(&four, of, tile, &mut products);
                for (&point, products) in points.iter().zip(&products) {
                    let scores = &scores[point as usize];
                    let inverse = (1.0 / self.coded[point as usize].unit) as f32;
                    let mut all = [f32::NEG_INFINITY; BLOCK];
                    let halves = columns.halves.unwrap_or(columns.norms);
                    for (((score, &product), &scale), &half) in
                        all.iter_mut().zip(&products[..len]).zip(columns.scales).zip(halves)
                    {
                        *score = scores.middle(product, scale) - half * inverse;
                    }
                    nearest[point as usize].meet(first as u32, &all);
                }
            }
        }
    }
}

impl<const COUNT: usize> Near<COUNT> {
    const NONE: Self = Self([(f32::NEG_INFINITY, 0); COUNT]);

    /// Take the nearest of a block of means, the first of which is mean `first`, if they are nearer.
    fn meet(&mut self, first: u32, scores: &[f32; BLOCK]) {
        let farthest = self.0[COUNT - 1].0;
        let highest = scores.iter().fold(f32::NEG_INFINITY, |high, &score| if score > high { score } else { high });
        if highest <= farthest {
            return;
        }
        for (mean, &score) in (first..).zip(scores) {
            if score > self.0[COUNT - 1].0 {
                let mut at = COUNT - 1;
                while at > 0 && self.0[at - 1].0 < score {
                    self.0[at] = self.0[at - 1];
                    at -= 1;
                }
                self.0[at] = (score, mean);
            }
        }
    }

    /// Each of them once; the first mean if no score is a number.
    fn each(&self) -> impl Iterator<Item = u32> {
        let count = self.0.partition_point(|near| near.0 > f32::NEG_INFINITY).max(1);
        self.0[..count].iter().map(|near| near.1)
    }
}

/// Do parts of at most `batch` rows, on several threads.
fn in_threads(
    of: &[u32],
    batch: usize,
    threads: Option<usize>,
    part: impl Fn(&[u32]) -> Result<Vec<u32>> + Sync,
) -> Result<Vec<u32>> {
    let threads = threads.unwrap_or_else(pool::cores).clamp(1, of.len().div_ceil(batch).max(1));
    let all = |of: &[u32]| Ok(of.chunks(batch).map(&part).collect::<Result<Vec<_>>>()?.concat());
    if threads == 1 {
        return all(of);
    }
    let parts = std::thread::scope(|scope| {
        let running: Vec<_> = of.chunks(of.len().div_ceil(threads)).map(|of| scope.spawn(move || all(of))).collect();
        let join =
            |part: ScopedJoinHandle<'_, Result<Vec<u32>>>| part.join().unwrap_or_else(|e| std::panic::resume_unwind(e));
        running.into_iter().map(join).collect::<Result<Vec<_>>>()
    });
    Ok(parts?.concat())
}
