//! The definitions in a text, and the words that their names are made of.

use super::languages::{Language, is_reserved};
use crate::fts;

/// Maximum characters of a name worth searching for.
const LONGEST_NAME: usize = 120;
/// Maximum characters kept of a line.
const LONGEST_LINE: usize = 160;
/// Maximum symbols of a file.
const MOST: usize = 20_000;

/// Something that a file defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name as it is written.
    pub name: Box<str>,
    /// The keyword of its kind in its language: `fn`, `class`, `def`, ….
    pub kind: Box<str>,
    /// Its line, from 1.
    pub line: u32,
    /// That line, without the blanks around it; its beginning, if it is long.
    pub text: Box<str>,
}

/// Return what a text defines, in its order.
pub(super) fn definitions(text: &str, language: &Language) -> Vec<Symbol> {
    let Some(pattern) = language.regex() else { return Vec::new() };
    let mut results = Vec::new();
    let (mut line, mut counted) = (1u32, 0);
    for groups in pattern.captures_iter(text) {
        if results.len() == MOST {
            break;
        }
        let group = |name| groups.name(name);
        // A call in a statement looks like a definition behind a word that begins one.
        if group("before").is_some_and(|before| is_reserved(before.as_str())) {
            continue;
        }
        let named = ["name", "constant", "method", "plain", "alias"].iter().find_map(|one| group(one));
        let Some(named) = named.filter(|name| !is_reserved(name.as_str()) && name.as_str().len() <= LONGEST_NAME)
        else {
            continue;
        };
        let kind = group("kind").or_else(|| group("kind2")).map_or(language.otherwise, |kind| kind.as_str());
        line += text[counted..named.start()].bytes().filter(|&byte| byte == b'\n').count() as u32;
        counted = named.start();
        let begins = text[..named.start()].rfind('\n').map_or(0, |at| at + 1);
        let ends = text[named.start()..].find('\n').map_or(text.len(), |at| named.start() + at);
        results.push(Symbol {
            name: named.as_str().into(),
            kind: kind.split_whitespace().collect::<Vec<_>>().join(" ").into(),
            line,
            text: beginning(text[begins..ends].trim()).into(),
        });
    }
    results
}

/// The first characters of a line.
fn beginning(line: &str) -> &str {
    line.char_indices().nth(LONGEST_LINE).map_or(line, |(at, _)| &line[..at])
}

/// Return the words of a name in their stems: `getUserNames`, `get_user_names` and `GET_USER_NAMES` have the same.
pub fn parts(name: &str) -> Vec<Vec<u8>> {
    let chars: Vec<char> = name.chars().collect();
    let mut spaced = String::with_capacity(name.len() + 8);
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| chars[at]);
        let begins = before.is_some_and(|before| {
            // `parseJSON5File`: a capital behind a small letter, or the last of several before a small one.
            (c.is_uppercase() && (before.is_lowercase() || before.is_numeric()))
                || (c.is_uppercase() && before.is_uppercase() && chars.get(at + 1).is_some_and(|c| c.is_lowercase()))
        });
        if begins {
            spaced.push(' ');
        }
        spaced.push(c);
    }
    fts::index_terms(&spaced)
}
