//! The contents of a full-text index: postings of a file, the base, and those appended since, the tail.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::base::Base;
use super::forward::Forward;
use super::postings::{Details, Postings, Run};
use crate::arrays::Source;
use crate::collections::{Interner, Term};
use crate::error::{Error, Result};

/// The statistics of the texts of all slots: those of a file, the base, and those added since, the tail.
#[derive(Clone, Debug)]
pub(super) struct Contents {
    /// The terms by name.
    names: Interner,
    base: Base,
    /// By term number, from the first that the base does not have.
    fresh: Vec<Postings>,
    /// The postings that the tail adds to terms of the base.
    more: FxHashMap<u32, Postings>,
    pub(super) details: Details,
    /// By slot the numbers of its terms.
    pub(super) forward: Forward,
}

impl Contents {
    pub(super) fn over(names: Interner, base: Base, details: Details, forward: Forward) -> Self {
        Self { names, base, fresh: Vec::new(), more: FxHashMap::default(), details, forward }
    }

    /// The number of a term.
    pub(super) fn term(&self, name: &[u8]) -> Option<u32> {
        self.names.find(Term::of_bytes(name)?)
    }

    /// The number of terms.
    pub(super) fn terms(&self) -> usize {
        self.names.len()
    }

    /// The terms' names, by number.
    pub(super) fn names(&self) -> &Interner {
        &self.names
    }

    /// The postings of a term: all slots of the second run come after those of the first.
    pub(super) fn runs(&self, term: u32) -> [Run<'_>; 2] {
        let tail = match (term as usize).checked_sub(self.names.base_len()) {
            None => self.more.get(&term),
            Some(fresh) => self.fresh.get(fresh),
        };
        [self.base.run(term), tail.map_or(Run::default(), |postings| postings.run(&self.details))]
    }

    /// The file's bytes that the base lies in, if any.
    pub(super) fn source(&self) -> Option<&Arc<Source>> {
        self.base.source()
    }

    /// The first slot of the tail.
    pub(super) fn split(&self) -> usize {
        self.base.slots()
    }

    /// The number of a term, which no row may hold; a new one gets the next.
    pub(super) fn number(&mut self, term: Term<'_>) -> u32 {
        let number = self.names.number(term);
        if self.names.len() - self.names.base_len() > self.fresh.len() {
            self.fresh.push(Postings::none());
        }
        number
    }

    /// Add a row: its terms with their columns, both ascending, and how many tokens it and its title have.
    pub(super) fn push(&mut self, occurrences: &[(u32, u32)], (tokens, title): (u32, u32)) {
        let details = &mut self.details;
        details.push(tokens, title);
        let mut counts = vec![0; details.column_counts.columns()];
        for run in occurrences.chunk_by(|a, b| a.0 == b.0) {
            let (term, column) = run[0];
            let tuple = if run.len() == 1 {
                column
            } else {
                counts.fill(0);
                run.iter().for_each(|&(_, column)| counts[column as usize] += 1);
                details.column_counts.number(&counts)
            };
            let tail = match (term as usize).checked_sub(self.names.base_len()) {
                None => Some(self.more.entry(term).or_insert_with(Postings::none)),
                Some(fresh) => self.fresh.get_mut(fresh),
            };
            if let Some(postings) = tail {
                postings.push(term, tuple, details);
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
