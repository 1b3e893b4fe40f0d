//! Dot products in float64, in one fixed order: the truth that every float32 scan is brought back to.

const LANES: usize = 8;

/// Return the float64 dot product of two float32 vectors of equal length (the shorter counts).
///
/// A product of two float32 numbers is exact in float64. Component `i` is added to partial sum `i mod 8`, in ascending
/// order, and the eight sums are added as `((0+4)+(2+6)) + ((1+5)+(3+7))`; so every level gives the same double.
pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    dot_in_lanes(a, b)
}

/// The body of [`dot`], inlined into every level's file to be compiled for its instructions.
#[inline(always)]
pub(super) fn dot_in_lanes(a: &[f32], b: &[f32]) -> f64 {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let mut sums = [0.0_f64; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += f64::from(x[lane]) * f64::from(y[lane]);
        }
    }
    for (sum, (&x, &y)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += f64::from(x) * f64::from(y);
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
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
