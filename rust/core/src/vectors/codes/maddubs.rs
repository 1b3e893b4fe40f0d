//! Products of nibbles and bytes with AVX2: 64 codes at a time, four rows side by side.

use std::arch::x86_64::*;

use super::line::{At, BLOCK, Four, Line, Next, WIDTH, fours};
use super::quantise::{CodedQuery, Columns, Factors, SINGLE, Scores, bounds_in_lanes, code_in_lanes};
use crate::simd::Avx2 as Token;

/// Lines whose products are added up in 16 bits: eight products of pairs, each at most 2 * 15 * 127.
const SHORT: usize = 2;
/// Numbers of 32 bits in a register.
const LANES: usize = 8;

impl Token {
    /// As `Kernel::code`.
    pub(super) fn code(self, row: &[f32], centre: &[f32], codes: &mut [u8]) -> Factors {
        // SAFETY: a token exists only where the features were detected.
        unsafe { code(row, centre, codes) }
    }

    /// As `Kernel::bounds`.
    pub(super) fn bounds(
        self,
        scores: &Scores,
        of: Columns<'_>,
        products: &[i32],
        floor: f32,
        uppers: &mut [f32; BLOCK],
    ) -> u64 {
        // SAFETY: a token exists only where the features were detected.
        unsafe { bounds(scores, of, products, floor, uppers) }
    }

    /// As `Kernel::products`.
    pub(super) fn products(self, query: &CodedQuery, plane: &[Line], at: At<'_>, fetch: bool, out: &mut [i32]) {
        at.check(out.len(), plane.len() / (query.lines.len() / 2));
        // SAFETY: a token exists only where the features were detected; `check` found every row inside the plane.
        unsafe {
            if fetch { products::<true>(query, plane, at, out) } else { products::<false>(query, plane, at, out) }
        }
    }
}

/// Ask memory for what will be read soon, line by line.
pub(super) fn fetch<T>(items: &[T]) {
    let first = items.as_ptr().cast::<i8>();
    for at in (0..size_of_val(items)).step_by(64) {
        // SAFETY: prefetching reads nothing; SSE is part of every x86-64 processor.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(at)) };
    }
}

#[target_feature(enable = "avx2,fma")]
fn code(row: &[f32], centre: &[f32], codes: &mut [u8]) -> Factors {
    code_in_lanes(row, centre, codes)
}

#[target_feature(enable = "avx2,fma")]
fn bounds(scores: &Scores, of: Columns<'_>, products: &[i32], floor: f32, uppers: &mut [f32; BLOCK]) -> u64 {
    let len = products.len();
    assert!(len <= BLOCK && of.scales.len() == len && of.residuals.len() == len && of.norms.len() == len);
    assert!(of.halves.is_none_or(|halves| halves.len() == len));
    let (a, b) = (_mm256_set1_ps(scores.a), _mm256_set1_ps(scores.b));
    let (by, error) = (_mm256_set1_ps(scores.shift.by), _mm256_set1_ps(scores.shift.error));
    let (step, less, least) = (_mm256_set1_ps(scores.step), _mm256_set1_epi32(scores.less), _mm256_set1_ps(floor));
    let doublings = _mm_cvtsi32_si128(scores.doublings as i32);
    let (inverse, single) = (_mm256_set1_ps(scores.inverse), _mm256_set1_ps(SINGLE as f32));
    let (mut reach, whole) = (0, len / LANES * LANES);
    for first in (0..whole).step_by(LANES) {
        // SAFETY: the eight elements from `first` on lie in each column, and in `uppers`.
        unsafe {
            let column = |column: &[f32]| _mm256_loadu_ps(column.as_ptr().add(first));
            let product = _mm256_loadu_si256(products.as_ptr().add(first).cast());
            let product = _mm256_sub_epi32(_mm256_sll_epi32(product, doublings), less);
            let scale = _mm256_mul_ps(step, column(of.scales));
            let middle = _mm256_fmadd_ps(_mm256_cvtepi32_ps(product), scale, by);
            let error = _mm256_fmadd_ps(a, column(of.residuals), _mm256_fmadd_ps(b, column(of.norms), error));
            let mut upper = _mm256_add_ps(middle, error);
            if let Some(halves) = of.halves {
                let less = _mm256_mul_ps(column(halves), inverse);
                // As `Scores::less`: zero times what float32 cannot hold is not a number.
                let error = _mm256_fmadd_ps(less, single, _mm256_mul_ps(_mm256_setzero_ps(), less));
                upper = _mm256_sub_ps(upper, _mm256_sub_ps(less, error));
            }
            _mm256_storeu_ps(uppers.as_mut_ptr().add(first), upper);
            // NaN is not under the floor.
            let here = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_NLT_UQ>(upper, least));
            reach |= u64::from(here as u32) << first;
        }
    }
    if whole < len {
        reach |= bounds_in_lanes(scores, of.of(whole..len), &products[whole..], floor, &mut uppers[whole..]) << whole;
    }
    reach
}

