//! The tile kernel in plain Rust: four rows, eight columns at a time, which any compiler keeps in registers.

use super::line::Line;

/// Rows at once.
pub(super) const ROWS: usize = 4;
const COLUMNS: usize = 8;

/// As `Kernel::tile`.
pub(super) fn tile(strip: &[f32], panel: &[Line], out: &mut [Line]) {
    match out.len() {
        1 => rows::<1>(strip, panel, out),
        2 => rows::<2>(strip, panel, out),
        3 => rows::<3>(strip, panel, out),
        _ => rows::<ROWS>(strip, panel, out),
    }
}

fn rows<const M: usize>(strip: &[f32], panel: &[Line], out: &mut [Line]) {
    for part in 0..Line::ZERO.0.len() / COLUMNS {
        let mut sums = [[0.0_f32; COLUMNS]; M];
        for (x, line) in strip.as_chunks::<M>().0.iter().zip(panel) {
            let values = &line.0.as_chunks::<COLUMNS>().0[part];
            for i in 0..M {
                for j in 0..COLUMNS {
                    sums[i][j] += x[i] * values[j];
                }
            }
        }
        for (line, sums) in out.iter_mut().zip(sums) {
            line.0.as_chunks_mut::<COLUMNS>().0[part] = sums;
        }
    }
}
