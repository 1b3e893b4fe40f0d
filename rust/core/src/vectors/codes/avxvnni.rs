//! Products of nibbles and bytes with AVX-VNNI, the VEX-encoded dot product of machines without AVX-512.

use std::arch::x86_64::*;

use super::line::{At, Four, Line, Next, WIDTH, fours};
use super::maddubs::reduce;
use super::quantise::CodedQuery;
use crate::simd::AvxVnni as Token;

impl Token {
    /// As `Kernel::products`.
    pub(super) fn products(self, query: &CodedQuery, plane: &[Line], at: At<'_>, fetch: bool, out: &mut [i32]) {
        at.check(out.len(), plane.len() / (query.lines.len() / 2));
        // SAFETY: a token exists only where the features were detected; `check` found every row inside the plane.
        unsafe {
            if fetch { products::<true>(query, plane, at, out) } else { products::<false>(query, plane, at, out) }
        }
    }
}

/// # Safety
/// Every row of `at` must lie inside the plane.
#[target_feature(enable = "avxvnni,avx2,fma")]
unsafe fn products<const FETCH: bool>(query: &CodedQuery, plane: &[Line], at: At<'_>, out: &mut [i32]) {
    let pairs = query.lines.as_chunks::<2>().0;
    // SAFETY: `fours` hands out rows of the plane, which have a line for two of the query.
    fours(plane, pairs.len(), at, out, |here, next| unsafe { four_rows::<FETCH>(pairs, here, next) });
}

/// # Safety
/// Each of the rows must have a line for each pair of the query's.
#[target_feature(enable = "avxvnni,avx2,fma")]
unsafe fn four_rows<const FETCH: bool>(query: &[[Line; 2]], here: Four, next: Next) -> [i32; WIDTH] {
    let nibble = _mm256_set1_epi8(0x0f);
    let (mut lower, mut upper) = ([_mm256_setzero_si256(); WIDTH], [_mm256_setzero_si256(); WIDTH]);
    for (i, [even, odd]) in query.iter().enumerate() {
        let soon = next.beside(i);
        for side in 0..2 {
            // SAFETY: lines are aligned and have two halves; the caller vouches for the rows; prefetching may name any
            // address.
            unsafe {
                let even = _mm256_load_si256(even.0.as_ptr().cast::<__m256i>().add(side));
                let odd = _mm256_load_si256(odd.0.as_ptr().cast::<__m256i>().add(side));
                for j in 0..WIDTH {
                    if FETCH && side == 0 {
                        _mm_prefetch::<_MM_HINT_T0>(soon[j].cast());
                    }
                    let x = _mm256_load_si256(here[j].add(i).cast::<__m256i>().add(side));
                    lower[j] = _mm256_dpbusd_avx_epi32(lower[j], _mm256_and_si256(x, nibble), even);
                    // Upper nibbles stay where they are in their bytes, so these products are sixteen times too large.
                    upper[j] = _mm256_dpbusd_avx_epi32(upper[j], _mm256_andnot_si256(nibble, x), odd);
                }
            }
        }
    }
    let mut out = [0; WIDTH];
    let sums = [0, 1, 2, 3].map(|j| _mm256_add_epi32(lower[j], _mm256_srai_epi32::<4>(upper[j])));
    // SAFETY: there is room for four integers; the store needs no alignment.
    unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), reduce(sums)) };
    out
}
