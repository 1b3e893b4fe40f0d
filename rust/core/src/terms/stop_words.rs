//! The English stop words of the documented seven-signal search.

/// The 95 words, in alphabetical order.
pub const STOP_WORDS: [&str; 95] = [
    "a", "about", "all", "an", "and", "are", "as", "at", "be", "because", "been", "both", "but", "by", "can", "could",
    "did", "do", "does", "each", "else", "every", "few", "for", "from", "had", "has", "have", "he", "her", "him",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "may", "me", "might", "more", "most", "must",
    "my", "need", "no", "not", "of", "on", "only", "or", "other", "our", "out", "same", "shall", "she", "should", "so",
    "some", "such", "than", "that", "the", "their", "them", "then", "these", "they", "this", "those", "to", "too",
    "up", "us", "very", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "why", "will", "with",
    "would", "you", "your",
];

const PLACES: usize = 512;

/// Every word is at most seven bytes, so it is one number; the numbers lie in an open-addressed table.
const TABLE: [u64; PLACES] = {
    let mut table = [0; PLACES];
    let mut i = 0;
    while i < STOP_WORDS.len() {
        let start = start(STOP_WORDS[i].as_bytes());
        let mut place = place(start);
        while table[place] != 0 {
            place = (place + 1) % PLACES;
        }
        table[place] = start;
        i += 1;
    }
    table
};

/// The first bytes, the first in the lowest place.
const fn start(word: &[u8]) -> u64 {
    let mut start = 0;
    let mut i = 0;
    while i < word.len() && i < 8 {
        start |= (word[i] as u64) << (8 * i);
        i += 1;
    }
    start
}

const fn place(start: u64) -> usize {
    (start.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
}

/// True if a lower-case word is one of [`STOP_WORDS`].
pub fn is_stop_word(word: &str) -> bool {
    word.len() <= 7 && !word.contains('\0') && is_stop_start(start(word.as_bytes()))
}

/// True if a word without NULs is one of [`STOP_WORDS`], given its first eight bytes: the first in the lowest place,
/// zeros behind the last.
pub(super) fn is_stop_start(start: u64) -> bool {
    let mut place = place(start);
    while TABLE[place] != 0 {
        if TABLE[place] == start {
            return true;
        }
        place = (place + 1) % PLACES;
    }
    false
}

/// True if the first `len` of eight bytes, none of them NUL, are one of [`STOP_WORDS`]; what follows does not matter.
pub(super) fn starts_with_stop_word(eight: [u8; 8], len: usize) -> bool {
    (1..=7).contains(&len) && is_stop_start(u64::from_le_bytes(eight) & (u64::MAX >> (64 - 8 * len)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_the_words_and_no_others() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        for word in ["", "\0", "\0a", "thee", "tha", "becaus", "because1", "jwt", "The", "été"] {
            assert!(!is_stop_word(word), "{word:?}");
        }
    }
}
