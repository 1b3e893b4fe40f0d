//! Three letters in one number.

/// Bits of a code point.
const BITS: u32 = 21;
const LETTER: u64 = (1 << BITS) - 1;

/// Three code points, the first one highest; never 0, for a word has no control characters.
pub(super) type Trigram = u64;

/// Call `each` with the trigrams of a word between two blanks, in their order.
pub(super) fn for_each_trigram(word: &str, mut each: impl FnMut(Trigram)) {
    let mut window = 0;
    for (at, letter) in word.chars().map(u64::from).enumerate() {
        window = (window << BITS | letter) & (LETTER << (2 * BITS) | LETTER << BITS | LETTER);
        if at > 1 {
            each(window);
        }
    }
}

/// The number of trigrams of a word between two blanks: one a letter.
pub(super) fn trigrams_of(word: &[u8]) -> u64 {
    // Bytes that do not go on with a character begin one; two of them are blanks.
    word.iter().filter(|&&byte| byte & 0xc0 != 0x80).count().saturating_sub(2) as u64
}

/// The three bytes at each place of a word.
pub(super) fn windows(word: &[u8]) -> impl Iterator<Item = [u8; 3]> + '_ {
    word.windows(3).map(|bytes| [bytes[0], bytes[1], bytes[2]])
}

/// The trigram of three ASCII letters.
pub(super) fn of_ascii([a, b, c]: [u8; 3]) -> Trigram {
    u64::from(a) << (2 * BITS) | u64::from(b) << BITS | u64::from(c)
}

/// The letters of a trigram, if they are ASCII.
pub(super) fn to_ascii(trigram: Trigram) -> Option<[u8; 3]> {
    let letter = |place: u32| u8::try_from(trigram >> (place * BITS) & LETTER).ok().filter(u8::is_ascii);
    Some([letter(2)?, letter(1)?, letter(0)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigrams(word: &str) -> Vec<Trigram> {
        let mut results = Vec::new();
        for_each_trigram(word, |trigram| results.push(trigram));
        results
    }

    #[test]
    fn a_word_has_as_many_trigrams_as_letters() {
        assert_eq!(trigrams(" abc "), [*b" ab", *b"abc", *b"bc "].map(of_ascii));
        assert_eq!(trigrams(" \u{10ffff} "), [u64::from(b' ') << 42 | 0x10_ffff << 21 | u64::from(b' ')]);
        assert!(trigrams("  ").is_empty());
    }

    #[test]
    fn ascii_comes_back_and_nothing_else_does() {
        assert_eq!(to_ascii(of_ascii(*b" z9")), Some(*b" z9"));
        assert_eq!(trigrams(" é").into_iter().chain(trigrams("éab")).chain(trigrams("ab漢")).find_map(to_ascii), None);
    }
}
