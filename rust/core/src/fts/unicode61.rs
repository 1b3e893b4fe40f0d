//! FTS5's `unicode61 remove_diacritics 2`: which code points make up a token, and what they are folded to.

use std::sync::LazyLock;

use super::tables::{FOLDS, MARKS, SEPARATORS};

/// Instead of a number to add: the code point ends a token.
const SEPARATOR: i32 = i32::MIN;
/// Instead of a number to add: the code point vanishes inside a token and cannot begin one.
const MARK: i32 = i32::MAX;
/// Code points a page.
const PAGE: usize = 256;

/// The tables laid out for one look-up a code point: the page of its block, then what to add to it.
struct Pages {
    page_of: Vec<u16>,
    shifts: Vec<i32>,
}

impl Pages {
    /// Most blocks are nothing but letters that stay as they are (page 0), or nothing but separators (page 1).
    fn new() -> Self {
        let shifts = [[0; PAGE], [SEPARATOR; PAGE]].concat();
        let mut pages = Self { page_of: vec![0; (char::MAX as usize + 1) / PAGE], shifts };
        for &(first, last) in &SEPARATORS {
            let mut code = first as usize;
            while code <= last as usize {
                if code.is_multiple_of(PAGE) && code + PAGE <= last as usize + 1 {
                    pages.page_of[code / PAGE] = 1;
                    code += PAGE;
                } else {
                    *pages.shift_mut(code) = SEPARATOR;
                    code += 1;
                }
            }
        }
        for &(first, last) in &MARKS {
            (first..=last).for_each(|code| *pages.shift_mut(code as usize) = MARK);
        }
        for &(first, last, step, shift) in &FOLDS {
            (first..=last).step_by(step as usize).for_each(|code| *pages.shift_mut(code as usize) = shift);
        }
        pages
    }

    /// The place of a code point on a page of its own block.
    fn shift_mut(&mut self, code: usize) -> &mut i32 {
        let page = &mut self.page_of[code / PAGE];
        if *page < 2 {
            let shared = usize::from(*page) * PAGE;
            *page = (self.shifts.len() / PAGE) as u16;
            self.shifts.extend_from_within(shared..shared + PAGE);
        }
        &mut self.shifts[usize::from(*page) * PAGE + code % PAGE]
    }

    fn shift(&self, code: usize) -> i32 {
        self.shifts[usize::from(self.page_of[code / PAGE]) * PAGE + code % PAGE]
    }
}

static PAGES: LazyLock<Pages> = LazyLock::new(Pages::new);

/// The folded form of an ASCII byte, 0 for separators.
static ASCII: [u8; 128] = {
    let mut folded = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            folded[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    folded
};

/// Pass on the folded tokens of a text in order, each in `token`, which the callee may change.
pub(super) fn split(text: &str, token: &mut Vec<u8>, mut each: impl FnMut(&mut Vec<u8>)) {
    let pages = &*PAGES;
    let bytes = text.as_bytes();
    token.clear();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte < 0x80 {
            at += 1;
            match ASCII[usize::from(byte)] {
                0 => finish(token, &mut each),
                folded => token.push(folded),
            }
            continue;
        }
        let Some(letter) = text[at..].chars().next() else { break };
        at += letter.len_utf8();
        match pages.shift(letter as usize) {
            SEPARATOR => finish(token, &mut each),
            MARK => {}
            0 => token.extend_from_slice(&bytes[at - letter.len_utf8()..at]),
            shift => {
                // The tables hold scalar values only, which a unit test walks through.
                let folded = char::from_u32((letter as u32).wrapping_add_signed(shift)).unwrap_or(letter);
                token.extend_from_slice(folded.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
    finish(token, &mut each);
}

/// As [`split`], with the bytes of the text that each token takes.
pub(super) fn split_at(text: &str, mut each: impl FnMut(&mut Vec<u8>, usize, usize)) {
    let (mut token, mut start, mut end) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        let shift = PAGES.shift(letter as usize);
        if shift == SEPARATOR {
            finish(&mut token, &mut |token: &mut Vec<u8>| each(token, start, end));
            continue;
        }
        if shift != MARK {
            if token.is_empty() {
                start = at;
            }
            let folded = char::from_u32((letter as u32).wrapping_add_signed(shift)).unwrap_or(letter);
            token.extend_from_slice(folded.encode_utf8(&mut [0; 4]).as_bytes());
        }
        end = at + letter.len_utf8();
    }
    finish(&mut token, &mut |token: &mut Vec<u8>| each(token, start, end));
}

fn finish(token: &mut Vec<u8>, each: &mut impl FnMut(&mut Vec<u8>)) {
    if !token.is_empty() {
        each(token);
        token.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<String> {
        let mut results = Vec::new();
        split(text, &mut Vec::new(), |token| results.push(String::from_utf8(token.clone()).unwrap()));
        results
    }

    #[test]
    fn tokens_of_scripts() {
        assert_eq!(tokens("Hello, World-wide 42nd!"), ["hello", "world", "wide", "42nd"]);
        assert_eq!(tokens("Crème BRÛLÉE ǖ straße Đ"), ["creme", "brulee", "u", "straße", "đ"]);
        assert_eq!(tokens("ПРИВЕТ Ёлка ΑΒΓ"), ["привет", "ёлка", "αβγ"]);
        assert_eq!(tokens("東京都の、トークン。"), ["東京都の", "トークン"]);
        assert_eq!(tokens(" \0,"), Vec::<String>::new());
    }

    #[test]
    fn tokens_come_with_their_places() {
        let text = " \u{301}Crème, 😀 BRÛLE\u{301}! हिन्दी 東京 x";
        let mut results = Vec::new();
        split_at(text, |token, start, end| {
            results.push((String::from_utf8(token.clone()).unwrap(), &text[start..end]))
        });
        assert_eq!(results.iter().map(|(token, _)| token.clone()).collect::<Vec<_>>(), tokens(text));
        assert_eq!(results[..2], [("creme".into(), "Crème"), ("brule".into(), "BRÛLE\u{301}")]);
    }

    #[test]
    fn marks_vanish_inside_tokens() {
        assert_eq!(tokens("e\u{301}a \u{301}\u{301}b"), ["ea", "b"]);
        assert_eq!(tokens("हिन्दी"), ["ह", "न", "द"]);
    }

    #[test]
    fn tables_are_sound() {
        for byte in 0..128_u8 {
            let shift = PAGES.shift(usize::from(byte));
            let folded = if shift == SEPARATOR { 0 } else { byte.wrapping_add_signed(shift as i8) };
            assert_eq!(ASCII[usize::from(byte)], folded, "{byte}");
        }
        for letter in '\0'..=char::MAX {
            let shift = PAGES.shift(letter as usize);
            if shift != SEPARATOR && shift != MARK {
                assert!(char::from_u32((letter as u32).wrapping_add_signed(shift)).is_some(), "{letter:?}");
            }
        }
    }
}
