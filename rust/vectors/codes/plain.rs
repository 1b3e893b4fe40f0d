//! Products of bytes without intrinsics.

use super::line::{At, Line};
use super::quantise::CodedQuery;

/// As `Kernel::products`.
pub(super) fn products(query: &CodedQuery, rows: &[Line], at: At<'_>, out: &mut [i32]) {
    let lines = query.lines.len();
    for (j, out) in out.iter_mut().enumerate() {
        let row = &rows[at.row(j) * lines..][..lines];
        *out = row.iter().zip(&query.lines).map(|(x, q)| product(x, q)).sum::<i32>() - query.offset;
    }
}

fn product(row: &Line, query: &Line) -> i32 {
    // Products of these bytes fit 16 bits, which lets a compiler use the 16-bit multiply-and-add of old machines.
    row.0.iter().zip(&query.0).map(|(&x, &q)| i32::from(x) * i32::from(q as i8)).sum()
}
