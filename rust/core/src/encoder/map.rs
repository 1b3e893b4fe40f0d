//! A linear map with its bias, of weights in float32 or in blocks of int8 numbers.

use super::blocks::{self, CodedWeights};
use super::kernel::Kernel;
use super::matrix::{self, View};
use crate::error::{Error, Result};
use crate::vectors::{Level, Rows};

/// A linear map: `y = W x + bias`.
#[derive(Clone, Copy, Debug)]
pub struct Linear<'a> {
    /// `W`, shape `(to, from)`.
    pub weight: Weight<'a>,
    /// Shape `(to,)`.
    pub bias: &'a [f32],
}

/// The weight of a map.
#[derive(Clone, Copy, Debug)]
pub enum Weight<'a> {
    /// In float32.
    Singles(Rows<'a>),
    /// In blocks of int8 numbers; what it is multiplied with is coded as well.
    Codes(CodedWeights<'a>),
}

impl Weight<'_> {
    fn shape(&self) -> (usize, usize) {
        match self {
            Self::Singles(rows) => (rows.n(), rows.d()),
            Self::Codes(weight) => (weight.n(), weight.k()),
        }
    }
}

/// The instructions of a level, for float32 and for blocks.
#[derive(Clone, Copy)]
pub(super) struct Kernels {
    pub(super) singles: Kernel,
    blocks: Option<blocks::Kernel>,
}

impl Kernels {
    pub(super) fn of(level: Level) -> Self {
        Self { singles: Kernel::of(level), blocks: blocks::Kernel::of(level) }
    }
}

/// The left side of a product, as the map wants it.
#[derive(Default)]
pub(super) struct Left {
    singles: matrix::Strips,
    blocks: blocks::Strips,
}

/// A map, laid out for the kernels.
pub(super) struct Map {
    weight: Panels,
    bias: Vec<f32>,
}

enum Panels {
    Singles(matrix::Panels),
    Blocks(blocks::Kernel, blocks::Panels),
}

impl Map {
    /// # Errors
    /// [`Error::Length`] unless the map leads from `d` components to `to`, with a code for each number.
    pub(super) fn new(kernels: Kernels, what: &'static str, from: &Linear<'_>, to: usize, d: usize) -> Result<Self> {
        let (n, k) = from.weight.shape();
        for (got, wanted) in [(n, to), (k, d), (from.bias.len(), to)] {
            if got != wanted {
                return Err(Error::Length { what, got, wanted });
            }
        }
        let singles = |view| {
            let mut panels = matrix::Panels::default();
            panels.fill_transposed(view);
            Panels::Singles(panels)
        };
        let weight = match &from.weight {
            Weight::Singles(rows) => singles(View::of(*rows)),
            Weight::Codes(weight) => {
                weight.check()?;
                match kernels.blocks {
                    Some(kernel) => Panels::Blocks(kernel, blocks::Panels::new(weight, kernel)),
                    None => singles(View { data: &weight.numbers(), stride: k, m: n, k }),
                }
            }
        };
        Ok(Self { weight, bias: from.bias.to_vec() })
    }

    /// The number of components that the map leads to.
    pub(super) fn n(&self) -> usize {
        self.bias.len()
    }

    /// Write `W x + bias` for each row of `x`.
    pub(super) fn write(&self, kernel: Kernel, x: View<'_>, left: &mut Left, out: &mut [f32]) {
        self.apply(kernel, x, left, |at, values, bias| {
            for ((y, x), b) in out[at..].iter_mut().zip(values).zip(bias) {
                *y = x + b;
            }
        });
    }

    /// Add it to what is there.
    pub(super) fn add(&self, kernel: Kernel, x: View<'_>, left: &mut Left, out: &mut [f32]) {
        self.apply(kernel, x, left, |at, values, bias| {
            for ((y, x), b) in out[at..].iter_mut().zip(values).zip(bias) {
                *y += x + b;
            }
        });
    }

    /// Call `take` with pieces of `W x`, where they begin in a result, and their bias.
    fn apply(&self, kernel: Kernel, x: View<'_>, left: &mut Left, mut take: impl FnMut(usize, &[f32], &[f32])) {
        let n = self.n();
        let take = |row, first, values: &[f32]| take(row * n + first, values, &self.bias[first..]);
        match &self.weight {
            Panels::Singles(panels) => {
                left.singles.fill(x, kernel);
                matrix::multiply(kernel, &left.singles, panels, take);
            }
            Panels::Blocks(kernel, panels) => {
                left.blocks.fill(x, *kernel);
                blocks::multiply(*kernel, &left.blocks, panels, take);
            }
        }
    }
}
