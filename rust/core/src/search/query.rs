//! From a query to the terms of a full-text search.

use rustc_hash::FxHashSet;

use crate::fts::index_terms;
use crate::terms::{self, Needed};

/// Maximum words that an entry can be required to hold together, in all forms and pieces.
pub const MOST_NEEDED: (usize, usize) = (64, 256);

/// Words that are left out of a query.
#[derive(Clone, Debug)]
pub enum StopWords {
    /// None.
    None,
    /// The documented ones, [`terms::STOP_WORDS`].
    English,
    /// These, in lower case.
    These(FxHashSet<String>),
}

impl StopWords {
    fn has(&self, word: &str) -> bool {
        match self {
            Self::None => false,
            Self::English => terms::is_stop_word(word),
            Self::These(words) => words.contains(word),
        }
    }
}

/// The words of a query whose beginnings are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CascadeWords {
    /// In lower case, in the order of the query; repeated words stand again.
    pub words: Vec<String>,
    /// The number left out because the query is too long.
    pub cut: usize,
    /// True if FTS5 takes a word for several tokens, a phrase, which only FTS5 can rank.
    pub has_phrase: bool,
    /// True if the query has words, and all of them were left out.
    pub vague: bool,
}

/// Cut a query into words: without stop words, and without single letters of scripts that have blanks between words. Nothing
/// may be left.
pub fn cascade_words(text: &str, stop_words: &StopWords, most: usize) -> CascadeWords {
    let all = terms::words(text);
    let any = !all.is_empty();
    let long = |word: &str| match word.chars().collect::<Vec<_>>()[..] {
        [one] => terms::is_unspaced(one),
        _ => true,
    };
    let mut words: Vec<(String, usize)> = all
        .into_iter()
        .filter(|word| long(word) && !stop_words.has(word))
        .map(|word| {
            let tokens = index_terms(&word).len();
            (word, tokens)
        })
        .filter(|(_, tokens)| *tokens > 0)
        .collect();
    let (cut, vague) = (words.len().saturating_sub(most), any && words.is_empty());
    words.truncate(most);
    let has_phrase = words.iter().any(|(_, tokens)| *tokens > 1);
    CascadeWords { words: words.into_iter().map(|(word, _)| word).collect(), cut, has_phrase, vague }
}

/// The terms of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Lower-case words and grams in the order of the query; repeated words stand again.
    pub terms: Vec<String>,
    /// The number of leading terms that are words.
    pub words: usize,
    /// The number of terms left out because the query is too long.
    pub cut: usize,
    /// True if FTS5 takes a term for several tokens, a phrase, which only FTS5 can rank.
    pub has_phrase: bool,
}

/// Cut a query into terms by the documented steps.
///
/// Words of under `least` characters are dropped, unless none would be left (documented is 2); stop words likewise; grams
/// (see [`terms::query_grams`]) are added for what FTS5's `unicode61` cannot cut, with `names` also for names.
pub fn query_terms(
    text: &str,
    stop_words: &StopWords,
    (grams, names): (bool, bool),
    most: usize,
    least: usize,
) -> Terms {
    // A stop word inside a name is a part of it.
    let named = if grams && names { terms::words_of_names(text) } else { FxHashSet::default() };
    let mut kept = kept(text, terms::words(text), stop_words, least, &named, String::as_str);
    let words = kept.len().min(most);
    if grams {
        let plain: FxHashSet<&str> = kept.iter().map(String::as_str).collect();
        let more: Vec<String> =
            terms::query_grams(text, names).into_iter().filter(|gram| !plain.contains(gram.as_str())).collect();
        kept.extend(more);
    }
    let cut = kept.len().saturating_sub(most);
    kept.truncate(most);
    let has_phrase = kept.iter().any(|term| index_terms(term).len() > 1);
    Terms { terms: kept, words, cut, has_phrase }
}

