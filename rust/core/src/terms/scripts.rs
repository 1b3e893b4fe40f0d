//! The few classes of scripts that terms depend on, as tables of ranges (Unicode Scripts.txt).

use unicode_normalization::char::is_combining_mark;

type Ranges = &'static [(char, char)];

/// Scripts written without blanks between words. Their digits are left out: a number is a word of its own.
const UNSPACED: Ranges = &[
    ('\u{e01}', '\u{e4e}'),     // Thai
    ('\u{e81}', '\u{ecf}'),     // Lao
    ('\u{edc}', '\u{edf}'),     // Lao
    ('\u{1000}', '\u{103f}'),   // Myanmar
    ('\u{1050}', '\u{108f}'),   // Myanmar
    ('\u{109a}', '\u{109f}'),   // Myanmar
    ('\u{1780}', '\u{17dd}'),   // Khmer
    ('\u{3005}', '\u{3007}'),   // Han: 々 〆 〇
    ('\u{3021}', '\u{3029}'),   // Han numerals
    ('\u{3038}', '\u{303b}'),   // Han numerals, vertical iteration mark
    ('\u{3041}', '\u{309f}'),   // Hiragana
    ('\u{30a1}', '\u{30ff}'),   // Katakana, ー
    ('\u{31f0}', '\u{31ff}'),   // Katakana for Ainu
    ('\u{3400}', '\u{4dbf}'),   // Han, extension A
    ('\u{4e00}', '\u{9fff}'),   // Han
    ('\u{a9e0}', '\u{a9ef}'),   // Myanmar
    ('\u{a9fa}', '\u{a9fe}'),   // Myanmar
    ('\u{aa60}', '\u{aa7f}'),   // Myanmar
    ('\u{f900}', '\u{faff}'),   // Han, compatibility
    ('\u{ff66}', '\u{ff9f}'),   // Katakana, half width
    ('\u{1aff0}', '\u{1b16f}'), // Kana supplements
    ('\u{20000}', '\u{3fffd}'), // Han, extensions B and on
];

const HAN: Ranges = &[
    ('\u{3005}', '\u{3007}'),
    ('\u{3021}', '\u{3029}'),
    ('\u{3038}', '\u{303b}'),
    ('\u{3400}', '\u{4dbf}'),
    ('\u{4e00}', '\u{9fff}'),
    ('\u{f900}', '\u{faff}'),
    ('\u{20000}', '\u{3fffd}'),
];

const KANA: Ranges =
    &[('\u{3041}', '\u{3096}'), ('\u{30a1}', '\u{30fa}'), ('\u{31f0}', '\u{31ff}'), ('\u{1aff0}', '\u{1b16f}')];

const LATIN_OR_GREEK: Ranges = &[
    ('A', 'Z'),
    ('a', 'z'),
    ('\u{aa}', '\u{aa}'),
    ('\u{ba}', '\u{ba}'),
    ('\u{c0}', '\u{d6}'),
    ('\u{d8}', '\u{f6}'),
    ('\u{f8}', '\u{2af}'),
    ('\u{370}', '\u{3ff}'),
    ('\u{1d00}', '\u{1dbf}'),
    ('\u{1e00}', '\u{1fff}'),
    ('\u{2c60}', '\u{2c7f}'),
    ('\u{a722}', '\u{a7ff}'),
    ('\u{ab30}', '\u{ab6f}'),
    ('\u{fb00}', '\u{fb06}'),
    ('\u{ff21}', '\u{ff3a}'),
    ('\u{ff41}', '\u{ff5a}'),
];

const CYRILLIC: Ranges = &[
    ('\u{400}', '\u{52f}'),
    ('\u{1c80}', '\u{1c8f}'),
    ('\u{1d2b}', '\u{1d2b}'),
    ('\u{2de0}', '\u{2dff}'),
    ('\u{a640}', '\u{a69f}'),
];

fn within(c: char, ranges: Ranges) -> bool {
    let after = ranges.partition_point(|&(first, _)| first <= c);
    after > 0 && c <= ranges[after - 1].1
}

/// The way to cut a run of text into terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    /// No blanks between words: pairs of characters stand in for words.
    Unspaced,
    /// Hangul syllables: blanks between phrases, particles joined to the word.
    Hangul,
    /// Blanks between words.
    Spaced,
}

/// The class of a character. Combining marks belong with the letter before them, whatever this says.
pub(super) fn spacing(c: char) -> Spacing {
    if c < '\u{e00}' {
        Spacing::Spaced
    } else if ('\u{ac00}'..='\u{d7a3}').contains(&c) {
        Spacing::Hangul
    } else if within(c, UNSPACED) {
        Spacing::Unspaced
    } else {
        Spacing::Spaced
    }
}

/// True if a character is of a script without blanks between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    spacing(c) == Spacing::Unspaced
}

/// True if a character is a word by itself often enough: Han, kana, a Hangul syllable.
pub(super) fn is_word_alone(c: char) -> bool {
    within(c, HAN) || within(c, KANA) || spacing(c) == Spacing::Hangul
}

/// True if a letter is of a script whose diacritics a search ignores.
pub(super) fn is_latin_or_greek(c: char) -> bool {
    c.is_ascii_alphabetic() || within(c, LATIN_OR_GREEK)
}

/// True if a letter is of a script in which programmers join words by case.
pub(super) fn joins_by_case(c: char) -> bool {
    is_latin_or_greek(c) || within(c, CYRILLIC)
}

/// Cut a folded run into stretches of one class each; a mark stays with what precedes it.
pub(super) fn stretches(run: &str) -> Vec<(Spacing, &str)> {
    let mut cut = Vec::new();
    let mut start = 0;
    let mut current = None;
    for (i, c) in run.char_indices() {
        if current.is_some() && is_mark(c) {
            continue;
        }
        let class = spacing(c);
        if let Some(before) = current
            && before != class
        {
            cut.push((before, &run[start..i]));
            start = i;
        }
        current = Some(class);
    }
    cut.extend(current.map(|class| (class, &run[start..])));
    cut
}

/// True if a character is a combining mark.
pub(super) fn is_mark(c: char) -> bool {
    c >= '\u{300}' && is_combining_mark(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_ascend() {
        for ranges in [UNSPACED, HAN, LATIN_OR_GREEK, CYRILLIC] {
            assert!(ranges.iter().all(|(first, last)| first <= last));
            assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }

    #[test]
    fn classes() {
        for c in "々〇漢ひカーｶไລမខ𠀀豈".chars() {
            assert_eq!(spacing(c), Spacing::Unspaced, "{c}");
        }
        for c in "aéДक७๓".chars() {
            assert_eq!(spacing(c), Spacing::Spaced, "{c}");
        }
        assert_eq!(spacing('한'), Spacing::Hangul);
        assert!(
            ['漢', 'か', 'カ', '집'].into_iter().all(is_word_alone) && !['a', 'ก', 'ж'].into_iter().any(is_word_alone)
        );
        assert!(joins_by_case('Ж') && !is_latin_or_greek('Ж') && is_latin_or_greek('λ'));
    }

    #[test]
    fn a_run_is_cut_where_the_class_changes() {
        let cut = stretches("第3章abcกิน한국");
        let parts: Vec<_> = cut.iter().map(|(_, part)| *part).collect();
        assert_eq!(parts, ["第", "3", "章", "abc", "กิน", "한국"]);
        assert!(stretches("").is_empty());
    }
}
