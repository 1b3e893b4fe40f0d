//! Coding a query for a level: the only part of a query's code that calls a kernel.

use super::kernel::Kernel;
use super::line::{LINE, Line, ZERO, lines};
use super::quantise::{CodedQuery, Factors, SINGLE};
use crate::simd::Level;

/// Fours of codes in a line.
const MOST: usize = LINE / 4;
/// Fours of any codes: eight products of pairs are each at most 2 * 15 * 127.
const LEAST: usize = 8;

/// Fours of these codes whose products with nibbles fit 16 bits in sum, counted from the first on: a line or half of one.
pub(super) fn short(lines: &[Line]) -> usize {
    let size = |code: u8| u16::from((code as i8).unsigned_abs());
    let pairs = |line: &Line| {
        let fours = line.0.as_chunks::<4>().0.iter();
        fours.fold([0; 2], |sums, &[a, b, c, d]| [sums[0] + size(a) + size(b), sums[1] + size(c) + size(d)])
    };
    let fit = |line: &Line| pairs(line).into_iter().all(|sum| 15 * u32::from(sum) <= i16::MAX as u32);
    if lines.iter().all(fit) { MOST } else { LEAST }
}

impl CodedQuery {
    /// Code a finite query.
    pub(super) fn new(query: &[f32], level: Level) -> Self {
        let mut lines = vec![Line([0; LINE]); 2 * lines(query.len())];
        let largest = query.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        if largest == 0.0 {
            // Every score is 0, whatever the row: an infinite bound keeps every row for the exact scores.
            let (a, b, unit, double) = (f32::INFINITY, f32::INFINITY, 0.0, f64::INFINITY);
            return Self { lines, short: MOST, sum: 0, a, b, unit, double, inverse: 0.0, constant: 0.0 };
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
        let (short, unit) = (short(&lines), scale * power.exp2());
        Self { lines, short, sum, a, b, unit, double, inverse: 0.0, constant: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_a_line_are_kept_in_16_bits_only_where_the_largest_nibbles_fit() {
        let line = |code: i8| Line([code as u8; LINE]);
        // Sixteen pairs times fifteen: 68 is the largest code of a line of equal ones.
        for (code, fours) in [(0, MOST), (68, MOST), (-68, MOST), (69, LEAST), (-69, LEAST), (127, LEAST)] {
            assert_eq!(short(&[line(0), line(code)]), fours, "{code}");
            assert!(2 * fours as i32 * 15 * i32::from(code).abs() <= i32::from(i16::MAX));
        }
        let mut lopsided = line(0);
        lopsided.0.iter_mut().enumerate().filter(|(i, _)| i % 4 > 1).for_each(|(_, code)| *code = 127);
        assert_eq!(short(&[lopsided]), LEAST);
    }
}
