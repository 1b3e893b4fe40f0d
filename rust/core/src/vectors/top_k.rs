//! The k rows with the largest dot product, exactly.
//!
//! A float32 scan gives every row a score within a proven distance of its float64 score; the rows that can be among
//! the k best are summed again in float64. The distance: a sum in which no product meets more than `h` roundings is
//! off by at most `gamma(h) * sum |q_i x_i|`, `gamma(h) = h u / (1 - h u)`, `u = 2^-24` (Higham, Accuracy and Stability
//! of Numerical Algorithms, 2nd ed., §3.1), and `sum |q_i x_i| <= |q| |x|` (Cauchy-Schwarz).

use super::dot::dot;
use super::pieces::Pieces;
use super::rows::Rows;
use super::select::Survivors;
use crate::error::{Error, Result};
use crate::simd::Level;

/// Rows scanned between two looks at the scores: the scores stay in the first-level cache.
const BLOCK: usize = 256;

/// Rows that may be returned: one byte a row, not 0 where it may.
pub type Mask<'a> = &'a [u8];

/// Row indices and float64 scores, best first; equal scores by ascending index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hits {
    /// Row indices.
    pub rows: Vec<usize>,
    /// Their dot products with the query.
    pub scores: Vec<f64>,
}

/// Return the `k` allowed rows with the largest float64 dot product with the query, as [`dot()`] computes it.
///
/// The rows must be finite; they need not have unit length.
///
/// # Errors
/// [`Error::Length`] for a query or mask that does not fit, [`Error::NotFinite`] for the query.
pub fn top_k(query: &[f32], rows: Rows<'_>, k: usize, mask: Option<Mask<'_>>, level: Level) -> Result<Hits> {
    rows.check_query(query)?;
    if let Some(mask) = mask
        && mask.len() != rows.n()
    {
        return Err(Error::Length { what: "mask", got: mask.len(), wanted: rows.n() });
    }
    let k = k.min(rows.n());
    if k == 0 {
        return Ok(Hits::default());
    }
    let survivors = scan(query, rows, k, mask, level);
    Ok(best(query, rows, survivors, k, level))
}

/// As [`top_k`], of so few rows that bounds would not pay; they may lie anywhere.
///
/// # Errors
/// As [`top_k`]; [`Error::File`] when a row cannot be read.
pub fn top_k_of_few(query: &[f32], rows: Pieces<'_>, k: usize, mask: Option<Mask<'_>>) -> Result<Hits> {
    rows.check_query(query)?;
    let allowed = match mask {
        Some(mask) if mask.len() != rows.n() => {
            return Err(Error::Length { what: "mask", got: mask.len(), wanted: rows.n() });
        }
        _ => (0..rows.n()).filter(|&row| mask.is_none_or(|mask| mask[row] != 0)),
    };
    let mut buffer = Vec::new();
    let scored = allowed.map(|row| Ok((dot(query, rows.row(row, &mut buffer)?), row)));
    let mut scored = scored.collect::<Result<Vec<(f64, usize)>>>()?;
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.truncate(k);
    Ok(Hits { rows: scored.iter().map(|hit| hit.1).collect(), scores: scored.iter().map(|hit| hit.0).collect() })
}

