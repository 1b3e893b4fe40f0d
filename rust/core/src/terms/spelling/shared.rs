//! The trigrams that a slot's words share with a query: counts of all of them at a time.

/// Trigrams whose bits are in one mask; the highest bit is left.
const MASKED: usize = 63;
/// The bit of a mask whose word has a trigram again.
const AGAIN: u64 = 1 << MASKED;
/// Bits of a count: no slot has as many words.
const BITS: usize = 32;

/// By word which trigrams of a query it has.
pub(super) struct Masks {
    /// The masks of a word, one after the other.
    of_word: usize,
    masks: Vec<u64>,
    /// Words, ascending, each with a trigram that it has once more, as often as it does.
    again: Vec<(usize, usize)>,
    /// The counts of a slot, by mask of a word.
    counts: Vec<Counts>,
}

impl Masks {
    /// No words yet, for a query with a number of trigrams.
    pub(super) fn new(trigrams: usize) -> Self {
        let of_word = trigrams.div_ceil(MASKED);
        Self { of_word, masks: Vec::new(), again: Vec::new(), counts: vec![Counts::none(); of_word] }
    }

    /// Forget all words.
    pub(super) fn clear(&mut self) {
        self.masks.clear();
        self.again.clear();
    }

    /// Add words up to a number of them, which have no trigrams yet.
    pub(super) fn grow(&mut self, words: usize) {
        self.masks.resize(words * self.of_word, 0);
    }

    /// Note that a word has a trigram; words come one after the other.
    pub(super) fn mark(&mut self, word: usize, trigram: u32) {
        let trigram = trigram as usize;
        let (mask, bit) = (&mut self.masks[word * self.of_word + trigram / MASKED], 1 << (trigram % MASKED));
        if *mask & bit != 0 {
            self.again.push((word, trigram));
            *mask |= AGAIN;
        }
        *mask |= bit;
    }

    /// The trigrams, ascending, that a slot's words have, and how often.
    pub(super) fn counts(&mut self, words: &[u32]) -> impl Iterator<Item = (usize, u32)> + '_ {
        let Self { of_word, masks, again, counts } = self;
        for (mask, counts) in counts.iter_mut().enumerate() {
            *counts = Counts::none();
            let mask_of = |word: u32| masks[word as usize * *of_word + mask];
            words.iter().for_each(|&word| counts.add(mask_of(word)));
            if counts.any() & AGAIN != 0 {
                for word in words.iter().filter(|&&word| mask_of(word) & AGAIN != 0).map(|&word| word as usize) {
                    let rest = &again[again.partition_point(|&(other, _)| other < word)..];
                    let trigrams = rest.iter().take_while(|&&(other, _)| other == word).map(|&(_, trigram)| trigram);
                    trigrams.filter(|at| at / MASKED == mask).for_each(|at| counts.add(1 << (at % MASKED)));
                }
            }
        }
        counts.iter().enumerate().flat_map(|(mask, counts)| {
            let mut left = counts.any() & !AGAIN;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some((mask * MASKED + bit as usize, counts.of(bit)))
            })
        })
    }
}

/// A count for each bit of a mask: the lowest bits of all counts, then the next ones, and so on.
#[derive(Clone, Copy)]
struct Counts {
    bits: [u64; BITS],
    /// The bits in use.
    len: usize,
}

impl Counts {
    /// Bits that are always in use.
    const FEW: usize = 3;

    fn none() -> Self {
        Self { bits: [0; BITS], len: Self::FEW }
    }

    /// Count the bits of a mask.
    #[inline]
    fn add(&mut self, mask: u64) {
        let [one, two, four, ..] = &mut self.bits;
        let twos = *one & mask;
        let fours = *two & twos;
        let carried = *four & fours;
        *one ^= mask;
        *two ^= twos;
        *four ^= fours;
        if carried != 0 {
            self.carry(carried);
        }
    }

    /// Add what hardly ever goes beyond the first bits.
    #[cold]
    fn carry(&mut self, mut carried: u64) {
        for (at, bits) in self.bits.iter_mut().enumerate().skip(Self::FEW) {
            self.len = self.len.max(at + 1);
            (*bits, carried) = (*bits ^ carried, *bits & carried);
            if carried == 0 {
                break;
            }
        }
    }

    /// The bits that were counted.
    fn any(&self) -> u64 {
        self.bits[..self.len].iter().fold(0, |any, bits| any | bits)
    }

    fn of(&self, bit: u32) -> u32 {
        let bits = self.bits[..self.len].iter().enumerate();
        bits.fold(0, |count, (at, bits)| count | ((bits >> bit & 1) as u32) << at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_all_words_together() {
        let trigrams = 2 * MASKED + 5;
        // By word its trigrams: some once, some again, the first word none.
        let words: Vec<Vec<u32>> =
            (0..40_u32).map(|word| (0..word).map(|i| (word * word + i * i * 7) % trigrams as u32).collect()).collect();
        let mut masks = Masks::new(trigrams);
        for round in 0..2 {
            masks.clear();
            masks.grow(words.len());
            for (at, word) in words.iter().enumerate() {
                word.iter().for_each(|&trigram| masks.mark(at, trigram));
            }
            for slot in [vec![], vec![0, 0], vec![39; 50 * (round + 1)], (0..40).chain(3..17).collect::<Vec<u32>>()] {
                let mut wanted = vec![0; trigrams];
                slot.iter().flat_map(|&word| &words[word as usize]).for_each(|&at| wanted[at as usize] += 1);
                let wanted: Vec<(usize, u32)> =
                    wanted.into_iter().enumerate().filter(|&(_, count)| count > 0).collect();
                assert_eq!(masks.counts(&slot).collect::<Vec<_>>(), wanted);
            }
        }
        assert_eq!(Masks::new(0).counts(&[]).count(), 0);
    }
}
