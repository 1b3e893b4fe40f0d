//! The terms of texts, by slot.

use super::counting::Piece;
use crate::error::{Error, Result};

/// By slot the text's term numbers, ascending, each as often as it occurs.
#[derive(Debug, Default)]
pub(super) struct Slots {
    pub(super) terms: Vec<u32>,
    pub(super) ends: Vec<usize>,
}

impl Slots {
    /// The texts of one piece.
    pub(super) fn of(piece: &Piece, number: impl Fn(u32) -> u32) -> Self {
        let (mut slots, mut start) = (Self::default(), 0);
        for &end in &piece.ends {
            let from = slots.terms.len();
            for counted in &piece.terms[start..end] {
                slots.terms.extend(std::iter::repeat_n(number(counted.term), counted.count as usize));
            }
            slots.terms[from..].sort_unstable();
            slots.ends.push(slots.terms.len());
            start = end;
        }
        slots
    }

    pub(super) fn append(&mut self, other: &Self) {
        let offset = self.terms.len();
        self.terms.extend_from_slice(&other.terms);
        self.ends.extend(other.ends.iter().map(|end| offset + end));
    }

    pub(super) fn get(&self, slot: usize) -> &[u32] {
        let start = if slot == 0 { 0 } else { self.ends[slot - 1] };
        &self.terms[start..self.ends[slot]]
    }

    pub(super) fn check(&self, slot: i64) -> Result<usize> {
        match usize::try_from(slot) {
            Ok(i) if i < self.ends.len() => Ok(i),
            _ => Err(Error::OutOfRange { what: "slot", index: slot, len: self.ends.len() }),
        }
    }

    /// Fail for a slot out of range or listed twice.
    pub(super) fn check_all(&self, slots: &[i64]) -> Result<()> {
        for &slot in slots {
            self.check(slot)?;
        }
        let mut sorted = slots.to_vec();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::Repeated { slot: pair[0] }),
            None => Ok(()),
        }
    }
}

/// The distinct terms of an ascending list, with how often each occurs.
pub(super) fn counts(terms: &[u32]) -> impl Iterator<Item = (u32, usize)> + '_ {
    terms.chunk_by(|a, b| a == b).map(|run| (run[0], run.len()))
}
