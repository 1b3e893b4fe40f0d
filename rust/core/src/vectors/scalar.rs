//! The float32 scan without intrinsics: eight lanes that any compiler can vectorise.

use super::rows::Rows;

/// Partial sums per dot product.
pub(super) const LANES: usize = 8;

/// As `Level::scan`.
pub(super) fn scan(query: &[f32], rows: Rows<'_>, at: &[usize], dots: &mut [f32], squares: &mut [f32]) {
    assert_eq!(query.len(), rows.d());
    for ((&i, dot), square) in at.iter().zip(dots).zip(squares) {
        (*dot, *square) = dot_and_square(query, rows.row(i));
    }
}

fn dot_and_square(query: &[f32], row: &[f32]) -> (f32, f32) {
    let (mut dots, mut squares) = ([0.0_f32; LANES], [0.0_f32; LANES]);
    let (query_blocks, query_rest) = query.as_chunks::<LANES>();
    let (row_blocks, row_rest) = row.as_chunks::<LANES>();
    for (q, x) in query_blocks.iter().zip(row_blocks) {
        for lane in 0..LANES {
            dots[lane] += q[lane] * x[lane];
            squares[lane] += x[lane] * x[lane];
        }
    }
    for (lane, (&q, &x)) in query_rest.iter().zip(row_rest).enumerate() {
        dots[lane] += q * x;
        squares[lane] += x * x;
    }
    (reduce(dots), reduce(squares))
}

/// Add the lanes pairwise, in three steps.
fn reduce(s: [f32; LANES]) -> f32 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}
