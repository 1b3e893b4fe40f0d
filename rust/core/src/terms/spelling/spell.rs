//! The words of a text as they are compared by spelling.

use crate::terms::ascii::{for_each_run, plain};
use crate::terms::fold::fold;
use crate::terms::stop_words::{is_stop_word, starts_with_stop_word};
use crate::terms::words::split;

pub(super) use crate::terms::ascii::BLANK;

/// Cuts texts into words. Its memory is used again from text to text.
#[derive(Default)]
pub(super) struct Speller(Vec<u8>);

impl Speller {
    /// Call `emit` with each word: folded, between two blanks. Stop words and single ASCII characters are left out.
    pub(super) fn for_each(&mut self, text: &str, mut emit: impl FnMut(&[u8])) {
        if text.is_ascii() { self.ascii(text, emit) } else { self.any(text, &mut emit) }
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

    fn ascii(&mut self, text: &str, mut emit: impl FnMut(&[u8])) {
        for_each_run(text, &mut self.0, |line, run| {
            let eight = line[run.start..].first_chunk().copied().unwrap_or_default();
            if run.len() > 1 && !starts_with_stop_word(eight, run.len()) {
                emit(&line[run.start - 1..=run.end]);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spelt(text: &str) -> Vec<String> {
        let mut results = Vec::new();
        Speller::default().for_each(text, |word| results.push(String::from_utf8(word.to_vec()).unwrap()));
        results
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
            Speller::default().ascii(&text, |word| one.push(word.to_vec()));
            Speller::default().any(&text, &mut |word: &[u8]| other.push(word.to_vec()));
            prop_assert_eq!(one, other);
        }
    }
}
