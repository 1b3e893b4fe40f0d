//! Coding a query for a level: the only part of a query's code that calls a kernel.

use super::kernel::Kernel;
use super::line::{LINE, Line, ZERO, lines};
use super::quantise::{CodedQuery, Factors, SINGLE};
use crate::simd::Level;

impl CodedQuery {
    /// Code a finite query.
    pub(super) fn new(query: &[f32], level: Level) -> Self {
        let mut lines = vec![Line([0; LINE]); 2 * lines(query.len())];
        let largest = query.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        if largest == 0.0 {
            // Every score is 0, whatever the row: an infinite bound keeps every row for the exact scores.
            let (a, b, unit, double) = (f32::INFINITY, f32::INFINITY, 0.0, f64::INFINITY);
            return Self { lines, sum: 0, a, b, unit, double, inverse: 0.0, constant: 0.0 };
        }
        // A power of two brings the query near length 1, so that its own length cannot spoil the bound. It is exact but
        // for components under 2^-126 of the largest, and those are lost in the allowance for rounding.
        let power = f64::from(largest).log2().floor();
        let scaled: Vec<f32> = query.iter().map(|&x| (f64::from(x) * (-power).exp2()) as f32).collect();
        let (origin, mut codes) = (vec![0.0; query.len()], vec![0; query.len()]);
        let Factors { scale, residual, norm, .. } = Kernel::of(level).code(&scaled, &origin, &mut codes);
        let (mut sum, mut square) = (0_i32, 0.0_f64);
        for (line, codes) in lines.iter_mut().zip(codes.chunks(LINE)) {
            for (slot, &code) in line.0.iter_mut().zip(codes) {
                let signed = i32::from(code) - i32::from(ZERO);
                *slot = signed as i8 as u8;
                sum += signed;
                square += f64::from(signed * signed);
            }
        }
        let (scale, residual, norm) = (f64::from(scale), f64::from(residual), f64::from(norm));
        let length = square.sqrt();
        // The scores to be bounded are float64 sums themselves.
        let double = (query.len() as f64 + 16.0) * f64::EPSILON * norm / scale;
        let a = length * (1.0 + SINGLE);
        let b = (residual / scale + double) * (1.0 + SINGLE) + SINGLE * length;
        let (a, b) = ((a as f32).next_up(), (b as f32).next_up());
        #[cfg(test)]
        let (a, b) = (a * super::quantise::tests::BOUND.get(), b * super::quantise::tests::BOUND.get());
        Self { lines, sum, a, b, unit: scale * power.exp2(), double, inverse: 0.0, constant: 0.0 }
    }
}
