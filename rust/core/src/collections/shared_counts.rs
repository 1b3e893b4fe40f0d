//! Counts by number, in pieces that successive versions share: a version that differs in a row costs that row.

use std::sync::Arc;

/// Counts a piece.
const PIECE: usize = 512;

/// Counts by number; those beyond the end are 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SharedCounts(Vec<Arc<[u32; PIECE]>>);

impl SharedCounts {
    /// Counts by number.
    pub(crate) fn from_slice(counts: &[u32]) -> Self {
        let piece = |part: &[u32]| {
            let mut piece = [0; PIECE];
            piece[..part.len()].copy_from_slice(part);
            Arc::new(piece)
        };
        Self(counts.chunks(PIECE).map(piece).collect())
    }

    /// All counts in pieces; the last may go beyond the numbers there are.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u32]> {
        self.0.iter().map(|piece| &piece[..])
    }

    pub(crate) fn get(&self, number: u32) -> u32 {
        let number = number as usize;
        self.0.get(number / PIECE).map_or(0, |piece| piece[number % PIECE])
    }

    /// Make room for the numbers below `len`.
    pub(crate) fn grow(&mut self, len: usize) {
        let (pieces, empty) = (len.div_ceil(PIECE).max(self.0.len()), Arc::new([0; PIECE]));
        self.0.resize_with(pieces, || Arc::clone(&empty));
    }

    /// Set the count of a number that there is room for.
    pub(crate) fn set(&mut self, number: u32, count: u32) {
        if let Some(piece) = self.0.get_mut(number as usize / PIECE) {
            Arc::make_mut(piece)[number as usize % PIECE] = count;
        }
    }

    /// Count numbers that there is room for, one more or one less each.
    pub(crate) fn step(&mut self, numbers: impl Iterator<Item = u32>, up: bool) {
        for number in numbers {
            // A number without room, or a count under 0, comes from a file that was tampered with.
            let Some(piece) = self.0.get_mut(number as usize / PIECE) else { continue };
            let count = &mut Arc::make_mut(piece)[number as usize % PIECE];
            *count = if up { count.saturating_add(1) } else { count.saturating_sub(1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SharedCounts;

    #[test]
    fn versions_do_not_disturb_each_other() {
        let mut old = SharedCounts::default();
        old.grow(2_000);
        old.step([3, 3, 1_999].into_iter(), true);
        let mut new = old.clone();
        new.grow(5_000);
        new.step([3, 4_999].into_iter(), true);
        new.step([1_999].into_iter(), false);
        let counts = |counts: &SharedCounts| [3, 1_999, 4_999, 9_999].map(|number| counts.get(number));
        assert_eq!((counts(&old), counts(&new)), ([2, 1, 0, 0], [3, 0, 1, 0]));
    }
}
