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
    fold_composed(word).unwrap_or_else(|| fold_any(word))
}

/// Fold a word of common characters, each of which folds by itself; None for a word with any other.
fn fold_composed(word: &str) -> Option<String> {
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            '\0'..='\x7f' => out.push(c.to_ascii_lowercase()),
            // Most Japanese, Chinese and Korean text.
            '々' | '〇' | 'ぁ'..='ゖ' | 'ァ'..='ー' | '가'..='힣' => out.push(c),
            '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => out.push(c),
            'Ѐ'..='џ' => out.extend(c.to_lowercase()),
            // Not alone what their decomposition says, or lower-cased to two.
            'İ' | 'Ĳ' | 'ĳ' | 'Ŀ' | 'ŀ' | 'ŉ' => return None,
            'À'..='Ö' | 'Ø'..='ö' | 'ø'..='ž' | 'Ạ'..='ỹ' => {
                c.to_lowercase().for_each(|c| push_plain(base(c), &mut out))
            }
            _ => return None,
        }
    }
    Some(out)
}

fn fold_any(word: &str) -> String {
    let lower = compatible(word).to_lowercase();
    let plain = strip(&lower);
    // A dropped character may have stood between two characters that compose.
    plain.nfc().collect()
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
            assert_eq!(once, fold_any(c.encode_utf8(&mut [0; 4])), "{c:?}");
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

        #[test]
        fn the_short_way_leads_to_the_same_word(word in "[A-Za-zÀ-žẠ-ỹЀ-џぁ-ー가-힣一-鿿0-9]{0,10}") {
            prop_assert_eq!(fold_composed(&word).unwrap_or_else(|| fold_any(&word)), fold_any(&word));
        }
    }
}
