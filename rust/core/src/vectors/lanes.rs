//! The bodies of the float64 kernels: plain Rust in eight lanes. Every level's file inlines them, to be compiled for its
//! instructions; each level rounds alike.

const LANES: usize = 8;

/// The body of `Level::dot` and of [`super::dot()`].
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

/// The body of [`super::square_distance`].
#[inline(always)]
pub(super) fn square_distance_in_lanes(a: &[f32], b: &[f32]) -> f64 {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let mut sums = [0.0_f64; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            let far = f64::from(x[lane]) - f64::from(y[lane]);
            sums[lane] += far * far;
        }
    }
    for (sum, (&x, &y)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        let far = f64::from(x) - f64::from(y);
        *sum += far * far;
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

/// The body of `Level::cosine`.
#[inline(always)]
pub(super) fn cosine_in_lanes(query: &[f64], row: &[f32], query_square: f64) -> f64 {
    let (mut products, mut squares) = ([0.0_f64; LANES], [0.0_f64; LANES]);
    let (q_blocks, q_rest) = query.as_chunks::<LANES>();
    let (x_blocks, x_rest) = row.as_chunks::<LANES>();
    for (q, x) in q_blocks.iter().zip(x_blocks) {
        for lane in 0..LANES {
            let value = f64::from(x[lane]);
            products[lane] += q[lane] * value;
            squares[lane] += value * value;
        }
    }
    for (lane, (&q, &x)) in q_rest.iter().zip(x_rest).enumerate() {
        let value = f64::from(x);
        products[lane] += q * value;
        squares[lane] += value * value;
    }
    let square: f64 = squares.iter().sum();
    if square > 0.0 { products.iter().sum::<f64>() / (query_square.sqrt() * square.sqrt()) } else { 0.0 }
}
