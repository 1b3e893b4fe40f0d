//! Terms numbered in order of first sight, in memory.

/// Bytes of a term that its key holds; longer terms are told apart by their names.
pub(crate) const SHORT: usize = 16;
/// The top byte of a long term's key: no byte of UTF-8.
const LONG: u64 = 0xff << 56;

/// Per length the bytes that belong to the term.
const MASKS: [(u64, u64); SHORT + 1] = {
    let mut masks = [(0, 0); SHORT + 1];
    let mut len = 1;
    while len <= SHORT {
        let (low, high) = masks[len - 1];
        masks[len] = if len <= 8 { (low << 8 | 0xff, high) } else { (low, high << 8 | 0xff) };
        len += 1;
    }
    masks
};

/// A term's first 16 bytes, or what stands for more, as two numbers: no loop is needed to compare or to hash them. No
/// term holds a NUL, so a key that begins with 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Key {
    low: u64,
    high: u64,
}

impl Key {
    fn hash(self) -> usize {
        let product = u128::from(self.low ^ 0x9e37_79b9_7f4a_7c15) * u128::from(self.high ^ 0xd6e8_feb8_6659_fd93);
        (product ^ (product >> 64)) as usize
    }
}

/// A term to be looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term<'a> {
    key: Key,
    bytes: &'a [u8],
}

impl<'a> Term<'a> {
    /// A term that is not empty and holds no NUL.
    pub(crate) fn new(text: &'a str) -> Self {
        Self::padded(text.as_bytes())
    }

    /// The term of these bytes; None for what is empty or holds a NUL, which no term does.
    pub(crate) fn of_bytes(bytes: &'a [u8]) -> Option<Self> {
        if bytes.is_empty() || bytes.contains(&0) { None } else { Some(Self::padded(bytes)) }
    }

    fn padded(bytes: &'a [u8]) -> Self {
        let mut padded = [0; SHORT];
        let held = bytes.len().min(SHORT);
        padded[..held].copy_from_slice(&bytes[..held]);
        Self::of(bytes, &padded)
    }

    /// The term `buffer[start..end]` of a buffer that goes on for [`SHORT`] bytes behind every term.
    pub(crate) fn within(buffer: &'a [u8], start: usize, end: usize) -> Self {
        match buffer[start..].first_chunk() {
            Some(first) => Self::of(&buffer[start..end], first),
            None => Self { key: Key::default(), bytes: &[] },
        }
    }

    fn of(bytes: &'a [u8], first: &[u8; SHORT]) -> Self {
        let Some(&(low, high)) = MASKS.get(bytes.len()) else { return Self { key: long(bytes), bytes } };
        let number = u128::from_le_bytes(*first);
        Self { key: Key { low: number as u64 & low, high: (number >> 64) as u64 & high }, bytes }
    }

    /// The term's bytes.
    pub(crate) fn name(self) -> &'a [u8] {
        self.bytes
    }

    /// The first eight bytes, the first in the lowest place, zeros behind the last.
    pub(crate) fn start(self) -> u64 {
        if self.bytes.len() > SHORT { u64::MAX } else { self.key.low }
    }
}

fn long(bytes: &[u8]) -> Key {
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mix = |hash: u64, word: [u8; 8]| {
        (hash.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(0x9fb2_1c65_1e98_df25)
    };
    let hash = mix(words.iter().fold(0, |hash, &word| mix(hash, word)), last);
    Key { low: hash | 1, high: LONG | bytes.len() as u64 }
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    key: Key,
    term: u32,
}

/// Terms with their numbers, in an open-addressed table that is at most half full.
#[derive(Clone, Debug)]
pub(crate) struct Lexicon {
    buckets: Vec<Bucket>,
    names: Vec<u8>,
    /// By term where its name ends.
    ends: Vec<usize>,
}

impl Default for Lexicon {
    fn default() -> Self {
        Self { buckets: vec![Bucket::default(); 64], names: Vec::new(), ends: Vec::new() }
    }
}

impl Lexicon {
    /// The number of terms.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The name of a term, by number.
    pub(crate) fn name(&self, term: u32) -> &[u8] {
        let term = term as usize;
        let start = if term == 0 { 0 } else { self.ends[term - 1] };
        &self.names[start..self.ends[term]]
    }

    /// The names, by number.
    pub(crate) fn names(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len() as u32).map(|term| self.name(term))
    }

    /// The names as texts, by number.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> + '_ {
        self.names().map(text)
    }

    /// The terms, by number.
    pub(crate) fn terms(&self) -> impl Iterator<Item = Term<'_>> {
        self.names().map(Term::padded)
    }

    /// The number of a term, if it has one.
    pub(crate) fn find(&self, term: Term<'_>) -> Option<u32> {
        let bucket = self.buckets[self.bucket(term)];
        (bucket.key != Key::default()).then_some(bucket.term)
    }

    /// The number of a term; a new one gets the next.
    pub(crate) fn number(&mut self, term: Term<'_>) -> u32 {
        let at = self.bucket(term);
        let bucket = &mut self.buckets[at];
        if bucket.key == term.key {
            return bucket.term;
        }
        let number = self.ends.len() as u32;
        *bucket = Bucket { key: term.key, term: number };
        self.names.extend_from_slice(term.bytes);
        self.ends.push(self.names.len());
        if 2 * self.ends.len() > self.buckets.len() {
            self.grow();
        }
        number
    }

    /// Where the term stands, or else a free bucket.
    fn bucket(&self, term: Term<'_>) -> usize {
        let mask = self.buckets.len() - 1;
        let mut at = term.key.hash() & mask;
        loop {
            let bucket = &self.buckets[at & mask];
            let free = bucket.key == Key::default();
            let same = bucket.key == term.key && (term.bytes.len() <= SHORT || self.name(bucket.term) == term.bytes);
            if free | same {
                return at & mask;
            }
            at += 1;
        }
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.buckets);
        self.buckets = vec![Bucket::default(); 2 * old.len()];
        let mask = self.buckets.len() - 1;
        for bucket in old.into_iter().filter(|bucket| bucket.key != Key::default()) {
            let mut at = bucket.key.hash() & mask;
            while self.buckets[at].key != Key::default() {
                at = (at + 1) & mask;
            }
            self.buckets[at] = bucket;
        }
    }
}

