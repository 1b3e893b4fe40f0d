//! A mask as bits, so that sixty-four forbidden rows cost one comparison and a thread can have its own copy.

use std::ops::Range;

const BITS: usize = u64::BITS as usize;

/// Which rows may be returned.
#[derive(Clone, Debug)]
pub(super) struct Allowed(Vec<u64>);

impl Allowed {
    /// From one byte a row, not 0 where it may be returned.
    pub(super) fn new(mask: &[u8]) -> Self {
        let (blocks, rest) = mask.as_chunks::<BITS>();
        let last = (!rest.is_empty()).then(|| {
            let mut block = [0; BITS];
            block[..rest.len()].copy_from_slice(rest);
            block
        });
        Self(blocks.iter().chain(&last).map(pack).collect())
    }

    /// How many rows may be returned.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The allowed rows of a range, in order.
    pub(super) fn of(&self, rows: Range<usize>) -> Walk<'_> {
        let mut walk = Walk { words: &self.0, word: rows.start / BITS, bits: 0, end: rows.end };
        walk.bits = walk.load() & (!0 << (rows.start % BITS));
        walk
    }
}

fn pack(block: &[u8; BITS]) -> u64 {
    // The product moves the lowest bit of each of eight bytes into the highest byte, in order.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (eights, _) = block.as_chunks::<8>();
    eights.iter().enumerate().fold(0, |word, (i, eight)| {
        let set = eight.map(|byte| u8::from(byte != 0));
        word | (u64::from_le_bytes(set).wrapping_mul(GATHER) >> 56) << (8 * i)
    })
}

/// A walk over allowed rows that can stop and go on.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    words: &'a [u64],
    word: usize,
    bits: u64,
    end: usize,
}

impl Walk<'_> {
    /// Write the next rows, counted from `first`, and return how many there were.
    pub(super) fn fill(&mut self, first: usize, at: &mut [u32]) -> usize {
        for (len, slot) in at.iter_mut().enumerate() {
            while self.bits == 0 {
                self.word += 1;
                if self.word * BITS >= self.end {
                    return len;
                }
                self.bits = self.load();
            }
            *slot = (self.word * BITS + self.bits.trailing_zeros() as usize - first) as u32;
            self.bits &= self.bits - 1;
        }
        at.len()
    }

    /// The bits of the current word below the end.
    fn load(&self) -> u64 {
        let below = self.end.saturating_sub(self.word * BITS);
        let bits = self.words.get(self.word).copied().unwrap_or(0);
        if below < BITS { bits & !(!0 << below) } else { bits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::seeded(128))]
        #[test]
        fn a_walk_meets_the_allowed_rows_of_its_range(
            mask in prop::collection::vec(prop_oneof![4 => Just(0_u8), 1 => Just(1), 1 => Just(255)], 0..400),
            cuts in (0_usize..401, 0_usize..401),
            width in 1_usize..70,
        ) {
            let allowed = Allowed::new(&mask);
            prop_assert_eq!(allowed.count(), mask.iter().filter(|&&byte| byte != 0).count());
            let (from, to) = (cuts.0.min(cuts.1).min(mask.len()), cuts.0.max(cuts.1).min(mask.len()));
            let (mut walk, mut found, mut at) = (allowed.of(from..to), Vec::new(), vec![0; width]);
            loop {
                let len = walk.fill(from, &mut at);
                found.extend(at[..len].iter().map(|&row| from + row as usize));
                if len < width {
                    break;
                }
            }
            let wanted: Vec<usize> = (from..to).filter(|&row| mask[row] != 0).collect();
            prop_assert_eq!(found, wanted);
        }
    }
}
