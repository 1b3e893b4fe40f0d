//! Products of nibbles and bytes with AVX-512 VNNI: 128 codes at a time, four rows side by side.

use std::arch::x86_64::*;

use super::line::{At, BLOCK, FOUR, Line, Next, Planes};
use super::quantise::{CodedQuery, Columns, Factors, SINGLE, Scores, code_in_lanes};
use crate::simd::Vnni as Token;

const WIDTH: usize = FOUR;
/// Numbers of 32 bits in a register.
const LANES: usize = 16;

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
        let of = Of { lines: query.lines.len() / 2, last: out.len().saturating_sub(1) };
        at.check(out.len(), plane.len() / of.lines);
        // SAFETY: a token exists only where the features were detected; `check` found every row inside the plane.
        unsafe {
            match (at, fetch) {
                (At::Run(first), true) => of.one::<true>(query, (plane, at), |j| first + j, out),
                (At::Run(first), false) => of.one::<false>(query, (plane, at), |j| first + j, out),
                (At::List(list), true) => of.one::<true>(query, (plane, at), |j| list[j.min(of.last)] as usize, out),
                (At::List(list), false) => of.one::<false>(query, (plane, at), |j| list[j.min(of.last)] as usize, out),
            }
        }
    }

    /// As `Kernel::whole`, of rows that are read for the first time.
    pub(super) fn whole(self, query: &CodedQuery, planes: Planes<'_>, at: At<'_>, out: &mut [i32]) {
        let of = Of { lines: query.lines.len() / 2, last: out.len().saturating_sub(1) };
        at.check(out.len(), planes.high.len().min(planes.low.len()) / of.lines);
        // SAFETY: a token exists only where the features were detected; `check` found every row inside both planes.
        unsafe {
            match at {
                At::Run(first) => of.both(query, (planes, at), |j| first + j, out),
                At::List(list) => of.both(query, (planes, at), |j| list[j.min(of.last)] as usize, out),
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
fn code(row: &[f32], centre: &[f32], codes: &mut [u8]) -> Factors {
    code_in_lanes(row, centre, codes)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
fn bounds(scores: &Scores, of: Columns<'_>, products: &[i32], floor: f32, uppers: &mut [f32; BLOCK]) -> u64 {
    let len = products.len();
    assert!(len <= BLOCK && of.scales.len() == len && of.residuals.len() == len && of.norms.len() == len);
    assert!(of.halves.is_none_or(|halves| halves.len() == len));
    let (a, b) = (_mm512_set1_ps(scores.a), _mm512_set1_ps(scores.b));
    let (by, error) = (_mm512_set1_ps(scores.shift.by), _mm512_set1_ps(scores.shift.error));
    let (step, less, floor) = (_mm512_set1_ps(scores.step), _mm512_set1_epi32(scores.less), _mm512_set1_ps(floor));
    let doublings = _mm_cvtsi32_si128(scores.doublings as i32);
    let (inverse, single) = (_mm512_set1_ps(scores.inverse), _mm512_set1_ps(SINGLE as f32));
    let mut reach = 0;
    for first in (0..len).step_by(LANES) {
        let here = u16::MAX >> LANES.saturating_sub(len - first);
        // SAFETY: of each column, only the elements `first..len` are loaded; `uppers` has room for any block.
        unsafe {
            let column = |column: &[f32]| _mm512_maskz_loadu_ps(here, column.as_ptr().add(first));
            let product = _mm512_maskz_loadu_epi32(here, products.as_ptr().add(first));
            let product = _mm512_sub_epi32(_mm512_sll_epi32(product, doublings), less);
            let scale = _mm512_mul_ps(step, column(of.scales));
            let middle = _mm512_fmadd_ps(_mm512_cvtepi32_ps(product), scale, by);
            let error = _mm512_fmadd_ps(a, column(of.residuals), _mm512_fmadd_ps(b, column(of.norms), error));
            let mut upper = _mm512_add_ps(middle, error);
            if let Some(halves) = of.halves {
                let less = _mm512_mul_ps(column(halves), inverse);
                // As `Scores::less`: zero times what float32 cannot hold is not a number.
                let error = _mm512_fmadd_ps(less, single, _mm512_mul_ps(_mm512_setzero_ps(), less));
                upper = _mm512_sub_ps(upper, _mm512_sub_ps(less, error));
            }
            _mm512_storeu_ps(uppers.as_mut_ptr().add(first), upper);
            // NaN is not under the floor.
            reach |= u64::from(_mm512_mask_cmp_ps_mask::<_CMP_NLT_UQ>(here, upper, floor)) << first;
        }
    }
    reach
}

/// The parameters of a pass over rows.
#[derive(Clone, Copy)]
struct Of {
    /// Lines of a row in a plane.
    lines: usize,
    /// The last output.
    last: usize,
}

/// Sums of the products with lower and with upper nibbles, of four rows. Upper nibbles stay where they are in their
/// bytes, so the latter are sixteen times too large.
#[derive(Clone, Copy)]
struct Sums([__m512i; WIDTH], [__m512i; WIDTH]);

impl Sums {
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
    fn new() -> Self {
        Self([_mm512_setzero_si512(); WIDTH], [_mm512_setzero_si512(); WIDTH])
    }

    /// Add the products of a line with two lines of a query.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
    fn add(&mut self, row: usize, x: __m512i, q: [__m512i; 2]) {
        let (lower, upper) = (_mm512_set1_epi8(0x0f), _mm512_set1_epi8(0xf0_u8 as i8));
        self.0[row] = _mm512_dpbusd_epi32(self.0[row], _mm512_and_si512(x, lower), q[0]);
        self.1[row] = _mm512_dpbusd_epi32(self.1[row], _mm512_and_si512(x, upper), q[1]);
    }
}

impl Of {
    /// The lines of the four rows from output `first` on; past the last output, those of the last row again.
    #[inline(always)]
    fn here(self, plane: &[Line], row_of: impl Fn(usize) -> usize, first: usize) -> [*const Line; WIDTH] {
        [0, 1, 2, 3].map(|j| plane.as_ptr().wrapping_add(row_of((first + j).min(self.last)) * self.lines))
    }

    /// # Safety
    /// `row_of` must give rows inside the plane for every output (past the last it may give anything), and the query
    /// must have two lines for each line of a row.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
    unsafe fn one<const FETCH: bool>(
        self,
        query: &CodedQuery,
        (plane, at): (&[Line], At<'_>),
        row_of: impl Fn(usize) -> usize,
        out: &mut [i32],
    ) {
        for (group, out) in out.chunks_mut(WIDTH).enumerate() {
            let here = self.here(plane, &row_of, group * WIDTH);
            let next = Next::of(plane, self.lines, at, group * WIDTH, self.last + 1);
            let mut sums = Sums::new();
            for i in 0..self.lines {
                // SAFETY: i < lines, the lines of every row, of which the query has twice as many; prefetching may name
                // any address.
                unsafe {
                    let (q, soon) = (pair(query, i), next.beside(i));
                    for j in 0..WIDTH {
                        if FETCH {
                            _mm_prefetch::<_MM_HINT_T0>(soon[j].cast());
                        }
                        sums.add(j, _mm512_load_si512(here[j].add(i).cast()), q);
                    }
                }
            }
            let sum = |j: usize| _mm512_add_epi32(sums.0[j], _mm512_srai_epi32::<4>(sums.1[j]));
            store(quarters(halves([0, 1, 2, 3].map(sum))), out);
        }
    }

    /// # Safety
    /// As `one`, for both planes.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
    unsafe fn both(
        self,
        query: &CodedQuery,
        (planes, at): (Planes<'_>, At<'_>),
        row_of: impl Fn(usize) -> usize,
        out: &mut [i32],
    ) {
        let both = [planes.high, planes.low];
        for (group, out) in out.chunks_mut(WIDTH).enumerate() {
            let here = both.map(|plane| self.here(plane, &row_of, group * WIDTH));
            let next = both.map(|plane| Next::of(plane, self.lines, at, group * WIDTH, self.last + 1));
            let mut sums = [Sums::new(), Sums::new()];
            for i in 0..self.lines {
                // SAFETY: as in `one`.
                unsafe {
                    let (q, soon) = (pair(query, i), next.map(|next| next.beside(i)));
                    for j in 0..WIDTH {
                        for plane in [0, 1] {
                            _mm_prefetch::<_MM_HINT_T0>(soon[plane][j].cast());
                            sums[plane].add(j, _mm512_load_si512(here[plane][j].add(i).cast()), q);
                        }
                    }
                }
            }
            let [high, low] = sums;
            // Sixteen times the products with the upper plane, once those with the lower.
            let sum = |j: usize| {
                let high = _mm512_add_epi32(_mm512_slli_epi32::<4>(high.0[j]), high.1[j]);
                _mm512_add_epi32(high, _mm512_add_epi32(low.0[j], _mm512_srai_epi32::<4>(low.1[j])))
            };
            store(quarters(halves([0, 1, 2, 3].map(sum))), out);
        }
    }
}

/// The two lines of a query that belong to line `i` of a row.
///
/// # Safety
/// The query must have them.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,fma")]
unsafe fn pair(query: &CodedQuery, i: usize) -> [__m512i; 2] {
    // SAFETY: the caller says so; lines are aligned.
    [0, 1].map(|half| unsafe { _mm512_load_si512(query.lines.as_ptr().add(2 * i + half).cast()) })
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
