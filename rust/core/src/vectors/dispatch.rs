//! The table of float kernels: for each [`Level`] its dot product, cosine and scan.

#[cfg(target_arch = "aarch64")]
use super::neon;
use super::rows::Rows;
use super::scalar;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::simd::{Level, Proof};

impl Level {
    /// The float64 dot product, as [`super::dot()`].
    pub fn dot(self, a: &[f32], b: &[f32]) -> f64 {
        match self.proof() {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(token) => token.dot(a, b),
            #[cfg(target_arch = "x86_64")]
            Proof::AvxVnni(token) | Proof::Avx2(token) => token.dot(a, b),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(token) => token.dot(a, b),
            Proof::Scalar => super::dot(a, b),
        }
    }

    /// The float64 cosine of a query, whose squared length is given, with a row.
    pub(super) fn cosine(self, query: &[f64], row: &[f32], query_square: f64) -> f64 {
        match self.proof() {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(token) => token.cosine(query, row, query_square),
            #[cfg(target_arch = "x86_64")]
            Proof::AvxVnni(token) | Proof::Avx2(token) => token.cosine(query, row, query_square),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(token) => token.cosine(query, row, query_square),
            Proof::Scalar => super::lanes::cosine_in_lanes(query, row, query_square),
        }
    }

    /// Write the float32 dot products of the query with the rows `at`, and those rows' squared lengths.
    ///
    /// # Panics
    /// If the query's length is not `d`, an index is out of range, or an output is not as long as `at`.
    pub(super) fn scan(self, query: &[f32], rows: Rows<'_>, at: &[usize], dots: &mut [f32], squares: &mut [f32]) {
        match self.proof() {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(token) => token.scan(query, rows, at, dots, squares),
            #[cfg(target_arch = "x86_64")]
            Proof::AvxVnni(token) | Proof::Avx2(token) => token.scan(query, rows, at, dots, squares),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(token) => token.scan(query, rows, at, dots, squares),
            Proof::Scalar => scalar::scan(query, rows, at, dots, squares),
        }
    }

    /// Write the float32 dot products of the query with the first rows: those that [`Level::scan`] writes.
    ///
    /// # Panics
    /// If the query's length is not `d`, or there are fewer rows than `dots`.
    pub(super) fn dots(self, query: &[f32], rows: Rows<'_>, dots: &mut [f32]) {
        match self.proof() {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(token) => token.dots(query, rows, dots),
            #[cfg(target_arch = "x86_64")]
            Proof::AvxVnni(token) | Proof::Avx2(token) => token.dots(query, rows, dots),
            _ => {
                let at: Vec<usize> = (0..dots.len()).collect();
                self.scan(query, rows, &at, dots, &mut vec![0.0; at.len()]);
            }
        }
    }

    /// The number of roundings of any one product in a sum of `scan` over `d` components: one for the product, one for
    /// each addition in its lane, one for each step of the lanes' reduction.
    pub(super) fn roundings(self, d: usize) -> usize {
        let lanes: usize = match self.proof() {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(_) => avx512::LANES,
            #[cfg(target_arch = "x86_64")]
            Proof::AvxVnni(_) | Proof::Avx2(_) => avx2::LANES,
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(_) => neon::LANES,
            Proof::Scalar => scalar::LANES,
        };
        1 + d.div_ceil(lanes) + lanes.ilog2() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_scans_like_float64() {
        for level in Level::available() {
            for d in 0..70 {
                let query: Vec<f32> = (0..d).map(|i| (i as f32 * 0.37).sin()).collect();
                let data: Vec<f32> = (0..d * 9).map(|i| (i as f32 * 0.11).cos()).collect();
                let rows = Rows::new(&data, 9, d).unwrap();
                let at = [8, 0, 3, 3, 5, 7, 1];
                let (mut dots, mut squares) = ([0.0; 7], [0.0; 7]);
                level.scan(&query, rows, &at, &mut dots, &mut squares);
                let mut alone = [0.0; 9];
                level.dots(&query, rows, &mut alone);
                assert!(at.iter().zip(&dots).all(|(&i, dot)| alone[i].to_bits() == dot.to_bits()), "{level:?} {d}");
                for (j, &i) in at.iter().enumerate() {
                    let row = rows.row(i);
                    assert!((f64::from(dots[j]) - super::super::dot(&query, row)).abs() < 1e-5, "{level:?} {d}");
                    assert!((f64::from(squares[j]) - super::super::dot(row, row)).abs() < 1e-5, "{level:?} {d}");
                }
            }
        }
    }
}
