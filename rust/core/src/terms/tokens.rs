//! The tokens of TF-IDF.

use std::sync::Arc;

use super::fold::fold;
use super::runs::Runs;
use super::scripts::{Spacing, is_mark, stretches};
use super::stop_words::{is_stop_start, is_stop_word};
use super::words::split;
use crate::collections::{Lexicon, Term};
use crate::error::{Error, Result};

/// Return the TF-IDF tokens of a text.
///
/// Runs of letters, digits, marks and hyphens, lower-cased; those under three characters and the stop words are
/// dropped. Tokens with non-ASCII characters are folded; Hangul, whose particles join the word, and stretches of scripts
/// written without blanks give their pairs of characters, whatever their length.
pub fn tokenize(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for_each_token(text, &mut String::new(), |token| tokens.push(token.to_owned()));
    tokens
}

/// Call `emit` with each token of [`tokenize`]. The buffer is working space.
pub(super) fn for_each_token(text: &str, buffer: &mut String, mut emit: impl FnMut(&str)) {
    split(text, true, |run| {
        if !run.ascii {
            of_other(&fold(&run.text()), buffer, &mut emit);
            return;
        }
        let word = run.text();
        if word.len() >= 3 {
            buffer.clear();
            buffer.push_str(&word);
            buffer.make_ascii_lowercase();
            emit_word(buffer, &mut emit);
        }
    });
}

fn emit_word(word: &str, emit: &mut impl FnMut(&str)) {
    if !is_stop_word(word) {
        emit(word);
    }
}

fn of_other(folded: &str, buffer: &mut String, emit: &mut impl FnMut(&str)) {
    for (paired, part) in parts(folded) {
        if paired {
            pairs(part, buffer, emit);
        } else if part.chars().nth(2).is_some() {
            emit_word(part, emit);
        }
    }
}

/// Cut out the stretches that give pairs; what lies between two of them stays whole.
fn parts(folded: &str) -> Vec<(bool, &str)> {
    let mut merged: Vec<(bool, usize, usize)> = Vec::new();
    let mut at = 0;
    for (class, part) in stretches(folded) {
        let (paired, end) = (class != Spacing::Spaced, at + part.len());
        match merged.last_mut() {
            Some((kind, _, last)) if *kind == paired => *last = end,
            _ => merged.push((paired, at, end)),
        }
        at = end;
    }
    merged.into_iter().map(|(paired, start, end)| (paired, &folded[start..end])).collect()
}

fn pairs(stretch: &str, buffer: &mut String, emit: &mut impl FnMut(&str)) {
    let mut letters = stretch.chars().filter(|&c| !is_mark(c)).peekable();
    let mut first = true;
    while let Some(c) = letters.next() {
        buffer.clear();
        buffer.push(c);
        match letters.peek() {
            Some(&next) => buffer.push(next),
            None if first => {}
            None => break,
        }
        emit(buffer);
        first = false;
    }
}

/// The cutting of texts into terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// Runs of at least two word characters, lower-cased: scikit-learn's default pattern, `(?u)\b\w\w+\b`.
    Words,
    /// [`tokenize`].
    Signals,
}

impl Tokens {
    /// `words` or `signals`.
    ///
    /// # Errors
    /// [`Error::Name`] for another name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "words" => Ok(Self::Words),
            "signals" => Ok(Self::Signals),
            _ => Err(Error::Name { what: "tokens", wanted: "words, signals".to_owned(), got: name.to_owned() }),
        }
    }
}

/// The cutting of texts into terms: tokens without stop words, and runs of neighbours among those.
#[derive(Clone, Debug)]
pub struct Cutting {
    tokens: Tokens,
    stop_words: Arc<Lexicon>,
    /// Fewest and most tokens of a term.
    grams: (usize, usize),
}

impl From<Tokens> for Cutting {
    fn from(tokens: Tokens) -> Self {
        Self { tokens, stop_words: Arc::default(), grams: (1, 1) }
    }
}

impl Cutting {
    /// A cutting without these tokens, with terms of `grams.0` to `grams.1` neighbours, blanks between them.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `1 <= grams.0 <= grams.1`.
    pub fn new<T: AsRef<str>>(tokens: Tokens, stop_words: &[T], grams: (usize, usize)) -> Result<Self> {
        if grams.0 < 1 || grams.1 < grams.0 {
            return Err(Error::Parameter { what: "ngrams", wanted: "1 <= fewest <= most", got: grams.0 as f64 });
        }
        let mut known = Lexicon::default();
        for term in stop_words.iter().filter_map(|word| Term::of_bytes(word.as_ref().as_bytes())) {
            known.number(term);
        }
        Ok(Self { tokens, stop_words: Arc::new(known), grams })
    }
}

/// Cuts texts, with working space for many.
#[derive(Debug)]
pub(super) struct Cutter {
    cutting: Cutting,
    /// True if the tokens are the terms.
    plain: bool,
    space: Space,
    /// The tokens of a text with blanks between them, and where each begins and ends.
    joined: Vec<u8>,
    bounds: Vec<(usize, usize)>,
}

#[derive(Debug, Default)]
struct Space {
    runs: Runs,
    buffer: String,
}

impl Cutter {
    pub(super) fn new(cutting: impl Into<Cutting>) -> Self {
        let cutting = cutting.into();
        let plain = cutting.grams == (1, 1) && cutting.stop_words.len() == 0;
        Self { cutting, plain, space: Space::default(), joined: Vec::new(), bounds: Vec::new() }
    }

