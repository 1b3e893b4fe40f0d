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

    /// The allowed rows of a range, up to sixty-four at a time, in order.
    pub(super) fn of(&self, rows: Range<usize>) -> impl Iterator<Item = Stretch> {
        let words = if rows.is_empty() { 0..0 } else { rows.start / BITS..rows.end.div_ceil(BITS) };
        words.filter_map(move |word| {
            let (first, end) = (rows.start.max(word * BITS), rows.end.min((word + 1) * BITS));
            let len = end - first;
            let bits = (self.0[word] >> (first % BITS)) & (!0 >> (BITS - len));
            (bits != 0).then_some(Stretch { first, len, bits })
        })
    }
}

/// Neighbouring rows, and which of them are allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) first: usize,
    /// From 1 to 64.
    pub(super) len: usize,
    pub(super) bits: u64,
}

impl Stretch {
    /// Whether so many are allowed that reading all of them takes less time than picking those.
    pub(super) fn is_dense(self) -> bool {
        self.bits.count_ones() as usize * 3 > self.len * 2
    }
}

/// The places of the bits that are set.
pub(super) fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (at < BITS).then_some(at)
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::seeded(128))]
        #[test]
        fn stretches_hold_the_allowed_rows_of_their_range(
            mask in prop::collection::vec(prop_oneof![4 => Just(0_u8), 1 => Just(1), 1 => Just(255)], 0..400),
            cuts in (0_usize..401, 0_usize..401),
        ) {
            let allowed = Allowed::new(&mask);
            prop_assert_eq!(allowed.count(), mask.iter().filter(|&&byte| byte != 0).count());
            let (from, to) = (cuts.0.min(cuts.1).min(mask.len()), cuts.0.max(cuts.1).min(mask.len()));
            let mut found = Vec::new();
            for stretch in allowed.of(from..to) {
                let rows = stretch.first..stretch.first + stretch.len;
                prop_assert!(from <= rows.start && rows.end <= to && stretch.len <= BITS);
                found.extend(ones(stretch.bits).map(|j| stretch.first + j));
                prop_assert!(found.last().is_some_and(|last| rows.contains(last)));
            }
            let wanted: Vec<usize> = (from..to).filter(|&row| mask[row] != 0).collect();
            prop_assert_eq!(found, wanted);
        }
    }
}
