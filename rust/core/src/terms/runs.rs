//! Lower case and runs of word characters, 64 bytes at a time.

use super::scripts::is_mark;
use crate::collections::SHORT;

/// Bytes looked at together, one bit each.
const BLOCK: usize = 64;

/// A text in lower case, and where its runs begin and end. One value serves many texts.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// The text, and at least [`SHORT`] bytes behind it.
    lower: Vec<u8>,
    /// Begin and end of each run.
    bounds: Vec<[usize; 2]>,
    mixed: String,
}

impl Runs {
    /// Find the runs of ASCII letters, digits and `joiner` in an ASCII text.
    pub(super) fn ascii(&mut self, text: &str, joiner: u8) -> (&[u8], &[[usize; 2]]) {
        self.find(text.as_bytes(), joiner, |_, _| 0);
        (&self.lower, &self.bounds)
    }

    /// Find the runs of Python's `\w` in any text.
    pub(super) fn pattern(&mut self, text: &str) -> (&[u8], &[[usize; 2]]) {
        if text.is_ascii() {
            return self.ascii(text, b'_');
        }
        let mut mixed = std::mem::take(&mut self.mixed);
        mixed.clear();
        lowercase(text, &mut mixed);
        self.find(mixed.as_bytes(), b'_', |block, at| others(&mixed, block, at));
        self.mixed = mixed;
        (&self.lower, &self.bounds)
    }

