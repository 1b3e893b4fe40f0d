//! How often a term occurs in each column of a row. Few such tuples occur, so a posting holds a number for one.

use rustc_hash::FxHashMap;

/// The tuples seen so far, numbered; those of a single occurrence have their column's number.
#[derive(Debug)]
pub(super) struct Shapes {
    columns: usize,
    numbers: FxHashMap<Box<[u32]>, u32>,
    /// The tuples in the order of their numbers.
    counts: Vec<u32>,
}

impl Shapes {
    pub(super) fn new(columns: usize) -> Self {
        let mut shapes = Self { columns, numbers: FxHashMap::default(), counts: Vec::new() };
        for column in 0..columns {
            let once: Vec<u32> = (0..columns).map(|c| u32::from(c == column)).collect();
            shapes.number(&once);
        }
        shapes
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The number of a tuple, a new one if it was not seen before.
    pub(super) fn number(&mut self, counts: &[u32]) -> u32 {
        if let Some(&number) = self.numbers.get(counts) {
            return number;
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(counts.into(), number);
        self.counts.extend_from_slice(counts);
        number
    }

    pub(super) fn get(&self, number: u32) -> &[u32] {
        let start = number as usize * self.columns;
        &self.counts[start..start + self.columns]
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
        let mut frequency = 0.0;
        for (&count, &weight) in self.get(number).iter().zip(weights) {
            frequency = add_times(frequency, weight, count);
        }
        frequency
    }
}

fn add_times(start: f64, weight: f64, count: u32) -> f64 {
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
        let mut shapes = Shapes::new(2);
        assert_eq!((shapes.number(&[1, 0]), shapes.number(&[0, 1]), shapes.number(&[3, 1])), (0, 1, 2));
        assert_eq!((shapes.peak(0, 1), shapes.peak(2, 1), shapes.len()), (3, 2, 4));
        assert_eq!(shapes.get(3), [1, 1]);
        assert_eq!(shapes.frequency(2, &[10.0, 0.5]), 30.5);
    }

    #[test]
    fn weights_are_added_one_by_one() {
        let mut shapes = Shapes::new(1);
        let ten = shapes.number(&[10]);
        assert_eq!(shapes.frequency(ten, &[0.1]), 0.999_999_999_999_999_9);
        assert_eq!(shapes.frequency(ten, &[3.0]), 30.0);
    }
}
