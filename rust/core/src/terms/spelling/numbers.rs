//! Numbers by word: open-addressed tables, which find a word by its number.

use xxhash_rust::xxh3::xxh3_64;

use super::names::{Record, Words, find, short};

/// The number of a word between two blanks, and where it is or would be.
///
/// Buckets have a number and 1, or 0 for none; there must be a power of two of them.
pub(super) fn look_up(buckets: &[u32], word: &[u8], parts: &[Words<'_>]) -> (Option<u32>, usize) {
    let wanted = short(word);
    let is_it = |(record, long)| wanted.map_or_else(|| long == Some(word), |wanted| record == wanted);
    let first = wanted.map_or_else(|| xxh3_64(word), hash) as usize;
    // Ends before the last bucket but for a table without an empty one, which is none of ours.
    for step in 0..buckets.len() {
        let place = first.wrapping_add(step) & (buckets.len() - 1);
        let Some(number) = buckets[place].checked_sub(1) else { return (None, place) };
        if is_it(find(parts, number)) {
            return (Some(number), place);
        }
    }
    (None, 0)
}

/// The table of all words of the parts.
pub(super) fn table(parts: &[Words<'_>]) -> Vec<u32> {
    let len: usize = parts.iter().map(|words| words.records.len()).sum();
    let mut buckets = vec![0; (len + len / 2 + 8).next_power_of_two()];
    let last = buckets.len() - 1;
    let words = parts.iter().flat_map(|words| words.records.iter().map(|&record| (record, words.long(record))));
    for ((record, long), number) in words.zip(1..) {
        let mut place = long.map_or_else(|| hash(record), xxh3_64) as usize & last;
        while buckets[place] != 0 {
            place = (place + 1) & last;
        }
        buckets[place] = number;
    }
    buckets
}

/// A growing table.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    buckets: Vec<u32>,
    len: usize,
}

impl Numbers {
    /// The number of words.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The table of all words of a part.
    pub(super) fn of(words: Words<'_>) -> Self {
        Self { buckets: table(&[words]), len: words.records.len() }
    }

    /// The number of a word between two blanks, and whether it had one before. If not, the caller has to add it to the
    /// parts.
    pub(super) fn number(&mut self, word: &[u8], parts: &[Words<'_>]) -> (u32, bool) {
        if 4 * self.len >= 3 * self.buckets.len() {
            self.buckets = table(parts);
        }
        match look_up(&self.buckets, word, parts) {
            (Some(number), _) => (number, true),
            (None, place) => {
                self.len += 1;
                self.buckets[place] = self.len as u32;
                (self.len as u32 - 1, false)
            }
        }
    }

    pub(super) fn size_bytes(&self) -> usize {
        size_of::<u32>() * self.buckets.capacity()
    }
}

/// A number whose bits depend on all of a short word's.
fn hash(record: Record) -> u64 {
    let factors = (record as u64 ^ 0x9e37_79b9_7f4a_7c15, (record >> 64) as u64 ^ 0xbf58_476d_1ce4_e5b9);
    let product = u128::from(factors.0) * u128::from(factors.1);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::super::names::Names;
    use super::*;

    #[test]
    fn words_get_numbers_in_order_of_first_sight() {
        let (mut names, mut added, mut numbers) = (Names::default(), Names::default(), Numbers::default());
        let words: Vec<String> =
            (0..5_000).map(|i| format!(" {} ", "é".repeat(i % 9) + &(i * i).to_string())).collect();
        for round in 0..2 {
            for (i, word) in words.iter().enumerate() {
                let (number, is_known) = numbers.number(word.as_bytes(), &[names.words(), added.words()]);
                assert_eq!((number, is_known), (i as u32, round == 1), "{word}");
                if !is_known {
                    added.push(word.as_bytes());
                }
                if i == 3_000 {
                    names.extend(&std::mem::take(&mut added));
                }
            }
        }
        assert_eq!(numbers.len(), 5_000);
        names.extend(&added);
        assert_eq!(Numbers::of(names.words()).number(words[4_321].as_bytes(), &[names.words()]), (4_321, true));
    }

    #[test]
    fn a_table_without_an_empty_bucket_ends_a_search() {
        let names = Names::default();
        assert_eq!(look_up(&[7; 8], b" red ", &[names.words()]), (None, 0));
        assert_eq!(look_up(&[], b" red ", &[names.words()]), (None, 0));
    }
}
