//! Pointwise and row-wise functions: activations, exponentials of a softmax, layer normalisation.
//!
//! The bodies are inlined into every level's file, to be compiled for its instructions. They have no branches, so that
//! the compiler can turn them into vectors.

use super::line::{Line, WIDTH};
use crate::error::{Error, Result};

const LANES: usize = 16;

/// The function between the two halves of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// `x Φ(x)`, Φ the normal distribution.
    Gelu,
    /// `x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2`, an approximation of it that some models were trained with.
    GeluTanh,
    /// `max(x, 0)`.
    Relu,
}

impl Activation {
    /// The activation that a model's configuration names.
    ///
    /// # Errors
    /// [`Error::Name`] for another one.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "gelu" => Ok(Self::Gelu),
            "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => Ok(Self::GeluTanh),
            "relu" => Ok(Self::Relu),
            _ => Err(Error::Name {
                what: "activation",
                wanted: "gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, relu".to_owned(),
                got: name.to_owned(),
            }),
        }
    }
}

/// A layer normalisation.
pub(super) struct Norm {
    pub(super) scale: Vec<f32>,
    pub(super) shift: Vec<f32>,
    pub(super) epsilon: f32,
}

#[inline(always)]
pub(super) fn activate_in_lanes(values: &mut [f32], activation: Activation) {
    match activation {
        Activation::Gelu => values.iter_mut().for_each(|x| *x = gelu(*x)),
        Activation::GeluTanh => values.iter_mut().for_each(|x| *x = gelu_tanh(*x)),
        Activation::Relu => values.iter_mut().for_each(|x| *x = x.max(0.0)),
    }
}

/// `Φ(x) = 1/2 + x P(x²) / Q(x²)`, fitted to |x| <= 5.4, beyond which float32 cannot tell Φ from 0 and 1; the error of
/// the fit is 5.5e-9, that of the result 2 units in the last place of x.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    const LIMIT: f32 = 5.4;
    const P: [f32; 6] = [0.398_942_23, 0.033_372_18, 4.650_848_5e-3, 1.643_212_3e-4, 6.360_020_5e-6, 2.338_679_8e-8];
    const Q: [f32; 6] = [1.0, 0.250_317_72, 0.028_378_66, 1.858_978_9e-3, 7.240_006e-5, 1.216_592_9e-6];
    // `max` and `min` would turn NaN into a number.
    let near = if x > LIMIT { LIMIT } else { x };
    let near = if near < -LIMIT { -LIMIT } else { near };
    let square = near * near;
    let (mut above, mut below) = (P[5], Q[5]);
    for i in (0..5).rev() {
        above = above * square + P[i];
        below = below * square + Q[i];
    }
    x * (0.5 + near * (above / below))
}

#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    // (1 + tanh y) / 2 = 1 / (1 + exp(-2y))
    let inner = 0.797_884_6 * (x + 0.044_715 * x * x * x);
    x / (1.0 + exp(-2.0 * inner))
}

/// `e^x` to 2 units in the last place; arguments beyond ±87 count as ±87.
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// Adding and taking it away rounds to a whole number, and leaves that number in the low bits on the way.
    const ROUNDER: f32 = 12_582_912.0;
    const TAYLOR: [f32; 8] = [1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0];
    let x = if x > 87.0 { 87.0 } else { x };
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let whole = shifted - ROUNDER;
    // ln 2 in two parts, the first so short that its product with a whole number is exact.
    let rest = (x - whole * 0.693_359_4) + whole * 2.121_944_4e-4;
    let mut sum = TAYLOR[7];
    for i in (0..7).rev() {
        sum = sum * rest + TAYLOR[i];
    }
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0_f32.to_bits()));
    sum * power
}

/// Replace each column by `exp(scale (x - most))`, `most` its largest number, and return the sums of the columns.
#[inline(always)]
pub(super) fn exps_in_lanes(lines: &mut [Line], scale: f32) -> Line {
    let mut sums = Line::ZERO;
    for first in (0..WIDTH).step_by(LANES) {
        let part = first..first + LANES;
        let mut most = [f32::NEG_INFINITY; LANES];
        for line in lines.iter() {
            for (most, &x) in most.iter_mut().zip(&line.0[part.clone()]) {
                *most = if x > *most { x } else { *most };
            }
        }
        let mut sum = [0.0_f32; LANES];
        for line in lines.iter_mut() {
            for ((x, most), sum) in line.0[part.clone()].iter_mut().zip(&most).zip(&mut sum) {
                *x = exp((*x - most) * scale);
                *sum += *x;
            }
        }
        sums.0[part].copy_from_slice(&sum);
    }
    sums
}

