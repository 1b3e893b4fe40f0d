//! Memory for large arrays.

/// Bytes of a large page of Linux on most machines.
#[cfg(target_os = "linux")]
const LARGE: usize = 2 << 20;

/// An empty vector with room for `n` items, in large pages where the system gives some to those who ask.
///
/// A scan of small pages spends much of its time looking up where they are, most of all in a virtual machine.
pub fn room_for<T>(n: usize) -> Vec<T> {
    let room: Vec<T> = Vec::with_capacity(n);
    #[cfg(target_os = "linux")]
    {
        let (from, bytes) = (room.as_ptr().addr(), n * size_of::<T>());
        let (first, end) = (from.next_multiple_of(LARGE), (from + bytes) / LARGE * LARGE);
        if first < end {
            let start = room.as_ptr().cast_mut().cast::<libc::c_void>().wrapping_byte_add(first - from);
            // SAFETY: the range lies in memory of this vector; the advice changes no byte of it, and failing is harmless.
            unsafe { libc::madvise(start, end - first, libc::MADV_HUGEPAGE) };
        }
    }
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
