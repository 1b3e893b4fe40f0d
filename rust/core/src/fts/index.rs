//! Postings of texts by slot.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::base::Base;
use super::contents::Contents;
use super::forward::Forward;
use super::matched::{TITLE, TitleTokens};
use super::order::NameOrder;
use super::postings::Details;
use super::tokens::{for_each_word, word_to_term};
use super::write::write;
use crate::arrays::{ArrayFile, ArrayWriter, Source};
use crate::collections::{BitMask, Interner, Lexicon, Term};
use crate::error::{Error, Result};

/// Rows as term numbers of their own, counted from 0 in order of first sight.
#[derive(Default)]
struct Batch {
    /// Words as they are before stemming: most come again, and a look-up is cheaper than a stem.
    words: Lexicon,
    /// By word its term, None for one that is not wanted.
    term_of: Vec<Option<u32>>,
    terms: Lexicon,
    /// The beginnings of these; None if other terms are wanted too.
    wanted: Option<Beginnings>,
    /// Term and column.
    occurrences: Vec<(u32, u32)>,
    /// By row where its occurrences end, and how many tokens it and its title have.
    rows: Vec<(usize, (u32, u32))>,
}

impl Batch {
    fn new(only: Option<&Lexicon>) -> Self {
        Self { terms: only.cloned().unwrap_or_default(), wanted: only.map(Beginnings::of), ..Self::default() }
    }

    fn push<T: AsRef<str>>(&mut self, row: &[T], buffer: &mut Vec<u8>) {
        let (mut stem, mut tokens, mut title) = (Vec::new(), 0, TitleTokens::default());
        for (column, text) in row.iter().enumerate() {
            for_each_word(text.as_ref(), buffer, |word| {
                tokens += 1;
                title.count(column == TITLE, word);
                if self.wanted.as_ref().is_some_and(|wanted| !wanted.may_hold(word)) {
                    return;
                }
                // A word is never empty and holds no NUL, nor does its stem.
                let Some(name) = Term::of_bytes(word) else { return };
                let at = self.words.number(name) as usize;
                if at == self.term_of.len() {
                    stem.clear();
                    stem.extend_from_slice(word);
                    word_to_term(&mut stem);
                    let name = Term::of_bytes(&stem);
                    let number = |name| {
                        if self.wanted.is_none() { Some(self.terms.number(name)) } else { self.terms.find(name) }
                    };
                    self.term_of.push(name.and_then(number));
                }
                if let Some(term) = self.term_of[at] {
                    self.occurrences.push((term, column as u32));
                }
            });
        }
        self.rows.push((self.occurrences.len(), (tokens, title.number())));
    }
}

/// The beginnings of terms, by the lowest six bits of their first two bytes: those of all words that have the terms as
/// stems.
struct Beginnings(BitMask);

impl Beginnings {
    fn of(terms: &Lexicon) -> Self {
        let mut held = BitMask::default();
        for name in terms.names() {
            match *name {
                // A word may end behind its first byte that loses the rest to its stem.
                [first] => (0..64).for_each(|second| held.insert(Self::place(&[first, second]))),
                _ => held.insert(Self::place(name)),
            }
        }
        Self(held)
    }

    /// True if a word may have one of the terms for its stem, which begins with the first two bytes of the word, but
    /// that a `y` may become an `i`.
    fn may_hold(&self, word: &[u8]) -> bool {
        self.0.contains(Self::place(word))
    }

    fn place(word: &[u8]) -> usize {
        let low = |at: usize| match word.get(at) {
            Some(b'y') if at > 0 => usize::from(b'i' & 0x3f),
            byte => usize::from(byte.copied().unwrap_or(0) & 0x3f),
        };
        low(0) << 6 | low(1)
    }
}

