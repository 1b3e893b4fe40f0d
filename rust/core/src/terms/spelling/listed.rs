//! The trigrams and words of texts, for those who keep them elsewhere.

use super::index::SpellingIndex;
use super::statistics::Seen;
use crate::collections::for_each_number;
use crate::error::Result;
use crate::terms::TermLists;

/// The spelling of texts by place `(n,)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedSpelling {
    /// The words, folded.
    pub words: TermLists,
    /// Where the trigrams of each text begin, and where those of the last end `(n + 1,)`.
    pub offsets: Vec<i64>,
    /// Numbers of trigrams as [`super::trigram_numbers`], ascending, each once a text.
    pub trigrams: Vec<i32>,
    /// The number of trigrams of each text, repeated ones included `(n,)`.
    pub lengths: Vec<i64>,
}

impl SpellingIndex {
    /// The words and trigrams of all slots.
    ///
    /// # Errors
    /// None of an index that grew in memory.
    pub fn listed(&self) -> Result<ListedSpelling> {
        let contents = self.read();
        let mut names = Vec::new();
        for words in contents.words() {
            words.for_each(&mut |word: &[u8]| names.push(word.to_vec()));
        }
        let words = TermLists::of(names.iter().map(|name| &name[..]));
        let mut results = ListedSpelling { words, offsets: vec![0], ..ListedSpelling::default() };
        let mut seen = Seen::of_many();
        for slot in 0..contents.len() as i64 {
            let mut before = None;
            for_each_number(contents.slot(slot)?.0, |word| {
                if before.replace(word) != Some(word) {
                    results.words.push(word);
                }
            });
            results.words.end();
            results.lengths.push(seen.trigrams(&contents, slot)? as i64);
            seen.numbers.sort_unstable();
            results.trigrams.extend(seen.numbers.iter().map(|&number| number as i32));
            results.offsets.push(results.trigrams.len() as i64);
        }
        Ok(results)
    }
}
