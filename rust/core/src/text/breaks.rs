//! Where a text may be cut, and how good each place is.

use unicode_segmentation::UnicodeSegmentation;

use crate::terms::is_unspaced;

/// The points of a word; parts of words count in fractions.
pub const WORD: u64 = 8;
/// Letters that count as a word in a run without blanks: a run may be an address, a key, or a megabyte of one letter.
const LETTERS: u64 = 16;
/// Two characters of Chinese or Japanese count as a word, and four of other scripts without blanks.
const HAN: u64 = WORD / 2;
const UNSPACED: u64 = WORD / 4;
/// Bytes of a character as readers see it; what is longer (letters under hundreds of marks) is cut.
const GRAPHEME_BYTES: usize = 64;
/// Maximum signs that stay with the character before them.
const SIGNS: usize = 3;

/// The strength of a break in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// Inside a word, between two characters as readers see them.
    Letter,
    /// Between two words.
    Word,
    /// After a comma, or a full stop that may belong to an abbreviation.
    Clause,
    /// At the end of a line that seems to be wrapped.
    Wrap,
    /// At the end of a sentence.
    Sentence,
    /// At the end of a line that does not go on in the next.
    Line,
    /// At an empty line, or the end of the text.
    Paragraph,
    /// Before a heading; callers that know headings set it.
    Section,
}

/// A place where a text may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Break {
    /// Bytes before it: blanks up to the next word, or up to the next line, come before a cut.
    pub end: usize,
    /// The points of the text before it: `WORD` for each word.
    pub points: u64,
    /// The strength of the break.
    pub strength: Strength,
}

/// Return where a text may be cut, in order; the last break is its end. Two breaks are at most a word apart.
pub fn breaks(text: &str) -> Vec<Break> {
    let mut results = Found { breaks: Vec::new(), points: 0 };
    let mut at = next_word(text, 0);
    while at < text.len() {
        let end = text[at..].find(is_blank).map_or(text.len(), |n| at + n);
        let next = next_word(text, end);
        results.run(at, &text[at..end]);
        let blanks = &text[end..next];
        // The blanks that indent a line belong to it.
        let cut = if next == text.len() { next } else { blanks.rfind('\n').map_or(next, |n| end + n + 1) };
        results.put(cut, strength(&text[at..end], blanks, cut < next, text[next..].chars().next()));
        at = next;
    }
    if results.breaks.is_empty() && !text.is_empty() {
        results.put(text.len(), Strength::Paragraph);
    }
    results.breaks
}

struct Found {
    breaks: Vec<Break>,
    points: u64,
}

impl Found {
    fn put(&mut self, end: usize, strength: Strength) {
        self.breaks.push(Break { end, points: self.points, strength });
    }

    /// Count a run without blanks, and note the places inside where it may be cut; its end is left to the caller.
    fn run(&mut self, start: usize, run: &str) {
        if is_short_word(run) {
            self.points += WORD;
            return;
        }
        // Letters of the word so far, signs in a row, and what a cut after them would be.
        let (mut letters, mut signs, mut after) = (0, 0, Strength::Letter);
        for (i, grapheme) in graphemes(run) {
            let end = start + i;
            let Some(first) = grapheme.chars().next() else { continue };
            let counts = match class(first) {
                Class::Sign { opens } if i > 0 && signs < SIGNS && !opens => {
                    signs += 1;
                    letters = 0;
                    after = after.max(sign_strength(first));
                    continue;
                }
                Class::Sign { .. } => HAN,
                Class::Unspaced(points) => points,
                Class::Spaced => {
                    letters += 1;
                    if letters % LETTERS != 1 {
                        continue;
                    }
                    WORD
                }
            };
            if i > 0 {
                self.put(end, after);
            }
            self.points += counts;
            if counts != WORD {
                letters = 0;
            }
            (signs, after) = (0, Strength::Letter);
        }
    }
}

enum Class {
    /// A letter of a script with blanks between words, or anything else.
    Spaced,
    /// A character of a script without, and what it counts.
    Unspaced(u64),
    /// A full-width punctuation mark.
    Sign { opens: bool },
}

