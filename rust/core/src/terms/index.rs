//! Token counts of texts by slot, and the TF-IDF cosine.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::contents::Contents;
use super::counting::{Piece, Units, count};
use super::token_lists::TokenLists;
use super::tokens::Tokens;
use crate::arrays::{ArrayFile, ArrayWriter, Source};
use crate::error::Result;
use crate::pool;

/// The state that an index and its frequencies share.
#[derive(Debug, Default)]
pub(super) struct Shared(RwLock<Arc<Contents>>);

impl Shared {
    // A lock is poisoned only by a panic inside `append`, which has none to give.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Arc<Contents>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Arc<Contents>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Token counts of texts by slot, append-only. Threads may read while one appends.
#[derive(Debug, Default)]
pub struct TermIndex {
    pub(super) shared: Arc<Shared>,
}

impl TermIndex {
    /// An index without slots.
    pub fn new() -> Self {
        Self::default()
    }

    fn of(contents: impl Into<Arc<Contents>>) -> Self {
        Self { shared: Arc::new(Shared(RwLock::new(contents.into()))) }
    }

    /// The index that [`Self::write`] wrote, mapped; what is appended from now on stays in memory.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) where columns are missing or do not fit each other.
    pub fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        Ok(Self::of(Contents::open(file, prefix)?))
    }

    /// Write the index as columns of a file, their names beginning with `prefix`.
    ///
    /// Threads may append during the write, at the cost of a copy of the part that is not mapped; it is not written.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File).
    pub fn write(&self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        let contents = Arc::clone(&self.shared.read());
        contents.write(to, prefix)
    }

    /// The file's bytes that it lies in, if any.
    pub fn source(&self) -> Option<Arc<Source>> {
        self.shared.read().source().cloned()
    }

    /// The index as it is now; appending to one leaves the other alone.
    pub fn frozen(&self) -> Self {
        Self::of(Arc::clone(&self.shared.read()))
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.shared.read().len()
    }

    /// True if there are no slots.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that the counts take; mapped pages do not count.
    pub fn size_bytes(&self) -> usize {
        self.shared.read().owned_bytes()
    }

    /// Tokenise the texts in order into new slots and return the first new slot.
    ///
    /// `threads`: at least 1; `None` for as many as there are cores, or one where there is little to do. The result
    /// does not depend on them.
    pub fn append<T: AsRef<str> + Sync>(&self, texts: &[T], threads: Option<usize>) -> usize {
        let units = Units::new(texts, threads);
        let tallies = count(&Tokens::Signals.into(), texts, &units);
        // New terms are numbered in code point order, whoever counted them.
        let (mut of_tally, mut unknown) = self.shared.read().known(&tallies);
        unknown.sort_unstable_by_key(|new| new.term.name());
        if !unknown.is_empty() {
            let mut contents = self.shared.write();
            let contents = Arc::make_mut(&mut contents);
            for new in unknown {
                of_tally[new.tally][new.at] = contents.number(new.term);
            }
        }
        let each = tallies.iter().zip(&of_tally);
        let mut pieces: Vec<(&Piece, &[u32])> =
            each.flat_map(|(tally, of)| tally.pieces.iter().map(move |piece| (piece, &of[..]))).collect();
        pieces.sort_unstable_by_key(|(piece, _)| piece.unit);
        let each = |done: &mut Vec<(usize, TokenLists)>, unit: usize| {
            let (piece, of) = &pieces[unit];
            done.push((unit, TokenLists::of(piece, |term| of[term as usize])));
        };
        let parts = pool::fold(pieces.len(), units.threads, Vec::new, each);
        let mut parts: Vec<(usize, TokenLists)> = parts.into_iter().flatten().collect();
        parts.sort_unstable_by_key(|&(unit, _)| unit);
        // Tokenising shut no reader out; from here on they wait.
        let mut contents = self.shared.write();
        let contents = Arc::make_mut(&mut contents);
        let first = contents.len();
        parts.iter().for_each(|(_, part)| contents.extend(part));
        first
    }
}
