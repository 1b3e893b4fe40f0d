//! Logarithms that were taken before.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Entries, 64 KB: among 20,000 texts most frequent words have a count of their own.
const PLACES: usize = 4_096;

/// Remembers a value for a count, for threads that neither wait for nor upset each other. Later counts drive out
/// earlier ones.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// The bits of the value, and the same mixed with the count: an entry that two threads wrote into at once fits no
    /// count. A count of 0 is never asked for, so an empty entry fits none either.
    ///
    /// Made when the first value is asked for: many frequencies never are.
    places: OnceLock<Box<[[AtomicU64; 2]]>>,
}

impl Memo {
    /// The value of a count of at least 1, computed unless it is remembered.
    #[inline]
    pub(super) fn get(&self, count: u32, compute: impl FnOnce(u32) -> f64) -> f64 {
        let result = || (0..PLACES).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect();
        let [value, mixed] = &self.places.get_or_init(result)[count as usize % PLACES];
        let bits = value.load(Ordering::Relaxed);
        if mixed.load(Ordering::Relaxed) ^ bits == u64::from(count) {
            return f64::from_bits(bits);
        }
        let computed = compute(count);
        let bits = computed.to_bits();
        value.store(bits, Ordering::Relaxed);
        mixed.store(bits ^ u64::from(count), Ordering::Relaxed);
        computed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_share_an_entry_keep_their_own_values() {
        let memo = Memo::default();
        let counts = || (1..9_000).chain([u32::MAX, u32::MAX - 4_096]);
        for count in counts().chain(counts().rev()).chain([7, 7 + 4_096, 7]) {
            assert_eq!(memo.get(count, |count| f64::from(count).ln()), f64::from(count).ln());
        }
        assert_eq!(memo.get(7, |_| f64::NAN), 7.0_f64.ln());
    }

    #[test]
    fn threads_never_see_a_value_of_another_count() {
        let memo = Memo::default();
        std::thread::scope(|scope| {
            for start in 0..3 {
                let memo = &memo;
                scope.spawn(move || {
                    for i in 0..100_000 {
                        let count = 1 + 4_096 * ((i + start) % 3);
                        assert_eq!(memo.get(count, f64::from), f64::from(count));
                    }
                });
            }
        });
    }
}
