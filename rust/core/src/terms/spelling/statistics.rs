//! The statistics of the slots that count, for BM25 over trigrams.

use std::collections::HashMap;
use std::hash::BuildHasher;

use super::contents::Contents;
use super::index::SpellingIndex;
use super::names::{find, letters};
use super::query_profile::QueryProfile;
use super::trigram::{Trigram, for_each_trigram, to_ascii};
use crate::arrays::{ArrayFile, ArrayWriter};
use crate::collections::{SharedCounts, for_each_number};
use crate::error::{Error, Result};

/// BM25's usual k1 and b.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// The letters of most words; trigrams of these have a count of their own.
const ALPHABET: &[u8; 37] = b" 0123456789abcdefghijklmnopqrstuvwxyz";
const PLAIN: usize = ALPHABET.len().pow(3);
/// Counts that all other trigrams share, chosen by a hash: a bound on memory, at the price of a frequency now and then
/// that is too high.
const SHARED: usize = 1 << 17;

/// So few slots are counted without a table.
const FEW: usize = 64;

/// The slots that count at one moment: how many, their trigrams, and by trigram how many slots have it. Immutable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpellingStatistics {
    slots: u64,
    trigrams: u64,
    counts: SharedCounts,
}

/// A query's weights over one set of slots.
pub(super) struct Weights {
    /// By trigram of the query `times * idf`, as a part of their sum.
    pub(super) weights: Vec<f64>,
    /// `k1 * b / average`, for trigrams of a slot.
    by_length: f64,
}

impl Weights {
    /// BM25 of a slot, as a part of the most it can be, 0 to 1: from how often it has each of the query's trigrams, ascending, and its length.
    pub(super) fn score(&self, counts: impl Iterator<Item = (usize, u32)>, trigrams: u64) -> f64 {
        let length = K1 * (1.0 - B) + self.by_length * trigrams as f64;
        counts.map(|(at, count)| self.weights[at] * f64::from(count) / (f64::from(count) + length)).sum()
    }
}

impl SpellingStatistics {
    /// The statistics that [`Self::write`] wrote.
    ///
    /// # Errors
    /// [`Error::Damaged`] where columns are missing or of another length.
    pub fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        let totals = file.column::<u64>(&format!("{prefix}totals"))?;
        let counts = file.column::<u32>(&format!("{prefix}counts"))?;
        let &[slots, trigrams] = &*totals else { return Err(Error::Damaged { what: "the counts of trigrams" }) };
        Ok(Self { slots, trigrams, counts: SharedCounts::from_slice(&counts) })
    }

    /// Write the statistics as columns of a file, their names beginning with `prefix`.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        to.column(&format!("{prefix}totals"), &[self.slots, self.trigrams])?;
        to.begin::<u32>(&format!("{prefix}counts"))?;
        self.counts.pieces().try_for_each(|piece| to.put(piece))
    }

    /// Statistics of a corpus of which an index has some slots: how many slots there are, how many trigrams these have,
    /// and in how many each is, by [`trigram_numbers`]. One that is not named counts 0.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for the number of a trigram.
    pub fn given<H: BuildHasher>(slots: u64, trigrams: u64, counts: &HashMap<u32, u32, H>) -> Result<Self> {
        let mut result = Self { slots, trigrams, counts: SharedCounts::default() };
        result.counts.grow(PLAIN + SHARED);
        for (&number, &count) in counts {
            if number as usize >= PLAIN + SHARED {
                return Err(Error::OutOfRange { what: "trigram", index: number.into(), len: PLAIN + SHARED });
            }
            result.counts.set(number, count);
        }
        Ok(result)
    }

    /// The number of slots.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// New statistics with slots added and removed; equal to counting from scratch.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a slot.
    pub fn moved(&self, index: &SpellingIndex, added: &[i64], removed: &[i64]) -> Result<Self> {
        let contents = index.read();
        let mut moved = self.clone();
        moved.counts.grow(PLAIN + SHARED);
        // Few slots are sorted: the table of all trigrams would take longer to make.
        let mut seen = if added.len() + removed.len() < FEW { Seen::default() } else { Seen::of_many() };
        for &slot in removed {
            let trigrams = seen.trigrams(&contents, slot)?;
            moved.slots = moved.slots.saturating_sub(1);
            moved.trigrams = moved.trigrams.saturating_sub(trigrams);
            moved.counts.step(seen.numbers.iter().copied(), false);
        }
        for &slot in added {
            moved.slots = moved.slots.saturating_add(1);
            moved.trigrams = moved.trigrams.saturating_add(seen.trigrams(&contents, slot)?);
            moved.counts.step(seen.numbers.iter().copied(), true);
        }
        Ok(moved)
    }

    /// The weights of a query's trigrams: BM25 with `idf = ln(1 + (n - df + 0.5) / (df + 0.5))`, which is never negative.
    pub(super) fn weights(&self, profile: &QueryProfile) -> Weights {
        let all = self.slots as f64;
        let idf = |&trigram: &Trigram| {
            let with = f64::from(self.counts.get(number(trigram))).min(all);
            (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
        };
        let weigh = |(trigram, times): (&Trigram, &f64)| times * idf(trigram);
        let mut weights: Vec<f64> = profile.trigrams.iter().zip(&profile.times).map(weigh).collect();
        let most: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= most);
        let average = self.trigrams as f64 / all;
        let by_length = if average > 0.0 { K1 * B / average } else { 0.0 };
        Weights { weights, by_length }
    }
}

