//! The words of texts by slot, and how much of a query's spelling each shares.

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use super::asked::Asked;
use super::counts::Counts;
use super::lists::Lists;
use super::names::{Names, Words};
use super::numbers::{Numbers, look_up, table};
use super::query::{BLOCK, Query};
use super::spell::Speller;
use crate::arrays::{Array, ArrayFile, ArrayWriter};
use crate::error::{Error, Result};

/// Words, and slots that hold them.
#[derive(Clone, Debug, Default)]
struct Part {
    names: Names,
    lists: Lists,
}

/// What is known about the texts of all slots: those of a file, the base, and those added since, the tail.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    base: Part,
    /// Numbers of the base by word.
    buckets: Array<u32>,
    /// The words have the numbers that follow those of the base.
    tail: Part,
}

/// The spelling of texts by slot, append-only: the cosines of [`crate::terms::trigrams`], to the last bit, without the
/// texts. Threads may read while one appends.
#[derive(Debug, Default)]
pub struct SpellingIndex {
    /// Numbers of the tail by word. Only appends ask for them, one after the other.
    numbers: Mutex<Numbers>,
    held: RwLock<Arc<Held>>,
}

impl SpellingIndex {
    /// An index without slots.
    pub fn new() -> Self {
        Self::default()
    }

    fn of(held: impl Into<Arc<Held>>) -> Self {
        Self { numbers: Mutex::default(), held: RwLock::new(held.into()) }
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
        Ok(Self::of(Held { base, buckets, tail: Part::default() }))
    }

    /// Write the index as columns of a file, their names beginning with `prefix`.
    ///
    /// Threads may append meanwhile, which costs them a copy of what is not mapped; it is not written.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        let held = Arc::clone(&self.read());
        held.base.names.write(&held.tail.names, to, prefix)?;
        held.base.lists.write(&held.tail.lists, to, prefix)?;
        to.column(&format!("{prefix}buckets"), &table(&held.words()))
    }

    /// The index as it is now; appending to one leaves the other alone.
    pub fn frozen(&self) -> Self {
        Self::of(Arc::clone(&self.read()))
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that the index takes; mapped pages do not count.
    pub fn size_bytes(&self) -> usize {
        let numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner).size_bytes();
        let held = self.read();
        let parts = [&held.base, &held.tail].map(|part| part.names.owned_bytes() + part.lists.owned_bytes());
        numbers + held.buckets.owned_bytes() + parts[0] + parts[1]
    }

    /// Cut the texts into words, in order, into new slots and return the first new slot.
    pub fn append<T: AsRef<str>>(&self, texts: &[T]) -> usize {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let added = self.read().cut(&mut numbers, texts);
        // Cutting shut no reader out; from here on they wait.
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let held = Arc::make_mut(&mut held);
        let first = held.len();
        held.tail.names.extend(&added.names);
        held.tail.lists.extend(&added.lists);
        first
    }

    /// Return what [`crate::terms::trigrams`] returns for the query and the texts of the slots `(m,)`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a slot.
    pub fn cosines(&self, query: &str, slots: &[i64]) -> Result<Vec<f64>> {
        let asked = Asked::new(query, &mut Counts::sparse(), &mut Speller::default());
        let mut query = Query::new(&asked);
        let mut cosines = Vec::with_capacity(slots.len());
        let held = self.read();
        for block in slots.chunks(BLOCK) {
            query.cosines(&held, block, &mut cosines)?;
        }
        Ok(cosines)
    }

    // A lock is poisoned only by a panic, and neither reading nor appending has one to give.
    fn read(&self) -> RwLockReadGuard<'_, Arc<Held>> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn len(&self) -> usize {
        self.base.lists.len() + self.tail.lists.len()
    }

    /// The words of both parts.
    pub(super) fn words(&self) -> [Words<'_>; 2] {
        [self.base.names.words(), self.tail.names.words()]
    }

    /// The numbers of a slot's words, as they are kept, and its square.
    pub(super) fn slot(&self, slot: i64) -> Result<(&[u16], f64)> {
        let found = usize::try_from(slot).ok().and_then(|slot| match slot.checked_sub(self.base.lists.len()) {
            None => self.base.lists.get(slot),
            Some(slot) => self.tail.lists.get(slot),
        });
        found.ok_or_else(|| Error::OutOfRange { what: "slot", index: slot, len: self.len() })
    }

    /// What `texts` add to the tail.
    fn cut<T: AsRef<str>>(&self, numbers: &mut Numbers, texts: &[T]) -> Part {
        let [base, tail] = self.words();
        if numbers.len() != tail.records.len() {
            // A frozen index has none yet.
            *numbers = Numbers::of(tail);
        }
        let mut added = Part::default();
        let (mut counts, mut speller, mut words) = (Counts::dense(), Speller::default(), Vec::new());
        for text in texts {
            words.clear();
            counts.fill(text.as_ref(), &mut speller, |word| {
                let (number, is_known) = match look_up(&self.buckets, word, &[base]) {
                    (Some(number), _) => (number, true),
                    (None, _) => {
                        let (number, is_known) = numbers.number(word, &[tail, added.names.words()]);
                        (base.records.len() as u32 + number, is_known)
                    }
                };
                if !is_known {
                    added.names.push(word);
                }
                words.push(number);
            });
            words.sort_unstable();
            added.lists.push(&words, counts.square());
        }
        added
    }
}
