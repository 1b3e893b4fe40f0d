//! The centre of a segment: the common part of its rows, subtracted before they are coded.
//!
//! Vectors of many models share a direction. With `x = m + y` the score is `q . m + q . y`, where `q . m` is computed
//! once for all rows and only `y` is coded: the shorter it is, the narrower the bounds. Any `m` gives right bounds; the
//! mean of the rows gives the shortest `y`.

use super::quantise::{CodedQuery, Shift};
use crate::vectors::{Level, Rows, dot};

/// Rows that a mean is taken of, at most.
const SAMPLE: usize = 1024;
/// Rows whose mean says something about those to come.
pub(super) const ENOUGH: usize = 256;
/// The part of the rows' mean square that a common vector must carry to be worth a dot product per search.
const WORTH: f64 = 0.02;
/// A longer or shorter one is not used, so that no product with it can leave float32's range.
const LENGTHS: std::ops::Range<f64> = 1e-15..1e15;

/// A vector that every row of a segment has less.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Centre {
    at: Vec<f32>,
    /// At least its length.
    length: f64,
}

impl Centre {
    /// The origin.
    pub(super) fn none(d: usize) -> Self {
        Self { at: vec![0.0; d], length: 0.0 }
    }

    /// A given one, whatever it is.
    pub(super) fn at(at: Vec<f32>) -> Self {
        let length = dot(&at, &at).sqrt() * (1.0 + 1e-9);
        Self { at, length }
    }

    /// The mean of the finite rows `from..to`, or the origin where that would not help.
    pub(super) fn of(rows: Rows<'_>, from: usize, to: usize) -> Self {
        let step = (to - from).div_ceil(SAMPLE).max(1);
        let (mut sums, mut square) = (vec![0.0_f64; rows.d()], 0.0);
        let sample = (from..to).step_by(step);
        let count = sample.len().max(1) as f64;
        for row in sample.map(|row| rows.row(row)) {
            square += dot(row, row);
            for (sum, &x) in sums.iter_mut().zip(row) {
                *sum += f64::from(x);
            }
        }
        let centre = Self::at(sums.iter().map(|sum| (sum / count) as f32).collect());
        let helps = centre.length * centre.length >= WORTH * square / count;
        if helps && LENGTHS.contains(&centre.length) { centre } else { Self::none(rows.d()) }
    }

    pub(super) fn components(&self) -> &[f32] {
        &self.at
    }

    /// The effect of the centre on a query.
    pub(super) fn shift(&self, query: &[f32], coded: &CodedQuery, level: Level) -> Shift {
        if self.length == 0.0 {
            return Shift::default();
        }
        coded.shift(level.dot(query, &self.at), self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_taken_where_rows_share_a_direction() {
        let data: Vec<f32> = (0..3000).flat_map(|i| [1.0, if i % 2 == 0 { 0.5 } else { -0.5 }]).collect();
        let rows = Rows::new(&data, 3000, 2).unwrap();
        let centre = Centre::of(rows, 0, 3000);
        assert!((centre.components()[0] - 1.0).abs() < 1e-6, "{centre:?}");
        let data: Vec<f32> = data.iter().enumerate().map(|(i, x)| if i / 4 % 2 == 0 { -x } else { *x }).collect();
        assert_eq!(Centre::of(Rows::new(&data, 3000, 2).unwrap(), 0, 2000), Centre::none(2));
    }

    #[test]
    fn a_centre_is_not_said_to_be_shorter_than_it_is() {
        for (at, length) in [(vec![3.0, 4.0], 5.0), (vec![0.1], f64::from(0.1_f32)), (vec![0.25; 16], 1.0)] {
            let centre = Centre::at(at);
            assert!(centre.length >= length * 0.999_999_999_999 && centre.length < length * 1.000_000_1, "{centre:?}");
        }
        // The error of a centre's part of a score grows with that length, even where that part is 0.
        let coded = CodedQuery::new(&[1.0, 0.0], Level::best());
        let error = |at: [f32; 2]| Centre::at(at.to_vec()).shift(&[1.0, 0.0], &coded, Level::best()).error;
        assert!(error([0.0, 8.0]) >= 1.9 * error([0.0, 4.0]));
    }

    #[test]
    fn lengths_out_of_the_ordinary_have_no_centre() {
        for length in [0.0, 1e-44, 1e-20, 1e20, 3e38] {
            let data = [length; 20];
            assert_eq!(Centre::of(Rows::new(&data, 10, 2).unwrap(), 0, 10), Centre::none(2), "{length}");
        }
        assert_eq!(Centre::of(Rows::new(&[], 0, 3).unwrap(), 0, 0), Centre::none(3));
    }
}
