//! Vectors as 8-bit codes with one scale, what the codes leave out, and what their upper four bits leave out.
//!
//! A row less its centre is `y = scale * code + r`, a query `q = unit * code + s`. With integer product
//! `p = q_code . y_code`
//!
//! `q . y / unit = scale * p  +  q_code . r  +  (s / unit) . y`
//!
//! and by Cauchy-Schwarz the last two terms are at most `|q_code| |r| + |s|/unit |y|`. Lengths are rounded up, and the
//! rounding of every float step is added to the two factors `a` and `b`, so `scale * p` is off by at most
//! `a |r| + b |y|`, in units of `unit`: a bound that does not depend on how long the query is. The same holds for the
//! upper four bits `high` of `code + 128`, read as the middle of what they can stand for: `8 * scale * (2 high - 15)`.
//!
//! Nothing of this asks for rows or queries of length 1, so it bounds inner products of any rows. Distances follow from
//! them: of `g(x) = (|q|^2 - |q - x|^2) / 2 = q . x - |x|^2 / 2` the first term is bounded as above, and half of the
//! squared length is a column `h` of its own, in float32. It is off by at most `SINGLE h`, which also covers the roundings
//! of `h / unit` and of the sum that it joins. The distances to be bounded are float64 sums, off by at most a factor
//! `1 +- t` for `t = (d + 16) 2^-52`; as `|q - x|^2 <= 2 |q|^2 + 2 |x|^2`, that moves `g` by at most `t |q|^2 + 2 t h`, the
//! first of which is a constant of the query, and the second far less than `SINGLE h`. Where `h`, or `h / unit`, leaves
//! float32's range, the bound is not a number, which every floor lets pass.

use super::line::{LINE, Line, ZERO};

/// Rows whose largest component lies outside this range are not coded: their products might leave float32's range.
const SMALLEST: f32 = 1e-25;
const LARGEST: f32 = 1e25;
/// Roundings to float32: of the integer, its product with the scale, the centre's part, the terms of the bound and their
/// sums, each at most a unit of `|q_code| (|y| + |r|)`, of the centre's part or of the bound itself; sixteen are more
/// than all of them.
pub(super) const SINGLE: f64 = 16.0 * f32::EPSILON as f64 / 2.0;

/// The addend of a centre to every score of a query, and to its bounds, in units of the query.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shift {
    pub(super) by: f32,
    pub(super) error: f32,
}

/// The numbers of a coded row besides its codes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Factors {
    /// The step of the codes; 0 when every code is 0.
    pub(super) scale: f32,
    /// At least the length of what the upper four bits leave out.
    pub(super) rough: f32,
    /// At least the length of what the codes leave out.
    pub(super) residual: f32,
    /// At least the length of the row, less its centre.
    pub(super) norm: f32,
}

const LANES: usize = 8;

/// Sums of squares in lanes, for a compiler to keep in one register.
#[derive(Clone, Copy)]
struct Squares([f64; LANES]);

impl Squares {
    #[inline(always)]
    fn add(&mut self, lane: usize, x: f64) {
        self.0[lane] += x * x;
    }

    /// A float32 number not below the square root of the sum that float64 rounded (by less than a part in 10^9).
    #[inline(always)]
    fn length(self) -> f32 {
        ((self.0.iter().sum::<f64>().sqrt() * (1.0 + 1e-9)) as f32).next_up()
    }
}

