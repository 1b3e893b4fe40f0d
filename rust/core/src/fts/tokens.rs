//! FTS5's `porter unicode61 remove_diacritics 2`: from text to index terms.

use std::ops::Range;

use super::{porter, unicode61};
use crate::terms::for_each_run;

/// Maximum bytes of a token (`FTS5_MAX_TOKEN_SIZE` of FTS5), even in the middle of a letter.
const MOST_BYTES: usize = 32_768;

/// Pass on the folded words of a text, not stemmed yet. `buffer` is scratch.
pub(super) fn for_each_word(text: &str, buffer: &mut Vec<u8>, mut each: impl FnMut(&[u8])) {
    if text.is_ascii() {
        for_each_run(text, buffer, |line, run| each(&line[run]));
    } else {
        unicode61::split(text, buffer, |word| each(word));
    }
}

/// Turn a folded word into its index term.
pub(super) fn word_to_term(word: &mut Vec<u8>) {
    porter::stem(word);
    word.truncate(MOST_BYTES);
}

/// Return the index terms of a text in order, as FTS5 makes them.
///
/// Terms are bytes: stemming and the cut at 32,768 bytes may end in the middle of a letter.
pub fn index_terms(text: &str) -> Vec<Vec<u8>> {
    let mut terms = Vec::new();
    unicode61::split(text, &mut Vec::new(), |word| {
        word_to_term(word);
        terms.push(word.clone());
    });
    terms
}

/// A token of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The folded word.
    pub word: Vec<u8>,
    /// Its index term.
    pub term: Vec<u8>,
    /// The bytes of the text that it takes.
    pub place: Range<usize>,
}

/// Return the tokens of a text in order, as FTS5 makes them.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut results = Vec::new();
    unicode61::split_at(text, |token, start, end| {
        let word = token.clone();
        word_to_term(token);
        results.push(Token { word, term: token.clone(), place: start..end });
    });
    results
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{for_each_word, index_terms, unicode61};

    proptest! {
        #![proptest_config(crate::seeded(512))]

        #[test]
        fn words_of_ascii_are_those_of_any_text(text in "([A-Za-z0-9]{1,9}[ -~]|[\\x00-\\x7f]|[a-z]{60,70}){0,30}") {
            let (mut some, mut all) = (Vec::new(), Vec::new());
            for_each_word(&text, &mut Vec::new(), |word| some.push(word.to_vec()));
            unicode61::split(&text, &mut Vec::new(), |word| all.push(word.clone()));
            prop_assert_eq!(some, all);
        }
    }

    #[test]
    fn terms() {
        assert_eq!(index_terms("The Renewals, renewed!"), [&b"the"[..], b"renew", b"renew"]);
        assert_eq!(index_terms("... !"), Vec::<Vec<u8>>::new());
        let long = "é".repeat(20_000) + "ß".repeat(20_000).as_str();
        assert_eq!(
            index_terms(&long),
            [["e".repeat(20_000).as_bytes(), &"ß".repeat(6_384).as_bytes()[..12_768]].concat()]
        );
    }
}