/// # Safety
/// Every row of `at` must lie inside the plane.
#[target_feature(enable = "avx2,fma")]
unsafe fn products<const FETCH: bool>(query: &CodedQuery, plane: &[Line], at: At<'_>, out: &mut [i32]) {
    let pairs = query.lines.as_chunks::<2>().0;
    // SAFETY: `fours` hands out rows of the plane, which have a line for two of the query.
    fours(plane, pairs.len(), at, out, |here, next| unsafe { four_rows::<FETCH>(pairs, here, next) });
}

/// # Safety
/// Each of the rows must have a line for each pair of the query's.
#[target_feature(enable = "avx2,fma")]
unsafe fn four_rows<const FETCH: bool>(query: &[[Line; 2]], here: Four, next: Next) -> [i32; WIDTH] {
    let ones = _mm256_set1_epi16(1);
    let mut sums = [_mm256_setzero_si256(); WIDTH];
    let (twos, one) = query.as_chunks::<SHORT>();
    for (i, two) in twos.iter().enumerate() {
        let mut short = [_mm256_setzero_si256(); WIDTH];
        for (k, pair) in two.iter().enumerate() {
            // SAFETY: the caller says that the rows have this line.
            unsafe { add::<FETCH>(&mut short, pair, here, next, SHORT * i + k) };
        }
        for j in 0..WIDTH {
            sums[j] = _mm256_add_epi32(sums[j], _mm256_madd_epi16(short[j], ones));
        }
    }
    if let [pair] = one {
        let mut short = [_mm256_setzero_si256(); WIDTH];
        // SAFETY: as above; at most one line is left.
        unsafe { add::<FETCH>(&mut short, pair, here, next, query.len() - 1) };
        for j in 0..WIDTH {
            sums[j] = _mm256_add_epi32(sums[j], _mm256_madd_epi16(short[j], ones));
        }
    }
    let mut out = [0; WIDTH];
    // SAFETY: there is room for four integers; the store needs no alignment.
    unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), reduce(sums)) };
    out
}

/// Add the products of line `i` of four rows with two lines of a query to sums of 16 bits.
///
/// # Safety
/// The rows must have that line; prefetching may name any address.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn add<const FETCH: bool>(
    short: &mut [__m256i; WIDTH],
    [even, odd]: &[Line; 2],
    here: Four,
    next: Next,
    i: usize,
) {
    let (nibble, soon) = (_mm256_set1_epi8(0x0f), next.beside(i));
    for side in 0..2 {
        // SAFETY: lines are aligned and have two halves; the caller vouches for the rows.
        unsafe {
            let even = _mm256_load_si256(even.0.as_ptr().cast::<__m256i>().add(side));
            let odd = _mm256_load_si256(odd.0.as_ptr().cast::<__m256i>().add(side));
            for j in 0..WIDTH {
                if FETCH && side == 0 {
                    _mm_prefetch::<_MM_HINT_T0>(soon[j].cast());
                }
                let x = _mm256_load_si256(here[j].add(i).cast::<__m256i>().add(side));
                let low = _mm256_maddubs_epi16(_mm256_and_si256(x, nibble), even);
                let up = _mm256_and_si256(_mm256_srli_epi16::<4>(x), nibble);
                let high = _mm256_maddubs_epi16(up, odd);
                short[j] = _mm256_add_epi16(short[j], _mm256_add_epi16(low, high));
            }
        }
    }
}

/// Add up the lanes of each sum, in three steps.
#[target_feature(enable = "avx2,fma")]
pub(super) fn reduce(sums: [__m256i; WIDTH]) -> __m128i {
    let [a, b, c, d] = sums;
    let all = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all))
}
