//! Sets of row numbers as bits: a number that is not stored is not in the set.

use std::ops::Range;

const BITS: usize = u64::BITS as usize;

/// A set of small numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BitMask(Vec<u64>);

impl From<Vec<u64>> for BitMask {
    fn from(words: Vec<u64>) -> Self {
        Self(words)
    }
}

impl BitMask {
    /// The set of the numbers whose byte is not 0.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let (blocks, rest) = bytes.as_chunks::<BITS>();
        let last = (!rest.is_empty()).then(|| {
            let mut block = [0; BITS];
            block[..rest.len()].copy_from_slice(rest);
            block
        });
        Self(blocks.iter().chain(&last).map(pack).collect())
    }

    /// An empty set that can take the numbers below `count` without growing.
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self(vec![0; count.div_ceil(BITS)])
    }

    /// Add a number.
    pub(crate) fn insert(&mut self, number: usize) {
        let word = number / BITS;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % BITS);
    }

    /// Remove a number.
    pub(crate) fn remove(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / BITS) {
            *word &= !(1 << (number % BITS));
        }
    }

    /// True if a number is in the set.
    pub(crate) fn contains(&self, number: usize) -> bool {
        self.0.get(number / BITS).is_some_and(|word| word >> (number % BITS) & 1 == 1)
    }

    /// The number of members.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The largest number.
    pub(crate) fn last(&self) -> Option<usize> {
        let (i, word) = self.0.iter().enumerate().rfind(|(_, word)| **word != 0)?;
        Some(i * BITS + BITS - 1 - word.leading_zeros() as usize)
    }

    /// Call `each` with the numbers, ascending, and empty the set.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(usize)) {
        for (i, word) in self.0.iter_mut().enumerate() {
            ones(std::mem::take(word)).for_each(|bit| each(i * BITS + bit));
        }
    }

    /// The words of 64 bits.
    pub(crate) fn words(&self) -> &[u64] {
        &self.0
    }

    /// The numbers of a range as words of up to 64 bits, ascending, without those that are 0.
    pub(crate) fn bits_in(&self, range: Range<usize>) -> impl Iterator<Item = Bits> {
        let words = if range.is_empty() { 0..0 } else { range.start / BITS..range.end.div_ceil(BITS) };
        words.filter_map(move |word| {
            let (first, end) = (range.start.max(word * BITS), range.end.min((word + 1) * BITS));
            let len = end - first;
            let bits = (self.0[word] >> (first % BITS)) & (!0 >> (BITS - len));
            (bits != 0).then_some(Bits { first, len, bits })
        })
    }

    /// Remove the numbers that the other set does not have.
    pub(crate) fn intersect(&mut self, other: &Self) {
        self.0.truncate(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }

    /// Remove the numbers that the other set has.
    pub(crate) fn remove_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
    }

    /// Add the numbers of words of 64 bits, the first of which is word `first` of the set.
    pub(crate) fn unite(&mut self, first: usize, words: &[u64]) {
        self.0.resize(self.0.len().max(first + words.len()), 0);
        self.0[first..].iter_mut().zip(words).for_each(|(a, b)| *a |= b);
    }
}

/// Adjacent numbers, and which of them are in a set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    /// The number of the lowest bit.
    pub(crate) first: usize,
    /// From 1 to 64.
    pub(crate) len: usize,
    pub(crate) bits: u64,
}

impl Bits {
    /// True if enough are set that reading all of them takes less time than picking those.
    pub(crate) fn is_dense(self) -> bool {
        self.bits.count_ones() as usize * 3 > self.len * 2
    }
}

/// The positions of the bits that are set, ascending.
#[inline]
pub(crate) fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (at < BITS).then_some(at)
    })
}

/// A bit for each byte that is not 0, eight at a time: one by one, the mask of a large index takes longer than a query.
fn pack(block: &[u8; BITS]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // The product moves the lowest bit of each of eight bytes into the highest byte, in order.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (eights, _) = block.as_chunks::<8>();
    eights.iter().enumerate().fold(0, |word, (i, &eight)| {
        let bytes = u64::from_le_bytes(eight);
        // The highest bit of each byte that is not 0, moved to its lowest.
        let set = ((((bytes & LOW) + LOW) | bytes) & !LOW) >> 7;
        word | (set.wrapping_mul(GATHER) >> 56) << (8 * i)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    fn numbers(mask: &BitMask) -> Vec<usize> {
        (0..mask.words().len() * BITS).filter(|&number| mask.contains(number)).collect()
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop_oneof![4 => Just(0_u8), 1 => Just(1), 1 => any::<u8>()], 0..400)
    }

    proptest! {
        #![proptest_config(crate::seeded(128))]
        #[test]
        fn a_mask_of_bytes_has_the_numbers_whose_byte_is_not_0(bytes in bytes()) {
            let wanted: Vec<usize> = (0..bytes.len()).filter(|&number| bytes[number] != 0).collect();
            let mut mask = BitMask::from_bytes(&bytes);
            prop_assert_eq!(mask.count(), wanted.len());
            prop_assert_eq!(mask.last(), wanted.last().copied());
            prop_assert_eq!(&numbers(&mask), &wanted);
            let mut drained = Vec::new();
            mask.drain(|number| drained.push(number));
            prop_assert_eq!(drained, wanted);
            prop_assert_eq!(mask.count(), 0);
        }

        #[test]
        fn the_bits_of_a_range_are_its_numbers(bytes in bytes(), cuts in (0_usize..401, 0_usize..401)) {
            let mask = BitMask::from_bytes(&bytes);
            let (from, to) = (cuts.0.min(cuts.1).min(bytes.len()), cuts.0.max(cuts.1).min(bytes.len()));
            let mut results = Vec::new();
            for part in mask.bits_in(from..to) {
                let rows = part.first..part.first + part.len;
                prop_assert!(from <= rows.start && rows.end <= to && part.len <= BITS);
                results.extend(ones(part.bits).map(|bit| part.first + bit));
                prop_assert!(results.last().is_some_and(|last| rows.contains(last)));
            }
            let wanted: Vec<usize> = (from..to).filter(|&number| bytes[number] != 0).collect();
            prop_assert_eq!(results, wanted);
        }

        #[test]
        fn masks_are_sets(
            steps in prop::collection::vec((any::<bool>(), 0_usize..300), 0..60),
            other in bytes(),
            first in 0_usize..4,
        ) {
            let (mut mask, mut set) = (BitMask::with_capacity(70), BTreeSet::new());
            for (adds, number) in steps {
                if adds {
                    mask.insert(number);
                    set.insert(number);
                } else {
                    mask.remove(number);
                    set.remove(&number);
                }
            }
            prop_assert!(set.iter().copied().eq(numbers(&mask)));
            let other = BitMask::from_bytes(&other);
            let (mut both, mut either) = (mask.clone(), mask);
            both.intersect(&other);
            prop_assert!(set.iter().copied().filter(|&number| other.contains(number)).eq(numbers(&both)));
            either.unite(first, other.words());
            set.extend(numbers(&other).iter().map(|number| number + first * BITS));
            prop_assert!(set.iter().copied().eq(numbers(&either)));
        }
    }
}
