//! The words of each slot, compact, and how long it is.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use crate::arrays::{Array, ArrayFile, ArrayWriter, Source};
use crate::collections::push_numbers;
use crate::error::Result;

/// By slot its words' numbers, ascending, each as often as it occurs.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    units: Array<u16>,
    slots: Array<Slot>,
}

/// The record of a slot, in one place: a second place would be a second wait for memory.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Slot {
    /// The end of its units.
    end: u64,
    /// Its trigrams, each as often as it occurs.
    trigrams: u64,
}

impl Lists {
    /// The slots in a file.
    pub(super) fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        Ok(Self { units: file.column(&format!("{prefix}numbers"))?, slots: file.column(&format!("{prefix}slots"))? })
    }

    /// Write the slots of both, one after the other, as columns of a file.
    pub(super) fn write(&self, more: &Self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        to.begin::<u16>(&format!("{prefix}numbers"))?;
        to.put(&self.units)?;
        to.put(&more.units)?;
        to.begin::<Slot>(&format!("{prefix}slots"))?;
        to.put(&self.slots)?;
        to.put(&moved(&more.slots, self.units.len()))
    }

    /// The file's bytes that they lie in, if any.
    pub(super) fn source(&self) -> Option<&Arc<Source>> {
        self.units.source()
    }

    /// The number of slots.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Add a slot: ascending numbers of words, and how many trigrams these have.
    pub(super) fn push(&mut self, numbers: &[u32], trigrams: u64) {
        let units = self.units.to_mut();
        push_numbers(units, numbers.iter().copied());
        self.slots.to_mut().push(Slot { end: units.len() as u64, trigrams });
    }

    /// Add the slots of others, in their order.
    pub(super) fn extend(&mut self, others: &Self) {
        self.slots.extend(&moved(&others.slots, self.units.len()));
        self.units.extend(&others.units);
    }

    /// The numbers of a slot, as they are kept, and its number of trigrams; None beyond the last slot.
    pub(super) fn get(&self, slot: usize) -> Option<(&[u16], u64)> {
        let slots = &*self.slots;
        let Slot { end, trigrams } = *slots.get(slot)?;
        let start = if slot == 0 { 0 } else { slots[slot - 1].end };
        let units = self.units.get(start as usize..end as usize).unwrap_or_else(|| {
            self.slots.spoil();
            &[]
        });
        Some((units, trigrams))
    }

    pub(super) fn owned_bytes(&self) -> usize {
        self.units.owned_bytes() + self.slots.owned_bytes()
    }
}

/// The slots with their units moved by an offset.
fn moved(slots: &[Slot], offset: usize) -> Vec<Slot> {
    slots.iter().map(|slot| Slot { end: slot.end.wrapping_add(offset as u64), ..*slot }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collections::for_each_number;

    #[test]
    fn slots_come_back() {
        let slots: [(&[u32], u64); 4] = [
            (&[0, 1, 1, 1, 32_768, 65_536, 65_537, 70_000_000, u32::MAX], 7),
            (&[], 0),
            (&[0], 1),
            (&[1 << 31, 1 << 31], 3),
        ];
        let (mut lists, mut more) = (Lists::default(), Lists::default());
        slots.iter().for_each(|&(numbers, trigrams)| lists.push(numbers, trigrams));
        more.extend(&lists);
        more.extend(&lists);
        assert_eq!((lists.len(), more.len()), (4, 8));
        for (slot, wanted) in slots.iter().chain(&slots).enumerate() {
            let (units, trigrams) = more.get(slot).unwrap();
            let mut numbers = Vec::new();
            for_each_number(units, |number| numbers.push(number));
            assert_eq!((&*numbers, trigrams), *wanted);
        }
        assert!(lists.get(4).is_none());
    }
}
