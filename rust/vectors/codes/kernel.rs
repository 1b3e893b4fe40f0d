//! The choice of instructions for codes: the one place that calls into the SIMD files.

#[cfg(target_arch = "aarch64")]
use super::dotprod;
use super::line::{At, FOUR, Line};
use super::plain;
use super::quantise::{CodedQuery, FactorColumns, Factors, bounds_in_lanes, code_in_lanes};
#[cfg(target_arch = "x86_64")]
use super::{maddubs, vnni};
use crate::vectors::Level;

/// The instructions that a level has for bytes. A value exists only for what was detected.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Vnni(vnni::Token),
    #[cfg(target_arch = "x86_64")]
    Maddubs(maddubs::Token),
    #[cfg(target_arch = "aarch64")]
    Dotprod(dotprod::Token),
    Plain,
}

impl Kernel {
    /// The best that belongs to a level: older AVX-512 machines lack VNNI, older NEON ones the dot product.
    pub(super) fn of(level: Level) -> Self {
        let found = match level.name() {
            #[cfg(target_arch = "x86_64")]
            "avx512" => vnni::Token::detect().map(Self::Vnni).or_else(|| maddubs::Token::detect().map(Self::Maddubs)),
            #[cfg(target_arch = "x86_64")]
            "avx2" => maddubs::Token::detect().map(Self::Maddubs),
            #[cfg(target_arch = "aarch64")]
            "neon" => dotprod::Token::detect().map(Self::Dotprod),
            _ => None,
        };
        found.unwrap_or(Self::Plain)
    }

    /// Code a row; see [`code_in_lanes`].
    pub(super) fn code(self, row: &[f32], codes: &mut [u8]) -> Factors {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(token) => token.code(row, codes),
            #[cfg(target_arch = "x86_64")]
            Self::Maddubs(token) => token.code(row, codes),
            _ => code_in_lanes(row, codes),
        }
    }

    /// Write the integer products of the query's codes with those of the rows `at`. `fetch` says that the rows are read
    /// for the first time, so the next ones are asked of memory early.
    ///
    /// # Panics
    /// If a row lies outside `rows`.
    pub(super) fn products(self, query: &CodedQuery, rows: &[Line], at: At<'_>, fetch: bool, out: &mut [i32]) {
        at.check(out.len(), rows.len() / query.lines.len());
        #[cfg(not(target_arch = "x86_64"))]
        let _ = fetch;
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(token) => token.products(query, rows, at, fetch, out),
            #[cfg(target_arch = "x86_64")]
            Self::Maddubs(token) => token.products(query, rows, at, fetch, out),
            #[cfg(target_arch = "aarch64")]
            Self::Dotprod(token) => token.products(query, rows, at, out),
            Self::Plain => plain::products(query, rows, at, out),
        }
    }

    /// [`Kernel::products`] of four queries, of rows that were read just now.
    ///
    /// # Panics
    /// If a row lies outside `rows`, or queries or outputs differ in length.
    pub(super) fn products_of_four(
        self,
        queries: &[CodedQuery; FOUR],
        rows: &[Line],
        at: At<'_>,
        out: [&mut [i32]; FOUR],
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Self::Vnni(token) = self {
            return token.products_of_four(queries, rows, at, out);
        }
        for (query, out) in queries.iter().zip(out) {
            self.products(query, rows, at, false, out);
        }
    }

    /// See [`bounds_in_lanes`].
    pub(super) fn bounds(
        self,
        query: &CodedQuery,
        of: FactorColumns<'_>,
        products: &[i32],
        floor: f32,
        uppers: &mut [f32],
    ) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(token) => token.bounds(query, of, products, floor, uppers),
            #[cfg(target_arch = "x86_64")]
            Self::Maddubs(token) => token.bounds(query, of, products, floor, uppers),
            _ => bounds_in_lanes(query, of, products, floor, uppers),
        }
    }

    /// Ask memory for a row that will be scored soon.
    pub(super) fn fetch(self, row: &[f32]) {
        #[cfg(target_arch = "x86_64")]
        match self {
            Self::Vnni(_) | Self::Maddubs(_) => maddubs::fetch(row),
            Self::Plain => {}
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = row;
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::{LINE, ZERO};
    use super::*;

    fn bytes(count: usize, seed: u32) -> Vec<i32> {
        (0..count as u32).map(|i| ((i + seed).wrapping_mul(2_654_435_761) >> 24) as i32 % 255 - 127).collect()
    }

    #[test]
    fn every_level_multiplies_bytes_alike() {
        for lines in [1, 2, 3, 6, 33] {
            for extreme in [false, true] {
                let pick = |codes: Vec<i32>| -> Vec<i32> {
                    if extreme { codes.iter().map(|&code| if code < 0 { -127 } else { 127 }).collect() } else { codes }
                };
                let (query, codes) = (pick(bytes(lines * LINE, 1)), pick(bytes(lines * LINE * 9, 7)));
                let coded = CodedQuery {
                    lines: query.chunks(LINE).map(|c| Line(std::array::from_fn(|i| c[i] as i8 as u8))).collect(),
                    offset: query.iter().sum::<i32>() * i32::from(ZERO),
                    a: 0.0,
                    b: 0.0,
                    unit: 1.0,
                };
                let rows: Vec<Line> =
                    codes.chunks(LINE).map(|c| Line(std::array::from_fn(|i| (c[i] + i32::from(ZERO)) as u8))).collect();
                let slow: Vec<i32> =
                    codes.chunks(lines * LINE).map(|row| row.iter().zip(&query).map(|(&x, &q)| x * q).sum()).collect();
                for kernel in Level::available().iter().map(|&level| Kernel::of(level)) {
                    for fetch in [false, true] {
                        let mut out = [0; 8];
                        kernel.products(&coded, &rows, At::Run(1), fetch, &mut out);
                        assert_eq!(out, slow[1..], "{kernel:?} {lines}");
                        let mut out = [0; 5];
                        kernel.products(&coded, &rows, At::List(&[8, 0, 3, 3, 5]), fetch, &mut out);
                        assert_eq!(out, [slow[8], slow[0], slow[3], slow[3], slow[5]], "{kernel:?} {lines}");
                    }
                    let mut out = [[0; 7]; FOUR];
                    let four = [0, 1, 2, 3].map(|_| coded.clone());
                    kernel.products_of_four(&four, &rows, At::Run(2), out.each_mut().map(|out| &mut out[..]));
                    assert!(out.iter().all(|out| out == &slow[2..]), "{kernel:?} {lines}");
                }
            }
        }
    }
}