    /// Call `emit` with each term of a text.
    pub(super) fn each(&mut self, text: &str, mut emit: impl FnMut(Term<'_>)) {
        let Cutting { tokens, stop_words, grams } = &self.cutting;
        if self.plain {
            return self.space.each(*tokens, text, emit);
        }
        let (joined, bounds) = (&mut self.joined, &mut self.bounds);
        joined.clear();
        bounds.clear();
        self.space.each(*tokens, text, |term| {
            if stop_words.find(term).is_none() {
                if !joined.is_empty() {
                    joined.push(b' ');
                }
                let start = joined.len();
                joined.extend_from_slice(term.name());
                bounds.push((start, joined.len()));
            }
        });
        for n in grams.0..=grams.1.min(bounds.len()) {
            for run in bounds.windows(n) {
                Term::of_bytes(&joined[run[0].0..run[n - 1].1]).into_iter().for_each(&mut emit);
            }
        }
    }
}

impl Space {
    /// Call `emit` with each token of a text.
    fn each(&mut self, tokens: Tokens, text: &str, mut emit: impl FnMut(Term<'_>)) {
        match tokens {
            Tokens::Words => pattern_words(&mut self.runs, text, emit),
            Tokens::Signals if text.is_ascii() => ascii_tokens(&mut self.runs, text, emit),
            Tokens::Signals => for_each_token(text, &mut self.buffer, |token| emit(Term::new(token))),
        }
    }
}

fn pattern_words(runs: &mut Runs, text: &str, mut emit: impl FnMut(Term<'_>)) {
    let (lower, bounds) = runs.pattern(text);
    for &[begin, end] in bounds {
        // One character alone is no term, however many bytes it has.
        if end - begin > width(lower[begin]) {
            emit(Term::within(lower, begin, end));
        }
    }
}

/// [`for_each_token`] of an ASCII text.
fn ascii_tokens(runs: &mut Runs, text: &str, mut emit: impl FnMut(Term<'_>)) {
    let (lower, bounds) = runs.ascii(text, b'-');
    for &[begin, end] in bounds {
        let term = Term::within(lower, begin, end);
        if end - begin >= 3 && !is_stop_start(term.start()) {
            emit(term);
        }
    }
}

/// The bytes of the character that begins with this one.
fn width(first: u8) -> usize {
    (first.leading_ones() as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collections::Lexicon;
    use proptest::prelude::*;

    #[test]
    fn documented_tokens() {
        for (text, wanted) in [
            ("How does JWT validation work", "jwt validation work"),
            ("", ""),
            ("e-mail two-phase commit -- done -", "e-mail two-phase commit done"),
            ("C++ C# R&D", ""),
            ("v2.0 3.14 100 42", "100"),
            ("foo,bar;baz", "foo bar baz"),
            ("non\u{a0}breaking", "non breaking"),
            ("well-known- -leading ---", "well-known- -leading ---"),
            ("user@example.com snake_case", "user example com snake case"),
            ("the the the cat cat", "cat cat"),
            ("x86-64 arm64", "x86-64 arm64"),
            ("a\u{1f}bcd\tefg", "bcd efg"),
        ] {
            assert_eq!(tokenize(text).join(" "), wanted, "{text:?}");
        }
    }

    #[test]
    fn other_scripts_have_tokens_too() {
        assert_eq!(tokenize("認証 トークン jwt"), ["認証", "トー", "ーク", "クン", "jwt"]);
        assert_eq!(tokenize("İstanbul ŒUVRE ß"), ["istanbul", "oeuvre"]);
        assert_eq!(tokenize("Zürich-West über ｔｈｅ"), ["zurich-west", "uber"]);
        assert_eq!(tokenize("東京-大阪 API連携 水 第3章"), ["東京", "大阪", "api", "連携", "水", "第", "章"]);
        assert_eq!(tokenize("서울특별시에서 भारत"), ["서울", "울특", "특별", "별시", "시에", "에서", "भारत"]);
        assert_eq!(tokenize("กินข้าว"), ["กน", "นข", "ขา", "าว"]);
    }

    #[test]
    fn pattern_words() {
        let results = cut(Tokens::Words, "A snake_case É2 x é, Ⓐⓑ İx ½²");
        assert_eq!(results, ["snake_case", "é2", "½²"]);
    }

    fn cut(tokens: Tokens, text: &str) -> Vec<String> {
        let mut results = Lexicon::default();
        let mut order = Vec::new();
        Cutter::new(tokens).each(text, |term| order.push(results.number(term)));
        let names: Vec<String> = results.texts().collect();
        order.into_iter().map(|term| names[term as usize].clone()).collect()
    }

    /// The documented rule, literally.
    fn twin(text: &str) -> Vec<String> {
        let kept = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-') || c.is_ascii_whitespace() || c == '\x0b';
        let cleaned: String = text.to_ascii_lowercase().chars().map(|c| if kept(c) { c } else { ' ' }).collect();
        cleaned.split_whitespace().filter(|t| t.len() >= 3 && !is_stop_word(t)).map(str::to_owned).collect()
    }

    proptest! {
        #![proptest_config(crate::seeded(256))]
        #[test]
        fn ascii_follows_the_documented_rule(text in "[\\x00-\\x7f]{0,60}|[a-zA-Z -]{0,60}") {
            prop_assert_eq!(tokenize(&text), twin(&text));
            prop_assert_eq!(cut(Tokens::Signals, &text), twin(&text));
        }
    }
}
