//! One layer: attention within each text, then the two halves that treat each token alone.

use super::kernel::Kernel;
use super::map::{Kernels, Left, Linear, Map};
use super::matrix::{Panels, Strips, View, multiply};
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
    strips: Strips,
    keys: Panels,
    values: Panels,
    scores: Vec<f32>,
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

    /// Replace the tokens' vectors `(t, d)` of texts of these lengths by those after this layer.
    pub(super) fn run(&self, common: Common, x: &mut [f32], lengths: &[usize], scratch: &mut Scratch) {
        let Common { kernel, d, .. } = common;
        let t = x.len() / d;
        let Scratch { left, mixed, gathered, wide, heads } = scratch;

        mixed.resize(t * 3 * d, 0.0);
        self.attention.write(kernel, View { data: x, stride: d, m: t, k: d }, left, mixed);
        gathered.resize(t * d, 0.0);
        let mut start = 0;
        for &length in lengths {
            let text = start..start + length;
            heads.attend(common, &mixed[text.start * 3 * d..text.end * 3 * d], &mut gathered[start * d..text.end * d]);
            start = text.end;
        }
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
    /// Write the attention `(t, d)` of one text, of whose tokens `mixed (t, 3d)` holds queries, keys and values.
    fn attend(&mut self, common: Common, mixed: &[f32], out: &mut [f32]) {
        let Common { kernel, d, heads, .. } = common;
        let (t, size) = (out.len() / d, d / heads);
        let scale = 1.0 / (size as f32).sqrt();
        let part = |from: usize| View { data: &mixed[from..], stride: 3 * d, m: t, k: size };
        self.scores.resize(t * t, 0.0);
        for first in (0..d).step_by(size) {
            self.keys.fill_transposed(part(d + first));
            self.values.fill(part(2 * d + first));
            self.strips.fill(part(first), kernel);
            let scores = &mut self.scores;
            multiply(kernel, &self.strips, &self.keys, |row, column, values| {
                scores[row * t + column..][..values.len()].copy_from_slice(values);
            });
            scores.chunks_exact_mut(t).for_each(|row| kernel.softmax(row, scale));
            self.strips.fill(View { data: scores, stride: t, m: t, k: t }, kernel);
            multiply(kernel, &self.strips, &self.values, |row, column, values| {
                out[row * d + first + column..][..values.len()].copy_from_slice(values);
            });
        }
    }
}
