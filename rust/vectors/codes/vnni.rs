//! Products of bytes with AVX-512 VNNI: sixty-four at a time, four rows side by side.

use std::arch::x86_64::*;

use super::line::{At, FOUR, Line};
use super::quantise::{CodedQuery, FactorColumns, Factors, bounds_in_lanes, code_in_lanes};

const WIDTH: usize = FOUR;
/// How many rows ahead memory is asked. From 4 to 48 rows made no difference beyond the noise of the machine measured.
const AHEAD: usize = 12;

/// Proof that this processor has AVX-512F, BW and VNNI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token(());

impl Token {
    /// A token, where the processor has the instructions.
    pub(super) fn detect() -> Option<Self> {
        let here = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vnni")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma");
        here.then_some(Self(()))
    }

    /// As `Kernel::code`.
    pub(super) fn code(self, row: &[f32], codes: &mut [u8]) -> Factors {
        // SAFETY: a token exists only where the features were detected.
        unsafe { code(row, codes) }
    }

    /// As `Kernel::bounds`.
    pub(super) fn bounds(
        self,
        query: &CodedQuery,
        of: FactorColumns<'_>,
        products: &[i32],
        floor: f32,
        uppers: &mut [f32],
    ) -> bool {
        // SAFETY: a token exists only where the features were detected.
        unsafe { bounds(query, of, products, floor, uppers) }
    }

    /// As `Kernel::products`.
    pub(super) fn products(self, query: &CodedQuery, rows: &[Line], at: At<'_>, fetch: bool, out: &mut [i32]) {
        let of = Of { lines: query.lines.len(), rows, last: out.len().saturating_sub(1) };
        at.check(out.len(), rows.len() / of.lines);
        // SAFETY: a token exists only where the features were detected; `check` found every row inside `rows`.
        unsafe {
            match (at, fetch) {
                (At::Run(first), true) => of.one::<true>(query, |j| first + j, out),
                (At::Run(first), false) => of.one::<false>(query, |j| first + j, out),
                (At::List(at), true) => of.one::<true>(query, |j| at[j.min(of.last)] as usize, out),
                (At::List(at), false) => of.one::<false>(query, |j| at[j.min(of.last)] as usize, out),
            }
        }
    }

    /// As `Kernel::products_of_four`.
    pub(super) fn products_of_four(
        self,
        queries: &[CodedQuery; WIDTH],
        rows: &[Line],
        at: At<'_>,
        out: [&mut [i32]; WIDTH],
    ) {
        if out[0].is_empty() {
            return;
        }
        let of = Of { lines: queries[0].lines.len(), rows, last: out[0].len() - 1 };
        at.check(out[0].len(), rows.len() / of.lines);
        assert!(queries.iter().all(|query| query.lines.len() == of.lines));
        assert!(out.iter().all(|other| other.len() == out[0].len()));
        // SAFETY: a token exists only where the features were detected; `check` found every row inside `rows`; the
        // queries are of one length, as the outputs are.
        unsafe {
            match at {
                At::Run(first) => of.four(queries, |j| first + j, out),
                At::List(at) => of.four(queries, |j| at[j.min(of.last)] as usize, out),
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
fn code(row: &[f32], codes: &mut [u8]) -> Factors {
    code_in_lanes(row, codes)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
fn bounds(query: &CodedQuery, of: FactorColumns<'_>, products: &[i32], floor: f32, uppers: &mut [f32]) -> bool {
    bounds_in_lanes(query, of, products, floor, uppers)
}

/// What a pass over rows needs to know.
#[derive(Clone, Copy)]
struct Of<'a> {
    lines: usize,
    rows: &'a [Line],
    /// The last output.
    last: usize,
}

impl Of<'_> {
    /// The addresses of four rows; past the last output, the last row again.
    #[inline(always)]
    fn here(self, first: usize, row_of: impl Fn(usize) -> usize) -> [*const Line; WIDTH] {
        [0, 1, 2, 3].map(|j| self.rows.as_ptr().wrapping_add(row_of((first + j).min(self.last)) * self.lines))
    }

    /// # Safety
    /// `row_of` must give rows inside `rows` for every output (past the last it may give anything), and the query must
    /// have as many lines as a row.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
    unsafe fn one<const FETCH: bool>(self, query: &CodedQuery, row_of: impl Fn(usize) -> usize, out: &mut [i32]) {
        let codes = query.lines.as_ptr();
        let offset = _mm_set1_epi32(query.offset);
        for (group, out) in out.chunks_mut(WIDTH).enumerate() {
            let first = group * WIDTH;
            let here = self.here(first, &row_of);
            let next = [0, 1, 2, 3]
                .map(|j| self.rows.as_ptr().wrapping_add(row_of(first + AHEAD + j).wrapping_mul(self.lines)));
            let mut sums = [_mm512_setzero_si512(); WIDTH];
            for i in 0..self.lines {
                // SAFETY: i < lines, the lines of the query and of every row; prefetching may name any address.
                unsafe {
                    let q = _mm512_load_si512(codes.add(i).cast());
                    for j in 0..WIDTH {
                        if FETCH {
                            _mm_prefetch::<_MM_HINT_T0>(next[j].wrapping_add(i).cast());
                        }
                        sums[j] = _mm512_dpbusd_epi32(sums[j], _mm512_load_si512(here[j].add(i).cast()), q);
                    }
                }
            }
            store(_mm_sub_epi32(quarters(halves(sums)), offset), out);
        }
    }

    /// Four queries at once: a row's line is loaded once for all of them.
    ///
    /// # Safety
    /// As `one`, for every query and output.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
    unsafe fn four(self, queries: &[CodedQuery; WIDTH], row_of: impl Fn(usize) -> usize, out: [&mut [i32]; WIDTH]) {
        let codes = [0, 1, 2, 3].map(|k| queries[k].lines.as_ptr());
        let offsets = [0, 1, 2, 3].map(|k| _mm_set1_epi32(queries[k].offset));
        for first in (0..=self.last).step_by(WIDTH) {
            let here = self.here(first, &row_of);
            let mut sums = [[_mm512_setzero_si512(); WIDTH]; WIDTH];
            for i in 0..self.lines {
                // SAFETY: i < lines, the lines of every query and every row.
                unsafe {
                    let q = [0, 1, 2, 3].map(|k| _mm512_load_si512(codes[k].add(i).cast()));
                    for j in 0..WIDTH {
                        let x = _mm512_load_si512(here[j].add(i).cast());
                        for k in 0..WIDTH {
                            sums[k][j] = _mm512_dpbusd_epi32(sums[k][j], x, q[k]);
                        }
                    }
                }
            }
            let end = (first + WIDTH).min(self.last + 1);
            for k in 0..WIDTH {
                store(_mm_sub_epi32(quarters(halves(sums[k])), offsets[k]), &mut out[k][first..end]);
            }
        }
    }
}

/// Write the first of four integers, as many as there is room for.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
fn store(four: __m128i, out: &mut [i32]) {
    if let Some(out) = out.first_chunk_mut::<WIDTH>() {
        // SAFETY: there is room for four integers; the store needs no alignment.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), four) };
        return;
    }
    let mut all = [0; WIDTH];
    // SAFETY: as above.
    unsafe { _mm_storeu_si128(all.as_mut_ptr().cast(), four) };
    out.copy_from_slice(&all[..out.len()]);
}

/// Add up lanes until each 128-bit quarter holds one partial sum of every row, in order.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
fn halves(sums: [__m512i; WIDTH]) -> __m512i {
    let [a, b, c, d] = sums;
    let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd))
}

/// Add up the four quarters.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
fn quarters(sums: __m512i) -> __m128i {
    let half = _mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64::<1>(sums));
    _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half))
}
