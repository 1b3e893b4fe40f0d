//! From float32 to blocks of int8 numbers and their scales.

use super::{BLOCK, Part, ZERO};
use crate::error::{Error, Result};
use crate::vectors::Rows;

/// A weight `(n, k)` in blocks of 32 along `k`: number `(i, j)` is its code times the scale of block `j / 32` of row `i`.
#[derive(Clone, Copy, Debug)]
pub struct CodedWeights<'a> {
    /// Codes, `n` rows of `k`.
    pub codes: &'a [i8],
    /// Scales, `(n, k / 32)`.
    pub scales: Rows<'a>,
}

impl CodedWeights<'_> {
    /// The number of rows.
    pub fn n(&self) -> usize {
        self.scales.n()
    }

    /// The number of components of a row.
    pub fn k(&self) -> usize {
        self.scales.d() * BLOCK
    }

    /// The numbers that the codes stand for.
    pub(in super::super) fn numbers(&self) -> Vec<f32> {
        let blocks = self.codes.as_chunks::<BLOCK>().0.iter().zip(self.scales.data());
        blocks.flat_map(|(codes, scale)| codes.map(|code| f32::from(code) * scale)).collect()
    }

    /// Fail unless there is a code for every number that the scales are for.
    pub(in super::super) fn check(&self) -> Result<()> {
        let wanted = self.n().saturating_mul(self.k());
        if self.codes.len() != wanted {
            return Err(Error::Length { what: "codes", got: self.codes.len(), wanted });
        }
        Ok(())
    }
}

/// Return codes and scales of a weight: 127 for the largest number of a block. A block with NaN or infinity has a scale
/// that is NaN.
///
/// # Errors
/// [`Error::Parameter`] for rows that are no multiple of 32 long.
pub fn code_weights(weight: Rows<'_>) -> Result<(Vec<i8>, Vec<f32>)> {
    if !weight.d().is_multiple_of(BLOCK) {
        return Err(Error::Parameter { what: "a row's length", wanted: "a multiple of 32", got: weight.d() as f64 });
    }
    let blocks = weight.data().as_chunks::<BLOCK>().0;
    let (mut codes, mut scales) = (Vec::with_capacity(weight.data().len()), Vec::with_capacity(blocks.len()));
    for block in blocks {
        let (own, _, scale) = code(block);
        codes.extend(own);
        scales.push(scale);
    }
    Ok((codes, scales))
}

/// Where the sum of a block begins whose codes have this sum; of numbers that are none, anywhere.
#[inline(always)]
pub(super) fn start(sum: i32) -> i32 {
    sum.wrapping_mul(-ZERO)
}

/// Write the blocks of a row, `stride` parts apart.
#[inline(always)]
pub(super) fn code_in_lanes(row: &[f32], parts: &mut [Part], stride: usize) {
    for (part, block) in parts.iter_mut().step_by(stride).zip(row.as_chunks::<BLOCK>().0) {
        let (codes, sum, scale) = code(block);
        *part = Part { codes, start: start(sum), scale };
    }
}

/// Adding it rounds to a whole number, and leaves that number in the low bits.
pub(super) const ROUNDER: f32 = 12_582_912.0;

/// The codes of a block, their sum and their scale.
#[inline(always)]
fn code(block: &[f32; BLOCK]) -> ([i8; BLOCK], i32, f32) {
    // As integers the sizes of float32 numbers are in the same order, with infinity and NaN above all others.
    let size = block.iter().fold(0, |size, x| (x.to_bits() & (u32::MAX >> 1)).max(size));
    let (factor, scale) = steps(f32::from_bits(size));
    let (mut bits, mut codes) = ([0; BLOCK], [0; BLOCK]);
    for (bits, x) in bits.iter_mut().zip(block) {
        *bits = (x * factor + ROUNDER).to_bits().wrapping_sub(ROUNDER.to_bits()) as i32;
    }
    for (code, bits) in codes.iter_mut().zip(bits) {
        *code = bits as i8;
    }
    (codes, bits.iter().fold(0, |sum: i32, bits| sum.wrapping_add(*bits)), scale)
}

