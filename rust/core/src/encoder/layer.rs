//! One layer: attention within each text, then the two halves that treat each token alone.

use super::kernel::Kernel;
use super::line::{Line, WIDTH};
use super::map::{Kernels, Left, Linear, Map};
use super::matrix::{Panels, Strips, View};
use super::pointwise::{Activation, Norm};
use crate::error::{Error, Result};
use crate::vectors::Rows;

/// A layer normalisation's scale and shift, two rows.
pub type NormWeights<'a> = Rows<'a>;

/// The weights of one layer for vectors of `d` components, `w` between its two halves.
#[derive(Clone, Copy, Debug)]
pub struct LayerWeights<'a> {
    /// Queries, keys and values, one under the other: `(3d, d)`.
    pub attention: Linear<'a>,
    /// The projection of the heads' results: `(d, d)`.
    pub output: Linear<'a>,
    /// After the attention: `(2, d)`.
    pub attention_norm: NormWeights<'a>,
    /// `(w, d)`.
    pub up: Linear<'a>,
    /// `(d, w)`.
    pub down: Linear<'a>,
    /// At the end: `(2, d)`.
    pub norm: NormWeights<'a>,
}

/// The parameters shared by the layers of one model.
#[derive(Clone, Copy)]
pub(super) struct Common {
    pub(super) kernel: Kernel,
    pub(super) activation: Activation,
    pub(super) heads: usize,
    pub(super) d: usize,
}

/// A layer, laid out for the kernels.
pub(super) struct Layer {
    attention: Map,
    output: Map,
    attention_norm: Norm,
    up: Map,
    down: Map,
    norm: Norm,
}

/// The memory that one thread works in; it grows to what its largest texts need.
#[derive(Default)]
pub(super) struct Scratch {
    left: Left,
    mixed: Vec<f32>,
    gathered: Vec<f32>,
    wide: Vec<f32>,
    heads: Heads,
}

#[derive(Default)]
struct Heads {
    queries: Panels,
    keys: Strips,
    values: Strips,
    /// A line for each key, with 32 queries.
    scores: Vec<Line>,
    /// A line for each component of their results.
    results: Vec<Line>,
}

impl Norm {
    pub(super) fn new(what: &'static str, rows: NormWeights<'_>, d: usize, epsilon: f32) -> Result<Self> {
        for (got, wanted) in [(rows.n(), 2), (rows.d(), d)] {
            if got != wanted {
                return Err(Error::Length { what, got, wanted });
            }
        }
        Ok(Self { scale: rows.row(0).to_vec(), shift: rows.row(1).to_vec(), epsilon })
    }
}

impl Layer {
    pub(super) fn new(kernels: Kernels, weights: &LayerWeights<'_>, d: usize, epsilon: f32) -> Result<Self> {
        let w = weights.up.bias.len();
        Ok(Self {
            attention: Map::new(kernels, "attention", &weights.attention, 3 * d, d)?,
            output: Map::new(kernels, "output", &weights.output, d, d)?,
            attention_norm: Norm::new("attention_norm", weights.attention_norm, d, epsilon)?,
            up: Map::new(kernels, "up", &weights.up, w, d)?,
            down: Map::new(kernels, "down", &weights.down, d, w)?,
            norm: Norm::new("norm", weights.norm, d, epsilon)?,
        })
    }

    /// Replace the tokens' vectors `(t, d)` of texts of these lengths by those after this layer; with `first`, by those
    /// of each text's first token alone, `(n, d)`.
    pub(super) fn run(&self, common: Common, x: &mut Vec<f32>, lengths: &[usize], first: bool, scratch: &mut Scratch) {
        let Common { kernel, d, .. } = common;
        let t = x.len() / d;
        let Scratch { left, mixed, gathered, wide, heads } = scratch;

        mixed.resize(t * 3 * d, 0.0);
        self.attention.write(kernel, View { data: x, stride: d, m: t, k: d }, left, mixed);
        let t = if first { lengths.len() } else { t };
        gathered.resize(t * d, 0.0);
        let (mut from, mut to) = (0, 0);
        for &length in lengths {
            let kept = if first { 1 } else { length };
            heads.attend(common, &mixed[from * 3 * d..][..length * 3 * d], &mut gathered[to * d..][..kept * d]);
            x.copy_within(from * d..(from + kept) * d, to * d);
            (from, to) = (from + length, to + kept);
        }
        x.truncate(t * d);
        self.output.add(kernel, View { data: gathered, stride: d, m: t, k: d }, left, x);
        x.chunks_exact_mut(d).for_each(|row| kernel.normalise(row, &self.attention_norm));

        let w = self.up.n();
        wide.resize(t * w, 0.0);
        self.up.write(kernel, View { data: x, stride: d, m: t, k: d }, left, wide);
        kernel.activate(wide, common.activation);
        self.down.add(kernel, View { data: wide, stride: w, m: t, k: w }, left, x);
        x.chunks_exact_mut(d).for_each(|row| kernel.normalise(row, &self.norm));
    }
}

impl Heads {
    /// Write the attention `(q, d)` of the first `q` tokens of one text, of whose tokens `mixed (t, 3d)` holds queries,
    /// keys and values.
    ///
    /// Queries are columns throughout, so that a softmax is vertical, and the second product reads what the first one
    /// wrote. A result is divided by its softmax's sum at the end.
    fn attend(&mut self, common: Common, mixed: &[f32], out: &mut [f32]) {
        let Common { kernel, d, heads, .. } = common;
        let (t, size) = (mixed.len() / (3 * d), d / heads);
        let scale = 1.0 / (size as f32).sqrt();
        let part = |from: usize, m: usize| View { data: &mixed[from..], stride: 3 * d, m, k: size };
        self.scores.resize(t, Line::ZERO);
        self.results.resize(size, Line::ZERO);
        let Self { queries, keys, values, scores, results } = self;
        for first in (0..d).step_by(size) {
            queries.fill_transposed(part(first, out.len() / d));
            keys.fill(part(d + first, t), kernel);
            values.fill_transposed(part(2 * d + first, t), kernel);
            let rows = out.chunks_mut(WIDTH * d);
            for ((panel, width), rows) in queries.panels().zip(rows) {
                keys.multiply(kernel, panel, false, |key, lines| scores[key..][..lines.len()].copy_from_slice(lines));
                let factors = kernel.exps(scores, scale).0.map(|sum| 1.0 / sum);
                values.multiply(kernel, scores, false, |at, lines| results[at..][..lines.len()].copy_from_slice(lines));
                for (lane, row) in rows.chunks_exact_mut(d).enumerate().take(width) {
                    for (y, line) in row[first..].iter_mut().zip(results.iter()) {
                        *y = line.0[lane] * factors[lane];
                    }
                }
            }
        }
    }
}
