//! Matrices in blocks, laid out for the tile kernels, and their product.

use super::codes::CodedWeights;
use super::kernel::Kernel;
use super::{BLOCK, Block, Part, TILE_ROWS};
use crate::encoder::line::{Line, WIDTH};
use crate::encoder::matrix::View;

/// A weight `(n, k)` as panels of [`WIDTH`] of its rows, each `k / BLOCK` blocks long.
pub(in super::super) struct Panels {
    blocks: Vec<Block>,
    k: usize,
    n: usize,
}

impl Panels {
    /// Lay out a weight that was checked.
    pub(in super::super) fn new(weight: &CodedWeights<'_>, kernel: Kernel) -> Self {
        let (n, k) = (weight.n(), weight.k());
        let length = k / BLOCK;
        let mut blocks = vec![Block::NONE; length * n.div_ceil(WIDTH)];
        for row in 0..n {
            let panel = &mut blocks[row / WIDTH * length..][..length];
            let codes = weight.codes[row * k..][..k].as_chunks::<BLOCK>().0;
            for ((block, codes), &scale) in panel.iter_mut().zip(codes).zip(weight.scales.row(row)) {
                block.scales[row % WIDTH] = scale;
                for (i, &code) in codes.iter().enumerate() {
                    let (at, byte) = kernel.place(row % WIDTH, i % 4, code);
                    block.codes[i / 4][at] = byte;
                }
            }
        }
        Self { blocks, k, n }
    }
}

/// The left side of a product: strips of a few rows in blocks, the first block of each row, then the second.
#[derive(Default)]
pub(in super::super) struct Strips {
    parts: Vec<Part>,
    /// The rows before each strip, and all of them.
    edges: Vec<usize>,
    k: usize,
}

impl Strips {
    /// Code the rows of `view`, in strips of equal height, up to one row, as high as the kernel takes.
    pub(in super::super) fn fill(&mut self, view: View<'_>, kernel: Kernel) {
        let (count, length) = (view.m.div_ceil(kernel.rows()), view.k / BLOCK);
        self.k = view.k;
        self.edges.clear();
        self.edges.extend((0..=count).map(|i| i * view.m / count.max(1)));
        self.parts.resize(view.m * length, Part::ZERO);
        for edge in self.edges.windows(2) {
            let strip = &mut self.parts[edge[0] * length..edge[1] * length];
            for row in edge[0]..edge[1] {
                kernel.code(view.row(row), &mut strip[row - edge[0]..], edge[1] - edge[0]);
            }
        }
    }
}