/// Scan the allowed rows in float32 and return those that can be among the k best.
fn scan(query: &[f32], rows: Rows<'_>, k: usize, mask: Option<Mask<'_>>, level: Level) -> Vec<usize> {
    let bound = Bound::new(query, level);
    let mut survivors = Survivors::new(k);
    let (mut at, mut dots, mut squares) = ([0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
    let mut next = 0;
    loop {
        let len = match mask {
            Some(mask) => fill_masked(&mut at, &mut next, mask),
            None => fill(&mut at, &mut next, rows.n()),
        };
        if len == 0 {
            return survivors.rows();
        }
        level.scan(query, rows, &at[..len], &mut dots[..len], &mut squares[..len]);
        let largest = squares[..len].iter().copied().fold(0.0_f32, f32::max);
        survivors.offer(&at[..len], &dots[..len], bound.error(largest));
    }
}

fn fill(at: &mut [usize; BLOCK], next: &mut usize, n: usize) -> usize {
    let len = (n - *next).min(BLOCK);
    for (row, slot) in (*next..).zip(at[..len].iter_mut()) {
        *slot = row;
    }
    *next += len;
    len
}

/// Put the next allowed rows into `at`; eight forbidden rows in a row cost one comparison.
fn fill_masked(at: &mut [usize; BLOCK], next: &mut usize, mask: Mask<'_>) -> usize {
    let mut len = 0;
    while len < BLOCK && *next < mask.len() {
        if let Some(eight) = mask[*next..].first_chunk::<8>()
            && *eight == [0; 8]
        {
            *next += 8;
            continue;
        }
        if mask[*next] != 0 {
            at[len] = *next;
            len += 1;
        }
        *next += 1;
    }
    len
}

/// The error bound of a float32 score against the float64 one, as a function of the row's squared length.
struct Bound {
    /// Multiplies the row's length: relative errors of both sums times the query's length.
    relative: f64,
    /// Error for a row and a query of length 1 from products too small for a normal float32.
    tiny: f64,
    query_norm: f64,
    /// The error bound of the float32 square: a factor, and a summand for values that vanished under it.
    square_factor: f64,
    square_lost: f64,
}

impl Bound {
    fn new(query: &[f32], level: Level) -> Self {
        let d = query.len();
        let single = gamma(level.roundings(d), f64::from(f32::EPSILON) / 2.0);
        let double = gamma(d + 4, f64::EPSILON / 2.0);
        // The float64 steps that form the bound round too; a ten-thousandth more covers them.
        let slack = 1.0001;
        let query_norm = dot(query, query).sqrt() * slack;
        // With denormals flushed to zero (another library may have set that), each of the d products and each of the
        // d sums can lose up to the smallest normal number, and so can every input.
        let tiny = 4.0 * d as f64 * f64::from(f32::MIN_POSITIVE);
        Self {
            relative: (single + double) * query_norm * slack,
            tiny,
            query_norm,
            square_factor: slack / (1.0 - single),
            square_lost: tiny,
        }
    }

    /// The bound for rows whose float32 squared lengths are at most `square`; infinite when nothing can be said.
    fn error(&self, square: f32) -> f64 {
        let norm = (f64::from(square) * self.square_factor + self.square_lost).sqrt();
        // Past this a float32 sum may have overflowed, and then the score says nothing.
        let reach = norm * self.query_norm;
        if !(norm < 1e19 && reach < 1e38) {
            return f64::INFINITY;
        }
        let error = self.relative * norm + self.tiny * (1.0 + norm + self.query_norm);
        #[cfg(test)]
        let error = error * tests::BOUND.get();
        error
    }
}

/// Higham's gamma: the relative error of a product of `steps` factors `1 + delta`, each delta at most `unit`.
fn gamma(steps: usize, unit: f64) -> f64 {
    let sum = steps as f64 * unit;
    if sum < 0.5 { sum / (1.0 - sum) } else { f64::INFINITY }
}

/// Score the surviving rows in float64 and return the k best.
fn best(query: &[f32], rows: Rows<'_>, survivors: Vec<usize>, k: usize, level: Level) -> Hits {
    let mut scored: Vec<(f64, usize)> = survivors
        .into_iter()
        .map(|row| (level.dot(query, rows.row(row)), row))
        // Finite rows have finite scores; a broken row must not upset the order of the others.
        .filter(|(score, _)| !score.is_nan())
        .collect();
    // `dot` never gives -0.0 (its sums start at 0.0), so the total order is the numeric one.
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.truncate(k);
    let (scores, rows) = scored.into_iter().unzip();
    Hits { rows, scores }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use proptest::prelude::*;

    thread_local! {
        /// The factor of this thread's bounds: a test of the proof makes them too small.
        pub(super) static BOUND: Cell<f64> = const { Cell::new(1.0) };
    }

    /// The float64 scan.
    fn twin(query: &[f32], rows: Rows<'_>, k: usize, mask: Option<Mask<'_>>) -> Hits {
        let mut scored: Vec<(f64, usize)> = (0..rows.n())
            .filter(|&row| mask.is_none_or(|mask| mask[row] != 0))
            .map(|row| (dot(query, rows.row(row)), row))
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        scored.truncate(k);
        let (scores, rows) = scored.into_iter().unzip();
        Hits { rows, scores }
    }

    /// Components on a coarse grid (many ties), ordinary, nearly equal, huge and tiny.
    fn component() -> impl Strategy<Value = f32> {
        prop_oneof![
            4 => (-2_i8..3).prop_map(f32::from),
            4 => -1.0_f32..1.0,
            2 => (0_u8..4).prop_map(|i| 1.0 + f32::from(i) * f32::EPSILON),
            1 => prop_oneof![Just(3e38_f32), Just(-3e38), Just(1e-38), Just(1e-45), Just(-1e20), Just(0.0)],
        ]
    }

    proptest! {
        #![proptest_config(crate::seeded(64))]
        #[test]
        fn every_level_gives_the_float64_answer(
            (d, query, data) in (0_usize..40).prop_flat_map(|d| (
                Just(d),
                prop::collection::vec(component(), d),
                prop::collection::vec(component(), d * 70),
            )),
            k in 0_usize..90,
            allowed in prop::option::of(prop::collection::vec(0_u8..2, 70)),
        ) {
            let rows = Rows::new(&data, 70, d).unwrap();
            let wanted = twin(&query, rows, k, allowed.as_deref());
            prop_assert_eq!(&top_k_of_few(&query, rows.into(), k, allowed.as_deref()).unwrap(), &wanted);
            for &level in Level::available() {
                prop_assert_eq!(&top_k(&query, rows, k, allowed.as_deref(), level).unwrap(), &wanted);
            }
        }
    }

    #[test]
    fn the_bound_holds_and_is_tight_enough_to_be_of_use() {
        let d = 384;
        let query: Vec<f32> = (0..d).map(|i| (i as f32).sin() / 14.0).collect();
        let row: Vec<f32> = (0..d).map(|i| (i as f32 * 1.7).cos() / 14.0).collect();
        for &level in Level::available() {
            let (mut dots, mut squares) = ([0.0], [0.0]);
            level.scan(&query, Rows::new(&row, 1, d).unwrap(), &[0], &mut dots, &mut squares);
            let error = Bound::new(&query, level).error(squares[0]);
            assert!((f64::from(dots[0]) - dot(&query, &row)).abs() <= error);
            assert!(error < 1e-5, "{level:?}: {error}");
        }
    }

    #[test]
    fn the_bound_is_that_of_the_proof_and_infinite_where_a_sum_may_have_overflowed() {
        let bound = |square_lost: f64, query_norm: f64| Bound {
            relative: 3.0,
            tiny: 5.0,
            query_norm,
            square_factor: 2.0,
            square_lost,
        };
        // The row's length is 3, the root of 4 * 2 + 1.
        assert_eq!(bound(1.0, 7.0).error(4.0), 3.0 * 3.0 + 5.0 * (1.0 + 3.0 + 7.0));
        assert_eq!(bound(1e38, 1.0).error(0.0), f64::INFINITY);
        assert_eq!(bound(1.0, 1e38).error(0.0), f64::INFINITY);
        assert_eq!(bound(1e20, 1e30).error(0.0), f64::INFINITY);
        assert!(bound(1e37, 1.0).error(0.0).is_finite() && bound(1.0, 1e37).error(0.0).is_finite());
    }

    #[test]
    fn gamma_is_highams() {
        assert_eq!(gamma(3, 0.125), 0.375 / 0.625);
        assert_eq!(gamma(4, 0.125), f64::INFINITY);
    }

    /// Two rows whose every sum is rounded the same way, one's down and the other's up: what is lost in each of a
    /// thousand additions is nearly half a unit in the last place.
    #[test]
    fn rows_at_the_bound_are_found_and_lost_where_the_bound_is_a_tenth_smaller() {
        let unit = f32::EPSILON / 2.0;
        for &level in Level::available() {
            // `roundings` of this many components are those of one lane's additions and a few more.
            let lanes = (1..).map(|i| 1_usize << i).find(|i| level.roundings(1000 * i) > 1000).unwrap();
            let d = 1000 * lanes;
            let only = |first: f32, others: f32| -> Vec<f32> {
                (0..d)
                    .map(|i| {
                        if i == 0 {
                            first
                        } else if i % lanes == 0 {
                            others
                        } else {
                            0.0
                        }
                    })
                    .collect()
            };
            // Every product of a lane but the first is just under, or just over, half a unit of the sum.
            let query = only(1.0, 2.0_f32.powi(-12));
            let down = only(1.0, 2.0_f32.powi(-12) * (1.0 - 2.0_f32.powi(-10)));
            let up = only(1.0 - 8.0 * unit, 2.0_f32.powi(-12) * (1.0 + 2.0_f32.powi(-10)));
            assert!(dot(&query, &down) > dot(&query, &up));
            let data = [up, down].concat();
            let rows = Rows::new(&data, 2, d).unwrap();
            let best = |factor: f64| {
                BOUND.set(factor);
                let results = top_k(&query, rows, 1, None, level).unwrap();
                BOUND.set(1.0);
                results.rows[0]
            };
            assert_eq!((best(1.0), best(0.9)), (1, 0), "{level:?}");
        }
    }

    /// Where products are too small for a normal float32, their error does not grow with the lengths.
    #[test]
    fn rows_whose_products_vanish_are_found() {
        let small = |x: f32| x * 2.0_f32.powi(-75);
        let query = [small(1.0); 4];
        // A product of 0.49 of the smallest number vanishes, and of 0.6 rounds to the whole number.
        let data: Vec<f32> = [1.2, 1.2, 0.0, 0.0, 0.98, 0.98, 0.98, 0.98].map(small).to_vec();
        let rows = Rows::new(&data, 2, 4).unwrap();
        for &level in Level::available() {
            assert_eq!(top_k(&query, rows, 1, None, level).unwrap(), twin(&query, rows, 1, None), "{level:?}");
            assert_eq!(top_k(&query, rows, 1, None, level).unwrap().rows, [1], "{level:?}");
        }
    }

    #[test]
    fn a_sorted_corpus_keeps_few_rows() {
        let data: Vec<f32> = (0..50_000).map(|i| i as f32).collect();
        let rows = Rows::new(&data, data.len(), 1).unwrap();
        for &level in Level::available() {
            assert_eq!(scan(&[1.0], rows, 3, None, level), [49_997, 49_998, 49_999]);
        }
    }

    #[test]
    fn arguments_that_do_not_fit() {
        let data = [1.0, 2.0];
        let rows = Rows::new(&data, 1, 2).unwrap();
        let level = Level::best();
        assert!(matches!(top_k(&[1.0], rows, 1, None, level), Err(Error::Length { what: "query", .. })));
        assert!(matches!(top_k(&[1.0, 1.0], rows, 1, Some(&[]), level), Err(Error::Length { what: "mask", .. })));
        assert!(matches!(top_k(&[1.0, f32::NAN], rows, 0, None, level), Err(Error::NotFinite { at: 1, .. })));
        assert_eq!(top_k(&[1.0, 1.0], rows, 5, Some(&[0]), level), Ok(Hits::default()));
        assert_eq!(top_k(&[], Rows::new(&[], 3, 0).unwrap(), 2, None, level).map(|hits| hits.rows), Ok(vec![0, 1]));
    }

    #[test]
    fn a_broken_row_does_not_hide_the_others() {
        let data = [1.0, f32::NAN, 3.0, f32::NAN, 2.0];
        for &level in Level::available() {
            let hits = top_k(&[1.0], Rows::new(&data, 5, 1).unwrap(), 3, None, level).unwrap();
            assert_eq!(hits.rows, [2, 4, 0]);
        }
    }
}