/// A name as a text.
pub(crate) fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// One lexicon of the terms of several, numbered in code point order, and by lexicon the new number of each term.
pub(crate) fn united(lexicons: &[&Lexicon]) -> (Lexicon, Vec<Vec<u32>>) {
    let mut all: Vec<(u128, u32, u32)> = Vec::with_capacity(lexicons.iter().map(|lexicon| lexicon.len()).sum());
    for (of, lexicon) in (0..).zip(lexicons) {
        all.extend((0..lexicon.len() as u32).map(|term| (leading(lexicon.name(term)), of, term)));
    }
    let name = |&(_, of, term): &(u128, u32, u32)| lexicons[of as usize].name(term);
    // The byte order of UTF-8 is the order of code points.
    all.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| name(a).cmp(name(b))));
    let mut numbers: Vec<Vec<u32>> = lexicons.iter().map(|lexicon| vec![0; lexicon.len()]).collect();
    let terms = all.len();
    let mut one = Lexicon {
        buckets: vec![Bucket::default(); (2 * terms).next_power_of_two().max(64)],
        names: Vec::with_capacity(lexicons.iter().map(|lexicon| lexicon.names.len()).max().unwrap_or(0)),
        ends: Vec::with_capacity(terms),
    };
    for same in all.chunk_by(|a, b| a.0 == b.0 && name(a) == name(b)) {
        let number = one.number(Term::padded(name(&same[0])));
        for &(_, of, term) in same {
            numbers[of as usize][term as usize] = number;
        }
    }
    (one, numbers)
}

/// The first 16 bytes, in the order of a comparison.
fn leading(name: &[u8]) -> u128 {
    let mut first = [0; SHORT];
    let held = name.len().min(SHORT);
    first[..held].copy_from_slice(&name[..held]);
    u128::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_terms_with_one_key_are_told_apart() {
        let (one, two) = ("a".repeat(SHORT + 1), "b".repeat(SHORT + 1));
        let (one, two) = (Term::new(&one), Term::new(&two));
        let two = Term { key: one.key, ..two };
        let mut lexicon = Lexicon::default();
        assert_eq!([one, two, one].map(|term| lexicon.number(term)), [0, 1, 0]);
        assert_eq!((lexicon.find(one), lexicon.find(two)), (Some(0), Some(1)));
    }

    proptest! {
        #![proptest_config(crate::seeded(256))]
        #[test]
        fn terms_keep_their_numbers(names in prop::collection::vec("[ab]{1,3}|[a-c]{15,18}|\\PC{1,12}", 0..300), cut in 0..9_usize) {
            let parts: Vec<&[String]> = names.chunks(names.len() / (cut + 1) + 1).collect();
            let result: Vec<Lexicon> = parts.iter().map(|part| {
                let mut lexicon = Lexicon::default();
                part.iter().for_each(|name| { lexicon.number(Term::new(name)); });
                lexicon
            }).collect();
            let (one, numbers) = united(&result.iter().collect::<Vec<_>>());
            let sorted: BTreeSet<&String> = names.iter().collect();
            prop_assert!(one.texts().eq(sorted.into_iter().cloned()));
            for ((part, lexicon), numbers) in parts.iter().zip(&result).zip(numbers) {
                let distinct: BTreeSet<&String> = part.iter().collect();
                prop_assert_eq!(lexicon.len(), distinct.len());
                for name in *part {
                    let term = lexicon.find(Term::new(name)).unwrap();
                    prop_assert_eq!(lexicon.name(term), name.as_bytes());
                    prop_assert_eq!(Some(numbers[term as usize]), one.find(Term::new(name)));
                }
            }
        }
    }
}
