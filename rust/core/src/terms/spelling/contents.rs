//! The contents of a spelling index: words and the words of slots, those of a file and those appended since.

use super::lists::Lists;
use super::names::{Names, Words};
use super::numbers::{Numbers, look_up};
use super::spell::Speller;
use super::trigram::trigrams_of;
use crate::arrays::Array;
use crate::error::{Error, Result};

/// Words, and slots that hold them.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub(super) names: Names,
    pub(super) lists: Lists,
}

/// The statistics of the texts of all slots: those of a file, the base, and those added since, the tail.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    pub(super) base: Part,
    /// Numbers of the base by word.
    pub(super) buckets: Array<u32>,
    /// The words have the numbers that follow those of the base.
    pub(super) tail: Part,
}

impl Contents {
    pub(super) fn len(&self) -> usize {
        self.base.lists.len() + self.tail.lists.len()
    }

    /// The words of both parts.
    pub(super) fn words(&self) -> [Words<'_>; 2] {
        [self.base.names.words(), self.tail.names.words()]
    }

    /// The numbers of a slot's words, as they are kept, and its number of trigrams.
    pub(super) fn slot(&self, slot: i64) -> Result<(&[u16], u64)> {
        let results = usize::try_from(slot).ok().and_then(|slot| match slot.checked_sub(self.base.lists.len()) {
            None => self.base.lists.get(slot),
            Some(slot) => self.tail.lists.get(slot),
        });
        results.ok_or_else(|| Error::OutOfRange { what: "slot", index: slot, len: self.len() })
    }

    /// The part that `texts` add to the tail.
    pub(super) fn cut<T: AsRef<str>>(&self, numbers: &mut Numbers, texts: &[T]) -> Part {
        let [base, tail] = self.words();
        if numbers.len() != tail.records.len() {
            // A frozen index has none yet.
            *numbers = Numbers::of(tail);
        }
        let mut added = Part::default();
        let (mut speller, mut words) = (Speller::default(), Vec::new());
        for text in texts {
            words.clear();
            let mut trigrams = 0;
            speller.for_each(text.as_ref(), |word| {
                trigrams += trigrams_of(word);
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
            added.lists.push(&words, trigrams);
        }
        added
    }
}
