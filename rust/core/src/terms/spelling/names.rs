//! Words by number.

use super::spell::BLANK;
use crate::arrays::{Array, ArrayFile, ArrayWriter};
use crate::error::Result;
use crate::simd;

/// A word between two blanks, its first byte lowest, then zeros. For a word that has no room, which lies elsewhere: 0 in
/// the lowest byte, then its length, and in the upper half its place.
///
/// Sixteen bytes are one load from one line of the cache, and most words have at most fourteen.
pub(super) type Record = u128;

const ROOM: usize = size_of::<Record>();

/// Words by number, append-only.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    records: Array<Record>,
    /// The words that a record has no room for, between two blanks.
    long: Array<u8>,
}

/// The words of [`Names`], borrowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'n> {
    pub(super) records: &'n [Record],
    long: &'n [u8],
}

impl Names {
    /// The words in a file.
    pub(super) fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        Ok(Self {
            records: file.column(&format!("{prefix}words"))?,
            long: file.column(&format!("{prefix}long_words"))?,
        })
    }

    /// Write the words of both, one after the other, as columns of a file.
    pub(super) fn write(&self, more: &Self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        to.begin::<Record>(&format!("{prefix}words"))?;
        to.put(&self.records)?;
        to.put(&moved(&more.records, self.long.len()))?;
        to.begin::<u8>(&format!("{prefix}long_words"))?;
        to.put(&self.long)?;
        to.put(&more.long)
    }

    pub(super) fn words(&self) -> Words<'_> {
        Words { records: &self.records, long: &self.long }
    }

    /// Add a word between two blanks.
    pub(super) fn push(&mut self, word: &[u8]) {
        let record = short(word).unwrap_or_else(|| {
            let place = self.long.len();
            self.long.to_mut().extend(word);
            long(word.len(), place)
        });
        self.records.to_mut().push(record);
    }

    /// Add the words of others, in their order.
    pub(super) fn extend(&mut self, others: &Self) {
        self.records.extend(&moved(&others.records, self.long.len()));
        self.long.extend(&others.long);
    }

    pub(super) fn owned_bytes(&self) -> usize {
        self.records.owned_bytes() + self.long.owned_bytes()
    }
}

impl<'n> Words<'n> {
    /// Call `each` with every word, without its blanks.
    pub(super) fn for_each(self, each: &mut impl FnMut(&[u8])) {
        for &record in self.records {
            let bytes = record.to_le_bytes();
            let word = if is_short(record) { Some(letters(&bytes, record)) } else { self.long(record) };
            if let Some([_, word @ .., _]) = word {
                each(word);
            }
        }
    }

    /// The long word of a record, between two blanks; None for a short one.
    pub(super) fn long(self, record: Record) -> Option<&'n [u8]> {
        let (len, place) = place_of_long(record)?;
        self.long.get(place..place.checked_add(len)?)
    }
}

/// The record of a number, and its word if it is a long one; the numbers go on from part to part. 0 for a number that no
/// word has.
pub(super) fn find<'n>(parts: &[Words<'n>], number: u32) -> (Record, Option<&'n [u8]>) {
    let mut number = number as usize;
    for words in parts {
        if let Some(&record) = words.records.get(number) {
            return (record, words.long(record));
        }
        number -= words.records.len();
    }
    (0, None)
}

/// Ask memory for the record of a number.
pub(super) fn fetch(parts: &[Words<'_>], number: u32) {
    let mut number = number as usize;
    for words in parts {
        if let Some(record) = words.records.get(number..=number) {
            return simd::fetch(record);
        }
        number -= words.records.len();
    }
}

/// The record of a word between two blanks, if it has room.
pub(super) fn short(word: &[u8]) -> Option<Record> {
    // Two loads that may overlap: where they do, both have the same bytes.
    if let (Some(&first), Some(&last)) = (word.first_chunk(), word.last_chunk()) {
        let last = Record::from(u64::from_le_bytes(last)).checked_shl(8 * (word.len() - 8) as u32)?;
        return (word.len() <= ROOM).then_some(Record::from(u64::from_le_bytes(first)) | last);
    }
    let (Some(&first), Some(&last)) = (word.first_chunk(), word.last_chunk()) else {
        return Some(word.iter().rev().fold(0, |record, &byte| record << 8 | Record::from(byte)));
    };
    let last = u64::from(u32::from_le_bytes(last)) << (8 * (word.len() - 4));
    Some(Record::from(u64::from(u32::from_le_bytes(first)) | last))
}

/// True if a record holds its word.
pub(super) fn is_short(record: Record) -> bool {
    record as u8 == BLANK
}

/// The bytes of a short word, between two blanks.
pub(super) fn letters(bytes: &[u8; ROOM], record: Record) -> &[u8] {
    &bytes[..ROOM - record.leading_zeros() as usize / 8]
}

fn long(len: usize, place: usize) -> Record {
    (place as Record) << 64 | (len as Record) << 8
}

fn place_of_long(record: Record) -> Option<(usize, usize)> {
    if is_short(record) { None } else { Some((record as u64 as usize >> 8, (record >> 64) as usize)) }
}

/// The records with their long words moved by an offset in bytes.
fn moved(records: &[Record], offset: usize) -> Vec<Record> {
    let moved = |&record: &Record| match place_of_long(record) {
        Some((len, place)) => long(len, offset.wrapping_add(place)),
        None => record,
    };
    records.iter().map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_room_for_fourteen_letters() {
        for len in 1..20 {
            let word = format!(" {} ", &"abcdefghijklmnopqrstuvw"[..len]);
            let record = short(word.as_bytes());
            assert_eq!(record.is_some(), len <= 14, "{word}");
            if let Some(record) = record {
                assert!(is_short(record));
                assert_eq!(letters(&record.to_le_bytes(), record), word.as_bytes());
            }
        }
    }

    #[test]
    fn words_come_back_by_their_numbers() {
        let words: Vec<String> = (0..50).map(|len| format!(" {} ", "é1".repeat(len))).collect();
        let (mut some, mut all) = (Names::default(), Names::default());
        words.iter().for_each(|word| some.push(word.as_bytes()));
        all.extend(&some);
        all.extend(&some);
        for (number, word) in words.iter().cycle().take(150).enumerate() {
            let (record, long) = find(&[all.words(), some.words()], number as u32);
            let bytes = record.to_le_bytes();
            assert_eq!(long.unwrap_or_else(|| letters(&bytes, record)), word.as_bytes());
        }
        assert_eq!(find(&[some.words()], 50), (0, None));
        assert!(all.owned_bytes() > 2 * words.concat().len());
    }
}
