//! Products of nibbles and bytes without intrinsics.

use super::line::{At, Line};
use super::quantise::CodedQuery;

/// As `Kernel::products`.
pub(super) fn products(query: &CodedQuery, plane: &[Line], at: At<'_>, out: &mut [i32]) {
    let (pairs, _) = query.lines.as_chunks::<2>();
    for (j, out) in out.iter_mut().enumerate() {
        let row = &plane[at.row(j) * pairs.len()..][..pairs.len()];
        *out = row.iter().zip(pairs).map(|(x, q)| product(x, q)).sum::<i32>();
    }
}

fn product(row: &Line, [even, odd]: &[Line; 2]) -> i32 {
    // Products of these numbers fit 16 bits, which lets a compiler use the 16-bit multiply-and-add of old machines.
    let nibbles = row.0.iter().map(|&x| (i32::from(x & 15), i32::from(x >> 4)));
    let queries = even.0.iter().zip(&odd.0).map(|(&e, &o)| (i32::from(e as i8), i32::from(o as i8)));
    nibbles.zip(queries).map(|((low, high), (even, odd))| low * even + high * odd).sum()
}