/// The words that an entry must hold to hold the whole query, each once, and whether FTS5 takes a form or a piece for
/// several tokens; no words if they are too many ([`MOST_NEEDED`]).
///
/// They are those that [`query_terms`] keeps. Text without a token for FTS5 cannot be held, and is not needed.
pub fn needed_words(text: &str, stop_words: &StopWords, grams: bool, most: usize, least: usize) -> (Vec<Needed>, bool) {
    let none = FxHashSet::default();
    let mut words = kept(text, terms::needed(text, grams), stop_words, least, &none, |word| word.forms[0].as_str());
    words.truncate(most);
    let mut has_phrase = false;
    let mut is_indexed = |term: &String| {
        let tokens = index_terms(term).len();
        has_phrase |= tokens > 1;
        tokens > 0
    };
    let mut seen = FxHashSet::default();
    words.retain_mut(|word| {
        word.forms.retain(&mut is_indexed);
        word.pieces.retain(&mut is_indexed);
        !(word.forms.is_empty() && word.pieces.is_empty()) && seen.insert(word.clone())
    });
    let terms: usize = words.iter().map(|word| word.forms.len() + word.pieces.len()).sum();
    if words.len() > MOST_NEEDED.0 || terms > MOST_NEEDED.1 { (Vec::new(), false) } else { (words, has_phrase) }
}

/// The words of a query that are searched for; those of names are no stop words.
fn kept<W>(
    text: &str,
    words: Vec<W>,
    stop_words: &StopWords,
    least: usize,
    named: &FxHashSet<String>,
    name: impl Fn(&W) -> &str,
) -> Vec<W> {
    let left_over = if least <= 1 { left_over(text) } else { FxHashSet::default() };
    let long = |word: &W| {
        let mut letters = name(word).chars();
        match (letters.next(), letters.next()) {
            // Scripts without blanks are searched by pairs, and `t` of `don't` is no word.
            (Some(one), None) => least <= 1 && !terms::is_unspaced(one) && !left_over.contains(&one),
            _ => name(word).chars().nth(least.saturating_sub(1)).is_some(),
        }
    };
    let kept = filtered(words, long);
    match stop_words {
        StopWords::None => kept,
        _ => filtered(kept, |word| !stop_words.has(name(word)) || named.contains(name(word))),
    }
}

/// The letters, in lower case, that stand alone in a text, behind an apostrophe wherever they do. In one pass: a query may
/// be of megabytes.
fn left_over(text: &str) -> FxHashSet<char> {
    let (mut behind, mut free) = (FxHashSet::default(), FxHashSet::default());
    let mut before = [' '; 2];
    for c in text.chars().chain([' ']) {
        let [apostrophe, one] = before;
        if one.is_alphanumeric() && !c.is_alphanumeric() && !apostrophe.is_alphanumeric() {
            let alone = if matches!(apostrophe, '\'' | '\u{2019}') { &mut behind } else { &mut free };
            alone.extend(one.to_lowercase());
        }
        before = [one, c];
    }
    behind.retain(|letter| !free.contains(letter));
    behind
}

