//! Vectors as 8-bit codes with one scale, and what the codes leave out.
//!
//! A row is `x = scale * code + r`, a query `q = unit * code + s`. With integer product `p = q_code . x_code`
//!
//! `q . x / unit = scale * p  +  q_code . r  +  (s / unit) . x`
//!
//! and by Cauchy-Schwarz the last two terms are at most `|q_code| |r| + |s|/unit |x|`. Lengths are rounded up, and the
//! rounding of every float step is added to the two factors `a` and `b`, so `scale * p` is off by at most
//! `a |r| + b |x|`, in units of `unit`: a bound that does not depend on how long the query is.

use super::line::{LINE, Line, ZERO, lines};
use crate::vectors::Level;

/// Rows whose largest component lies outside this range are not coded: their products might leave float32's range.
const SMALLEST: f32 = 1e-25;
const LARGEST: f32 = 1e25;

/// What is known of a coded row besides its codes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Factors {
    /// The step of the codes; 0 when every code is 0.
    pub(super) scale: f32,
    /// At least the length of what the codes leave out.
    pub(super) residual: f32,
    /// At least the length of the row.
    pub(super) norm: f32,
}

/// Code a finite row into `codes` (as many bytes as components), inlined into every level's file.
#[inline(always)]
pub(super) fn code_in_lanes(row: &[f32], codes: &mut [u8]) -> Factors {
    const LANES: usize = 8;
    let (mut largest, mut squares) = ([0.0_f32; LANES], [0.0_f64; LANES]);
    let (blocks, rest) = row.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            let size = block[lane].abs();
            largest[lane] = if size > largest[lane] { size } else { largest[lane] };
            squares[lane] += f64::from(block[lane]) * f64::from(block[lane]);
        }
    }
    for (lane, &x) in rest.iter().enumerate() {
        largest[lane] = largest[lane].max(x.abs());
        squares[lane] += f64::from(x) * f64::from(x);
    }
    let largest = largest.into_iter().fold(0.0_f32, f32::max);
    let norm = above(squares.iter().sum::<f64>());
    if largest == 0.0 {
        codes.fill(ZERO);
        return Factors { scale: 0.0, residual: 0.0, norm: 0.0 };
    }
    if !(SMALLEST..LARGEST).contains(&largest) {
        codes.fill(ZERO);
        // A small row counts as 1e-30 long: far above what a processor that flushes denormals would lose.
        let norm = if largest < SMALLEST { norm.max(1e-30) } else { f32::INFINITY };
        return Factors { scale: 0.0, residual: norm, norm };
    }
    let (scale, inverse) = (largest / 127.0, 127.0 / largest);
    let mut lost = [0.0_f64; LANES];
    let (code_blocks, code_rest) = codes.as_chunks_mut::<LANES>();
    for (block, codes) in blocks.iter().zip(code_blocks) {
        for lane in 0..LANES {
            let code = (block[lane] * inverse).round_ties_even().clamp(-127.0, 127.0);
            codes[lane] = (code as i32 + i32::from(ZERO)) as u8;
            let left = f64::from(block[lane]) - f64::from(scale) * f64::from(code);
            lost[lane] += left * left;
        }
    }
    for ((lane, &x), slot) in rest.iter().enumerate().zip(code_rest) {
        let code = (x * inverse).round_ties_even().clamp(-127.0, 127.0);
        *slot = (code as i32 + i32::from(ZERO)) as u8;
        let left = f64::from(x) - f64::from(scale) * f64::from(code);
        lost[lane] += left * left;
    }
    Factors { scale, residual: above(lost.iter().sum()), norm }
}

/// A float32 number not below the square root of a sum that float64 rounded (by less than a part in 10^9).
#[inline(always)]
fn above(square: f64) -> f32 {
    ((square.sqrt() * (1.0 + 1e-9)) as f32).next_up()
}

/// A query in codes, with the factors of its bound.
#[derive(Clone, Debug)]
pub(super) struct CodedQuery {
    /// The codes, two's complement.
    pub(super) lines: Vec<Line>,
    /// What [`ZERO`] in the rows adds to a product of bytes.
    pub(super) offset: i32,
    /// Multiplies a row's residual.
    pub(super) a: f32,
    /// Multiplies a row's length.
    pub(super) b: f32,
    /// What a bound must be multiplied with to be a dot product.
    pub(super) unit: f64,
}

impl CodedQuery {
    /// Code a finite query.
    pub(super) fn new(query: &[f32], level: Level) -> Self {
        let mut lines = vec![Line([0; LINE]); lines(query.len())];
        let largest = query.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        if largest == 0.0 {
            // Every score is 0, whatever the row: an infinite bound keeps every row for the exact scores.
            return Self { lines, offset: 0, a: f32::INFINITY, b: f32::INFINITY, unit: 0.0 };
        }
        // A power of two brings the query near length 1, so that its own length cannot spoil the bound. It is exact but
        // for components under 2^-126 of the largest, and those are lost in the allowance for rounding.
        let power = f64::from(largest).log2().floor();
        let scaled: Vec<f32> = query.iter().map(|&x| (f64::from(x) * (-power).exp2()) as f32).collect();
        let mut codes = vec![0; query.len()];
        let Factors { scale, residual, norm } = super::kernel::Kernel::of(level).code(&scaled, &mut codes);
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
        // Roundings to float32: of the integer, its product with the scale, the two terms of the bound and their sums,
        // each at most a unit of |q_code| (|x| + |r|) or of the bound itself; sixteen are more than all of them.
        let single = 16.0 * f64::from(f32::EPSILON) / 2.0;
        // The scores to be bounded are float64 sums themselves.
        let double = (query.len() as f64 + 16.0) * f64::EPSILON * norm / scale;
        let a = length * (1.0 + single);
        let b = (residual / scale + double) * (1.0 + single) + single * length;
        Self {
            lines,
            offset: sum * i32::from(ZERO),
            a: (a as f32).next_up(),
            b: (b as f32).next_up(),
            unit: scale * power.exp2(),
        }
    }
}

/// Columns of factors, one of each a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct FactorColumns<'a> {
    pub(super) scales: &'a [f32],
    pub(super) residuals: &'a [f32],
    pub(super) norms: &'a [f32],
}

/// Write the upper bounds that belong to integer products and return whether any reaches the floor; inlined into every
/// level's file. What is not a number reaches any floor.
#[inline(always)]
pub(super) fn bounds_in_lanes(
    query: &CodedQuery,
    of: FactorColumns<'_>,
    products: &[i32],
    floor: f32,
    uppers: &mut [f32],
) -> bool {
    let len = products.len();
    let (scales, residuals, norms) = (&of.scales[..len], &of.residuals[..len], &of.norms[..len]);
    let uppers = &mut uppers[..len];
    let mut under = 0;
    for j in 0..len {
        let error = query.a * residuals[j] + query.b * norms[j];
        uppers[j] = products[j] as f32 * scales[j] + error;
        under += usize::from(uppers[j] < floor);
    }
    under < len
}
