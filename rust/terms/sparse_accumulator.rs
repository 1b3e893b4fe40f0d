//! A sparse row of counts in the making.

use crate::collections::ones;

/// Counts by column. Which columns have one is kept in bits, and which words of bits are not 0 in bits again, so that
/// the columns come out in order without being sorted.
#[derive(Debug)]
pub(super) struct SparseAccumulator {
    counts: Vec<u32>,
    words: Vec<u64>,
    tops: Vec<u64>,
}

impl SparseAccumulator {
    pub(super) fn new(columns: usize) -> Self {
        let words = columns.div_ceil(64);
        Self { counts: vec![0; columns], words: vec![0; words], tops: vec![0; words.div_ceil(64)] }
    }

    #[inline]
    pub(super) fn add(&mut self, column: u32, count: u32) {
        let column = column as usize;
        self.counts[column] += count;
        self.words[column / 64] |= 1 << (column % 64);
        self.tops[column / 4096] |= 1 << (column / 64 % 64);
    }

    /// Write the columns in ascending order, and the counts times `weights`, scaled to length 1; return how many there
    /// were. The row is empty again.
    pub(super) fn drain(&mut self, weights: &[f64], data: &mut [f64], columns: &mut [i32]) -> usize {
        let (mut n, mut square) = (0, 0.0);
        for (top, bits) in self.tops.iter_mut().enumerate() {
            for word in ones(std::mem::take(bits)) {
                let word = 64 * top + word;
                for bit in ones(std::mem::take(&mut self.words[word])) {
                    let column = 64 * word + bit;
                    let value = f64::from(std::mem::take(&mut self.counts[column])) * weights[column];
                    data[n] = value;
                    columns[n] = column as i32;
                    square += value * value;
                    n += 1;
                }
            }
        }
        let length = square.sqrt();
        data[..n].iter_mut().for_each(|value| *value /= length);
        n
    }
}
