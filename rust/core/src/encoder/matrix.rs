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
    /// The matrix whose columns are the rows of `view`: a weight as it is stored, the queries of an attention.
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

    /// The panels, each with the number of its columns that belong to the matrix.
    pub(super) fn panels(&self) -> impl Iterator<Item = (&[Line], usize)> {
        let widths = (0..self.n).step_by(WIDTH).map(|first| WIDTH.min(self.n - first));
        self.lines.chunks_exact(self.k.max(1)).zip(widths)
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
        self.resize(view.m, view.k, kernel);
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

    /// Lay out the transposed of `view` likewise: its columns are the rows.
    pub(super) fn fill_transposed(&mut self, view: View<'_>, kernel: Kernel) {
        self.resize(view.k, view.m, kernel);
        for edge in self.edges.windows(2) {
            let strip = &mut self.data[edge[0] * view.m..edge[1] * view.m];
            for (i, column) in strip.chunks_exact_mut((edge[1] - edge[0]).max(1)).enumerate() {
                column.copy_from_slice(&view.row(i)[edge[0]..edge[1]]);
            }
        }
    }

    /// Multiply by one panel, which `fetch` asks of memory early: hand over the first row of each strip and the lines of its product.
    pub(super) fn multiply(&self, kernel: Kernel, panel: &[Line], fetch: bool, mut take: impl FnMut(usize, &[Line])) {
        let mut tile = [Line::ZERO; MOST_ROWS];
        for edge in self.edges.windows(2) {
            let tile = &mut tile[..edge[1] - edge[0]];
            kernel.tile(&self.data[edge[0] * self.k..edge[1] * self.k], panel, fetch && edge[0] == 0, tile);
            take(edge[0], tile);
        }
    }

    fn resize(&mut self, m: usize, k: usize, kernel: Kernel) {
        let count = m.div_ceil(kernel.rows());
        self.k = k;
        self.edges.clear();
        self.edges.extend((0..=count).map(|i| i * m / count.max(1)));
        self.data.resize(m * k, 0.0);
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
    for ((panel, width), first) in b.panels().zip((0..).step_by(WIDTH)) {
        a.multiply(kernel, panel, true, |start, lines| {
            for (row, line) in (start..).zip(lines) {
                take(row, first, &line.0[..width]);
            }
        });
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
    fn strips_of_a_transposed_matrix_are_those_of_the_matrix_itself() {
        let data = numbers(40 * 37, 3);
        let turned: Vec<f32> = (0..40 * 37).map(|at| data[at % 37 * 40 + at / 37]).collect();
        for kernel in Level::available().iter().map(|&level| Kernel::of(level)) {
            let (mut strips, mut transposed) = (Strips::default(), Strips::default());
            strips.fill(View { data: &data, stride: 40, m: 37, k: 40 }, kernel);
            transposed.fill_transposed(View { data: &turned, stride: 37, m: 40, k: 37 }, kernel);
            assert_eq!((strips.data, strips.edges, strips.k), (transposed.data, transposed.edges, transposed.k));
        }
    }
}
