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
/// The length of the longest word.
const LONGEST: usize = 7;

/// No word is longer than [`LONGEST`], so with its length it is one number; the numbers lie in an open-addressed table.
const TABLE: [u64; PLACES] = {
    let mut table = [0; PLACES];
    let mut i = 0;
    while i < STOP_WORDS.len() {
        let key = pack(STOP_WORDS[i].as_bytes());
        let mut place = place(key);
        while table[place] != 0 {
            place = (place + 1) % PLACES;
        }
        table[place] = key;
        i += 1;
    }
    table
};

const fn pack(word: &[u8]) -> u64 {
    let mut key = word.len() as u64;
    let mut i = 0;
    while i < word.len() {
        key = key << 8 | word[i] as u64;
        i += 1;
    }
    key
}

const fn place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
}

/// Whether a lower-case word is one of [`STOP_WORDS`].
pub fn is_stop_word(word: &str) -> bool {
    !word.is_empty() && word.len() <= LONGEST && is_packed_stop_word(pack(word.as_bytes()))
}

/// Whether the first `len` of eight bytes are one of [`STOP_WORDS`]; what follows them does not matter.
pub(super) fn starts_with_stop_word(eight: [u8; 8], len: usize) -> bool {
    if len == 0 || len > LONGEST {
        return false;
    }
    let bits = 8 * len as u32;
    is_packed_stop_word(u64::from_be_bytes(eight) >> (64 - bits) | (len as u64) << bits)
}

fn is_packed_stop_word(key: u64) -> bool {
    let mut place = place(key);
    while TABLE[place] != 0 {
        if TABLE[place] == key {
            return true;
        }
        place = (place + 1) % PLACES;
    }
    false
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

    #[test]
    fn a_word_is_found_at_the_beginning_of_eight_bytes() {
        for word in STOP_WORDS.into_iter().chain(["thee", "jwt", "becaus"]) {
            let mut eight = *b"zzzzzzzz";
            eight[..word.len()].copy_from_slice(word.as_bytes());
            assert_eq!(starts_with_stop_word(eight, word.len()), is_stop_word(word), "{word}");
        }
        assert!(!starts_with_stop_word(*b"because1", 8) && !starts_with_stop_word(*b"a       ", 0));
    }
}
