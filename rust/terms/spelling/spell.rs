//! The words of a text as they are compared by spelling.

use crate::terms::fold::fold;
use crate::terms::stop_words::{is_stop_word, starts_with_stop_word};
use crate::terms::words::split;

/// What stands before and after a word.
pub(super) const BLANK: u8 = b' ';
/// Characters looked at in one step.
const STEP: usize = 64;

/// Cuts texts into words. Its memory is used again from text to text.
#[derive(Default)]
pub(super) struct Speller(Vec<u8>);

impl Speller {
    /// Call `emit` with each word: folded, between two blanks. Stop words and single ASCII characters are left out.
    pub(super) fn for_each(&mut self, text: &str, mut emit: impl FnMut(&[u8])) {
        if text.is_ascii() { self.ascii(text.as_bytes(), emit) } else { self.any(text, &mut emit) }
    }

    fn any(&mut self, text: &str, emit: &mut impl FnMut(&[u8])) {
        let word = &mut self.0;
        split(text, false, |run| {
            word.clear();
            word.push(BLANK);
            let kept = if run.ascii {
                word.extend(run.text().bytes().map(plain));
                let letters = &word[1..];
                let mut eight = [0; 8];
                eight[..letters.len().min(8)].copy_from_slice(&letters[..letters.len().min(8)]);
                letters.len() > 1 && !starts_with_stop_word(eight, letters.len())
            } else {
                let folded = fold(&run.text());
                word.extend(folded.bytes());
                folded.len() > 1 && !is_stop_word(&folded)
            };
            if kept {
                word.push(BLANK);
                emit(word);
            }
        });
    }

    fn ascii(&mut self, text: &[u8], mut emit: impl FnMut(&[u8])) {
        let line = &mut self.0;
        line.clear();
        line.push(BLANK);
        line.extend(text.iter().copied().map(plain));
        // Whole steps, and after the last word as many bytes as are compared with stop words.
        line.resize((line.len() + 8).next_multiple_of(STEP), BLANK);
        let (mut before, mut start) = (0, None);
        for (step, bytes) in line.as_chunks::<STEP>().0.iter().enumerate() {
            let letters = letters(bytes);
            // A word begins or ends where a character differs from the one before it.
            let mut edges = letters ^ (letters << 1 | before);
            before = letters >> (STEP - 1);
            while edges != 0 {
                let at = step * STEP + edges.trailing_zeros() as usize;
                edges &= edges - 1;
                let Some(first) = start.take() else {
                    start = Some(at);
                    continue;
                };
                let eight = line[first..].first_chunk().copied().unwrap_or_default();
                if at - first > 1 && !starts_with_stop_word(eight, at - first) {
                    emit(&line[first - 1..=at]);
                }
            }
        }
    }
}

/// An ASCII letter in lower case or a digit; a blank for anything else.
fn plain(byte: u8) -> u8 {
    let lower = byte | 0x20;
    if byte.is_ascii_digit() || lower.is_ascii_lowercase() { lower } else { BLANK }
}

/// A bit for each byte, set where it is not a blank. The bytes come from [`plain`].
fn letters(bytes: &[u8; STEP]) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    let mut bits = 0;
    for (i, &eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let eight = u64::from_le_bytes(eight);
        // Digits have the bit 0x10, letters the bit 0x40, a blank has neither. The product gathers the lowest bits of
        // the bytes in its highest byte.
        let set = (eight >> 4 | eight >> 6) & ONES;
        bits |= (set.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spelt(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        Speller::default().for_each(text, |word| found.push(String::from_utf8(word.to_vec()).unwrap()));
        found
    }

    #[test]
    fn words_are_folded_and_stand_between_blanks() {
        assert_eq!(spelt("The JWT-token, x: 42"), [" jwt ", " token ", " 42 "]);
        assert_eq!(spelt("The Café, x: 水"), [" cafe ", " 水 "]);
        assert!(spelt("").is_empty() && spelt("a I ?").is_empty() && spelt("\u{64b}").is_empty());
    }

    proptest! {
        #![proptest_config(crate::seeded(512))]
        #[test]
        fn both_ways_find_the_same_words(text in "([A-Za-z0-9]{1,9}[ -~]|the |[\\x00-\\x7f]|[a-z ]{60,70}){0,30}") {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            Speller::default().ascii(text.as_bytes(), |word| one.push(word.to_vec()));
            Speller::default().any(&text, &mut |word: &[u8]| other.push(word.to_vec()));
            prop_assert_eq!(one, other);
        }
    }
}