/// The factor from numbers of a block to codes, and the scale back, by the largest size.
#[inline(always)]
pub(super) fn steps(size: f32) -> (f32, f32) {
    const MOST: f32 = i8::MAX as f32;
    // Below this, one over it is infinite.
    let factor = if size >= f32::MIN_POSITIVE { MOST / size } else { 0.0 };
    (factor, if size < f32::INFINITY { size * (1.0 / MOST) } else { f32::NAN })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row's numbers as its blocks have them.
    fn decoded(parts: &[Part]) -> Vec<f32> {
        let number = |part: &Part, i: usize| f32::from(part.codes[i]) * part.scale;
        parts.iter().flat_map(|part| (0..BLOCK).map(|i| number(part, i))).collect()
    }

    #[test]
    fn a_code_is_at_most_half_a_step_from_its_number() {
        let row: Vec<f32> = (0..3 * BLOCK).map(|i| (i as f32 * 1.3).sin() * 10_f32.powi(i as i32 / 32 - 1)).collect();
        let mut parts = [Part::ZERO; 3];
        code_in_lanes(&row, &mut parts, 1);
        for (i, (x, y)) in row.iter().zip(decoded(&parts)).enumerate() {
            assert!((x - y).abs() <= parts[i / BLOCK].scale * 0.5001, "{i} {x} {y}");
        }
        for part in &parts {
            assert_eq!(part.start, -ZERO * part.codes.iter().map(|&code| i32::from(code)).sum::<i32>());
            assert_eq!(part.codes.iter().map(|code| code.unsigned_abs()).max(), Some(127));
        }
        let (codes, scales) = code_weights(Rows::new(&row, 1, row.len()).unwrap()).unwrap();
        for (i, (x, &code)) in row.iter().zip(&codes).enumerate() {
            assert!((x - f32::from(code) * scales[i / BLOCK]).abs() <= scales[i / BLOCK] * 0.5001, "{i}");
        }
    }

    #[test]
    fn zeros_and_the_least_and_largest_numbers_have_codes() {
        for size in [0.0, f32::from_bits(1), f32::MIN_POSITIVE, 1.0, 1e38] {
            let mut part = [Part::ZERO];
            code_in_lanes(&[-size; BLOCK], &mut part, 1);
            let numbers = decoded(&part);
            assert!(
                numbers.iter().all(|&x| (x + size).abs() <= size * 1e-6 + f32::MIN_POSITIVE),
                "{size:e} {numbers:?}"
            );
        }
    }

    #[test]
    fn what_is_no_number_spoils_its_block_alone() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -f32::NAN] {
            let mut row = [1.0; 3 * BLOCK];
            row[BLOCK + 7] = bad;
            let mut parts = [Part::ZERO; 3];
            code_in_lanes(&row, &mut parts, 1);
            assert!(parts[1].scale.is_nan());
            assert_eq!(parts[0].codes, [127; BLOCK]);
            assert_eq!(parts[2].codes, [127; BLOCK]);
        }
    }

    #[test]
    fn rows_that_are_no_whole_blocks_are_refused() {
        let fault = code_weights(Rows::new(&[0.0; 33], 1, 33).unwrap()).unwrap_err();
        assert!(fault.to_string().contains("a multiple of 32"), "{fault}");
        let scales = [1.0; 2];
        let scales = Rows::new(&scales, 2, 1).unwrap();
        let fault = CodedWeights { codes: &[0; 63], scales }.check().unwrap_err();
        assert!(fault.to_string().contains("codes has length 63, expected 64"), "{fault}");
        assert!(CodedWeights { codes: &[-128; 64], scales }.check().is_ok());
    }
}
