//! Items that lie one part after the other, and where each part ends.

use std::ops::Range;

use bytemuck::Pod;

use super::array::Array;

/// Part `i` of the items; nothing where the ends lead outside, as those of a file that was tampered with may.
pub fn part<'a, T>(items: &'a [T], ends: &[u64], i: u32) -> &'a [T] {
    items.get(range(ends, i as usize)).unwrap_or(&[])
}

/// The same of arrays; ends that lead outside spoil their file. None for a part beyond the last.
pub fn part_of<'a, T: Pod>(items: &'a Array<T>, ends: &Array<u64>, i: u32) -> &'a [T] {
    if i as usize >= ends.len() {
        return &[];
    }
    items.get(range(ends, i as usize)).unwrap_or_else(|| {
        ends.spoil();
        &[]
    })
}

fn range(ends: &[u64], i: usize) -> Range<usize> {
    let end = |i: usize| ends.get(i).map_or(0, |&end| end as usize);
    if i == 0 { 0..end(0) } else { end(i - 1)..end(i) }
}

/// The ends of parts in the making.
#[derive(Debug, Default)]
pub struct Ends(Vec<u64>, u64);

impl Ends {
    /// Add `items` items to the current part.
    pub fn grow(&mut self, items: usize) {
        self.1 += items as u64;
    }

    /// End the part at hand.
    pub fn end(&mut self) {
        self.0.push(self.1);
    }

    /// The ends so far.
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }
}