/// Postings of texts by slot, append-only; a row has a fixed number of texts, its columns. Threads may read while one
/// appends.
#[derive(Debug)]
pub struct TextIndex {
    pub(super) contents: Arc<RwLock<Arc<Contents>>>,
    columns: usize,
    /// The terms that it has postings of; None for all.
    only: Option<Arc<Lexicon>>,
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

    /// An index without slots that has postings of these terms alone. Other terms only count as tokens, on which the
    /// scores of these depend.
    ///
    /// # Errors
    /// [`Error::Parameter`] without columns.
    pub fn of_terms<T: AsRef<[u8]>>(columns: usize, terms: &[T]) -> Result<Self> {
        let (index, mut only) = (Self::new(columns)?, Lexicon::default());
        for term in terms.iter().filter_map(|term| Term::of_bytes(term.as_ref())) {
            only.number(term);
        }
        Ok(Self { only: Some(Arc::new(only)), ..index })
    }

    fn of(contents: impl Into<Arc<Contents>>) -> Self {
        let contents = contents.into();
        let columns = contents.details.column_counts.columns();
        Self { contents: Arc::new(RwLock::new(contents)), columns, only: None, order: NameOrder::default() }
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
    /// Threads may append during the write, at the cost of a copy of the part that is not mapped; it is not written.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Given`] for an index of some terms alone.
    pub fn write(&self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        if self.only.is_some() {
            return Err(Error::Given);
        }
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
        Self { only: self.only.clone(), ..Self::of(Arc::clone(&self.read())) }
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.read().forward.len()
    }

    /// True if there are no slots.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cut the rows' texts into terms, in order, into new slots and return the first new slot.
    ///
    /// # Errors
    /// [`Error::Length`] for a row that has not one text a column; nothing is added then.
    pub fn append<R: AsRef<[T]>, T: AsRef<str>>(&self, rows: &[R]) -> Result<usize> {
        let mut batch = Batch::new(self.only.as_deref());
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
        let numbers: Vec<u32> = batch.terms.terms().map(|term| contents.number(term)).collect();
        let first = contents.forward.len();
        let mut start = 0;
        for (end, tokens) in batch.rows {
            let row = &mut batch.occurrences[start..end];
            row.iter_mut().for_each(|(term, _)| *term = numbers[*term as usize]);
            row.sort_unstable();
            contents.push(row, tokens);
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
    use proptest::prelude::*;

    use super::*;
    use crate::fts::index_terms;

    proptest! {
        #![proptest_config(crate::seeded(4_096))]

        #[test]
        fn a_term_begins_as_its_word_does(
            word in "[aeiouybst]{0,3}([a-zé]{0,4}|y|ies|sses|eed|ed|ing|at|bl|iz)(ational|ful|ness|ement|ion|e|ll|s|y)?",
        ) {
            for term in index_terms(&word) {
                let mut terms = Lexicon::default();
                terms.number(Term::of_bytes(&term).unwrap());
                let wanted = Beginnings::of(&terms);
                prop_assert!(wanted.may_hold(word.replace('é', "e").as_bytes()), "{term:?}");
            }
        }
    }

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
    fn an_index_of_some_terms_counts_the_tokens_of_all() {
        let (all, some) = (TextIndex::new(2).unwrap(), TextIndex::of_terms(2, &["fox", "yak", ""]).unwrap());
        for index in [&all, &some] {
            index.append(&[["red fox", "foxes, red fox"], ["", ""], ["Blue", "den"]]).unwrap();
            assert_eq!(index.frozen().append(&[["Blue", "fox"]]), Ok(3));
            assert_eq!([0, 1, 2].map(|slot| index.read().details.tokens(slot)), [5, 0, 2]);
        }
        let (all, some) = (all.statistics(&[0, 1, 2]).unwrap(), some.statistics(&[0, 1, 2]).unwrap());
        assert_eq!((some.rows(), some.tokens()), (all.rows(), all.tokens()));
        assert_eq!(some.to_vec(), [(b"fox".to_vec(), 1)]);
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
