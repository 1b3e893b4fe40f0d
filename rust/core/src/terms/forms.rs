//! Other forms of a word: with its accents, as SQLite has it, in German spelling.

use unicode_normalization::UnicodeNormalization;

use super::fold::{base, fold};

/// A Latin word with its accents in ASCII, so that nothing folds them: each letter beyond ASCII as `z`, its code and `z`.
/// None for other words.
pub(super) fn accented(word: &str) -> Option<String> {
    let lower: String = word.nfc().flat_map(char::to_lowercase).collect();
    let is_latin = |c: char| c.is_ascii_alphanumeric() || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}');
    if lower.is_ascii() || !lower.chars().all(is_latin) {
        return None;
    }
    let mut term = String::with_capacity(2 * lower.len());
    for c in lower.chars() {
        if c.is_ascii() {
            term.push(c);
        } else {
            term.push_str(&format!("z{:x}z", c as u32));
        }
    }
    Some(term)
}

/// The fold of a word by `unicode61 remove_diacritics 2`: lower case, Latin letters without diacritics, nothing else.
///
/// Which case pairs SQLite knows depends on its age; beyond those it always knew, the word as it stands is returned, so
/// that its folded form is indexed too.
pub(super) fn unicode61(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        if matches!(c, ..'\u{528}' | '\u{1e00}'..='\u{1fff}' | '\u{ff00}'..='\u{ffef}') {
            out.extend(c.to_lowercase().filter(|&c| !drops(c)).map(without_diacritics));
        } else {
            out.push(c);
        }
    }
    out
}

fn without_diacritics(c: char) -> char {
    match base(c) {
        'ς' => 'σ',
        plain if plain.is_ascii_alphabetic() => plain,
        _ => c,
    }
}

/// The marks that SQLite drops inside a word (`sqlite3Fts5UnicodeIsdiacritic`); others separate.
fn drops(c: char) -> bool {
    const DROPPED: u64 = 0x0003_61f8_0802_9fdf;
    let offset = (c as u32).wrapping_sub(0x300);
    offset < 50 && DROPPED >> offset & 1 == 1
}

/// A word with ä, ö, ü written ae, oe, ue and the rest folded; None for a word without them.
pub(super) fn spell_umlauts(word: &str) -> Option<String> {
    if !word.contains(['ä', 'ö', 'ü', 'Ä', 'Ö', 'Ü', '\u{308}']) {
        return None;
    }
    let lower: String = word.nfc().flat_map(char::to_lowercase).collect();
    if !lower.contains(['ä', 'ö', 'ü']) {
        return None;
    }
    let spelled: String = lower.replace('ä', "ae").replace('ö', "oe").replace('ü', "ue");
    Some(fold(&spelled))
}
