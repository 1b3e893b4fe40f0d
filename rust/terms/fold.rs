//! The search form of a word.

use std::iter::once;

use unicode_normalization::char::{decompose_canonical, decompose_compatible};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::scripts::{is_latin_or_greek, is_mark};

/// Return the search form of a word: lower case, compatibility forms and Latin or Greek diacritics brought to plain
/// letters, Arabic vowel signs dropped. Folding twice changes nothing more.
///
/// Marks of other scripts carry meaning (Cyrillic й, Kana が, Indic vowels) and stay, composed where they can be.
pub fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    if word.chars().all(is_settled) {
        return word.to_owned();
    }
    let lower = compatible(word).to_lowercase();
    let plain = strip(&lower);
    // What was dropped may have stood between two characters that compose.
    plain.nfc().collect()
}

/// Whether folding leaves a character alone, next to others of the kind: most Japanese, Chinese and Korean text.
fn is_settled(c: char) -> bool {
    matches!(c, '0'..='9' | 'a'..='z' | '々' | '〇' | 'ぁ'..='ゖ' | 'ァ'..='ー'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '가'..='힣')
}

/// Replace compatibility characters (NFKC) whose replacement is made of word characters: ﬁ, Ｊ, ｶ, ², but not ½ or ㈠,
/// which would fall apart into several words.
fn compatible(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut parts = Vec::new();
    for c in word.chars() {
        if is_nfkc_quick(once(c)) == IsNormalized::No {
            parts.clear();
            decompose_compatible(c, |part| parts.push(part));
            if parts.iter().all(|&part| part.is_alphanumeric() || is_mark(part)) {
                out.extend(parts.iter());
                continue;
            }
        }
        out.push(c);
    }
    out
}

/// Drop the marks that a search ignores and replace the letters that it reads otherwise.
fn strip(lower: &str) -> String {
    let mut out = String::with_capacity(lower.len());
    let mut after_plain = false;
    for c in lower.nfc() {
        if is_mark(c) && ('\u{300}'..='\u{36f}').contains(&c) && after_plain {
            continue;
        }
        let base = base(c);
        if is_latin_or_greek(base) {
            push_plain(base, &mut out);
            after_plain = true;
            continue;
        }
        match c {
            // Arabic vowel signs, superscript alef, tatweel.
            '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{640}' => continue,
            'أ' | 'إ' | 'آ' | 'ٱ' => out.push('ا'),
            'ى' => out.push('ي'),
            'ة' => out.push('ه'),
            _ => out.push(c),
        }
        after_plain &= is_mark(c);
    }
    out
}

/// The letter under a composed character's marks.
pub(super) fn base(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    let mut first = None;
    decompose_canonical(c, |part| {
        first.get_or_insert(part);
    });
    first.unwrap_or(c)
}

fn push_plain(letter: char, out: &mut String) {
    match letter {
        'đ' | 'ð' => out.push('d'),
        'ħ' => out.push('h'),
        'ı' => out.push('i'),
        'ł' => out.push('l'),
        'ŋ' => out.push('n'),
        'ø' => out.push('o'),
        'ς' => out.push('σ'),
        'æ' => out.push_str("ae"),
        'œ' => out.push_str("oe"),
        'ß' => out.push_str("ss"),
        'þ' => out.push_str("th"),
        _ => out.push(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn folded_words() {
        for (word, wanted) in [
            ("Plain-ASCII", "plain-ascii"),
            ("Café", "cafe"),
            ("cafe\u{301}", "cafe"),
            ("Đồng", "dong"),
            ("Straße", "strasse"),
            ("GROẞ", "gross"),
            ("ＪＷＴ", "jwt"),
            ("ﬁne", "fine"),
            ("ｶﾞｷﾞ", "ガギ"),
            ("İstanbul", "istanbul"),
            ("Ilgın", "ilgin"),
            ("ŒUVRE", "oeuvre"),
            ("Ǿre Þing Ærø", "ore thing aero"),
            ("Ŋħł", "nhl"),
            ("Σοφός", "σοφοσ"),
            ("ᾳ", "α"),
            ("Йога", "йога"),
            ("и\u{306}ога", "йога"),
            ("か\u{3099}", "が"),
            ("हिन्दी", "हिन्दी"),
            ("مُحَمَّد", "محمد"),
            ("العـــربية", "العربيه"),
            ("أإآٱى", "ااااي"),
            ("مؤمن", "مؤمن"),
            ("x²", "x2"),
            ("½", "½"),
            ("ﷺ", "ﷺ"),
            ("漢字かな", "漢字かな"),
            ("", ""),
        ] {
            assert_eq!(fold(word), wanted, "{word}");
        }
    }

    #[test]
    fn every_character_folds_once_to_word_characters() {
        for c in (0..=0x0010_ffff).filter_map(char::from_u32).filter(|c| c.is_alphanumeric()) {
            let once = fold(c.encode_utf8(&mut [0; 4]));
            assert_eq!(fold(&once), once, "{c:?}");
            assert!(once.chars().all(|c| c.is_alphanumeric() || is_mark(c)), "{c:?} {once:?}");
            let vowel_sign = [c].into_iter().nfkd().all(|part| is_mark(part) || part == '\u{640}');
            assert!(!once.is_empty() || vowel_sign, "{c:?}");
        }
    }

    proptest! {
        #![proptest_config(crate::seeded(256))]
        #[test]
        fn folding_twice_changes_nothing(word in "[\\p{L}\\p{M}\\p{N}]{0,12}|[aeØИкا\u{300}-\u{36f}\u{64b}-\u{65f}]{0,8}") {
            let once = fold(&word);
            prop_assert_eq!(fold(&once), once);
        }
    }
}
