//! Runs of ASCII letters and digits, found by whole steps of characters.

use std::ops::Range;

/// The byte before and after a run.
pub(crate) const BLANK: u8 = b' ';
/// Characters read in one step.
const STEP: usize = 64;
/// Minimum bytes after a run.
const BEHIND: usize = 8;

/// Call `emit` with each run of an ASCII text: where it lies in a line, which is the text between blanks, in lower case,
/// with a blank for all that is no letter or digit. The buffer becomes the line.
pub(crate) fn for_each_run(text: &str, line: &mut Vec<u8>, mut emit: impl FnMut(&[u8], Range<usize>)) {
    line.clear();
    line.push(BLANK);
    line.extend(text.bytes().map(plain));
    // Whole steps, and after the last run as many bytes as callers look at together.
    line.resize((line.len() + BEHIND).next_multiple_of(STEP), BLANK);
    let (mut before, mut start) = (0, None);
    for (step, bytes) in line.as_chunks::<STEP>().0.iter().enumerate() {
        let letters = letters(bytes);
        // A run begins or ends where a character differs from the one before it.
        let mut edges = letters ^ (letters << 1 | before);
        before = letters >> (STEP - 1);
        while edges != 0 {
            let at = step * STEP + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            match start.take() {
                Some(first) => emit(line, first..at),
                None => start = Some(at),
            }
        }
    }
}

/// An ASCII letter in lower case or a digit; a blank for anything else.
pub(crate) fn plain(byte: u8) -> u8 {
    let lower = byte | 0x20;
    if byte.is_ascii_digit() || lower.is_ascii_lowercase() { lower } else { BLANK }
}

/// A bit for each byte, set where it is not a blank. The bytes come from [`plain`].
fn letters(bytes: &[u8; STEP]) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    let mut bits = 0;
    for (i, &eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let eight = u64::from_le_bytes(eight);
        // Digits have the bit 0x10, letters the bit 0x40, a blank has neither. The product gathers the lowest bits of
        // the bytes in its highest byte.
        let set = (eight >> 4 | eight >> 6) & ONES;
        bits |= (set.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    bits
}
