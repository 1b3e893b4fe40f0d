//! Which of a query's trigrams a word has.

use super::names::{Record, is_short, letters};
use super::query_profile::QueryProfile;
use super::trigram::{Trigram, for_each_trigram, of_ascii, to_ascii, windows};

/// Places of the sieve: few trigrams but the query's may pass it, and it must stay in the nearest cache.
const PLACES: usize = 1 << 13;
const ANYWHERE: u8 = u8::MAX;
/// A bit of every byte that is not ASCII.
const FOREIGN: Record = Record::MAX / 0xff * 0x80;

/// The trigrams of a query, made ready to be found in words.
pub(super) struct Matches<'a> {
    profile: &'a QueryProfile,
    /// Where a trigram may be among the query's, and 1: by three bytes if they are ASCII, by the number if not. 0 for
    /// nowhere, [`ANYWHERE`] for a place that several share or that has no room in a byte.
    sieve: Box<[u8; PLACES]>,
    has_foreign: bool,
}

impl<'a> Matches<'a> {
    pub(super) fn new(profile: &'a QueryProfile) -> Self {
        let has_foreign = profile.trigrams.iter().any(|&trigram| to_ascii(trigram).is_none());
        let mut result = Self { profile, sieve: Box::new([0; PLACES]), has_foreign };
        for (&trigram, next) in profile.trigrams.iter().zip(1_usize..) {
            let at = &mut result.sieve[to_ascii(trigram).map_or_else(|| place(trigram), ascii_place)];
            *at = if *at == 0 { next.min(ANYWHERE.into()) as u8 } else { ANYWHERE };
        }
        result
    }

    /// Call `each` with the places among [`QueryProfile::trigrams`] of those that a word has, as often as it has them.
    pub(super) fn of<'n>(&self, record: Record, long: impl FnOnce() -> Option<&'n [u8]>, mut each: impl FnMut(u32)) {
        if is_short(record) {
            let bytes = record.to_le_bytes();
            let mut passed = self.passed(record);
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

    /// A bit for each three bytes of a short word that may be a trigram of the query.
    fn passed(&self, record: Record) -> u32 {
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
