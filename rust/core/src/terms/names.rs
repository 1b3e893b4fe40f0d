//! Names: words that signs join without a blank, and words with a sign of their own. `get_home_dir`, `shutil.copytree`,
//! `src/app.py`, `v2.1.0`, `--no-cache`, `.env`, `C++`.
//!
//! FTS5 takes the signs for blanks. Here the terms of a name are the joined letters of neighbours, so that
//! `get_home_dir`, `getHomeDir` and `get-home-dir` are one name, and words with their sign spelled out.

use super::fold::fold;
use super::scripts::{is_mark, joins_by_case};
use super::words::{Run, split};

/// Between words of one identifier.
const TIGHT: [&str; 2] = ["_", "-"];
/// Between identifiers of one path.
const LOOSE: [&str; 11] = [".", "::", "/", ":", "\\", "->", "#", "@", "+", "/.", "&"];
/// Before a word that has it for a part of its name.
const LEADING: [&str; 7] = ["--", "-", ".", "@", "$", "#", "/"];
/// Behind such a word.
const TRAILING: [&str; 3] = ["++", "#", "+"];
/// Maximum words of a name with a term for all of them together; longer ones are found by their pairs.
const MOST_WORDS: usize = 8;
/// No term has more bytes.
const MOST_BYTES: usize = 120;
/// No name has more words: what is longer is no name, but data.
const MOST_JOINED: usize = 64;

/// A name in a text.
pub(super) struct Name<'t> {
    text: &'t str,
    start: usize,
    end: usize,
    leading: &'t str,
    trailing: &'t str,
    /// Its words, and whether a word belongs to one identifier with the word before.
    words: Vec<(Run<'t>, bool)>,
    /// True if every sign between words may stand between those of English compounds.
    hyphens: bool,
}

/// True if an ASCII text has a sign that may be part of a name.
pub(super) fn has_signs(bytes: &[u8]) -> bool {
    let sign =
        |byte: u8| matches!(byte, b'_' | b'-' | b'.' | b':' | b'/' | b'\\' | b'>' | b'#' | b'@' | b'+' | b'$' | b'&');
    let joins = |(&before, &now): (&u8, &u8)| {
        (sign(before) & now.is_ascii_alphanumeric()) | (before.is_ascii_alphanumeric() & matches!(now, b'+' | b'#'))
    };
    bytes.iter().zip(&bytes[bytes.len().min(1)..]).fold(false, |any, pair| any | joins(pair))
}

