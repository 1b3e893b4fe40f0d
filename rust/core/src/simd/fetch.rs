//! Prefetching.

/// Ask memory for items that will be read soon, line by line; nothing where the processor has no such instruction.
#[inline]
pub(crate) fn fetch<T>(items: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..size_of_val(items)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching reads nothing; SSE is part of every x86-64 processor.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().cast::<i8>().wrapping_add(at)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = items;
}
