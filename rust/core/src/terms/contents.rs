//! The contents of a term index: the texts of a file, the base, and those added since, the tail.

use std::sync::Arc;

use super::counting::Tally;
use super::token_lists::{TokenList, TokenLists};
use crate::arrays::{ArrayFile, ArrayWriter, Source};
use crate::collections::{Interner, Term};
use crate::error::{Error, Result};

/// A term without a number: which tally has it, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unknown<'t> {
    pub(super) term: Term<'t>,
    pub(super) tally: usize,
    pub(super) at: usize,
}

/// Terms by number, and the terms of texts by slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    names: Interner,
    base: TokenLists,
    tail: TokenLists,
}

impl Contents {
    pub(super) fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        let (names, base) = (Interner::open(file, prefix)?, TokenLists::open(file, prefix)?);
        if u32::try_from(base.len()).is_err() {
            return Err(Error::Damaged { what: "the number of slots" });
        }
        Ok(Self { names, base, ..Self::default() })
    }

    pub(super) fn write(&self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        self.names.write(to, prefix)?;
        self.base.write(&self.tail, to, prefix)
    }

    /// The file's bytes that the base lies in, if any.
    pub(super) fn source(&self) -> Option<&Arc<Source>> {
        self.base.source()
    }

    /// The number of slots.
    pub(super) fn len(&self) -> usize {
        self.base.len() + self.tail.len()
    }

    /// The number of terms.
    pub(super) fn terms(&self) -> usize {
        self.names.len()
    }

    /// The names of terms, by number.
    pub(super) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.names()
    }

    /// The number of a term, if it has one.
    pub(super) fn find(&self, term: Term<'_>) -> Option<u32> {
        self.names.find(term)
    }

    /// The number of a term that anybody may have named.
    pub(super) fn find_text(&self, text: &str) -> Option<u32> {
        self.find(Term::of_bytes(text.as_bytes())?)
    }

    /// The number of a term; a new one gets the next.
    pub(super) fn number(&mut self, term: Term<'_>) -> u32 {
        self.names.number(term)
    }

    /// The numbers of each tally's terms, and those that have none yet.
    pub(super) fn known<'t>(&self, tallies: &'t [Tally]) -> (Vec<Vec<u32>>, Vec<Unknown<'t>>) {
        let mut unknown = Vec::new();
        let mut numbers = Vec::with_capacity(tallies.len());
        for (number, tally) in tallies.iter().enumerate() {
            let known = tally.lexicon.terms().enumerate().map(|(at, term)| {
                self.find(term).unwrap_or_else(|| {
                    unknown.push(Unknown { term, tally: number, at });
                    0
                })
            });
            numbers.push(known.collect());
        }
        (numbers, unknown)
    }

    /// Add slots at the end.
    pub(super) fn extend(&mut self, more: &TokenLists) {
        self.tail.extend(more);
    }

    /// The terms of a slot.
    pub(super) fn get(&self, slot: i64) -> Result<TokenList<'_>> {
        self.check(slot)?;
        Ok(match (slot as usize).checked_sub(self.base.len()) {
            None => self.base.get(slot as u32),
            Some(slot) => self.tail.get(slot as u32),
        })
    }

    /// Fail for a slot out of range or listed twice.
    pub(super) fn check_all(&self, slots: &[i64]) -> Result<()> {
        slots.iter().try_for_each(|&slot| self.check(slot))?;
        let mut sorted = slots.to_vec();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::Repeated { slot: pair[0] }),
            None => Ok(()),
        }
    }

    fn check(&self, slot: i64) -> Result<()> {
        match usize::try_from(slot) {
            Ok(at) if at < self.len() => Ok(()),
            _ => Err(Error::OutOfRange { what: "slot", index: slot, len: self.len() }),
        }
    }

    /// The memory that the slots take; mapped pages do not count.
    pub(super) fn owned_bytes(&self) -> usize {
        self.base.owned_bytes() + self.tail.owned_bytes()
    }
}
