//! Which of a query's trigrams a word has.

use super::asked::Asked;
use super::names::{Record, is_short, letters};
use super::trigram::{Trigram, for_each_trigram, of_ascii, to_ascii, windows};

/// Places of the sieve: few trigrams but the query's may pass it, and it must stay in the nearest cache.
const PLACES: usize = 1 << 13;
/// A bit of every byte that is not ASCII.
const FOREIGN: Record = Record::MAX / 0xff * 0x80;

/// The trigrams of a query, made ready to be found in words.
pub(super) struct Matches<'a> {
    asked: &'a Asked,
    /// Which trigrams may be among the query's: by three bytes if they are ASCII, by the number if not.
    sieve: Box<[u8; PLACES]>,
    has_foreign: bool,
}

impl<'a> Matches<'a> {
    pub(super) fn new(asked: &'a Asked) -> Self {
        let has_foreign = asked.trigrams.iter().any(|&trigram| to_ascii(trigram).is_none());
        let mut made = Self { asked, sieve: Box::new([0; PLACES]), has_foreign };
        for &trigram in &asked.trigrams {
            made.sieve[to_ascii(trigram).map_or_else(|| place(trigram), ascii_place)] = 1;
        }
        made
    }

    /// Call `each` with the places among [`Asked::trigrams`] of those that a word has, as often as it has them.
    pub(super) fn of<'n>(&self, record: Record, long: impl FnOnce() -> Option<&'n [u8]>, mut each: impl FnMut(u32)) {
        if is_short(record) {
            let bytes = record.to_le_bytes();
            if self.passes(record) {
                self.ascii(letters(&bytes, record), &mut each);
            }
            if self.has_foreign && record & FOREIGN != 0 {
                self.foreign(letters(&bytes, record), &mut each);
            }
        } else if let Some(word) = long() {
            self.ascii(word, &mut each);
            if self.has_foreign {
                self.foreign(word, &mut each);
            }
        }
    }

    /// Whether any three bytes of a short word may be a trigram of the query.
    fn passes(&self, record: Record) -> bool {
        // First all places, in lanes of 16 bits, then all look-ups, whatever the length of the word: without a branch.
        let even = lanes(record);
        let odd = lanes(record >> 8);
        let found = |lanes: Record, lane: u32| self.sieve[usize::from((lanes >> (16 * lane)) as u16) % PLACES];
        (0..7).fold(0, |all, lane| all | found(even, lane) | found(odd, lane)) != 0
    }

    /// Look at the trigrams that are ASCII.
    fn ascii(&self, word: &[u8], each: &mut impl FnMut(u32)) {
        for bytes in windows(word) {
            if self.sieve[ascii_place(bytes)] != 0 {
                self.find(of_ascii(bytes), each);
            }
        }
    }

    /// Look at the trigrams that are not ASCII.
    fn foreign(&self, word: &[u8], each: &mut impl FnMut(u32)) {
        let Ok(word) = str::from_utf8(word) else { return };
        for_each_trigram(word, |trigram| {
            if self.sieve[place(trigram)] != 0 && to_ascii(trigram).is_none() {
                self.find(trigram, each);
            }
        });
    }

    fn find(&self, trigram: Trigram, each: &mut impl FnMut(u32)) {
        if let Ok(at) = self.asked.trigrams.binary_search(&trigram) {
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