/// The items that pass, or all if none does.
fn filtered<W>(words: Vec<W>, passes: impl Fn(&W) -> bool) -> Vec<W> {
    if words.iter().any(&passes) { words.into_iter().filter(passes).collect() } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn english(drop: bool) -> StopWords {
        if drop { StopWords::English } else { StopWords::None }
    }

    fn terms_of(text: &str, drop: bool, most: usize) -> Vec<String> {
        query_terms(text, &english(drop), (true, true), most, 2).terms
    }

    #[test]
    fn short_and_stop_words_go_unless_nothing_else_is_left() {
        assert_eq!(terms_of("What is a JWT?", true, 9), ["jwt"]);
        assert_eq!(terms_of("the", true, 9), ["the"]);
        assert_eq!(terms_of("a b", false, 9), ["a", "b"]);
        assert!(terms_of("?!", true, 9).is_empty());
    }

    #[test]
    fn single_letters_and_digits_are_words_where_so_few_are_enough() {
        let of = |text: &str| query_terms(text, &StopWords::English, (true, true), 9, 1).terms.join(" ");
        assert_eq!(of("Chapter 7"), "chapter 7");
        assert_eq!(of("what is vitamin C, or plan b"), "vitamin c plan b");
        assert_eq!(of("why don't Bob\u{2019}s keys rotate"), "don bob keys rotate");
        assert_eq!(of("vitamin D isn't in Bob's list of D"), "vitamin d isn bob list d");
        assert_eq!(of("'s"), "s");
        // Linear in the query: by a pass for each letter this would take hours.
        let long = format!("{} {}", "word ".repeat(400_000), "b ".repeat(400_000));
        assert_eq!(query_terms(&long, &StopWords::English, (false, true), usize::MAX, 1).terms.len(), 800_000);
        assert_eq!(of("a I"), "a i");
        // A character of a script without blanks is asked for as a gram, behind the words.
        assert_eq!(of("水 温度"), "温度 水");
        assert_eq!(needed_words("Chapter 7", &StopWords::English, true, 9, 1).0.len(), 2);
        assert_eq!(needed_words("Chapter 7", &StopWords::English, true, 9, 2).0.len(), 1);
    }

    #[test]
    fn the_words_that_are_needed_are_those_that_are_searched_for() {
        let of = |text: &str, drop, most| {
            let (words, phrase) = needed_words(text, &english(drop), true, most, 2);
            (words.into_iter().map(|word| word.forms[0].clone()).collect::<Vec<_>>().join(" "), phrase)
        };
        assert_eq!(of("What is a JWT token, JWT?", true, 9), ("jwt token".to_owned(), false));
        assert_eq!(of("What is a JWT?", false, 9), ("what is jwt".to_owned(), false));
        assert_eq!(of("the", true, 9).0, "the");
        assert_eq!(of("a b", false, 9).0, "a b");
        assert_eq!(of("one two three", false, 2).0, "one two");
        assert!(needed_words("?!", &StopWords::English, true, 9, 2).0.is_empty());
        let many = |count: usize| (0..count).map(|i| format!("w{i:03} ")).collect::<String>();
        assert_eq!(needed_words(&many(64), &StopWords::None, false, 256, 2).0.len(), 64);
        assert!(needed_words(&many(65), &StopWords::None, false, 256, 2).0.is_empty());
        // A word of 200 characters has 199 pairs, two have too many.
        assert_eq!(needed_words(&"水".repeat(200), &StopWords::None, true, 256, 2).0[0].pieces.len(), 199);
        assert!(needed_words(&"水".repeat(300), &StopWords::None, true, 256, 2).0.is_empty());
    }

    #[test]
    fn names_keep_their_stop_words_and_are_terms_themselves() {
        let of = |text: &str| {
            let results = query_terms(text, &StopWords::English, (true, true), 99, 1);
            (results.terms.join(" "), results.words)
        };
        assert_eq!(of("how is is_zipfile used"), ("is is zipfile used iszipfile".to_owned(), 4));
        assert_eq!(of("the long-term plan"), ("long term plan".to_owned(), 3));
    }

    #[test]
    fn a_cascade_keeps_no_stop_words_and_may_keep_nothing() {
        let stop = StopWords::These(["the", "what"].map(str::to_owned).into_iter().collect());
        let of = |text: &str, most| cascade_words(text, &stop, most);
        assert_eq!(of("What's THE DB fix-up, DB?", 9).words, ["db", "fix", "up", "db"]);
        assert_eq!((of("a b c-d 水", 9).words, of("a b", 9).vague), (vec!["水".to_owned()], true));
        assert!(of("the WHAT", 9).vague && !of("?!", 9).vague && !of("", 9).vague);
        let cut = of("one two three the four", 3);
        assert_eq!((cut.words.len(), cut.cut, cut.has_phrase, cut.vague), (3, 1, false, false));
        assert_eq!(terms_of("the what", true, 9), ["the", "what"]);
        assert_eq!(query_terms("the what red", &stop, (false, true), 9, 2).terms, ["red"]);
    }

    #[test]
    fn grams_follow_the_words_and_the_rest_of_a_long_query_is_cut() {
        let results = query_terms("getUserName red red", &StopWords::None, (true, true), 3, 2);
        assert_eq!(results.terms[..3], ["getusername", "red", "red"]);
        assert!(results.cut > 0);
        assert!(query_terms("getUserName", &StopWords::None, (false, true), 9, 2).terms == ["getusername"]);
    }
}
