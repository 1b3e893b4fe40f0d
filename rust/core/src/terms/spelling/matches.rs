//! Which of a query's trigrams a word has.

use super::names::{Record, is_short, letters};
use super::query_profile::QueryProfile;
use super::trigram::{Trigram, for_each_trigram, of_ascii, to_ascii, windows};
#[cfg(target_arch = "x86_64")]
use crate::simd::Avx2;

/// Places of the sieve: few trigrams but the query's may pass it, and it must stay in the nearest cache.
const PLACES: usize = 1 << 13;
const ANYWHERE: u8 = u8::MAX;
/// A bit of every byte that is not ASCII.
const FOREIGN: Record = Record::MAX / 0xff * 0x80;

/// Words that are looked at together.
pub(super) const AT_ONCE: usize = 64;

/// For the first, second and third letter of a trigram, by the lowest five bits of a letter, which of eight groups of
/// trigrams have it there.
pub(super) type Letters = [[u8; 32]; 3];

/// The trigrams of a query, made ready to be found in words.
pub(super) struct Matches<'a> {
    profile: &'a QueryProfile,
    /// Where a trigram may be among the query's, and 1: by three bytes if they are ASCII, by the number if not. 0 for
    /// nowhere, [`ANYWHERE`] for a place that several share or that has no room in a byte.
    sieve: Box<[u8; PLACES]>,
    has_foreign: bool,
    letters: Letters,
    #[cfg(target_arch = "x86_64")]
    avx2: Option<Avx2>,
}

impl<'a> Matches<'a> {
    pub(super) fn new(profile: &'a QueryProfile) -> Self {
        let has_foreign = profile.trigrams.iter().any(|&trigram| to_ascii(trigram).is_none());
        let mut result = Self {
            profile,
            sieve: Box::new([0; PLACES]),
            has_foreign,
            letters: [[0; 32]; 3],
            #[cfg(target_arch = "x86_64")]
            avx2: Avx2::detect(),
        };
        for (&trigram, next) in profile.trigrams.iter().zip(1_usize..) {
            // Neighbours share letters, so a group of them has few at each place.
            let group = 1 << (8 * (next - 1) / profile.trigrams.len());
            for (sets, letter) in result.letters.iter_mut().zip(to_ascii(trigram).into_iter().flatten()) {
                sets[usize::from(letter & 0x1f)] |= group;
            }
            let at = &mut result.sieve[to_ascii(trigram).map_or_else(|| place(trigram), ascii_place)];
            *at = if *at == 0 { next.min(ANYWHERE.into()) as u8 } else { ANYWHERE };
        }
        result
    }

    /// Fill in a bit for each three bytes of short words that may be a trigram of the query.
    pub(super) fn passed(&self, records: &[Record; AT_ONCE], passed: &mut [u32; AT_ONCE]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = self.avx2 {
            return token.passed(&self.letters, records, passed);
        }
        passed.iter_mut().zip(records).for_each(|(passed, &record)| *passed = self.sieved(record));
    }

    /// True if a word may have some, given what [`Self::passed`] has for it.
    pub(super) fn may_have_any(&self, record: Record, passed: u32) -> bool {
        (passed != 0) | !is_short(record) | (self.has_foreign & (record & FOREIGN != 0))
    }

