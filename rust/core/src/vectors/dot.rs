//! Dot products and distances in float64, in one fixed order: the truth that every float32 scan is brought back to.

use super::lanes::{dot_in_lanes, square_distance_in_lanes};

/// Return the float64 dot product of two float32 vectors of equal length (the shorter counts).
///
/// A product of two float32 numbers is exact in float64. Component `i` is added to partial sum `i mod 8`, in ascending
/// order, and the eight sums are added as `((0+4)+(2+6)) + ((1+5)+(3+7))`; so every level gives the same double.
pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    dot_in_lanes(a, b)
}

/// Return the squared Euclidean distance of two float32 vectors of equal length (the shorter counts).
///
/// Differences and their squares are taken in float64 and added in the order of [`dot()`].
pub fn square_distance(a: &[f32], b: &[f32]) -> f64 {
    square_distance_in_lanes(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::Level;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::seeded(256))]
        #[test]
        fn every_level_gives_the_same_double(pairs in prop::collection::vec((-1e3_f32..1e3, -1e3_f32..1e3), 0..70)) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let plain: f64 = a.iter().zip(&b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
            prop_assert!((dot(&a, &b) - plain).abs() <= 1e-6);
            for level in Level::available() {
                prop_assert_eq!(level.dot(&a, &b).to_bits(), dot(&a, &b).to_bits());
            }
        }
    }
}