/// Code a finite row, less a centre, into `codes` (all as long); inlined into every level's file.
#[inline(always)]
pub(super) fn code_in_lanes(row: &[f32], centre: &[f32], codes: &mut [u8]) -> Factors {
    let (mut largest, mut squares) = ([0.0_f32; LANES], Squares([0.0; LANES]));
    let (blocks, rest) = row.as_chunks::<LANES>();
    let (centres, centre_rest) = centre.as_chunks::<LANES>();
    for (x, m) in blocks.iter().zip(centres) {
        for lane in 0..LANES {
            let size = (x[lane] - m[lane]).abs();
            largest[lane] = if size > largest[lane] { size } else { largest[lane] };
            squares.add(lane, f64::from(x[lane]) - f64::from(m[lane]));
        }
    }
    for (lane, (&x, &m)) in rest.iter().zip(centre_rest).enumerate() {
        largest[lane] = largest[lane].max((x - m).abs());
        squares.add(lane, f64::from(x) - f64::from(m));
    }
    let largest = largest.into_iter().fold(0.0_f32, f32::max);
    let norm = squares.length();
    if largest == 0.0 {
        codes.fill(ZERO);
        return Factors { scale: 0.0, rough: 0.0, residual: 0.0, norm: 0.0 };
    }
    if !(SMALLEST..LARGEST).contains(&largest) {
        codes.fill(ZERO);
        // A small row counts as 1e-30 long: far above what a processor that flushes denormals would lose.
        let norm = if largest < SMALLEST { norm.max(1e-30) } else { f32::INFINITY };
        return Factors { scale: 0.0, rough: norm, residual: norm, norm };
    }
    let step = Step { scale: f64::from(largest / 127.0), inverse: 127.0 / largest };
    let (mut lost, mut rough) = (Squares([0.0; LANES]), Squares([0.0; LANES]));
    let (code_blocks, code_rest) = codes.as_chunks_mut::<LANES>();
    for ((x, m), codes) in blocks.iter().zip(centres).zip(code_blocks) {
        for lane in 0..LANES {
            codes[lane] = step.code(x[lane], m[lane], lane, &mut lost, &mut rough);
        }
    }
    for (lane, ((&x, &m), slot)) in rest.iter().zip(centre_rest).zip(code_rest).enumerate() {
        *slot = step.code(x, m, lane, &mut lost, &mut rough);
    }
    Factors { scale: largest / 127.0, rough: rough.length(), residual: lost.length(), norm }
}

#[derive(Clone, Copy)]
struct Step {
    scale: f64,
    inverse: f32,
}

impl Step {
    /// The code of one component plus [`ZERO`]; what it and its upper half leave out is added to the sums.
    #[inline(always)]
    fn code(self, x: f32, m: f32, lane: usize, lost: &mut Squares, rough: &mut Squares) -> u8 {
        let code = ((x - m) * self.inverse).round_ties_even().clamp(-127.0, 127.0) as i32;
        let middle = ((code + i32::from(ZERO)) & 0xf0) - 120;
        let y = f64::from(x) - f64::from(m);
        lost.add(lane, y - self.scale * f64::from(code));
        rough.add(lane, y - self.scale * f64::from(middle));
        (code + i32::from(ZERO)) as u8
    }
}

/// A query in codes, with the factors of its bound.
#[derive(Clone, Debug)]
pub(super) struct CodedQuery {
    /// The codes, two's complement: two lines for each of a plane.
    pub(super) lines: Vec<Line>,
    /// Fours of codes whose products with nibbles are added up in 16 bits, pair by pair; see `coded_query.rs`.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    pub(super) short: usize,
    /// The sum of the codes.
    pub(super) sum: i32,
    /// Multiplies a row's residual.
    pub(super) a: f32,
    /// Multiplies a row's length.
    pub(super) b: f32,
    /// The factor from a bound to a dot product.
    pub(super) unit: f64,
    /// The error bound of float64 sums, for a row of length 1.
    pub(super) double: f64,
    /// The factor of half a row's squared length, and the error bound of its score for any row: 0 where products are
    /// wanted.
    pub(super) inverse: f32,
    pub(super) constant: f32,
}

/// The error bound of a half squared length that is too small for float32, twice over.
const LOST: f64 = 4.0 * f32::MIN_POSITIVE as f64;

impl CodedQuery {
    /// The query for distances, of a query of this squared length.
    pub(super) fn for_distances(self, square: f64) -> Self {
        let inverse = 1.0 / self.unit;
        let constant = relative(self.lines.len() * LINE) * square * inverse + LOST * (1.0 + inverse);
        let constant = ((constant * (1.0 + SINGLE)) as f32).next_up();
        #[cfg(test)]
        let constant = constant * tests::BOUND.get();
        Self { inverse: inverse as f32, constant, ..self }
    }

