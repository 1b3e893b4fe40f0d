//! The sieve for trigrams with AVX2: all places of two words at a time.

use std::arch::x86_64::*;

use super::matches::{AT_ONCE, Letters};
use super::names::Record;
use crate::simd::Avx2 as Token;

impl Token {
    /// As `Matches::passed`.
    pub(super) fn passed(self, letters: &Letters, records: &[Record; AT_ONCE], passed: &mut [u32; AT_ONCE]) {
        // SAFETY: a token exists only where the features were detected.
        unsafe { passed_in_pairs(letters, records, passed) }
    }
}

#[target_feature(enable = "avx2")]
fn passed_in_pairs(letters: &Letters, records: &[Record; AT_ONCE], passed: &mut [u32; AT_ONCE]) {
    let [first, second, third] = letters;
    let (first, second, third) = (halves(first), halves(second), halves(third));
    for (pair, passed) in records.as_chunks::<2>().0.iter().zip(passed.as_chunks_mut::<2>().0) {
        // SAFETY: two records are as long as a vector, which may lie anywhere.
        let words = unsafe { _mm256_loadu_si256(std::ptr::from_ref(pair).cast()) };
        // A look-up takes the lowest four bits and gives 0 for the highest one, which is made of the fifth.
        let fifth = _mm256_slli_epi16::<3>(_mm256_and_si256(words, _mm256_set1_epi8(0x10)));
        let lower = _mm256_or_si256(_mm256_and_si256(words, _mm256_set1_epi8(0x1f)), fifth);
        let upper = _mm256_xor_si256(lower, _mm256_set1_epi8(i8::MIN));
        let second = _mm256_srli_si256::<1>(sets(second, lower, upper));
        let third = _mm256_srli_si256::<2>(sets(third, lower, upper));
        let all = _mm256_and_si256(_mm256_and_si256(sets(first, lower, upper), second), third);
        let none = _mm256_movemask_epi8(_mm256_cmpeq_epi8(all, _mm256_setzero_si256())) as u32;
        *passed = [!none & 0xffff, !none >> 16];
    }
}

/// The two halves of a table, each in both lanes.
#[target_feature(enable = "avx2")]
fn halves(table: &[u8; 32]) -> [__m256i; 2] {
    let number = |at: usize| table[8 * at..].first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
    let [a, b, c, d] = [number(0), number(1), number(2), number(3)];
    [_mm256_set_epi64x(b, a, b, a), _mm256_set_epi64x(d, c, d, c)]
}

/// The groups of each letter, looked up in a table.
#[target_feature(enable = "avx2")]
fn sets([first, second]: [__m256i; 2], lower: __m256i, upper: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_shuffle_epi8(first, lower), _mm256_shuffle_epi8(second, upper))
}
