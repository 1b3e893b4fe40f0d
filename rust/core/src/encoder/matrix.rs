//! Matrices laid out for the tile kernels, and their product.

use super::kernel::Kernel;
use super::line::{Line, MOST_ROWS, WIDTH};
use crate::vectors::Rows;

/// Rows of float32 numbers that may lie apart: row `i` is `data[i * stride..][..k]`.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) data: &'a [f32],
    pub(super) stride: usize,
    pub(super) m: usize,
    pub(super) k: usize,
}

impl<'a> View<'a> {
    pub(super) fn of(rows: Rows<'a>) -> Self {
        Self { data: rows.data(), stride: rows.d(), m: rows.n(), k: rows.d() }
    }

    pub(super) fn row(self, i: usize) -> &'a [f32] {
        &self.data[i * self.stride..][..self.k]
    }
}

/// A matrix `(k, n)` as panels of [`WIDTH`] columns, each `k` lines long; columns beyond `n` are 0.
#[derive(Default)]
pub(super) struct Panels {
    lines: Vec<Line>,
    k: usize,
    n: usize,
}

impl Panels {
    /// The matrix whose columns are the rows of `view`: a weight as it is stored, the keys of an attention.
    pub(super) fn fill_transposed(&mut self, view: View<'_>) {
        self.resize(view.k, view.m);
        for (panel, first) in self.lines.chunks_exact_mut(view.k.max(1)).zip((0..view.m).step_by(WIDTH)) {
            for lane in 0..WIDTH.min(view.m - first) {
                for (line, &value) in panel.iter_mut().zip(view.row(first + lane)) {
                    line.0[lane] = value;
                }
            }
        }
    }

    /// The matrix whose rows are the rows of `view`: the values of an attention.
    pub(super) fn fill(&mut self, view: View<'_>) {
        self.resize(view.m, view.k);
        for (panel, first) in self.lines.chunks_exact_mut(view.m.max(1)).zip((0..view.k).step_by(WIDTH)) {
            let width = WIDTH.min(view.k - first);
            for (i, line) in panel.iter_mut().enumerate() {
                line.0[..width].copy_from_slice(&view.row(i)[first..first + width]);
            }
        }
    }

    fn resize(&mut self, k: usize, n: usize) {
        (self.k, self.n) = (k, n);
        self.lines.clear();
        self.lines.resize(k * n.div_ceil(WIDTH), Line::ZERO);
    }
}

/// The left side of a product: strips of a few rows, each column by column, so that a kernel reads it in one stream.
#[derive(Default)]
pub(super) struct Strips {
    data: Vec<f32>,
    /// The rows before each strip, and all of them.
    edges: Vec<usize>,
    k: usize,
}

impl Strips {
    /// Lay out the rows of `view` in strips of equal height, up to one row, as high as the kernel takes.
    pub(super) fn fill(&mut self, view: View<'_>, kernel: Kernel) {
        let count = view.m.div_ceil(kernel.rows());
        self.k = view.k;
        self.edges.clear();
        self.edges.extend((0..=count).map(|i| i * view.m / count.max(1)));
        self.data.resize(view.m * view.k, 0.0);
        for edge in self.edges.windows(2) {
            let height = edge[1] - edge[0];
            let strip = &mut self.data[edge[0] * view.k..edge[1] * view.k];
            for i in 0..height {
                for (column, &value) in strip.chunks_exact_mut(height).zip(view.row(edge[0] + i)) {
                    column[i] = value;
                }
            }
        }
    }
}

/// Multiply `a (m, k)` by `b (k, n)` and hand over the product in pieces: row, first column, values.
///
/// A number of the product is one sum in the order of `k`, whatever the other rows are; so a text's vector does not
/// depend on the texts beside it, to the last bit.
///
/// # Panics
/// If the inner lengths differ.
pub(super) fn multiply(kernel: Kernel, a: &Strips, b: &Panels, mut take: impl FnMut(usize, usize, &[f32])) {
    assert_eq!(a.k, b.k);
    let mut tile = [Line::ZERO; MOST_ROWS];
    for (panel, first) in b.lines.chunks_exact(b.k.max(1)).zip((0..b.n).step_by(WIDTH)) {
        let width = WIDTH.min(b.n - first);
        for edge in a.edges.windows(2) {
            let tile = &mut tile[..edge[1] - edge[0]];
            kernel.tile(&a.data[edge[0] * a.k..edge[1] * a.k], panel, edge[0] == 0, tile);
            for (row, line) in (edge[0]..).zip(tile.iter()) {
                take(row, first, &line.0[..width]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::Level;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 31 + seed * 17) as f32 * 0.37).sin()).collect()
    }

    #[test]
    fn every_level_multiplies_like_float64_and_each_row_alone() {
        for kernel in Level::available().iter().map(|&level| Kernel::of(level)) {
            for (m, k, n) in [(1, 1, 1), (3, 5, 33), (14, 40, 32), (15, 7, 31), (29, 64, 70), (43, 33, 1)] {
                let (left, right) = (numbers(m * k, 1), numbers(n * k, 2));
                let (mut strips, mut panels) = (Strips::default(), Panels::default());
                panels.fill_transposed(View { data: &right, stride: k, m: n, k });
                let mut product = vec![f32::NAN; m * n];
                strips.fill(View { data: &left, stride: k, m, k }, kernel);
                multiply(kernel, &strips, &panels, |i, j, values| {
                    product[i * n + j..][..values.len()].copy_from_slice(values);
                });
                for i in 0..m {
                    let row = &left[i * k..][..k];
                    for j in 0..n {
                        let exact = crate::vectors::dot(row, &right[j * k..][..k]);
                        assert!(
                            (f64::from(product[i * n + j]) - exact).abs() < 1e-6 * k as f64,
                            "{kernel:?} {m} {k} {n}"
                        );
                    }
                    strips.fill(View { data: row, stride: k, m: 1, k }, kernel);
                    multiply(kernel, &strips, &panels, |_, j, values| {
                        assert_eq!(values, &product[i * n + j..][..values.len()], "{kernel:?} {m} {k} {n}");
                    });
                }
            }
        }
    }

    #[test]
    fn a_matrix_filled_by_rows_is_the_transposed_of_one_filled_by_columns() {
        let data = numbers(40 * 37, 3);
        let turned: Vec<f32> = (0..40 * 37).map(|at| data[at % 37 * 40 + at / 37]).collect();
        let (mut rows, mut columns) = (Panels::default(), Panels::default());
        rows.fill(View { data: &data, stride: 40, m: 37, k: 40 });
        columns.fill_transposed(View { data: &turned, stride: 37, m: 40, k: 37 });
        assert_eq!((rows.k, rows.n), (37, 40));
        assert!(rows.lines.iter().zip(&columns.lines).all(|(a, b)| a.0 == b.0));
    }
}