    /// The addend of a centre of this length to the scores, from its dot product with the query.
    pub(super) fn shift(&self, dot: f64, length: f64) -> Shift {
        let by = dot / self.unit;
        // The dot product itself is rounded, and so is the part of the row's score that comes from its centre.
        let error = (SINGLE * by.abs() + 2.0 * self.double * length) * (1.0 + SINGLE);
        Shift { by: by as f32, error: (error as f32).next_up() }
    }

    /// From a product with the upper four bits to the row's score.
    pub(super) fn rough(&self, shift: Shift) -> Scores {
        let (shift, inverse) = (self.widened(shift), self.inverse);
        Scores { a: self.a, b: self.b, doublings: 1, less: 15 * self.sum, step: 8.0, shift, inverse }
    }

    /// From a product with the whole codes (plus [`ZERO`]) to the row's score.
    pub(super) fn fine(&self, shift: Shift) -> Scores {
        let (shift, inverse) = (self.widened(shift), self.inverse);
        Scores { a: self.a, b: self.b, doublings: 0, less: i32::from(ZERO) * self.sum, step: 1.0, shift, inverse }
    }

    fn widened(&self, shift: Shift) -> Shift {
        if self.inverse == 0.0 { shift } else { Shift { error: (shift.error + self.constant).next_up(), ..shift } }
    }
}

/// The relative error bound, with room, of a float64 distance or squared length of vectors of `d` components.
pub(super) fn relative(d: usize) -> f64 {
    (d as f64 + 16.0) * f64::EPSILON
}

/// The conversion of a query's integer products into bounds of scores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scores {
    pub(super) a: f32,
    pub(super) b: f32,
    pub(super) doublings: u32,
    pub(super) less: i32,
    pub(super) step: f32,
    pub(super) shift: Shift,
    pub(super) inverse: f32,
}

impl Scores {
    /// The middle of the bounds.
    #[inline(always)]
    pub(super) fn middle(&self, product: i32, scale: f32) -> f32 {
        ((product << self.doublings) - self.less) as f32 * (self.step * scale) + self.shift.by
    }

    /// The distance from the middle to either bound of a score.
    #[inline(always)]
    pub(super) fn error(&self, residual: f32, norm: f32) -> f32 {
        self.a * residual + self.b * norm + self.shift.error
    }

    /// The bounds of half a row's squared length, which its score is reduced by; NaN beyond float32.
    #[inline(always)]
    pub(super) fn less(&self, half: f32) -> (f32, f32) {
        let less = half * self.inverse;
        let error = less * SINGLE as f32 + 0.0 * less;
        (less - error, less + error)
    }
}

/// Columns of factors, one of each a row. Residuals are of the codes or of their upper halves, as the products are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns<'a> {
    pub(super) scales: &'a [f32],
    pub(super) residuals: &'a [f32],
    pub(super) norms: &'a [f32],
    /// Half of the rows' squared lengths, where distances are wanted.
    pub(super) halves: Option<&'a [f32]>,
}

impl<'a> Columns<'a> {
    /// The factors of some rows.
    pub(super) fn of(self, rows: std::ops::Range<usize>) -> Self {
        let Self { scales, residuals, norms, halves } = self;
        Columns {
            scales: &scales[rows.clone()],
            residuals: &residuals[rows.clone()],
            norms: &norms[rows.clone()],
            halves: halves.map(|halves| &halves[rows]),
        }
    }
}

