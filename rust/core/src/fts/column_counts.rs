//! The occurrences of a term in each column of a row. Few distinct tuples occur, so a posting holds the number of one.

use rustc_hash::FxHashMap;

use crate::arrays::{Array, ArrayWriter};
use crate::error::{Error, Result};

/// A file that says a term occurs more often in a row is not read: the weights of all occurrences are added one by one.
const MOST_COUNTED: u32 = 1 << 22;

/// The tuples seen so far, numbered; those of a single occurrence have their column's number.
#[derive(Clone, Debug)]
pub(super) struct ColumnCounts {
    columns: usize,
    /// Made when a number is first asked for: reading needs none.
    numbers: Option<FxHashMap<Box<[u32]>, u32>>,
    /// The tuples of a file in the order of their numbers.
    base: Array<u32>,
    /// Those that came later.
    counts: Vec<u32>,
}

impl ColumnCounts {
    pub(super) fn new(columns: usize) -> Self {
        let mut column_counts = Self { columns, numbers: None, base: Array::default(), counts: Vec::new() };
        for column in 0..columns {
            let once: Vec<u32> = (0..columns).map(|c| u32::from(c == column)).collect();
            column_counts.number(&once);
        }
        column_counts
    }

    /// The tuples of a file, `columns` counts each.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the single occurrences are not the first.
    pub(super) fn from_base(columns: usize, base: Array<u32>) -> Result<Self> {
        let first = Self::new(columns).counts;
        let few = base.iter().all(|&count| count <= MOST_COUNTED);
        if !base.len().is_multiple_of(columns) || !base.starts_with(&first) || !few {
            return Err(Error::Damaged { what: "the counts by column" });
        }
        Ok(Self { columns, numbers: None, base, counts: Vec::new() })
    }

    /// Write all tuples as one column of a file.
    pub(super) fn write(&self, to: &mut ArrayWriter, name: &str) -> Result<()> {
        to.begin::<u32>(name)?;
        to.put(&self.base)?;
        to.put(&self.counts)
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn len(&self) -> usize {
        (self.base.len() + self.counts.len()) / self.columns
    }

    /// The number of a tuple, a new one if it was not seen before.
    pub(super) fn number(&mut self, counts: &[u32]) -> u32 {
        let next = self.len() as u32;
        let numbers = self.numbers.get_or_insert_with(|| {
            let tuples = self.base.chunks(self.columns).chain(self.counts.chunks(self.columns));
            tuples.zip(0..).map(|(tuple, number)| (tuple.into(), number)).collect()
        });
        if let Some(&number) = numbers.get(counts) {
            return number;
        }
        numbers.insert(counts.into(), next);
        self.counts.extend_from_slice(counts);
        next
    }

    /// The tuple of a number; an empty one if there is none.
    pub(super) fn get(&self, number: u32) -> &[u32] {
        let start = number as usize * self.columns;
        let (from, start) = match start.checked_sub(self.base.len()) {
            None => (&*self.base, start),
            Some(start) => (&*self.counts, start),
        };
        from.get(start..start + self.columns).unwrap_or(&[])
    }

    /// The number of the tuple with the larger count of two in every column.
    pub(super) fn peak(&mut self, a: u32, b: u32) -> u32 {
        if a == b {
            return a;
        }
        let peak: Vec<u32> = self.get(a).iter().zip(self.get(b)).map(|(&a, &b)| a.max(b)).collect();
        self.number(&peak)
    }

    /// FTS5's weighted frequency: it adds the column's weight for one occurrence after another, which is more than a
    /// product where weights are no whole numbers.
    pub(super) fn frequency(&self, number: u32, weights: &[f64]) -> f64 {
        weighted(self.get(number), weights)
    }

    /// The frequency of several tuples, their occurrences taken together.
    pub(super) fn frequency_together(&self, numbers: impl Iterator<Item = u32>, weights: &[f64]) -> f64 {
        let mut counts = vec![0_u32; self.columns];
        for number in numbers {
            counts.iter_mut().zip(self.get(number)).for_each(|(sum, &count)| *sum = sum.saturating_add(count));
        }
        weighted(&counts, weights)
    }
}

pub(crate) fn weighted(counts: &[u32], weights: &[f64]) -> f64 {
    counts.iter().zip(weights).fold(0.0, |frequency, (&count, &weight)| add_times(frequency, weight, count))
}

fn add_times(start: f64, weight: f64, count: u32) -> f64 {
    if count == 0 {
        return start;
    }
    let whole = |x: f64| x.trunc() == x && x < f64::from(1 << 20);
    if whole(start) && whole(weight) {
        // Whole numbers this small add up without rounding.
        return start + weight * f64::from(count);
    }
    (0..count).fold(start, |sum, _| sum + weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_are_numbered() {
        let mut column_counts = ColumnCounts::new(2);
        assert_eq!(
            (column_counts.number(&[1, 0]), column_counts.number(&[0, 1]), column_counts.number(&[3, 1])),
            (0, 1, 2)
        );
        assert_eq!((column_counts.peak(0, 1), column_counts.peak(2, 1), column_counts.len()), (3, 2, 4));
        assert_eq!(column_counts.get(3), [1, 1]);
        assert_eq!(column_counts.frequency(2, &[10.0, 0.5]), 30.5);
    }

    #[test]
    fn weights_are_added_one_by_one() {
        let mut column_counts = ColumnCounts::new(1);
        let ten = column_counts.number(&[10]);
        assert_eq!(column_counts.frequency(ten, &[0.1]), 0.999_999_999_999_999_9);
        assert_eq!(column_counts.frequency(ten, &[3.0]), 30.0);
    }
}
