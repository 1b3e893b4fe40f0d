//! The k largest of many items, in a heap of bounded size.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The `k` largest items pushed so far, the least of them on top.
///
/// Searches prune by a floor that the k-th best item sets: [`Self::push`] returns that item whenever it may have risen.
#[derive(Debug)]
pub(crate) struct TopKHeap<T> {
    k: usize,
    heap: BinaryHeap<Reverse<T>>,
}

impl<T: Ord + Copy> TopKHeap<T> {
    /// An empty heap. It takes no memory for items that may never come.
    pub(crate) fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::new() }
    }

    /// Add an item; return the k-th largest if there are `k` and the item is one of them.
    #[inline]
    pub(crate) fn push(&mut self, item: T) -> Option<T> {
        if self.heap.len() < self.k {
            self.heap.push(Reverse(item));
        } else {
            match self.heap.peek_mut() {
                Some(mut least) if item > least.0 => *least = Reverse(item),
                _ => return None,
            }
        }
        if self.heap.len() < self.k { None } else { self.heap.peek().map(|least| least.0) }
    }

    /// The items, largest first.
    pub(crate) fn into_sorted(self) -> Vec<T> {
        // Ascending in the reversed order.
        self.heap.into_sorted_vec().into_iter().map(|Reverse(item)| item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::seeded(256))]
        #[test]
        fn a_heap_holds_what_sorting_would_keep_and_tells_its_least(
            items in prop::collection::vec(0_u8..40, 0..120),
            k in 0_usize..20,
        ) {
            let (mut heap, mut seen, mut least) = (TopKHeap::new(k), Vec::new(), None);
            for &item in &items {
                let outcome = heap.push(item);
                seen.push(item);
                seen.sort_unstable_by(|a, b| b.cmp(a));
                let wanted = k.checked_sub(1).and_then(|last| seen.get(last)).copied();
                prop_assert!(outcome.is_none() || outcome == wanted);
                least = outcome.or(least);
                prop_assert_eq!(least, wanted);
            }
            seen.truncate(k);
            prop_assert_eq!(heap.into_sorted(), seen);
        }
    }
}
