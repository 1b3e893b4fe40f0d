//! The words of texts by slot, and how much of a query's spelling each shares.

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use super::contents::{Contents, Part};
use super::lists::Lists;
use super::names::Names;
use super::numbers::{Numbers, table};
use super::query_profile::QueryProfile;
use super::statistics::SpellingStatistics;
use super::walk::{BLOCK, Walk};
use crate::arrays::{Array, ArrayFile, ArrayWriter, Source};
use crate::error::{Error, Result};

/// The spelling of texts by slot, append-only: BM25 over trigrams without the texts. Threads may read while one appends.
///
/// Words are folded; stop words and single ASCII characters are left out; each word is padded with one blank on both
/// sides, so that no trigram spans two words.
#[derive(Debug, Default)]
pub struct SpellingIndex {
    /// Numbers of the tail by word. Only appends ask for them, one after the other.
    numbers: Mutex<Numbers>,
    contents: RwLock<Arc<Contents>>,
}

impl SpellingIndex {
    /// An index without slots.
    pub fn new() -> Self {
        Self::default()
    }

    fn of(contents: impl Into<Arc<Contents>>) -> Self {
        Self { numbers: Mutex::default(), contents: RwLock::new(contents.into()) }
    }

    /// The index that [`Self::write`] wrote, mapped; what is appended from now on stays in memory.
    ///
    /// # Errors
    /// [`Error::Damaged`] where columns are missing or do not fit each other.
    pub fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        let base = Part { names: Names::open(file, prefix)?, lists: Lists::open(file, prefix)? };
        let buckets: Array<u32> = file.column(&format!("{prefix}buckets"))?;
        if !buckets.len().is_power_of_two() || u32::try_from(base.names.words().records.len()).is_err() {
            return Err(Error::Damaged { what: "the number of words" });
        }
        Ok(Self::of(Contents { base, buckets, tail: Part::default() }))
    }

    /// Write the index as columns of a file, their names beginning with `prefix`.
    ///
    /// Threads may append during the write, at the cost of a copy of the part that is not mapped; it is not written.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        let contents = Arc::clone(&self.read());
        contents.base.names.write(&contents.tail.names, to, prefix)?;
        contents.base.lists.write(&contents.tail.lists, to, prefix)?;
        to.column(&format!("{prefix}buckets"), &table(&contents.words()))
    }

    /// The file's bytes that it lies in, if any.
    pub fn source(&self) -> Option<Arc<Source>> {
        self.read().base.lists.source().cloned()
    }

    /// The index as it is now; appending to one leaves the other alone.
    pub fn frozen(&self) -> Self {
        Self::of(Arc::clone(&self.read()))
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// True if there are no slots.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that the index takes; mapped pages do not count.
    pub fn size_bytes(&self) -> usize {
        let numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner).size_bytes();
        let contents = self.read();
        let parts = [&contents.base, &contents.tail].map(|part| part.names.owned_bytes() + part.lists.owned_bytes());
        numbers + contents.buckets.owned_bytes() + parts[0] + parts[1]
    }

    /// Cut the texts into words, in order, into new slots and return the first new slot.
    pub fn append<T: AsRef<str>>(&self, texts: &[T]) -> usize {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let added = self.read().cut(&mut numbers, texts);
        // Cutting shut no reader out; from here on they wait.
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        let contents = Arc::make_mut(&mut contents);
        let first = contents.len();
        contents.tail.names.extend(&added.names);
        contents.tail.lists.extend(&added.lists);
        first
    }

    /// Return BM25 (k1 = 1.2, b = 0.75) of a query's trigrams for slots `(m,)`, as a part of the most it can be, 0 to 1:
    /// so it compares between corpora.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a slot.
    pub fn bm25(&self, statistics: &SpellingStatistics, query: &str, slots: &[i64]) -> Result<Vec<f64>> {
        let profile = QueryProfile::new(query);
        let mut walk = Walk::new(&profile, statistics.weights(&profile));
        let mut scores = Vec::with_capacity(slots.len());
        let contents = self.read();
        for block in slots.chunks(BLOCK) {
            walk.scores(&contents, block, &mut scores)?;
        }
        Ok(scores)
    }

    /// Call `each` with every word that any slot holds or held: folded, in order of first sight.
    pub fn for_each_word(&self, mut each: impl FnMut(&[u8])) {
        let contents = self.read();
        for words in contents.words() {
            words.for_each(&mut each);
        }
    }

    // A lock is poisoned only by a panic, and neither reading nor appending has one to give.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Arc<Contents>> {
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }
}
