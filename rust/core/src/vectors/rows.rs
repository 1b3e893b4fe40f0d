//! Matrices of float32 rows, and their scaling to length 1.

use super::dot::dot;
use crate::error::{Error, Result};

/// A row-major float32 matrix `(n, d)`, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    data: &'a [f32],
    n: usize,
    d: usize,
}

impl<'a> Rows<'a> {
    /// View `data` as `n` rows of `d` components.
    ///
    /// # Errors
    /// [`Error::Length`] unless `data` holds `n * d` numbers.
    pub fn new(data: &'a [f32], n: usize, d: usize) -> Result<Self> {
        let wanted = n.saturating_mul(d);
        if data.len() == wanted {
            Ok(Self { data, n, d })
        } else {
            Err(Error::Length { what: "rows", got: data.len(), wanted })
        }
    }

    /// No rows, of this width.
    pub(super) fn none(self) -> Self {
        Self { data: &[], n: 0, d: self.d }
    }

    /// The rows from `i <= n` on.
    pub(super) fn rest(self, i: usize) -> Self {
        Self { data: &self.data[i * self.d..], n: self.n - i, d: self.d }
    }

    /// The number of rows.
    pub fn n(self) -> usize {
        self.n
    }

    /// The number of components of a row.
    pub fn d(self) -> usize {
        self.d
    }

    /// All rows, one behind the other.
    pub fn data(self) -> &'a [f32] {
        self.data
    }

    /// Row `i`, of length `d`.
    ///
    /// # Panics
    /// If `i >= n`.
    pub fn row(self, i: usize) -> &'a [f32] {
        assert!(i < self.n, "row {i} of {}", self.n);
        &self.data[i * self.d..(i + 1) * self.d]
    }

    /// Fail unless the query has `d` components, all finite.
    pub(super) fn check_query(self, query: &[f32]) -> Result<()> {
        check_query(query, self.d)
    }
}

/// Fail unless a query has `d` components, all finite.
pub(super) fn check_query(query: &[f32], d: usize) -> Result<()> {
    if query.len() != d {
        return Err(Error::Length { what: "query", got: query.len(), wanted: d });
    }
    match query.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(Error::NotFinite { what: "query component", at }),
        None => Ok(()),
    }
}

/// A row whose squared length is this close to 1 has unit length already: what float32 rounding leaves of it.
const UNIT_TOLERANCE: f64 = 1e-6;

/// Scale every row to Euclidean length 1. Norms are summed in float64; the result is row-major `(n, d)`.
///
/// Rows that have unit length up to float32 rounding are left as they are: scaling again would only blur them.
///
/// # Errors
/// [`Error::NotFinite`] or [`Error::ZeroRow`], naming the first row at fault.
pub fn unit_rows(rows: Rows<'_>) -> Result<Vec<f32>> {
    let mut scaled = Vec::with_capacity(rows.n * rows.d);
    for i in 0..rows.n {
        let row = rows.row(i);
        // Finite float32 squares cannot overflow float64, so a sum that is not finite means a component is not.
        let square = dot(row, row);
        if !square.is_finite() {
            return Err(Error::NotFinite { what: "row", at: i });
        }
        if square == 0.0 {
            return Err(Error::ZeroRow { row: i });
        }
        if (square - 1.0).abs() <= UNIT_TOLERANCE {
            scaled.extend(row);
            continue;
        }
        let norm = square.sqrt();
        scaled.extend(row.iter().map(|&x| (f64::from(x) / norm) as f32));
    }
    Ok(scaled)
}

/// Round a query to float32 and scale it to length 1; None if it has no direction, or a component float32 cannot hold.
pub fn unit_query(query: &[f64]) -> Option<Vec<f32>> {
    // The comparison is false for NaN.
    let fits = |x: &f64| x.abs() <= f64::from(f32::MAX);
    if !query.iter().all(fits) {
        return None;
    }
    let row: Vec<f32> = query.iter().map(|&x| x as f32).collect();
    unit_rows(Rows::new(&row, 1, row.len()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_length_one() {
        let data = [3.0, 4.0, 1e-30, 0.0, 3e38, 3e38];
        let unit = unit_rows(Rows::new(&data, 3, 2).unwrap()).unwrap();
        let half = 0.5_f32.sqrt();
        assert_eq!(unit, [0.6, 0.8, 1.0, 0.0, half, half]);
    }

    #[test]
    fn a_query_is_rounded_before_it_gets_length_one() {
        assert_eq!(unit_query(&[3.0, 4.0]).unwrap(), [0.6, 0.8]);
        let rounded = unit_rows(Rows::new(&[0.1, 0.7], 1, 2).unwrap()).unwrap();
        assert_eq!(unit_query(&[0.1, 0.7]).unwrap(), rounded);
    }

    #[test]
    fn a_query_without_a_direction_or_beyond_float32_is_none() {
        let above = f64::from(f32::MAX) * (1.0 + f64::EPSILON);
        for query in [&[][..], &[0.0, 0.0], &[1.0, f64::NAN], &[f64::INFINITY], &[above], &[-above], &[1e-50]] {
            assert_eq!(unit_query(query), None, "{query:?}");
        }
        assert_eq!(unit_query(&[f64::from(f32::MAX)]).unwrap(), [1.0]);
    }

    #[test]
    fn bad_rows_are_named() {
        let data = [1.0, 0.0, 0.0, 0.0];
        assert_eq!(unit_rows(Rows::new(&data, 2, 2).unwrap()), Err(Error::ZeroRow { row: 1 }));
        let data = [1.0, 0.0, f32::NAN, 0.0];
        let fault = Error::NotFinite { what: "row", at: 1 };
        assert_eq!(unit_rows(Rows::new(&data, 2, 2).unwrap()), Err(fault));
        assert!(Rows::new(&data, 3, 2).is_err());
    }
}
