//! The cosine at candidates, in float64 throughout.

use super::pieces::Pieces;
use crate::error::{Error, Result};
use crate::simd::Level;

/// The cosines of rows with one query, `q . x / (|q| |x|)`: every sum in float64, so that vectors need not have unit
/// length to the last bit.
#[derive(Clone, Copy, Debug)]
pub struct Cosine<'a> {
    query: &'a [f64],
    square: f64,
    level: Level,
}

impl<'a> Cosine<'a> {
    /// The cosines with a query for rows of `d` components.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::NotFinite`] or [`Error::ZeroRow`] for the query.
    pub fn new(query: &'a [f64], d: usize) -> Result<Self> {
        if query.len() != d {
            return Err(Error::Length { what: "query", got: query.len(), wanted: d });
        }
        if let Some(at) = query.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { what: "query component", at });
        }
        let square: f64 = query.iter().map(|x| x * x).sum();
        if square == 0.0 {
            return Err(Error::ZeroRow { row: 0 });
        }
        Ok(Self { query, square, level: Level::best() })
    }

    /// The cosine with a row `(d,)`; 0 for one of length 0.
    pub fn of(&self, row: &[f32]) -> f64 {
        self.level.cosine(self.query, row, self.square)
    }
}

/// Return the cosines `(m,)` of the query `(d,)` with the rows at the indices `at`; 0 for a row of length 0, NaN for the
/// index -1, which is no row.
///
/// # Errors
/// Those of [`Cosine::new`]; [`Error::OutOfRange`] for an index outside `-1 <= i < n`; [`Error::File`] when a row cannot
/// be read.
pub fn cosine_at<'a>(query: &[f64], rows: impl Into<Pieces<'a>>, at: &[i64]) -> Result<Vec<f64>> {
    let (rows, mut buffer) = (rows.into(), Vec::new());
    let cosine = Cosine::new(query, rows.d())?;
    let of_index = |&index: &i64| match index {
        -1 => Ok(f64::NAN),
        _ => Ok(cosine.of(rows.checked_row(index, &mut buffer)?)),
    };
    at.iter().map(of_index).collect()
}

#[cfg(test)]
mod tests {
    use super::super::rows::Rows;
    use super::*;

    #[test]
    fn lengths_do_not_matter_and_a_zero_row_scores_zero() {
        let data = [3.0, 4.0, 0.0, 0.0, -30.0, -40.0];
        let rows = Rows::new(&data, 3, 2).unwrap();
        let results = cosine_at(&[0.6, 0.8], rows, &[2, 0, 1]).unwrap();
        for (value, wanted) in results.iter().zip([-1.0, 1.0, 0.0]) {
            assert!((value - wanted).abs() < 1e-15, "{results:?}");
        }
    }

    #[test]
    fn an_index_outside_and_a_query_without_direction_are_errors() {
        let data = [1.0, 2.0, 3.0, 4.0];
        let rows = Rows::new(&data, 2, 2).unwrap();
        assert!(cosine_at(&[1.0, 1.0], rows, &[-1]).unwrap()[0].is_nan());
        for index in [-2, 2, i64::MAX, i64::MIN] {
            let fault = Error::OutOfRange { what: "row", index, len: 2 };
            assert_eq!(cosine_at(&[1.0, 1.0], rows, &[0, index]), Err(fault));
        }
        assert_eq!(cosine_at(&[0.0, 0.0], rows, &[0]), Err(Error::ZeroRow { row: 0 }));
        assert!(cosine_at(&[f64::NAN, 0.0], rows, &[0]).is_err());
        assert!(cosine_at(&[1.0], rows, &[0]).is_err());
    }
}
