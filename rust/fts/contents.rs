//! The contents of a full-text index: postings of a file, the base, and those appended since, the tail.

use rustc_hash::FxHashMap;

use super::base::Base;
use super::forward::Forward;
use super::postings::{Details, Postings, Run};
use crate::error::{Error, Result};

pub(super) type Names = FxHashMap<Box<[u8]>, u32>;

/// What is known about the texts of all slots: those of a file, the base, and those added since, the tail.
#[derive(Clone, Debug)]
pub(super) struct Contents {
    base: Base,
    /// The terms that the base does not have; their numbers follow its own.
    names: Names,
    /// By term number, from the first that the base does not have.
    fresh: Vec<Postings>,
    /// What the tail adds to terms of the base.
    more: FxHashMap<u32, Postings>,
    pub(super) details: Details,
    /// By slot the numbers of its terms.
    pub(super) forward: Forward,
}

impl Contents {
    pub(super) fn over(base: Base, details: Details, forward: Forward) -> Self {
        Self { base, names: Names::default(), fresh: Vec::new(), more: FxHashMap::default(), details, forward }
    }

    /// The number of a term.
    pub(super) fn term(&self, name: &[u8]) -> Option<u32> {
        self.base.term(name).or_else(|| self.names.get(name).copied())
    }

    /// The number of terms.
    pub(super) fn terms(&self) -> usize {
        self.base.terms() + self.fresh.len()
    }

    /// The terms' names by number.
    pub(super) fn names(&self) -> Vec<&[u8]> {
        let mut names: Vec<&[u8]> = (0..self.base.terms() as u32).map(|term| self.base.name(term)).collect();
        names.resize(self.terms(), &[]);
        self.names.iter().for_each(|(name, &term)| names[term as usize] = name);
        names
    }

    /// The postings of a term: all slots of the second run come after those of the first.
    pub(super) fn runs(&self, term: u32) -> [Run<'_>; 2] {
        let tail = match (term as usize).checked_sub(self.base.terms()) {
            None => self.more.get(&term),
            Some(fresh) => self.fresh.get(fresh),
        };
        [self.base.run(term), tail.map_or(Run::default(), |postings| postings.run(&self.details))]
    }

    /// The first slot of the tail.
    pub(super) fn split(&self) -> usize {
        self.base.slots()
    }

    /// The number of a name, a new one if it was not seen before.
    pub(super) fn number(&mut self, name: Box<[u8]>) -> u32 {
        let next = (self.base.terms() + self.names.len()) as u32;
        self.base.term(&name).unwrap_or_else(|| *self.names.entry(name).or_insert(next))
    }

    /// Add a row: its terms with their columns, both ascending.
    pub(super) fn push(&mut self, occurrences: &[(u32, u32)]) {
        let details = &mut self.details;
        details.push(occurrences.len() as u32);
        let mut counts = vec![0; details.shapes.columns()];
        for run in occurrences.chunk_by(|a, b| a.0 == b.0) {
            let (term, column) = run[0];
            let shape = if run.len() == 1 {
                column
            } else {
                counts.fill(0);
                run.iter().for_each(|&(_, column)| counts[column as usize] += 1);
                details.shapes.number(&counts)
            };
            let tail = match (term as usize).checked_sub(self.base.terms()) {
                None => self.more.get_mut(&term),
                Some(fresh) => self.fresh.get_mut(fresh),
            };
            match tail {
                Some(postings) => postings.push(term, shape, details),
                None if (term as usize) < self.base.terms() => {
                    self.more.insert(term, Postings::new(term, shape, details));
                }
                None => self.fresh.push(Postings::new(term, shape, details)),
            }
        }
        self.forward.push(occurrences.chunk_by(|a, b| a.0 == b.0).map(|run| run[0].0));
    }

    /// A slot as an index.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub(super) fn check_slot(&self, slot: i64) -> Result<usize> {
        let len = self.forward.len();
        match usize::try_from(slot) {
            Ok(at) if at < len => Ok(at),
            _ => Err(Error::OutOfRange { what: "slot", index: slot, len }),
        }
    }
}
