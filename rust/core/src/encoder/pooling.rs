//! From a text's vectors, one a token, to one of unit length.

use super::matrix::View;
use crate::error::{Error, Result};

/// The pooling of a text's tokens into its vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pooling {
    /// The mean of all tokens.
    Mean,
    /// The first token.
    First,
    /// The largest of each component.
    Max,
}

impl Pooling {
    /// `mean`, `cls` or `max`.
    ///
    /// # Errors
    /// [`Error::Name`] for another name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "mean" => Ok(Self::Mean),
            "cls" => Ok(Self::First),
            "max" => Ok(Self::Max),
            _ => Err(Error::Name { what: "pooling", wanted: "mean, cls, max".to_owned(), got: name.to_owned() }),
        }
    }

    /// Write the unit vector of a text's tokens; without a direction, or with a number that is none, all zeros.
    pub(super) fn pool(self, tokens: View<'_>, out: &mut [f32]) {
        let mut sums = vec![if self == Self::Max { f64::NEG_INFINITY } else { 0.0 }; tokens.k];
        for i in 0..if self == Self::First { 1 } else { tokens.m } {
            for (sum, &x) in sums.iter_mut().zip(tokens.row(i)) {
                let x = f64::from(x);
                *sum = if self == Self::Max { if x > *sum { x } else { *sum } } else { *sum + x };
            }
        }
        let length = sums.iter().map(|x| x * x).sum::<f64>().sqrt();
        for (y, x) in out.iter_mut().zip(sums) {
            *y = if length.is_finite() && length > 0.0 { (x / length) as f32 } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_pools_as_its_name_says() {
        let data = [3.0, 0.0, 1.0, 4.0];
        let tokens = View { data: &data, stride: 2, m: 2, k: 2 };
        let half = 0.5_f32.sqrt();
        for (name, wanted) in [("mean", [half, half]), ("cls", [1.0, 0.0]), ("max", [0.6, 0.8])] {
            let mut out = [f32::NAN; 2];
            Pooling::named(name).unwrap().pool(tokens, &mut out);
            assert!(out.iter().zip(wanted).all(|(x, y)| (x - y).abs() < 1e-7), "{name} {out:?}");
        }
        assert!(Pooling::named("last").unwrap_err().to_string().contains("mean, cls, max"));
    }

    #[test]
    fn what_has_no_direction_gives_zeros() {
        for data in [[0.0, 0.0], [f32::NAN, 1.0]] {
            let mut out = [f32::NAN; 2];
            Pooling::Mean.pool(View { data: &data, stride: 2, m: 1, k: 2 }, &mut out);
            assert_eq!(out, [0.0; 2]);
        }
    }
}