fn class(c: char) -> Class {
    match c {
        '\u{3008}' | '\u{300a}' | '\u{300c}' | '\u{300e}' | '\u{3010}' | '\u{3014}' | '\u{ff08}' => {
            Class::Sign { opens: true }
        }
        '\u{3001}'..='\u{3004}' | '\u{3008}'..='\u{3020}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' => {
            Class::Sign { opens: false }
        }
        // Han and Kana stand above the others, but for the extensions of Myanmar.
        _ if is_unspaced(c) && c > '\u{3000}' && !('\u{a9e0}'..='\u{aa7f}').contains(&c) => Class::Unspaced(HAN),
        _ if is_unspaced(c) => Class::Unspaced(UNSPACED),
        _ => Class::Spaced,
    }
}

fn sign_strength(c: char) -> Strength {
    match c {
        '。' | '！' | '？' | '．' => Strength::Sentence,
        '、' | '，' | '；' | '：' => Strength::Clause,
        _ => Strength::Letter,
    }
}

/// The characters of a run as readers see them; one that is very long in pieces.
fn graphemes(run: &str) -> impl Iterator<Item = (usize, &str)> {
    run.grapheme_indices(true).flat_map(|(start, grapheme)| {
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = grapheme.get(at..).filter(|rest| !rest.is_empty())?;
            let mut size = rest.len().min(GRAPHEME_BYTES);
            while !rest.is_char_boundary(size) {
                size -= 1;
            }
            at += size;
            Some((start + at - size, &rest[..size]))
        })
    })
}

/// True if a run is one word that is never cut, without looking at its characters as readers see them.
fn is_short_word(run: &str) -> bool {
    let mut letters = 0;
    run.chars().all(|c| {
        letters += 1;
        c < '\u{e00}' && letters <= LETTERS
    })
}

/// Blanks end a run, but for those that forbid it.
fn is_blank(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{202f}')
}

fn next_word(text: &str, at: usize) -> usize {
    text[at..].find(|c| !is_blank(c)).map_or(text.len(), |n| at + n)
}

/// Return how good a cut is between a run and the next, given the blanks between them.
fn strength(run: &str, blanks: &str, indented: bool, next: Option<char>) -> Strength {
    let Some(next) = next else { return Strength::Paragraph };
    let end = end_strength(run, next);
    let mut lines = blanks.bytes().filter(|&byte| byte == b'\n');
    match (lines.next(), lines.next()) {
        (None, _) => end,
        (_, Some(_)) => Strength::Paragraph,
        // A list, code, or an indented first line.
        _ if end == Strength::Sentence || indented || !next.is_alphabetic() || run.ends_with([':', '：']) => {
            Strength::Line
        }
        _ => Strength::Wrap,
    }
}

/// Return what the end of a run ends.
fn end_strength(run: &str, next: char) -> Strength {
    let core = run.trim_end_matches([')', ']', '}', '"', '\'', '”', '’', '»', '」', '』', '）', '】', '*', '_', '`']);
    match core.chars().next_back() {
        Some('。' | '！' | '？' | '।' | '॥' | '؟' | '۔' | '։' | '።' | '།') => Strength::Sentence,
        Some('!' | '?' | '…') if !next.is_lowercase() => Strength::Sentence,
        Some('.') if ends_sentence(&core[..core.len() - 1], next) => Strength::Sentence,
        Some('.' | '!' | '?' | '…' | ',' | ';' | ':' | '–' | '—' | '、' | '，' | '；' | '：' | '،' | '؛') => {
            Strength::Clause
        }
        _ => Strength::Word,
    }
}

/// True if a full stop after a word ends a sentence.
fn ends_sentence(word: &str, next: char) -> bool {
    const SHORTENED: [&str; 16] =
        ["Dr", "Mr", "Mrs", "Ms", "Prof", "St", "No", "Nr", "Fig", "Eq", "vs", "etc", "al", "cf", "ca", "approx"];
    let word = word.trim_start_matches(['(', '[', '"', '“', '„', '«', '\'']);
    // A full stop that stands alone, as in tokenised text.
    if word.is_empty() {
        return true;
    }
    let initial = word.chars().nth(1).is_none() && word.chars().all(char::is_alphabetic);
    !(next.is_lowercase() || initial || word.contains('.') || SHORTENED.contains(&word))
}
