//! Sets of slots as bits: what is not stored is not in the set.

/// A set of small numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bits(Vec<u64>);

impl From<Vec<u64>> for Bits {
    fn from(words: Vec<u64>) -> Self {
        Self(words)
    }
}

impl Bits {
    /// The set of the numbers whose byte is not 0.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let word = |chunk: &[u8]| {
            let (eights, rest) = chunk.as_chunks::<8>();
            let word = eights.iter().enumerate().fold(0, |word, (i, &eight)| word | (eight_bits(eight) << (8 * i)));
            let at = 8 * eights.len();
            rest.iter().enumerate().fold(word, |word, (i, &byte)| word | (u64::from(byte != 0) << (at + i)))
        };
        Self(bytes.chunks(64).map(word).collect())
    }

    /// An empty set that can take the numbers below `count` without growing.
    pub(super) fn with_room(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    pub(super) fn insert(&mut self, number: usize) {
        let word = number / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % 64);
    }

    pub(super) fn remove(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    pub(super) fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// The largest number.
    pub(super) fn last(&self) -> Option<usize> {
        let (i, word) = self.0.iter().enumerate().rfind(|(_, word)| **word != 0)?;
        Some(i * 64 + 63 - word.leading_zeros() as usize)
    }

    /// Take the numbers out, in ascending order.
    pub(super) fn drain(&mut self, mut each: impl FnMut(usize)) {
        for (i, word) in self.0.iter_mut().enumerate() {
            let mut rest = std::mem::take(word);
            while rest != 0 {
                each(i * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }

    /// The words of 64 bits.
    pub(super) fn words(&self) -> &[u64] {
        &self.0
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        self.0.truncate(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }

    /// Add the numbers of words of 64 bits, the first of which is word `first` of the set.
    pub(super) fn unite(&mut self, first: usize, words: &[u64]) {
        self.0.resize(self.0.len().max(first + words.len()), 0);
        self.0[first..].iter_mut().zip(words).for_each(|(a, b)| *a |= b);
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// A bit for each byte that is not 0, in parallel: one by one, the mask of a large index takes longer than a query.
fn eight_bits(bytes: [u8; 8]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let bytes = u64::from_le_bytes(bytes);
    // The highest bit of each byte, moved to its lowest; then all eight gathered in the highest byte.
    let ones = ((((bytes & LOW) + LOW) | bytes) & !LOW) >> 7;
    ones.wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn bytes_become_bits() {
        for seed in 0..500_u32 {
            let byte = |i: u32| (seed.wrapping_mul(i + 7).wrapping_mul(0x9e37_79b9) >> 20) as u8;
            let bytes: Vec<u8> = (0..seed % 150).map(|i| if byte(i) % 3 == 0 { 0 } else { byte(i) }).collect();
            let bits = Bits::from_bytes(&bytes);
            assert!((0..200).all(|i| bits.contains(i) == bytes.get(i).is_some_and(|&byte| byte != 0)));
        }
    }

    #[test]
    fn sets() {
        let mut a = Bits::from_bytes(&[[0, 1, 0, 255], [0, 0, 0, 2]].concat().repeat(9));
        assert_eq!(a.count(), 27);
        assert!(a.contains(1) && a.contains(71) && !a.contains(64) && !a.contains(1_000));
        a.remove(1);
        a.remove(1_000);
        let mut b = Bits::default();
        b.insert(1);
        b.insert(200);
        assert!(!a.contains(1) && b.contains(200));
        b.unite(0, a.words());
        assert_eq!(b.count(), 28);
        let mut c = Bits::default();
        c.unite(2, &[5]);
        assert_eq!((c.contains(128), c.contains(130), c.count()), (true, true, 2));
        b.intersect(&a);
        assert_eq!(b.count(), 26);
    }
}