#[inline(always)]
pub(super) fn normalise_in_lanes(row: &mut [f32], norm: &Norm) {
    let d = row.len() as f32;
    let mean = sum(row) / d;
    row.iter_mut().for_each(|x| *x -= mean);
    let variance = sum_of_squares(row) / d;
    let factor = 1.0 / (variance + norm.epsilon).sqrt();
    for (x, (scale, shift)) in row.iter_mut().zip(norm.scale.iter().zip(&norm.shift)) {
        *x = *x * factor * scale + shift;
    }
}

#[inline(always)]
fn sum(row: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (blocks, rest) = row.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            sums[lane] += block[lane];
        }
    }
    sums.iter().chain(rest).sum()
}

#[inline(always)]
fn sum_of_squares(row: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (blocks, rest) = row.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            sums[lane] += block[lane] * block[lane];
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|x| x * x).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::super::kernel::Kernel;
    use super::*;
    use crate::vectors::Level;

    fn kernels() -> impl Iterator<Item = Kernel> {
        Level::available().iter().map(|&level| Kernel::of(level))
    }

    /// Φ by summing its series; accurate to float64 for |x| <= 6.
    fn normal(x: f64) -> f64 {
        let (mut term, mut sum, mut k) = (x, x, 1.0);
        while f64::abs(term) > 1e-17 {
            term *= x * x / (2.0 * k + 1.0);
            sum += term;
            k += 1.0;
        }
        0.5 + sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
    }

    #[test]
    fn activations_are_what_their_formulas_say() {
        let xs: Vec<f32> = (-6000..=6000).map(|i| i as f32 / 1000.0).collect();
        for kernel in kernels() {
            for (activation, exact) in [
                (Activation::Gelu, (|x| x * normal(x)) as fn(f64) -> f64),
                (Activation::GeluTanh, |x| {
                    x * 0.5 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x)).tanh())
                }),
                (Activation::Relu, |x| x.max(0.0)),
            ] {
                let mut values = xs.clone();
                kernel.activate(&mut values, activation);
                for (&x, &y) in xs.iter().zip(&values) {
                    let (error, size) = (f64::from(y) - exact(f64::from(x)), f64::from(x.abs()).max(1.0));
                    assert!(error.abs() < 3e-7 * size, "{kernel:?} {activation:?} {x} {y}");
                }
            }
        }
    }

    #[test]
    fn far_out_an_activation_is_the_number_or_nothing() {
        for kernel in kernels() {
            for activation in [Activation::Gelu, Activation::GeluTanh, Activation::Relu] {
                let mut values = [30.0, -30.0, 1e4, f32::NAN];
                kernel.activate(&mut values, activation);
                assert!((values[0] - 30.0).abs() < 1e-5 && values[1].abs() < 3e-6, "{activation:?} {values:?}");
                assert!((values[2] - 1e4).abs() < 1e-2);
            }
        }
    }

    #[test]
    fn exponentials_of_a_column_have_the_ratios_and_the_sum_of_a_softmax() {
        for kernel in kernels() {
            for n in [1, 2, 15, 16, 17, 64, 100] {
                let number = |i: usize, lane: usize| ((i * WIDTH + lane) as f32 * 1.7).sin() * 40.0;
                let mut lines: Vec<Line> = (0..n).map(|i| Line(std::array::from_fn(|lane| number(i, lane)))).collect();
                let sums = kernel.exps(&mut lines, 0.25);
                for lane in 0..WIDTH {
                    let top = (0..n).map(|i| number(i, lane)).fold(f32::MIN, f32::max);
                    let exact: Vec<f64> = (0..n).map(|i| (f64::from(number(i, lane) - top) * 0.25).exp()).collect();
                    let total: f64 = exact.iter().sum();
                    for (line, e) in lines.iter().zip(&exact) {
                        let share = f64::from(line.0[lane]) / f64::from(sums.0[lane]);
                        assert!((share - e / total).abs() < 1e-6, "{kernel:?} {n} {lane}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_number_that_is_none_spoils_its_column_alone() {
        for kernel in kernels() {
            let mut lines = [Line([0.5; WIDTH]), Line([0.25; WIDTH])];
            lines[1].0[7] = f32::NAN;
            let sums = kernel.exps(&mut lines, 1.0);
            assert!(sums.0.iter().enumerate().all(|(lane, sum)| sum.is_nan() == (lane == 7)), "{kernel:?}");
        }
    }

    #[test]
    fn a_normalised_row_has_mean_zero_and_variance_one() {
        for kernel in kernels() {
            for d in [2, 16, 33, 384] {
                let norm = Norm { scale: vec![1.0; d], shift: vec![0.0; d], epsilon: 1e-12 };
                let mut row: Vec<f32> = (0..d).map(|i| (i as f32 * 0.9).sin() + 3.0).collect();
                kernel.normalise(&mut row, &norm);
                let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / d as f64;
                let variance = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / d as f64;
                assert!(mean.abs() < 1e-6 && (variance - 1.0).abs() < 1e-5, "{kernel:?} {d} {mean} {variance}");
            }
        }
    }
}
