//! k-means by distance, over a part of the rows.

use std::sync::Arc;

use super::super::segment::Segment;
use super::super::{Codes, Request, top_k_batch_coded};
use crate::error::Result;
use crate::simd::Level;
use crate::vectors::{Pieces, Rows};

/// Rows of a list of ordinary size.
pub(super) const TARGET_ROWS: usize = 96;
/// Rows of a list that is split, and of one that is dissolved.
pub(super) const MAX_ROWS: usize = 256;
pub(super) const MIN_ROWS: usize = 12;
/// Lists of a segment, and means that are told apart only once a row is near them.
pub(super) const PER_GROUP: usize = if cfg!(test) { 4 } else { 64 };
/// Rows per list that the means are learnt from, and rounds.
const SAMPLE: usize = 20;
const ROUNDS: usize = 5;
/// Rounds of a split in two.
const SPLIT_ROUNDS: usize = 6;

/// Means, one behind the other, with their codes.
pub(super) struct Means {
    data: Vec<f32>,
    codes: Codes,
    d: usize,
}

impl Means {
    pub(super) fn new(data: Vec<f32>, d: usize) -> Result<Self> {
        let codes = Codes::of_distances(d)?;
        codes.append(Rows::new(&data, data.len() / d, d)?)?;
        Ok(Self { data, codes, d })
    }

    /// The means that rows are divided among, about `per` to each, learnt from some of them.
    pub(super) fn learnt(rows: Pieces<'_>, of: &[u32], per: usize, threads: Option<usize>) -> Result<Self> {
        let (d, count) = (rows.d(), of.len().div_ceil(per));
        let sample = spread(of, count * SAMPLE);
        let first = spread(&sample, count);
        let mut data = gathered(rows, &first)?;
        for _ in 0..ROUNDS {
            let nearest = Self::new(data.clone(), d)?.nearest(rows, &sample, threads)?;
            let (mut sums, mut counts) = (vec![0.0_f64; data.len()], vec![0_u32; count]);
            let mut buffer = Vec::new();
            for (&row, &mean) in sample.iter().zip(&nearest) {
                counts[mean as usize] += 1;
                let sum = &mut sums[mean as usize * d..][..d];
                sum.iter_mut().zip(rows.row(row as usize, &mut buffer)?).for_each(|(sum, &x)| *sum += f64::from(x));
            }
            for (mean, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let sum = &sums[mean * d..][..d];
                data[mean * d..][..d]
                    .iter_mut()
                    .zip(sum)
                    .for_each(|(mean, sum)| *mean = (sum / f64::from(count)) as f32);
            }
        }
        Self::new(data, d)
    }

    pub(super) fn each(&self) -> impl Iterator<Item = &[f32]> {
        self.data.chunks_exact(self.d)
    }

    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }

    pub(super) fn mean(&self, at: usize) -> &[f32] {
        &self.data[at * self.d..][..self.d]
    }

    pub(super) fn rows(&self) -> Result<Rows<'_>> {
        Rows::new(&self.data, self.len(), self.d)
    }

    /// The segments of their codes.
    pub(super) fn segments(&self) -> Vec<Arc<Segment>> {
        self.codes.published().segments.clone()
    }

    /// The nearest means of any of some points, each once, ascending.
    pub(super) fn neighbours<'a>(&self, of: impl Iterator<Item = &'a [f32]>, count: usize) -> Result<Vec<usize>> {
        let points: Vec<f32> = of.flatten().copied().collect();
        let queries = Rows::new(&points, points.len() / self.d, self.d)?;
        let hits = top_k_batch_coded(&self.codes, queries, self.rows()?, request(count, None))?;
        let mut near: Vec<usize> = hits.into_iter().flat_map(|hits| hits.rows).collect();
        near.sort_unstable();
        near.dedup();
        Ok(near)
    }
}

fn request(k: usize, threads: Option<usize>) -> Request<'static> {
    Request { k, mask: None, level: Level::best(), threads, within: None, front: None }
}

/// At most `count` of some rows, at equal distances.
pub(super) fn spread(rows: &[u32], count: usize) -> Vec<u32> {
    let count = count.min(rows.len());
    (0..count).map(|i| rows[i * rows.len() / count]).collect()
}

/// Copies of some rows, one behind the other.
pub(super) fn gathered(rows: Pieces<'_>, of: &[u32]) -> Result<Vec<f32>> {
    let (mut data, mut buffer) = (Vec::with_capacity(of.len() * rows.d()), Vec::new());
    for &row in of {
        data.extend_from_slice(rows.row(row as usize, &mut buffer)?);
    }
    Ok(data)
}

/// The mean of rows that lie one behind the other.
pub(super) fn mean(data: &[f32], d: usize) -> Vec<f32> {
    let mut sums = vec![0.0_f64; d];
    for row in data.chunks_exact(d) {
        sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    let count = (data.len() / d).max(1) as f64;
    sums.iter().map(|sum| (sum / count) as f32).collect()
}

/// Divide a large list into lists of at most [`MAX_ROWS`] rows, each in two by 2-means, equal rows anyhow.
pub(super) fn split(rows: Pieces<'_>, list: Vec<u32>, into: &mut Vec<Vec<u32>>) -> Result<()> {
    if list.len() <= MAX_ROWS {
        into.push(list);
        return Ok(());
    }
    let (d, level) = (rows.d(), Level::best());
    let data = gathered(rows, &list)?;
    let row = |i: usize| &data[i * d..(i + 1) * d];
    let middle = mean(&data, d);
    let away = |from: &[f32], i: usize| level.dot(row(i), row(i)) - 2.0 * level.dot(row(i), from);
    let farthest = |from: &[f32]| (0..list.len()).max_by(|&a, &b| away(from, a).total_cmp(&away(from, b))).unwrap_or(0);
    let end = farthest(&middle);
    let mut ends = [row(end).to_vec(), row(farthest(row(end))).to_vec()];
    let mut sides = vec![false; list.len()];
    for _ in 0..SPLIT_ROUNDS {
        let squares = ends.each_ref().map(|end| level.dot(end, end));
        let near = |i: usize, side: usize| squares[side] - 2.0 * level.dot(row(i), &ends[side]);
        sides.iter_mut().enumerate().for_each(|(i, side)| *side = near(i, 1) < near(i, 0));
        for (side, end) in ends.iter_mut().enumerate() {
            let own = (0..list.len()).filter(|&i| sides[i] == (side == 1)).flat_map(row).copied().collect::<Vec<_>>();
            *end = mean(&own, d);
        }
    }
    let (ones, others): (Vec<_>, Vec<_>) = list.iter().zip(&sides).partition(|(_, side)| **side);
    let side = |of: Vec<(&u32, &bool)>| of.into_iter().map(|(&row, _)| row).collect::<Vec<u32>>();
    let (mut ones, mut others) = (side(ones), side(others));
    if ones.len().min(others.len()) * MAX_ROWS < list.len() {
        // Hardly a division: equal rows, or a few outliers.
        others = list;
        ones = others.split_off(others.len() / 2);
    }
    split(rows, ones, into)?;
    split(rows, others, into)
}