/// Multiply `a (m, k)` by the transposed of a weight `(n, k)` and hand over the product in pieces: row, first column,
/// values.
///
/// # Panics
/// If the inner lengths differ.
pub(in super::super) fn multiply(kernel: Kernel, a: &Strips, b: &Panels, mut take: impl FnMut(usize, usize, &[f32])) {
    assert_eq!(a.k, b.k);
    let mut tile = [Line::ZERO; TILE_ROWS];
    let length = b.k / BLOCK;
    for (panel, first) in b.blocks.chunks_exact(length.max(1)).zip((0..b.n).step_by(WIDTH)) {
        let width = WIDTH.min(b.n - first);
        for edge in a.edges.windows(2) {
            let tile = &mut tile[..edge[1] - edge[0]];
            kernel.tile(&a.parts[edge[0] * length..edge[1] * length], panel, edge[0] == 0, tile);
            for (row, line) in (edge[0]..).zip(tile.iter()) {
                take(row, first, &line.0[..width]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::code_weights;
    use super::super::codes::code_in_lanes;
    use super::*;
    use crate::vectors::{Level, Rows};

    /// A weight with everything between its extremes, or at them.
    struct Weight {
        codes: Vec<i8>,
        scales: Vec<f32>,
        n: usize,
    }

    impl Weight {
        fn of(n: usize, k: usize, code: impl Fn(usize) -> i8) -> Self {
            let scales = (0..n * k / BLOCK).map(|i| (i as f32 * 0.7).sin()).collect();
            Self { codes: (0..n * k).map(code).collect(), scales, n }
        }

        fn borrowed(&self) -> CodedWeights<'_> {
            let scales = Rows::new(&self.scales, self.n, self.scales.len() / self.n).unwrap();
            CodedWeights { codes: &self.codes, scales }
        }
    }

    /// The product by its definition: integers in each block, scaled and added up in the order of blocks.
    fn exact(row: &[f32], weight: &CodedWeights<'_>, column: usize) -> f32 {
        let mut parts = vec![Part::ZERO; row.len() / BLOCK];
        code_in_lanes(row, &mut parts, 1);
        let mut sum = 0.0_f32;
        for (b, part) in parts.iter().enumerate() {
            let codes = &weight.codes[column * row.len() + b * BLOCK..][..BLOCK];
            let products = part.codes.iter().zip(codes).map(|(&a, &w)| i64::from(a) * i64::from(w));
            let whole = products.sum::<i64>() as f32;
            sum = fused(whole, weight.scales.row(column)[b] * part.scale, sum);
        }
        sum
    }

    /// `a * b + c`, rounded once, which `mul_add` is not on Windows with mingw's library. The double that the exact sum
    /// is rounded to has an odd last bit unless it is exact, so that rounding it again is right.
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
        let sum = product + c;
        let of_c = sum - product;
        let rest = (product - (sum - of_c)) + (c - of_c);
        let bits = sum.to_bits();
        let odd = match rest {
            0.0 => bits,
            _ if bits & 1 == 1 => bits,
            _ if (rest > 0.0) == (sum > 0.0) => bits + 1,
            _ => bits - 1,
        };
        f64::from_bits(odd) as f32
    }

    fn product(kernel: Kernel, rows: &[f32], m: usize, k: usize, weight: &CodedWeights<'_>) -> Vec<f32> {
        let mut strips = Strips::default();
        strips.fill(View { data: rows, stride: k, m, k }, kernel);
        let mut out = vec![f32::NAN; m * weight.n()];
        multiply(kernel, &strips, &Panels::new(weight, kernel), |i, j, values| {
            out[i * weight.n() + j..][..values.len()].copy_from_slice(values);
        });
        out
    }

    fn kernels() -> impl Iterator<Item = Kernel> {
        Level::available().iter().filter_map(|&level| Kernel::of(level))
    }

    fn assert_exact(rows: &[f32], m: usize, k: usize, weight: &CodedWeights<'_>) {
        let wanted: Vec<u32> = (0..m * weight.n())
            .map(|at| exact(&rows[at / weight.n() * k..][..k], weight, at % weight.n()).to_bits())
            .collect();
        for kernel in kernels() {
            let found: Vec<u32> = product(kernel, rows, m, k, weight).iter().map(|x| x.to_bits()).collect();
            assert_eq!(found, wanted, "{kernel:?} {m} {k} {}", weight.n());
        }
    }

    #[test]
    fn every_level_multiplies_to_the_last_bit_of_the_definition() {
        for (m, blocks, n) in [(1, 1, 1), (2, 3, 33), (6, 2, 64), (7, 12, 32), (8, 5, 31), (29, 3, 70), (43, 1, 100)] {
            let k = blocks * BLOCK;
            let rows: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.37).sin() * (1 + i % 9) as f32).collect();
            let weight = Weight::of(n, k, |i| (i * 37 % 256) as i8);
            assert_exact(&rows, m, k, &weight.borrowed());
        }
    }

    #[test]
    fn no_sum_saturates_at_the_extremes() {
        for (row, code) in [(1.0, -128), (-1.0, -128), (1.0, 127), (-1.0, 127)] {
            let weight = Weight::of(40, 2 * BLOCK, |_| code);
            assert_exact(&[row; 9 * 2 * BLOCK], 9, 2 * BLOCK, &weight.borrowed());
        }
        let weight = Weight::of(33, BLOCK, |i| if i % 2 == 0 { 127 } else { -128 });
        let rows: Vec<f32> = (0..5 * BLOCK).map(|i| if i % 3 == 0 { 2.5 } else { -2.5 }).collect();
        assert_exact(&rows, 5, BLOCK, &weight.borrowed());
    }

    #[test]
    fn weights_of_four_bits_are_multiplied_as_well() {
        let weight = Weight::of(50, 4 * BLOCK, |i| (i * 7 % 16) as i8 - 8);
        let rows: Vec<f32> = (0..11 * 4 * BLOCK).map(|i| (i as f32 * 0.11).cos()).collect();
        assert_exact(&rows, 11, 4 * BLOCK, &weight.borrowed());
    }

    #[test]
    fn a_row_is_the_same_alone() {
        let (m, k, n) = (23, 3 * BLOCK, 45);
        let rows: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.9).sin()).collect();
        let weight = Weight::of(n, k, |i| (i * 31 % 256) as i8);
        for kernel in kernels() {
            let together = product(kernel, &rows, m, k, &weight.borrowed());
            for i in 0..m {
                let alone = product(kernel, &rows[i * k..][..k], 1, k, &weight.borrowed());
                assert_eq!(alone, &together[i * n..][..n], "{kernel:?} {i}");
            }
        }
    }

    #[test]
    fn a_coded_product_is_near_the_one_in_float32() {
        let (m, k, n) = (9, 12 * BLOCK, 40);
        let numbers = |count: usize, step: f32| (0..count).map(|i| (i as f32 * step).sin()).collect::<Vec<f32>>();
        let (rows, weight) = (numbers(m * k, 0.37), numbers(n * k, 1.91));
        let (codes, scales) = code_weights(Rows::new(&weight, n, k).unwrap()).unwrap();
        let scales = Rows::new(&scales, n, k / BLOCK).unwrap();
        let coded = CodedWeights { codes: &codes, scales };
        for (at, x) in kernels().flat_map(|kernel| product(kernel, &rows, m, k, &coded).into_iter().enumerate()) {
            let wanted = crate::vectors::dot(&rows[at / n * k..][..k], &weight[at % n * k..][..k]);
            // The errors of single numbers, at most half a step each, cancel out as those of chance do.
            assert!((f64::from(x) - wanted).abs() < 0.012 * (k as f64).sqrt(), "{at} {x} {wanted}");
        }
    }

    #[test]
    fn a_row_that_is_no_number_spoils_itself_alone() {
        let weight = Weight::of(40, BLOCK, |i| (i % 100) as i8 - 50);
        let mut rows = [1.0; 3 * BLOCK];
        rows[BLOCK] = f32::NAN;
        for kernel in kernels() {
            let values = product(kernel, &rows, 3, BLOCK, &weight.borrowed());
            for (i, x) in values.iter().enumerate() {
                assert_eq!(x.is_nan(), i / 40 == 1, "{kernel:?} {i}");
            }
        }
    }
}
