//! The names of terms in order, for those who look for beginnings.

use std::sync::{Arc, Mutex, PoisonError};

use crate::collections::Interner;

/// Maximum unsorted names, beside a part of the sorted ones, that are searched one by one before all are sorted again.
const FEW: usize = 1_000;
const PART: usize = 4;
/// Bytes that are compared as one number.
const LEADING: usize = 16;

/// Numbers of names in the order of their bytes, as far as these were put in order. Names are never changed, so what was put
/// in order stays so.
#[derive(Debug, Default)]
pub(super) struct NameOrder(Mutex<Arc<[u32]>>);

impl NameOrder {
    /// Pass on the numbers of the names that begin with bytes, in any order.
    pub(super) fn beginning(&self, names: &Interner, bytes: &[u8], mut each: impl FnMut(u32)) {
        let sorted = self.up_to_date(names);
        let first = sorted.partition_point(|&number| names.name(number) < bytes);
        let begin = |number: u32| names.name(number).starts_with(bytes);
        sorted[first..].iter().copied().take_while(|&number| begin(number)).for_each(&mut each);
        (sorted.len() as u32..names.len() as u32).filter(|&number| begin(number)).for_each(&mut each);
    }

    fn up_to_date(&self, names: &Interner) -> Arc<[u32]> {
        // A lock is poisoned only by a panic while it is held; what it holds is whole at any moment.
        let mut sorted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() > sorted.len() + FEW + sorted.len() / PART {
            let mut keyed: Vec<(u128, u32)> = (0..names.len() as u32).map(|at| (leading(names.name(at)), at)).collect();
            keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| names.name(a.1).cmp(names.name(b.1))));
            *sorted = keyed.into_iter().map(|(_, number)| number).collect();
        }
        Arc::clone(&sorted)
    }
}

/// The first bytes, in the order of a comparison. Names hold no NUL, so that a shorter one comes first.
fn leading(name: &[u8]) -> u128 {
    let mut first = [0; LEADING];
    let held = name.len().min(LEADING);
    first[..held].copy_from_slice(&name[..held]);
    u128::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collections::Term;

    #[test]
    fn names_that_begin_alike_are_found_before_and_after_they_are_in_order() {
        let (order, mut names) = (NameOrder::default(), Interner::default());
        let name =
            |i: usize| format!("{}{:x}", ["red", "re", "é", "a-long-beginning-of-", ""][i % 5], i * 7_919 % 4_001);
        for i in 0..4_000 {
            names.number(Term::new(&name(i)));
            if i % 370 != 0 {
                continue;
            }
            for bytes in ["re", "red1", "é", "é2", "a-long-beginning-of-1", "f", "zz", "7"] {
                let mut results = Vec::new();
                order.beginning(&names, bytes.as_bytes(), |number| results.push(number));
                results.sort_unstable();
                let all = (0..names.len() as u32).filter(|&at| names.name(at).starts_with(bytes.as_bytes()));
                assert!(all.eq(results.iter().copied()), "{bytes} of {i}");
            }
        }
        assert!(order.up_to_date(&names).len() > 2_000);
    }
}
