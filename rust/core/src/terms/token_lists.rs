//! The terms of texts, by slot.

use std::sync::Arc;

use super::counting::Piece;
use crate::arrays::{Array, ArrayFile, ArrayWriter, Source, part_of};
use crate::collections::{for_each_count, push_numbers};
use crate::error::Result;

/// By slot the text's term numbers, ascending, each as often as it occurs.
#[derive(Clone, Debug, Default)]
pub(super) struct TokenLists {
    units: Array<u16>,
    ends: Array<u64>,
}

impl TokenLists {
    /// The slots in a file.
    pub(super) fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        Ok(Self { units: file.column(&format!("{prefix}numbers"))?, ends: file.column(&format!("{prefix}ends"))? })
    }

    /// Write the slots of both, one after the other, as columns of a file.
    pub(super) fn write(&self, more: &Self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        to.begin::<u16>(&format!("{prefix}numbers"))?;
        to.put(&self.units)?;
        to.put(&more.units)?;
        to.begin::<u64>(&format!("{prefix}ends"))?;
        to.put(&self.ends)?;
        to.put(&moved(&more.ends, self.units.len()))
    }

    /// The texts of one piece.
    pub(super) fn of(piece: &Piece, number: impl Fn(u32) -> u32) -> Self {
        let (mut units, mut ends) = (Vec::with_capacity(piece.terms.len()), Vec::with_capacity(piece.ends.len()));
        let (mut numbers, mut start) = (Vec::new(), 0);
        for &end in &piece.ends {
            numbers.clear();
            for counted in &piece.terms[start..end] {
                numbers.extend(std::iter::repeat_n(number(counted.term), counted.count as usize));
            }
            numbers.sort_unstable();
            push_numbers(&mut units, numbers.iter().copied());
            ends.push(units.len() as u64);
            start = end;
        }
        Self { units: units.into(), ends: ends.into() }
    }

    /// Add the slots of others, in their order.
    pub(super) fn extend(&mut self, others: &Self) {
        self.ends.extend(&moved(&others.ends, self.units.len()));
        self.units.extend(&others.units);
    }

    /// The file's bytes that they lie in, if any.
    pub(super) fn source(&self) -> Option<&Arc<Source>> {
        self.units.source()
    }

    /// The number of slots.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The terms of a slot; none where a file that was tampered with says that they lie elsewhere.
    pub(super) fn get(&self, slot: u32) -> TokenList<'_> {
        TokenList(part_of(&self.units, &self.ends, slot))
    }

    /// The memory that they take; mapped pages do not count.
    pub(super) fn owned_bytes(&self) -> usize {
        self.units.owned_bytes() + self.ends.owned_bytes()
    }
}

/// The ends with their units moved by an offset.
fn moved(ends: &[u64], offset: usize) -> Vec<u64> {
    ends.iter().map(|end| end.wrapping_add(offset as u64)).collect()
}

/// The terms of one text, as they are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenList<'a>(&'a [u16]);

impl TokenList<'_> {
    /// Call `each` with the distinct terms, ascending, and how often each occurs.
    #[inline]
    pub(super) fn for_each(self, each: impl FnMut(u32, u32)) {
        for_each_count(self.0, each);
    }

    /// Ask memory for the terms.
    pub(super) fn fetch(self) {
        const LINE: usize = 32;
        std::hint::black_box(self.0.iter().step_by(LINE).fold(0, |all, unit| all | unit));
    }
}