    /// Call `each` with the places among [`QueryProfile::trigrams`] of those that a word has, as often as it has them,
    /// given what [`Self::passed`] has for it.
    pub(super) fn of<'n>(
        &self,
        record: Record,
        mut passed: u32,
        long: impl FnOnce() -> Option<&'n [u8]>,
        mut each: impl FnMut(u32),
    ) {
        if is_short(record) {
            let bytes = record.to_le_bytes();
            while passed != 0 {
                let at = passed.trailing_zeros() as usize;
                passed &= passed - 1;
                self.ascii([bytes[at], bytes[at + 1], bytes[at + 2]], &mut each);
            }
            if self.has_foreign && record & FOREIGN != 0 {
                self.foreign(letters(&bytes, record), &mut each);
            }
        } else if let Some(word) = long() {
            windows(word).for_each(|bytes| self.ascii(bytes, &mut each));
            if self.has_foreign {
                self.foreign(word, &mut each);
            }
        }
    }

    /// A bit for each three bytes of a short word that pass the sieve.
    fn sieved(&self, record: Record) -> u32 {
        // First all places, in lanes of 16 bits, then all look-ups, whatever the length of the word: without a branch.
        let (even, odd) = (lanes(record), lanes(record >> 8));
        let results = |lanes: Record, lane: u32| self.sieve[usize::from((lanes >> (16 * lane)) as u16) % PLACES];
        if (0..7).fold(0, |all, lane| all | results(even, lane) | results(odd, lane)) == 0 {
            return 0;
        }
        let bits = |lane| u32::from(results(even, lane) != 0) | u32::from(results(odd, lane) != 0) << 1;
        (0..7).fold(0, |all, lane| all | bits(lane) << (2 * lane))
    }

    fn ascii(&self, bytes: [u8; 3], each: &mut impl FnMut(u32)) {
        self.find(self.sieve[ascii_place(bytes)], of_ascii(bytes), each);
    }

    /// Look at the trigrams that are not ASCII.
    fn foreign(&self, word: &[u8], each: &mut impl FnMut(u32)) {
        let Ok(word) = str::from_utf8(word) else { return };
        for_each_trigram(word, |trigram| {
            if to_ascii(trigram).is_none() {
                self.find(self.sieve[place(trigram)], trigram, each);
            }
        });
    }

    /// Find a trigram with this value in the sieve.
    fn find(&self, sieved: u8, trigram: Trigram, each: &mut impl FnMut(u32)) {
        let trigrams = &self.profile.trigrams;
        let at = match sieved {
            0 => None,
            ANYWHERE => trigrams.binary_search(&trigram).ok(),
            next => Some(usize::from(next) - 1).filter(|&at| trigrams[at] == trigram),
        };
        if let Some(at) = at {
            each(at as u32);
        }
    }
}

/// The places of the three bytes that begin at each even byte, in lanes of 16 bits.
fn lanes(record: Record) -> Record {
    const EVEN: Record = Record::MAX / 0xffff * 0x1f;
    // Five bits tell letters apart; shifted by four and eight they make thirteen.
    record & EVEN ^ (record >> 8 & EVEN) << 4 ^ (record >> 16 & EVEN) << 8
}

/// The place that [`lanes`] gives three bytes.
fn ascii_place(bytes: [u8; 3]) -> usize {
    let [a, b, c] = bytes.map(|byte| usize::from(byte & 0x1f));
    a ^ b << 4 ^ c << 8
}

fn place(trigram: Trigram) -> usize {
    (trigram.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::names::short;
    use super::*;

    proptest! {
        #![proptest_config(crate::seeded(500))]

        #[test]
        fn words_have_the_trigrams_of_the_query_with_and_without_vectors_of_bytes(
            query in "[a-d0é ]{0,60}",
            words in prop::collection::vec("[a-dpt0é@]{0,14}", AT_ONCE),
        ) {
            let profile = QueryProfile::new(&query);
            let shared = |matches: &Matches<'_>| -> Vec<Vec<u32>> {
                let records: Vec<Record> = words.iter().map(|word| short(format!(" {word} ").as_bytes()).unwrap_or(0)).collect();
                let (records, mut passed) = (records.try_into().unwrap(), [0; AT_ONCE]);
                matches.passed(&records, &mut passed);
                let of = |(&record, passed)| {
                    let mut places = Vec::new();
                    matches.of(record, passed, || None, |at| places.push(at));
                    places
                };
                records.iter().zip(passed).map(of).collect()
            };
            let best = Matches::new(&profile);
            let results = shared(&best);
            #[cfg(target_arch = "x86_64")]
            prop_assert_eq!(&results, &shared(&Matches { avx2: None, ..best }));
            for (word, places) in words.iter().zip(results).filter(|(word, _)| word.len() <= 14) {
                let mut wanted = Vec::new();
                for_each_trigram(&format!(" {word} "), |trigram| wanted.extend(profile.trigrams.binary_search(&trigram)));
                let mut places: Vec<usize> = places.into_iter().map(|at| at as usize).collect();
                wanted.sort_unstable();
                places.sort_unstable();
                prop_assert_eq!(places, wanted);
            }
        }
    }
}
