//! Where the terms of a query stand in a text.

use std::ops::Range;

use crate::fts::{Token, index_terms, tokens};
use crate::terms::{fold, places_with_grams};

/// A place of a text that a term of a query matches, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first character.
    pub start: usize,
    /// Behind the last character.
    pub end: usize,
    /// The number of the term.
    pub term: usize,
}

/// Return where terms stand in a text, as FTS5 finds them: a term of several tokens stands where they follow each other.
/// The longest of nested terms is returned.
///
/// The terms from `prefixes` on match words that begin with them, or whose stem begins with theirs. `grams` also looks for what [`crate::terms::grams`]
/// makes of the text: where such a term can be found in its word, that is the place, else the whole word.
pub fn spans(text: &str, terms: &[String], prefixes: usize, grams: bool) -> Vec<Span> {
    let (whole, begun) = terms.split_at(prefixes.min(terms.len()));
    let queries: Vec<Vec<Vec<u8>>> = whole.iter().map(|term| index_terms(term)).collect();
    let begun: Vec<Token> = begun.iter().filter_map(|prefix| tokens(prefix).pop()).collect();
    let mut found: Vec<(Range<usize>, usize)> = Vec::new();
    let own = tokens(text);
    for (at, first) in own.iter().enumerate() {
        for (number, term) in queries.iter().enumerate().filter(|(_, term)| !term.is_empty()) {
            let Some(window) = own.get(at..at + term.len()) else { continue };
            if window.iter().zip(term).all(|(token, wanted)| token.term == *wanted) {
                let end = window.last().map_or(first.place.end, |token| token.place.end);
                found.push((first.place.start..end, number));
            }
        }
        for (number, prefix) in begun.iter().enumerate() {
            // FTS5 stems what a word begins with, like a word.
            if first.word.starts_with(&prefix.word) || first.term.starts_with(&prefix.term) {
                found.push((first.place.clone(), whole.len() + number));
            }
        }
    }
    if grams {
        places_with_grams(text, |start, run, grams| {
            for gram in grams {
                let term = index_terms(gram);
                if let Some(number) = queries.iter().position(|other| !other.is_empty() && *other == term) {
                    places(run, gram, |place| found.push((start + place.start..start + place.end, number)));
                }
            }
        });
    }
    in_characters(text, outermost(found))
}

/// Where a gram stands in its run; the whole run if it cannot be found there.
fn places(run: &str, gram: &str, mut each: impl FnMut(Range<usize>)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    let chars = gram.chars().count();
    let mut any = false;
    for (at, &start) in starts.iter().enumerate() {
        // Marks that folding drops make the place longer than the gram.
        let end =
            (chars..chars + 3).filter_map(|more| starts.get(at + more)).find(|&&end| fold(&run[start..end]) == gram);
        if let Some(&end) = end {
            any = true;
            each(start..end);
        }
    }
    if !any {
        each(0..run.len());
    }
}

/// The places that lie in no other.
fn outermost(mut found: Vec<(Range<usize>, usize)>) -> Vec<(Range<usize>, usize)> {
    found.sort_unstable_by(|(a, x), (b, y)| a.start.cmp(&b.start).then(b.end.cmp(&a.end)).then(x.cmp(y)));
    let mut kept: Vec<(Range<usize>, usize)> = Vec::with_capacity(found.len());
    for (place, term) in found {
        if kept.last().is_none_or(|(before, _)| place.end > before.end) {
            kept.push((place, term));
        }
    }
    kept
}

/// Places in bytes as places in characters; starts and ends ascend.
fn in_characters(text: &str, found: Vec<(Range<usize>, usize)>) -> Vec<Span> {
    let (mut bytes, mut chars) = (0, 0);
    let mut advance = |to: usize| {
        let count = |part: &str| part.chars().count();
        if to >= bytes {
            chars += count(&text[bytes..to]);
        } else {
            chars -= count(&text[to..bytes]);
        }
        bytes = to;
        chars
    };
    found.into_iter().map(|(place, term)| Span { start: advance(place.start), end: advance(place.end), term }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, terms: &[&str], prefixes: usize) -> Vec<(String, usize)> {
        let terms: Vec<String> = terms.iter().map(|&term| term.to_owned()).collect();
        let chars: Vec<char> = text.chars().collect();
        let part = |span: Span| (chars[span.start..span.end].iter().collect(), span.term);
        spans(text, &terms, prefixes, true).into_iter().map(part).collect()
    }

    fn wanted(places: &[(&str, usize)]) -> Vec<(String, usize)> {
        places.iter().map(|&(place, term)| (place.to_owned(), term)).collect()
    }

    #[test]
    fn terms_stand_where_their_stems_do() {
        let text = "😀 Renewals, renewed: the CRÈME-brûlée";
        assert_eq!(found(text, &["renewing", "creme"], 2), wanted(&[("Renewals", 0), ("renewed", 0), ("CRÈME", 1)]));
        assert_eq!(found(text, &["creme brulee", "brulee"], 2), wanted(&[("CRÈME-brûlée", 0)]));
        assert_eq!(found(text, &["the", "ren"], 1), wanted(&[("Renewals", 1), ("renewed", 1), ("the", 0)]));
        assert!(found(text, &["", "!?", "absent"], 2).is_empty() && found("", &["a"], 1).is_empty());
    }

    #[test]
    fn grams_stand_inside_their_words() {
        assert_eq!(found("見る東京都の", &["東京", "京都"], 2), wanted(&[("東京", 0), ("京都", 1)]));
        assert_eq!(found("a getUserName b", &["user", "name"], 2), wanted(&[("User", 0), ("Name", 1)]));
        assert_eq!(found("a getUserName b", &["getusername", "user"], 2), wanted(&[("getUserName", 0)]));
        assert_eq!(found("Đà Nẵng", &["da"], 1), wanted(&[("Đà", 0)]));
    }
}