/// The numbers of the trigrams of a query, ascending, each once: those whose counts its score depends on.
pub fn trigram_numbers(query: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = QueryProfile::new(query).trigrams.into_iter().map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The trigrams of one slot after the other, each once.
#[derive(Default)]
pub(super) struct Seen {
    /// By number the text that had it last, from 1; empty where numbers are sorted instead.
    by: Vec<u32>,
    text: u32,
    pub(super) numbers: Vec<u32>,
}

impl Seen {
    /// With a table: quick where many slots follow.
    pub(super) fn of_many() -> Self {
        Self { by: vec![0; PLAIN + SHARED], ..Self::default() }
    }

    /// Fill in the numbers of a slot's trigrams, and return how many there are, repeated ones too.
    pub(super) fn trigrams(&mut self, contents: &Contents, slot: i64) -> Result<u64> {
        let (units, trigrams) = contents.slot(slot)?;
        self.numbers.clear();
        self.text = self.text.wrapping_add(1);
        let (parts, mut before) = (contents.words(), None);
        for_each_number(units, |word| {
            if before.replace(word) == Some(word) {
                return;
            }
            let (record, long) = find(&parts, word);
            let bytes = record.to_le_bytes();
            let word = str::from_utf8(long.unwrap_or_else(|| letters(&bytes, record))).unwrap_or_default();
            for_each_trigram(word, |trigram| {
                let number = number(trigram);
                let is_new =
                    self.by.get_mut(number as usize).is_none_or(|by| std::mem::replace(by, self.text) != self.text);
                if is_new {
                    self.numbers.push(number);
                }
            });
        });
        if self.by.is_empty() {
            self.numbers.sort_unstable();
            self.numbers.dedup();
        }
        Ok(trigrams)
    }
}

/// The number of the count of a trigram.
fn number(trigram: Trigram) -> u32 {
    let code = |letter: u8| CODES[usize::from(letter)];
    let plain = to_ascii(trigram).map(|letters| letters.map(code)).filter(|codes| !codes.contains(&u8::MAX));
    let shared = || PLAIN + (trigram.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SHARED.ilog2())) as usize;
    let place = |codes: [u8; 3]| codes.iter().fold(0, |place, &code| place * ALPHABET.len() + usize::from(code));
    plain.map_or_else(shared, place) as u32
}

/// The number of a letter in the [`ALPHABET`]; 255 for any other.
const CODES: [u8; 256] = {
    let mut codes = [u8::MAX; 256];
    let mut i = 0;
    while i < ALPHABET.len() {
        codes[ALPHABET[i] as usize] = i as u8;
        i += 1;
    }
    codes
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_move() {
        let index = SpellingIndex::new();
        index.append(&["red green red", "漢字 green", "", "éa"]);
        let none = SpellingStatistics::default();
        let all = none.moved(&index, &[0, 1, 2, 3], &[]).unwrap();
        assert_eq!((all.slots(), all.trigrams), (4, 3 + 5 + 3 + 2 + 5 + 2));
        let moved = all.moved(&index, &[], &[0, 2]).unwrap();
        assert_eq!(moved, none.moved(&index, &[3, 1], &[]).unwrap());
        assert!(none.moved(&index, &[4], &[]).is_err());
        // Many at once are counted by a table.
        index.append(&vec!["red green 漢字 red"; FEW]);
        let slots: Vec<i64> = (4..4 + FEW as i64).collect();
        let one_by_one = slots.iter().fold(moved.clone(), |moved, &slot| moved.moved(&index, &[slot], &[]).unwrap());
        assert_eq!(moved.moved(&index, &slots, &[]).unwrap(), one_by_one);
    }

    #[test]
    fn given_statistics_weigh_as_counted_ones() {
        let (index, query) = (SpellingIndex::new(), "redden 漢字");
        index.append(&["red green red", "漢字 green", "", "éa"]);
        let all = SpellingStatistics::default().moved(&index, &[0, 1, 2, 3], &[]).unwrap();
        let counts: HashMap<u32, u32> =
            trigram_numbers(query).into_iter().map(|number| (number, all.counts.get(number))).collect();
        let given = SpellingStatistics::given(4, all.trigrams, &counts).unwrap();
        assert_eq!(index.bm25(&given, query, &[0, 1, 2, 3]), index.bm25(&all, query, &[0, 1, 2, 3]));
        let beyond = HashMap::from([((PLAIN + SHARED) as u32, 1)]);
        let fault = SpellingStatistics::given(4, 1, &beyond).unwrap_err();
        assert!(matches!(fault, Error::OutOfRange { what: "trigram", .. }));
    }

    #[test]
    fn every_trigram_has_a_count() {
        let mut numbers: Vec<u32> = Vec::new();
        for word in [" a ", " aaa ", " 0zz ", " éa ", " 漢 ", " _x "] {
            for_each_trigram(word, |trigram| numbers.push(number(trigram)));
        }
        assert!(numbers.iter().all(|&number| (number as usize) < PLAIN + SHARED));
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 1 + 3 + 3 + 2 + 1 + 2);
    }
}