/// Write the upper bounds that belong to at most 64 integer products, and return which of them reach the floor, a bit
/// each; inlined into every level's file. NaN reaches any floor.
#[inline(always)]
pub(super) fn bounds_in_lanes(
    scores: &Scores,
    of: Columns<'_>,
    products: &[i32],
    floor: f32,
    uppers: &mut [f32],
) -> u64 {
    let len = products.len();
    let (scales, residuals, norms) = (&of.scales[..len], &of.residuals[..len], &of.norms[..len]);
    let uppers = &mut uppers[..len];
    for j in 0..len {
        uppers[j] = scores.middle(products[j], scales[j]) + scores.error(residuals[j], norms[j]);
    }
    if let Some(halves) = of.halves {
        for (upper, &half) in uppers.iter_mut().zip(halves) {
            *upper -= scores.less(half).0;
        }
    }
    let mut reach = 0;
    for (j, &upper) in uppers.iter().enumerate() {
        // Not the negation: what is not a number must count.
        let under = upper < floor;
        reach |= u64::from(!under) << j;
    }
    reach
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    use super::super::kernel::Kernel;
    use super::*;
    use crate::simd::Level;

    thread_local! {
        /// The factor of the bounds of this thread's queries: a test of the proof makes them too small.
        pub(in super::super) static BOUND: Cell<f32> = const { Cell::new(1.0) };
    }

    fn numbers(d: usize, seed: u32) -> Vec<f32> {
        let number = |i: u32| (i + seed).wrapping_mul(2_654_435_761) >> 8;
        (0..d as u32).map(|i| number(i) as f32 / (1 << 23) as f32 - 1.0).collect()
    }

    fn length(of: impl Iterator<Item = f64>) -> f64 {
        of.map(|x| x * x).sum::<f64>().sqrt()
    }

    #[test]
    fn lengths_of_rows_are_never_rounded_down() {
        for level in Level::available() {
            for seed in 0..200 {
                let (row, centre, mut codes) = (numbers(50, 100 * seed), numbers(50, 7 * seed + 3), [0; 50]);
                let results = Kernel::of(*level).code(&row, &centre, &mut codes);
                let y = || row.iter().zip(&centre).map(|(&x, &m)| f64::from(x) - f64::from(m));
                let left = |of: fn(u8) -> i32| {
                    length(y().zip(codes).map(move |(y, code)| y - f64::from(results.scale) * f64::from(of(code))))
                };
                assert!(f64::from(results.norm) >= length(y()), "{seed}");
                assert!(f64::from(results.residual) >= left(|code| i32::from(code) - 128), "{seed}");
                assert!(f64::from(results.rough) >= left(|code| i32::from(code & 0xf0) - 120), "{seed}");
            }
        }
    }

    #[test]
    fn factors_of_a_bound_are_never_rounded_down() {
        for seed in 0..200 {
            let mut query = numbers(50, 100 * seed);
            // The largest component is 1, so that the query is coded as it is.
            query[0] = 1.0;
            let coded = CodedQuery::new(&query, Level::best());
            let least = length(coded.lines.iter().flat_map(|line| line.0.map(|code| f64::from(code as i8))));
            let results = Kernel::of(Level::best()).code(&query, &[0.0; 50], &mut [0; 50]);
            let left = f64::from(results.residual) / f64::from(results.scale);
            assert!(f64::from(coded.a) > least * (1.0 + SINGLE), "{seed}");
            assert!(f64::from(coded.b) > (left + coded.double) * (1.0 + SINGLE) + SINGLE * least, "{seed}");
            let (dot, far) = (f64::from(query[0]), f64::from(query[1].abs()));
            let error = (SINGLE * (dot / coded.unit).abs() + 2.0 * coded.double * far) * (1.0 + SINGLE);
            assert!(f64::from(coded.shift(dot, far).error) > error, "{seed}");
        }
    }

    #[test]
    fn rows_too_long_to_be_coded_have_bounds_without_end_and_short_ones_bounds_that_are_not_lost() {
        for level in Level::available() {
            let code = |length: f32| Kernel::of(*level).code(&[length; 20], &[0.0; 20], &mut [0; 20]);
            for length in [LARGEST, 1e30, 3e38] {
                let Factors { scale, rough, residual, norm } = code(length);
                assert_eq!((scale, rough, residual, norm), (0.0, f32::INFINITY, f32::INFINITY, f32::INFINITY));
            }
            for length in [1e-45, 1e-38, 1e-26] {
                let Factors { scale, rough, residual, norm } = code(length);
                assert!(scale == 0.0 && rough == norm && residual == norm && norm >= 1e-30, "{length}");
                assert!(f64::from(norm) >= f64::from(length) * 20.0_f64.sqrt());
            }
        }
    }
}
