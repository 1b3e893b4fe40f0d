//! A sparse row of counts in the making.

use crate::collections::ones;
use crate::error::{Error, Result};

/// The norm that the values of a row are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// Their Euclidean length.
    L2,
    /// The sum of their sizes.
    L1,
    /// Nothing.
    None,
}

impl Norm {
    /// `l2`, `l1` or `none`.
    ///
    /// # Errors
    /// [`Error::Name`] for another name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "l2" => Ok(Self::L2),
            "l1" => Ok(Self::L1),
            "none" => Ok(Self::None),
            _ => Err(Error::Name { what: "norm", wanted: "l2, l1, none".to_owned(), got: name.to_owned() }),
        }
    }
}

/// The weighting that turns counts into values.
#[derive(Clone, Copy, Debug)]
pub struct Weighting {
    /// The norm that rows are divided by.
    pub norm: Norm,
    /// True if a count of `n` is worth `1 + ln(n)`.
    pub sublinear: bool,
}

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

    /// Write the columns in ascending order, and their weighted counts; return how many there were. The row is empty
    /// again.
    pub(super) fn drain(
        &mut self,
        (weighting, weights): (Weighting, &[f64]),
        data: &mut [f64],
        columns: &mut [i32],
    ) -> usize {
        let (mut n, mut square) = (0, 0.0);
        for (top, bits) in self.tops.iter_mut().enumerate() {
            for word in ones(std::mem::take(bits)) {
                let word = 64 * top + word;
                for bit in ones(std::mem::take(&mut self.words[word])) {
                    let column = 64 * word + bit;
                    let count = f64::from(std::mem::take(&mut self.counts[column]));
                    let count = if weighting.sublinear { 1.0 + count.ln() } else { count };
                    let value = count * weights[column];
                    data[n] = value;
                    columns[n] = column as i32;
                    square += value * value;
                    n += 1;
                }
            }
        }
        let length = match weighting.norm {
            Norm::L2 => square.sqrt(),
            Norm::L1 => data[..n].iter().map(|value| value.abs()).sum(),
            Norm::None => return n,
        };
        if length > 0.0 {
            data[..n].iter_mut().for_each(|value| *value /= length);
        }
        n
    }
}
