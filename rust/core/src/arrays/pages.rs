//! Memory for large arrays.

use crate::system::advise_large;

/// An empty vector with room for `n` items, in large pages where the system gives some to those who ask.
///
/// A scan of small pages spends much of its time looking up where they are, most of all in a virtual machine.
pub fn room_for<T>(n: usize) -> Vec<T> {
    let mut room = Vec::with_capacity(n);
    advise_large(&mut room);
    room
}

#[cfg(test)]
mod tests {
    use super::room_for;

    #[test]
    fn there_is_room_for_as_many_items_as_are_wanted() {
        for n in [0, 1, 1 << 20, (5 << 20) + 3] {
            let mut items: Vec<u32> = room_for(n);
            assert!(items.is_empty() && items.capacity() >= n);
            items.resize(n, 7);
            assert!(items.iter().all(|&item| item == 7));
        }
        assert!(room_for::<()>(9).is_empty());
    }
}