/// Call `each` with every name of a text.
pub(super) fn for_each_name<'t>(text: &'t str, mut each: impl FnMut(Name<'t>)) {
    if !has_signs(text.as_bytes()) {
        return;
    }
    let mut words: Vec<(Run<'t>, bool)> = Vec::new();
    let (mut start, mut end, mut hyphens) = (0, 0, true);
    let mut close = |words: &mut Vec<(Run<'t>, bool)>, start: usize, end: usize, hyphens: bool| {
        let words = std::mem::take(words);
        if words.is_empty() || words.len() > MOST_JOINED || !words.iter().all(|(run, _)| is_cased(*run)) {
            return;
        }
        let (leading, trailing) = (leading(text, start), trailing(text, end));
        if words.len() > 1 || !leading.is_empty() || !trailing.is_empty() {
            each(Name { text, start, end, leading, trailing, words, hyphens });
        }
    };
    split(text, false, |run| {
        // A run is a part of the text.
        let at = run.raw().as_ptr() as usize - text.as_ptr() as usize;
        let between = &text[end..at];
        let tight = TIGHT.contains(&between);
        if words.is_empty() || !(tight || LOOSE.contains(&between)) {
            close(&mut words, start, end, hyphens);
            (start, hyphens) = (at, true);
            words.push((run, false));
        } else {
            hyphens &= matches!(between, "-" | "/");
            words.push((run, tight));
        }
        end = at + run.raw().len();
    });
    close(&mut words, start, end, hyphens);
}

fn is_cased(run: Run<'_>) -> bool {
    run.ascii || run.raw().chars().all(|c| c.is_numeric() || joins_by_case(c) || is_mark(c))
}

/// The sign that a word at a place begins with, if what stands before it ends another word.
fn leading(text: &str, start: usize) -> &str {
    let before = &text[..start];
    let of = |sign: &&&str| {
        let Some(rest) = before.strip_suffix(**sign) else { return false };
        rest.chars().next_back().is_none_or(|c| c.is_whitespace() || "([{<\"'`,;=|*“”‘’«»（".contains(c))
    };
    LEADING.iter().find(of).map_or("", |sign| &before[start - sign.len()..])
}

/// The sign that a word up to a place ends with, if no word follows.
fn trailing(text: &str, end: usize) -> &str {
    let behind = &text[end..];
    let of = |sign: &&&str| {
        let Some(rest) = behind.strip_prefix(**sign) else { return false };
        !rest.starts_with(|c: char| c.is_alphanumeric() || "+#=_".contains(c))
    };
    TRAILING.iter().find(of).map_or("", |sign| &behind[..sign.len()])
}

impl Name<'_> {
    /// Where its first word begins, in bytes.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Its words and what stands between them.
    pub(super) fn raw(&self) -> &str {
        &self.text[self.start..self.end]
    }

    pub(super) fn words(&self) -> impl Iterator<Item = Run<'_>> {
        self.words.iter().map(|(run, _)| *run)
    }

    /// True if it may be an English compound, such as `long-term`, `and/or`, which is no name.
    pub(super) fn is_compound(&self) -> bool {
        let plain = |(run, _): &(Run<'_>, bool)| {
            let mut letters = run.raw().chars().skip(1);
            !run.raw().contains(|c: char| c.is_numeric()) && !letters.any(char::is_uppercase)
        };
        let few = self.words.iter().filter(|(_, tight)| !tight).count() <= 2;
        self.leading.is_empty() && self.trailing.is_empty() && self.hyphens && few && self.words.iter().all(plain)
    }

    /// Call `each` with the terms of the name: of each identifier all words together, and every two neighbours; of a path
    /// the same of its identifiers; and words with their sign.
    pub(super) fn terms(&self, mut each: impl FnMut(String)) {
        let words: Vec<String> = self.words.iter().map(|(run, _)| fold(&run.text())).collect();
        let mut identifiers: Vec<&[String]> = Vec::new();
        let mut first = 0;
        for at in 1..=words.len() {
            if self.words.get(at).is_none_or(|(_, tight)| !tight) {
                identifiers.push(&words[first..at]);
                first = at;
            }
        }
        let mut emit = |parts: &[&[String]]| {
            let term = together(parts);
            if (3..=MOST_BYTES).contains(&term.len()) {
                each(term);
            }
        };
        for identifier in identifiers.iter().filter(|identifier| identifier.len() > 1) {
            if identifier.len() > 2 {
                identifier.windows(2).for_each(|pair| emit(&[pair]));
            }
            if identifier.len() <= MOST_WORDS {
                emit(&[identifier]);
            }
        }
        if identifiers.len() > 1 {
            identifiers.windows(2).for_each(&mut emit);
        }
        if identifiers.len() > 2 && words.len() <= MOST_WORDS {
            emit(&identifiers);
        }
        if let (false, Some(&first)) = (self.leading.is_empty(), identifiers.first()) {
            each(format!("{}{}", spelled(self.leading), together(&[first])));
        }
        if let (false, Some(&last)) = (self.trailing.is_empty(), identifiers.last()) {
            each(format!("{}{}", together(&[last]), spelled(self.trailing)));
        }
    }
}

/// Words as one, with a letter between two digits, so that 1.0 is not 10.
fn together(parts: &[&[String]]) -> String {
    let mut term = String::new();
    for word in parts.iter().copied().flatten() {
        let digits = |c: Option<char>| c.is_some_and(char::is_numeric);
        if digits(term.chars().next_back()) && digits(word.chars().next()) {
            term.push('z');
        }
        term.push_str(word);
    }
    term
}

/// A sign in letters.
fn spelled(sign: &str) -> String {
    sign.chars().map(|c| format!("z{:x}z", c as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> String {
        let mut results = Vec::new();
        for_each_name(text, |name| name.terms(|term| results.push(term)));
        results.join(" ")
    }

    #[test]
    fn words_that_signs_join_are_one_name() {
        assert_eq!(terms("get_home_dir and payment-processor"), "gethome homedir gethomedir paymentprocessor");
        assert_eq!(terms("shutil.copytree(src, dst)"), "shutilcopytree");
        assert_eq!(terms("app.Blueprint.add_url"), "addurl appblueprint blueprintaddurl appblueprintaddurl");
        assert_eq!(terms("std::vec, a->next_node"), "stdvec nextnode anextnode");
        assert_eq!(terms("v2.1.0 and 3.14, 2026-11-28"), "v2z1 1z0 v2z1z0 3z14 2026z11 11z28 2026z11z28");
        assert_eq!(terms("a plain text. And more, of it (here)"), "");
    }

    #[test]
    fn signs_of_a_word_tell_it_from_others() {
        assert_eq!(terms("C++, C# and C"), "cz2bzz2bz cz23z");
        assert_eq!(terms("use --no-cache or `-x`"), "nocache z2dzz2dznocache z2dzx");
        assert_eq!(terms(".NET and (.env)"), "z2eznet z2ezenv");
        assert_eq!(terms("a - b, 3 + 4, x# y"), "xz23z");
        assert_eq!(terms("well.Known"), "wellknown");
    }

    #[test]
    fn english_compounds_are_no_names() {
        let compound = |text: &str| {
            let mut results = Vec::new();
            for_each_name(text, |name| results.push(name.is_compound()));
            results
        };
        assert_eq!(compound("long-term and/or State-of-the-art"), [true; 3]);
        assert_eq!(compound("utf-8 no_cache --no-cache src/app/main a.b getX-y"), [false; 6]);
    }
}
