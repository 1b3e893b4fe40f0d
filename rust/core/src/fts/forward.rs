//! The terms of each slot, compact: ascending numbers as differences in bytes.

use crate::arrays::{Array, ArrayFile, ArrayWriter, part, part_of};
use crate::collections::{numbers, push_numbers};
use crate::error::Result;

/// Lists of ascending numbers, append-only: those of a file, then those added since.
#[derive(Clone, Debug, Default)]
pub(super) struct Forward {
    base_bytes: Array<u8>,
    base_ends: Array<u64>,
    bytes: Vec<u8>,
    ends: Vec<u64>,
}

impl Forward {
    /// The lists in a file.
    pub(super) fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        let base_bytes = file.column(&format!("{prefix}forward"))?;
        let base_ends = file.column(&format!("{prefix}forward_ends"))?;
        Ok(Self { base_bytes, base_ends, ..Self::default() })
    }

    /// Write all lists as columns of a file.
    pub(super) fn write(&self, to: &mut ArrayWriter, name: impl Fn(&str) -> String) -> Result<()> {
        to.begin::<u8>(&name("forward"))?;
        to.put(&self.base_bytes)?;
        to.put(&self.bytes)?;
        to.begin::<u64>(&name("forward_ends"))?;
        to.put(&self.base_ends)?;
        let moved: Vec<u64> = self.ends.iter().map(|end| end + self.base_bytes.len() as u64).collect();
        to.put(&moved)
    }

    /// The number of lists.
    pub(super) fn len(&self) -> usize {
        self.base_ends.len() + self.ends.len()
    }

    /// Add a list of ascending numbers.
    pub(super) fn push(&mut self, numbers: impl Iterator<Item = u32>) {
        push_numbers(&mut self.bytes, numbers);
        self.ends.push(self.bytes.len() as u64);
    }

    /// The numbers of a list.
    pub(super) fn get(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        let bytes = match list.checked_sub(self.base_ends.len()) {
            None => part_of(&self.base_bytes, &self.base_ends, list as u32),
            Some(list) => part(&self.bytes, &self.ends, list as u32),
        };
        numbers(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::Forward;

    #[test]
    fn lists_come_back() {
        let lists: [&[u32]; 4] = [&[0, 1, 127, 128, 300, 70_000, u32::MAX], &[], &[0], &[1 << 31]];
        let mut forward = Forward::default();
        lists.iter().for_each(|list| forward.push(list.iter().copied()));
        assert_eq!(forward.len(), 4);
        for (i, list) in lists.iter().enumerate() {
            assert_eq!(forward.get(i).collect::<Vec<_>>(), *list);
        }
    }
}
