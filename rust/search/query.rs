//! From a query to the terms of a full-text search.

use rustc_hash::FxHashSet;

use crate::fts::index_terms;
use crate::terms;

const LEAST_CHARS: usize = 2;

/// The terms of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Lower-case words and grams in the order of the query; repeated words stand again.
    pub terms: Vec<String>,
    /// How many terms were left out because the query is too long.
    pub cut: usize,
    /// Whether FTS5 takes a term for several tokens, a phrase, which only FTS5 can rank.
    pub has_phrase: bool,
}

/// Cut a query into terms by the documented steps.
///
/// Words of under two characters are dropped, unless none would be left; stop words likewise, if `drop_stop_words`; grams
/// (see [`terms::query_grams`]) are added for what FTS5's `unicode61` cannot cut.
pub fn query_terms(text: &str, drop_stop_words: bool, grams: bool, most: usize) -> Terms {
    let words = terms::words(text);
    let long = |word: &String| word.chars().nth(LEAST_CHARS - 1).is_some();
    let mut kept = filtered(words, long);
    if drop_stop_words {
        kept = filtered(kept, |word| !terms::is_stop_word(word));
    }
    if grams {
        let plain: FxHashSet<&str> = kept.iter().map(String::as_str).collect();
        let more: Vec<String> =
            terms::query_grams(text).into_iter().filter(|gram| !plain.contains(gram.as_str())).collect();
        kept.extend(more);
    }
    let cut = kept.len().saturating_sub(most);
    kept.truncate(most);
    let has_phrase = kept.iter().any(|term| index_terms(term).len() > 1);
    Terms { terms: kept, cut, has_phrase }
}

/// What passes, or everything if nothing does.
fn filtered(words: Vec<String>, passes: impl Fn(&String) -> bool) -> Vec<String> {
    if words.iter().any(&passes) { words.into_iter().filter(passes).collect() } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms_of(text: &str, drop: bool, most: usize) -> Vec<String> {
        query_terms(text, drop, true, most).terms
    }

    #[test]
    fn short_and_stop_words_go_unless_nothing_else_is_left() {
        assert_eq!(terms_of("What is a JWT?", true, 9), ["jwt"]);
        assert_eq!(terms_of("the", true, 9), ["the"]);
        assert_eq!(terms_of("a b", false, 9), ["a", "b"]);
        assert!(terms_of("?!", true, 9).is_empty());
    }

    #[test]
    fn grams_follow_the_words_and_the_rest_of_a_long_query_is_cut() {
        let found = query_terms("getUserName red red", false, true, 3);
        assert_eq!(found.terms[..3], ["getusername", "red", "red"]);
        assert!(found.cut > 0);
        assert!(query_terms("getUserName", false, false, 9).terms == ["getusername"]);
    }
}
