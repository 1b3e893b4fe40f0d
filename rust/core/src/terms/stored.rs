//! Terms as a database of texts can hold them in an index.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_128;

/// Bytes of a term that are kept; the index of a database has room for some 2,700.
const MOST: usize = 200;
/// Stands in no term: it is neither a letter nor a digit nor a mark.
const CUT: char = '\u{fffd}';

/// Return the text that stands for a term, which may be no text: itself, or for one that is longer than 200 bytes or ends in
/// half a letter its beginning, U+FFFD and a hash of 32 hexadecimal digits.
pub fn stored_term(term: &[u8]) -> Cow<'_, str> {
    let head = &term[..term.len().min(MOST)];
    let (text, whole) = match str::from_utf8(head) {
        Ok(text) => (text, head.len() == term.len() && !text.contains(CUT)),
        Err(fault) => (str::from_utf8(&head[..fault.valid_up_to()]).unwrap_or_default(), false),
    };
    if whole { text.into() } else { format!("{text}{CUT}{:032x}", xxh3_128(term)).into() }
}

/// The terms of texts by place `(n,)`, each once a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermLists {
    /// Every term once, as [`stored_term`].
    pub names: Vec<String>,
    /// Where the terms of each text begin, and where those of the last end `(n + 1,)`.
    pub offsets: Vec<i64>,
    /// Numbers of names.
    pub terms: Vec<i32>,
}

impl TermLists {
    /// Lists of no text, whose terms will have these names.
    pub(crate) fn of<'n>(names: impl Iterator<Item = &'n [u8]>) -> Self {
        Self { names: names.map(|name| stored_term(name).into_owned()).collect(), offsets: vec![0], terms: Vec::new() }
    }

    /// Add a term to the last text.
    pub(crate) fn push(&mut self, term: u32) {
        self.terms.push(term as i32);
    }

    /// End a text.
    pub(crate) fn end(&mut self) {
        self.offsets.push(self.terms.len() as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_that_a_database_cannot_hold_have_a_name_of_their_own() {
        assert_eq!(stored_term("größe".as_bytes()), "größe");
        assert_eq!(stored_term(b"").len(), 0);
        let full = "a".repeat(MOST);
        assert_eq!(stored_term(full.as_bytes()), full);
        let (long, other) = ("é".repeat(101), format!("{}b", "é".repeat(100)));
        let names =
            [long.as_bytes(), other.as_bytes(), b"caf\xc3", b"caf\xc3\xa9", "x\u{fffd}".as_bytes()].map(stored_term);
        assert!(names[0].starts_with(&"é".repeat(100)) && names[0].len() == 200 + 3 + 32);
        assert!(names[2].starts_with("caf\u{fffd}") && names[3] == "café" && names[4].len() > 32);
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name));
        }
    }
}
