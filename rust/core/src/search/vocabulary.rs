//! The words of a corpus as they are written: those near a misspelt one, and those that begin with letters.

use super::corpus::FullText;
use crate::fts::index_terms;
use crate::terms::fold;

/// A word that entries hold, folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub word: String,
    /// Edits that lead to it: letters left out, added, replaced, or two neighbours exchanged.
    pub edits: usize,
    /// The number of entries that hold it, in any form.
    pub rows: u32,
}

/// A word to which others may be near.
struct Wanted {
    letters: Vec<char>,
    mask: u64,
    edits: usize,
    other: Vec<char>,
    rows: [Vec<usize>; 3],
}

impl Wanted {
    fn new(word: &str, edits: usize) -> Self {
        let letters: Vec<char> = fold(word).chars().collect();
        Self { mask: mask(letters.iter().copied()), letters, edits, other: Vec::new(), rows: Default::default() }
    }

    /// The edits that lead to a word, if they are not too many.
    fn edits_to(&mut self, name: &[u8]) -> Option<usize> {
        let (edits, len) = (self.edits, self.letters.len());
        if name.len() > 4 * (len + edits) || name.len() + edits < len {
            return None;
        }
        self.other.clear();
        self.other.extend(std::str::from_utf8(name).ok()?.chars());
        let own = mask(self.other.iter().copied());
        // An edit brings at most one letter, and takes away at most one.
        let few = |letters: u64| letters.count_ones() as usize <= edits;
        if self.other.len().abs_diff(len) > edits || !few(self.mask & !own) || !few(own & !self.mask) {
            return None;
        }
        distance(&self.letters, &self.other, edits, &mut self.rows)
    }
}

/// Return the edits between a word and each of others, which are folded, up to a maximum.
pub fn edits_between<T: AsRef<str>>(word: &str, others: &[T], most: usize) -> Vec<Option<usize>> {
    let mut wanted = Wanted::new(word, most);
    others.iter().map(|other| wanted.edits_to(other.as_ref().as_bytes())).collect()
}

impl FullText<'_> {
    /// Return the words within `most` edits of a word, nearest first, then most frequent first.
    pub fn words_near(&self, word: &str, edits: usize, most: usize) -> Vec<Word> {
        let mut wanted = Wanted::new(word, edits);
        let mut near: Vec<(usize, String)> = Vec::new();
        self.spelling.0.for_each_word(|name| {
            if let (Some(edits), Ok(name)) = (wanted.edits_to(name), str::from_utf8(name)) {
                near.push((edits, name.to_owned()));
            }
        });
        near.sort_unstable();
        let mut results = self.counted(near.into_iter());
        results.sort_by(|a, b| a.edits.cmp(&b.edits).then(b.rows.cmp(&a.rows)));
        results.truncate(most);
        results
    }

    /// Return the words that begin with letters, the most frequent first.
    pub fn words_from(&self, prefix: &str, most: usize) -> Vec<Word> {
        let prefix = fold(prefix);
        let mut begun: Vec<(usize, String)> = Vec::new();
        self.spelling.0.for_each_word(|name| {
            if name.starts_with(prefix.as_bytes()) {
                begun.extend(std::str::from_utf8(name).map(|name| (0, name.to_owned())));
            }
        });
        begun.sort_unstable();
        let mut results = self.counted(begun.into_iter());
        results.sort_by_key(|results| std::cmp::Reverse(results.rows));
        results.truncate(most);
        results
    }

    /// The words that rows hold, with their number; others were of entries that are gone.
    fn counted(&self, words: impl Iterator<Item = (usize, String)>) -> Vec<Word> {
        words
            .filter_map(|(edits, word)| {
                let [term] = &index_terms(&word)[..] else { return None };
                let rows = self.entries.1.document_frequency(term).max(self.grams.1.document_frequency(term));
                (rows > 0).then_some(Word { word, edits, rows })
            })
            .collect()
    }
}

/// The letters of a word as a set, of 64 classes.
fn mask(letters: impl Iterator<Item = char>) -> u64 {
    letters.fold(0, |mask, letter| mask | 1 << (letter as u32 % 64))
}

/// The edits between two words, up to `most` (restricted Damerau-Levenshtein: no letter is edited twice). `rows` is
/// scratch.
fn distance(a: &[char], b: &[char], most: usize, rows: &mut [Vec<usize>; 3]) -> Option<usize> {
    let [before, last, now] = rows;
    last.clear();
    last.extend(0..=b.len());
    before.clone_from(last);
    for (i, &x) in a.iter().enumerate() {
        now.clear();
        now.push(i + 1);
        let mut least = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let mut edits = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(now[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                edits = edits.min(before[j - 1] + 1);
            }
            least = least.min(edits);
            now.push(edits);
        }
        // An exchange looks back two rows.
        if least > most + 1 {
            return None;
        }
        std::mem::swap(before, last);
        std::mem::swap(last, now);
    }
    last.last().copied().filter(|&edits| edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(a: &str, b: &str) -> Option<usize> {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        distance(&a, &b, 2, &mut [Vec::new(), Vec::new(), Vec::new()])
    }

    #[test]
    fn a_word_is_folded_before_it_is_compared() {
        assert_eq!(edits_between("Größe", &["grosse", "grose", "zebra", ""], 1), [Some(0), Some(1), None, None]);
        assert_eq!(edits_between("", &["", "a"], 0), [Some(0), None]);
    }

    #[test]
    fn edits_are_counted_up_to_a_bound() {
        for (a, b, wanted) in [
            ("lightwieght", "lightweight", Some(1)),
            ("sqlite", "sqlite", Some(0)),
            ("sqllite", "sqlite", Some(1)),
            ("", "ab", Some(2)),
            ("abcd", "badc", Some(2)),
            ("abc", "xyz", None),
            ("größe", "große", Some(1)),
            ("ca", "abc", None),
        ] {
            assert_eq!((edits(a, b), edits(b, a)), (wanted, wanted), "{a} {b}");
        }
    }
}