    /// `others` adds the bits of the letters that are not ASCII, given a block and where it begins.
    fn find(&mut self, text: &[u8], joiner: u8, others: impl Fn(&[u8; BLOCK], usize) -> u64) {
        self.bounds.clear();
        self.lower.clear();
        self.lower.resize(text.len().next_multiple_of(BLOCK) + BLOCK.max(SHORT), 0);
        let mut open = Open { begin: 0, last: 0 };
        let (blocks, rest) = text.as_chunks::<BLOCK>();
        let (places, _) = self.lower.as_chunks_mut::<BLOCK>();
        let mut at = 0;
        for (block, place) in blocks.iter().zip(&mut *places) {
            let inside = classify(block, joiner, place) | others(block, at);
            open.changes(inside, at, &mut self.bounds);
            at += BLOCK;
        }
        let mut block = [0; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        if let Some(place) = places.get_mut(at / BLOCK) {
            let inside = classify(&block, joiner, place) | others(&block, at);
            open.changes(inside, at, &mut self.bounds);
            open.changes(0, at + BLOCK, &mut self.bounds);
        }
    }
}

/// The state of the run that reaches into the next block.
struct Open {
    begin: usize,
    /// 1 when the last byte was inside a run.
    last: u64,
}

impl Open {
    /// Add the runs that end in a block.
    fn changes(&mut self, inside: u64, at: usize, bounds: &mut Vec<[usize; 2]>) {
        let mut changes = inside ^ (inside << 1 | self.last);
        if self.last == 1 && changes != 0 {
            bounds.push([self.begin, at + changes.trailing_zeros() as usize]);
            changes &= changes - 1;
        }
        while changes != 0 {
            let begin = at + changes.trailing_zeros() as usize;
            changes &= changes - 1;
            if changes == 0 {
                self.begin = begin;
                break;
            }
            bounds.push([begin, at + changes.trailing_zeros() as usize]);
            changes &= changes - 1;
        }
        self.last = inside >> 63;
    }
}

/// Write a block in lower case and return which of its bytes are ASCII letters, digits or the joiner.
#[inline]
fn classify(block: &[u8; BLOCK], joiner: u8, lower: &mut [u8; BLOCK]) -> u64 {
    let mut inside = [0; BLOCK];
    for i in 0..BLOCK {
        let byte = block[i];
        let small = byte | (u8::from(byte.wrapping_sub(b'A') < 26) << 5);
        lower[i] = small;
        let word = (small.wrapping_sub(b'a') < 26) | (byte.wrapping_sub(b'0') < 10) | (byte == joiner);
        inside[i] = u8::from(word);
    }
    bits(&inside)
}

/// Bytes of 0 and 1 as bits.
#[inline]
fn bits(bytes: &[u8; BLOCK]) -> u64 {
    let mut bits = 0;
    for (i, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
        // The product moves the eight lowest bits into the top byte, where no two of them meet.
        let byte = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= byte << (8 * i);
    }
    bits
}

/// The bits of the letters in a block that are not ASCII.
fn others(text: &str, block: &[u8; BLOCK], at: usize) -> u64 {
    let beyond = bits(&block.map(|byte| byte >> 7));
    if beyond == 0 {
        return 0;
    }
    let mut inside = 0;
    // A character that begins in the block before may end here.
    let mut i = (0..4).find(|i| text.is_char_boundary(at.saturating_sub(*i))).map_or(at, |i| at.saturating_sub(i));
    let end = text.len().min(at + BLOCK);
    while i < end {
        let Some(c) = text[i..].chars().next() else { break };
        let next = i + c.len_utf8();
        if !c.is_ascii() && is_pattern_word(c) {
            for byte in i.max(at)..next.min(end) {
                inside |= 1 << (byte - at);
            }
        }
        i = next;
    }
    inside
}

/// Append a text in lower case, as `str::to_lowercase` has it.
fn lowercase(text: &str, out: &mut String) {
    // The one letter whose lower case depends on its neighbours.
    if text.contains('Σ') {
        out.push_str(&text.to_lowercase());
        return;
    }
    for part in text.split_inclusive(|c: char| !c.is_ascii()) {
        let ascii = part.trim_end_matches(|c: char| !c.is_ascii());
        let start = out.len();
        out.push_str(ascii);
        out[start..].make_ascii_lowercase();
        out.extend(part[ascii.len()..].chars().flat_map(char::to_lowercase));
    }
}

/// Python's `\w`: letters and numbers by general category, and the underscore. Rust counts as alphabetic also marks and
/// the circled and squared letters, which Python does not.
pub(super) fn is_pattern_word(c: char) -> bool {
    let enclosed = matches!(c, '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f149}'
        | '\u{1f150}'..='\u{1f169}' | '\u{1f170}'..='\u{1f189}');
    c == '_' || (c.is_alphanumeric() && !is_mark(c) && !enclosed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The result of `find`, computed plainly.
    fn twin(lower: &str, inside: impl Fn(char) -> bool) -> Vec<String> {
        lower.split(|c| !inside(c)).filter(|run| !run.is_empty()).map(str::to_owned).collect()
    }

    fn texts(results: (&[u8], &[[usize; 2]])) -> Vec<String> {
        let text = |&[begin, end]: &[usize; 2]| String::from_utf8(results.0[begin..end].to_vec()).unwrap();
        assert!(results.1.iter().all(|&[_, end]| end + SHORT <= results.0.len()));
        results.1.iter().map(text).collect()
    }

    proptest! {
        #![proptest_config(crate::seeded(512))]
        #[test]
        fn runs_of_any_text(text in "[a-zA-ZéÉßİΣσ_ \u{301}漢-]{0,200}|\\PC{0,150}|[a-zA-Z0-9]{100,200}| ?Ⓐ[a-z]{60,68}[é👍]{0,9}") {
            let mut runs = Runs::default();
            prop_assert_eq!(texts(runs.pattern(&text)), twin(&text.to_lowercase(), is_pattern_word));
        }

        #[test]
        fn runs_of_ascii(text in "[\\x00-\\x7f]{0,300}|[a-zA-Z -]{0,200}") {
            let mut runs = Runs::default();
            for joiner in ['_', '-'] {
                let inside = |c: char| c.is_ascii_alphanumeric() || c == joiner;
                prop_assert_eq!(texts(runs.ascii(&text, joiner as u8)), twin(&text.to_ascii_lowercase(), inside));
            }
        }
    }
}
