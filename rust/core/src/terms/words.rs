//! Runs of letters, digits and marks in any script.

use std::borrow::Cow;

use super::scripts::is_mark;

/// A maximal run of word characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'t> {
    raw: &'t str,
    /// True if every character is ASCII.
    pub(super) ascii: bool,
    /// True if characters that only steer the layout stand between its letters.
    pub(super) joined: bool,
}

impl<'t> Run<'t> {
    /// The run as it stands in its text.
    pub(super) fn raw(self) -> &'t str {
        self.raw
    }

    /// The run without joiners.
    pub(super) fn text(self) -> Cow<'t, str> {
        if self.joined { Cow::Owned(self.raw.chars().filter(|&c| !is_joiner(c)).collect()) } else { self.raw.into() }
    }
}

/// The effect of a character on a run.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Letter,
    /// Continues a run and cannot begin one.
    Mark,
    /// Vanishes inside a run.
    Joiner,
    Separator,
}

fn role(c: char) -> Role {
    if is_joiner(c) {
        Role::Joiner
    } else if is_mark(c) {
        Role::Mark
    } else if c.is_alphanumeric() {
        Role::Letter
    } else {
        Role::Separator
    }
}

/// Invisible characters: joiners, soft hyphen, marks of direction, byte order mark, variation selectors, tags. They
/// shape a word and do not end it; a zero-width space does.
fn is_joiner(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Call `emit` with each run of the text. ASCII hyphens belong to runs when `hyphens` is set; all else separates.
pub(super) fn split<'t>(text: &'t str, hyphens: bool, mut emit: impl FnMut(Run<'t>)) {
    let bytes = text.as_bytes();
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || (hyphens && byte == b'-');
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i].is_ascii() && !inside(bytes[i]) {
            i += 1;
            continue;
        }
        let start = i;
        while i < bytes.len() && inside(bytes[i]) {
            i += 1;
        }
        if i < bytes.len() && !bytes[i].is_ascii() {
            i = extend(text, start, i, hyphens, &mut emit);
        } else {
            emit(Run { raw: &text[start..i], ascii: true, joined: false });
        }
    }
}

/// Carry on a run that began at `start` and meets a non-ASCII character at `i`; return where to go on.
fn extend<'t>(text: &'t str, start: usize, mut i: usize, hyphens: bool, emit: &mut impl FnMut(Run<'t>)) -> usize {
    let mut end = i;
    let (mut ascii, mut joined, mut joiner) = (true, false, false);
    for c in text[i..].chars() {
        let role = match c {
            '-' if hyphens => Role::Letter,
            _ => role(c),
        };
        match role {
            Role::Joiner if end > start => joiner = true,
            Role::Mark if end == start => {}
            Role::Letter | Role::Mark => {
                ascii &= c.is_ascii();
                joined |= joiner;
                end = i + c.len_utf8();
            }
            Role::Joiner => {}
            Role::Separator => {
                i += c.len_utf8();
                break;
            }
        }
        i += c.len_utf8();
        // Marks and joiners before any letter belong to nothing.
        if end == start {
            break;
        }
    }
    if end > start {
        emit(Run { raw: &text[start..end], ascii, joined });
    }
    i
}

/// Split text into lower-case words: runs of Unicode letters, digits and combining marks; all else separates, the
/// underscore too. Joiners and soft hyphens inside a word are dropped.
pub fn words(text: &str) -> Vec<String> {
    let mut results = Vec::new();
    split(text, false, |run| results.push(lower(run)));
    results
}

/// A run as a word.
pub(super) fn lower(run: Run<'_>) -> String {
    if run.ascii { run.text().to_ascii_lowercase() } else { run.text().to_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_script_has_words() {
        assert_eq!(words("Hello, snake_case wörld-wide 3.14"), ["hello", "snake", "case", "wörld", "wide", "3", "14"]);
        assert_eq!(words("हिन्दी में, ελληνικά ΣΟΦΟΣ 漢字。かな"), ["हिन्दी", "में", "ελληνικά", "σοφος", "漢字", "かな"]);
        assert_eq!(words(" \u{301}\u{200c}a\u{301}b \u{301}"), ["a\u{301}b"]);
        assert_eq!(words("می\u{200c}خواهم ver\u{ad}trag\u{ad} x\u{200d}"), ["میخواهم", "vertrag", "x"]);
        assert!(words("… — \u{200d}\u{fe0f} 👍").is_empty());
    }

    proptest! {
        #![proptest_config(crate::seeded(256))]
        #[test]
        fn runs_cover_every_letter_and_nothing_else(text in "\\PC{0,40}|[a-zé\u{301}\u{200d}漢_ -]{0,40}") {
            for hyphens in [false, true] {
                let mut letters = String::new();
                split(&text, hyphens, |run| {
                    prop_assert_hold(&run, hyphens);
                    letters.extend(run.text().chars().filter(|&c| role(c) == Role::Letter));
                });
                let wanted: String = text.chars().filter(|&c| role(c) == Role::Letter).collect();
                prop_assert_eq!(letters, wanted);
            }
        }
    }

    fn prop_assert_hold(run: &Run<'_>, hyphens: bool) {
        let text = run.text();
        let first = text.chars().next().unwrap();
        assert!(role(first) == Role::Letter || (hyphens && first == '-'));
        assert_eq!(run.ascii, text.is_ascii());
        assert!(text.chars().all(|c| matches!(role(c), Role::Letter | Role::Mark) || (hyphens && c == '-')));
    }
}
