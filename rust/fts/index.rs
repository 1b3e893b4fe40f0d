//! Postings of texts by slot.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rustc_hash::FxHashMap;

use super::base::Base;
use super::contents::Contents;
use super::forward::Forward;
use super::order::NameOrder;
use super::postings::Details;
use super::tokens::{for_each_word, word_to_term};
use super::write::write;
use crate::arrays::{ArrayFile, ArrayWriter, Source};
use crate::collections::{Interner, Lexicon, Term};
use crate::error::{Error, Result};

/// Rows as term numbers of their own, counted from 0 in order of first sight.
#[derive(Default)]
struct Batch {
    /// By word as it is before stemming: most words come again, and a look-up is cheaper than a stem.
    words: FxHashMap<Box<[u8]>, u32>,
    terms: Lexicon,
    /// Term and column.
    occurrences: Vec<(u32, u32)>,
    ends: Vec<usize>,
}

impl Batch {
    fn push<T: AsRef<str>>(&mut self, row: &[T], buffer: &mut Vec<u8>) {
        let mut stem = Vec::new();
        for (column, text) in row.iter().enumerate() {
            for_each_word(text.as_ref(), buffer, |word| {
                let term = match self.words.get(word) {
                    Some(&term) => term,
                    None => {
                        stem.clear();
                        stem.extend_from_slice(word);
                        word_to_term(&mut stem);
                        // A word is never empty and holds no NUL, nor does its stem.
                        let Some(name) = Term::of_bytes(&stem) else { return };
                        let term = self.terms.number(name);
                        self.words.insert(word.into(), term);
                        term
                    }
                };
                self.occurrences.push((term, column as u32));
            });
        }
        self.ends.push(self.occurrences.len());
    }
}

/// Postings of texts by slot, append-only; a row has a fixed number of texts, its columns. Threads may read while one
/// appends.
#[derive(Debug)]
pub struct TextIndex {
    pub(super) contents: Arc<RwLock<Arc<Contents>>>,
    columns: usize,
    /// Made when beginnings are first looked for.
    pub(super) order: NameOrder,
}

impl TextIndex {
    /// An index without slots.
    ///
    /// # Errors
    /// [`Error::Parameter`] without columns.
    pub fn new(columns: usize) -> Result<Self> {
        if columns == 0 {
            return Err(Error::Parameter { what: "columns", wanted: "at least 1", got: 0.0 });
        }
        Ok(Self::of(Contents::over(Interner::default(), Base::default(), Details::new(columns), Forward::default())))
    }

    fn of(contents: impl Into<Arc<Contents>>) -> Self {
        let contents = contents.into();
        let columns = contents.details.column_counts.columns();
        Self { contents: Arc::new(RwLock::new(contents)), columns, order: NameOrder::default() }
    }

    /// The index that [`Self::write`] wrote, mapped; what is appended from now on stays in memory.
    ///
    /// # Errors
    /// [`Error::Damaged`] where columns are missing or do not fit each other.
    pub fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        let columns = file.column::<u64>(&format!("{prefix}columns"))?;
        let columns = match *columns {
            [columns @ 1..=4_096] => columns as usize,
            _ => return Err(Error::Damaged { what: "the number of columns" }),
        };
        let (details, forward) = (Details::open(file, prefix, columns)?, Forward::open(file, prefix)?);
        if details.slots() != forward.len() {
            return Err(Error::Damaged { what: "the number of slots" });
        }
        let names = Interner::open(file, prefix)?;
        let base = Base::open(file, prefix, forward.len(), names.len())?;
        Ok(Self::of(Contents::over(names, base, details, forward)))
    }

    /// Write the index as columns of a file, their names beginning with `prefix`.
    ///
    /// Threads may append meanwhile, which costs them a copy of what is not mapped; it is not written.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        let contents = Arc::clone(&self.read());
        to.column(&format!("{prefix}columns"), &[self.columns as u64])?;
        write(&contents, to, prefix)
    }

    /// The file's bytes that it lies in, if any.
    pub fn source(&self) -> Option<Arc<Source>> {
        self.read().source().cloned()
    }

    /// The index as it is now; appending to one leaves the other alone.
    pub fn frozen(&self) -> Self {
        Self::of(Arc::clone(&self.read()))
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.read().forward.len()
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cut the rows' texts into terms, in order, into new slots and return the first new slot.
    ///
    /// # Errors
    /// [`Error::Length`] for a row that has not one text a column; nothing is added then.
    pub fn append<R: AsRef<[T]>, T: AsRef<str>>(&self, rows: &[R]) -> Result<usize> {
        let mut batch = Batch::default();
        let mut buffer = Vec::new();
        for row in rows {
            let row = row.as_ref();
            if row.len() != self.columns {
                return Err(Error::Length { what: "a row", got: row.len(), wanted: self.columns });
            }
            batch.push(row, &mut buffer);
        }
        // Cutting took no lock; from here on readers wait.
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        let contents = Arc::make_mut(&mut contents);
        // A term's first posting must come in the order of the numbers, so they are given out in order of first sight.
        let numbers: Vec<u32> = batch.terms.terms().map(|term| contents.number(term)).collect();
        let first = contents.forward.len();
        let mut start = 0;
        for end in batch.ends {
            let row = &mut batch.occurrences[start..end];
            row.iter_mut().for_each(|(term, _)| *term = numbers[*term as usize]);
            row.sort_unstable();
            contents.push(row);
            start = end;
        }
        Ok(first)
    }

    // A lock is poisoned only by a panic inside `append`, which has none to give.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Arc<Contents>> {
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_postings() {
        let index = TextIndex::new(2).unwrap();
        assert!(index.is_empty());
        assert_eq!(index.append(&[["red fox", "foxes, red fox"], ["", ""]]), Ok(0));
        assert_eq!(index.append(&[["Blue", "fox"]]), Ok(2));
        let contents = index.read();
        let slots = |name: &str| {
            let term = contents.term(name.as_bytes()).unwrap();
            let tuple = |posting| contents.details.column_counts.get(contents.details.of(term, posting).0).to_vec();
            let postings = contents.runs(term)[1].postings;
            postings.iter().map(|&p| (p.slot, tuple(p))).collect::<Vec<_>>()
        };
        assert_eq!(slots("fox"), [(0, vec![1, 2]), (2, vec![0, 1])]);
        assert_eq!(slots("red"), [(0, vec![1, 1])]);
        assert_eq!(slots("blue"), [(2, vec![1, 0])]);
        assert_eq!([0, 1, 2].map(|slot| contents.details.tokens(slot)), [5, 0, 2]);
        assert_eq!(contents.forward.get(0).count(), 2);
    }

    #[test]
    fn faults() {
        assert!(TextIndex::new(0).is_err());
        let index = TextIndex::new(2).unwrap();
        let short = index.append(&[vec!["red", "fox"], vec!["red"]]);
        assert_eq!(short, Err(Error::Length { what: "a row", got: 1, wanted: 2 }));
        assert_eq!(index.len(), 0);
    }
}
