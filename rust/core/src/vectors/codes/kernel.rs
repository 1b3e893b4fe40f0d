//! The choice of instructions for codes: the one place that calls into the SIMD files.

use super::line::{At, BLOCK, FOUR, Line, Planes};
#[cfg(target_arch = "x86_64")]
use super::maddubs;
use super::plain;
use super::quantise::{CodedQuery, Columns, Factors, Scores, bounds_in_lanes, code_in_lanes};
#[cfg(target_arch = "aarch64")]
use crate::simd::Dotprod;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, AvxVnni, Vnni};
use crate::simd::{Level, Proof};

/// The instructions that a level has for bytes. A value exists only for what was detected.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Vnni(Vnni),
    #[cfg(target_arch = "x86_64")]
    AvxVnni(AvxVnni),
    #[cfg(target_arch = "x86_64")]
    Maddubs(Avx2),
    #[cfg(target_arch = "aarch64")]
    Dotprod(Dotprod),
    Plain,
}

/// A block of rows as a kernel wants it for many queries, where that is another way than it lies.
#[derive(Debug, Default)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
pub(super) struct Tile {
    /// Whole codes, or their upper halves.
    codes: Vec<Line>,
    low: Vec<Line>,
    /// True if the lower halves of this block are laid out.
    has_low: bool,
}

impl Kernel {
    /// The best that belongs to a level: older AVX-512 machines lack VNNI, older NEON ones the dot product.
    pub(super) fn of(level: Level) -> Self {
        let results = match level.proof() {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(_) => Vnni::detect().map(Self::Vnni).or_else(|| Avx2::detect().map(Self::Maddubs)),
            #[cfg(target_arch = "x86_64")]
            Proof::AvxVnni(token) => Some(AvxVnni::detect().map_or(Self::Maddubs(token), Self::AvxVnni)),
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(token) => Some(Self::Maddubs(token)),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(_) => Dotprod::detect().map(Self::Dotprod),
            Proof::Scalar => None,
        };
        results.unwrap_or(Self::Plain)
    }

    /// Code a row less a centre; see [`code_in_lanes`].
    pub(super) fn code(self, row: &[f32], centre: &[f32], codes: &mut [u8]) -> Factors {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(token) => token.code(row, centre, codes),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(token) => token.avx2().code(row, centre, codes),
            #[cfg(target_arch = "x86_64")]
            Self::Maddubs(token) => token.code(row, centre, codes),
            _ => code_in_lanes(row, centre, codes),
        }
    }

    /// Write the products of the query's codes with the nibbles of a plane, of the rows `at`. `fetch` says that these
    /// are read for the first time, so the next ones are asked of memory early.
    ///
    /// # Panics
    /// If a row lies outside the plane.
    pub(super) fn products(self, query: &CodedQuery, plane: &[Line], at: At<'_>, fetch: bool, out: &mut [i32]) {
        at.check(out.len(), plane.len() / (query.lines.len() / 2));
        #[cfg(not(target_arch = "x86_64"))]
        let _ = fetch;
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(token) => token.products(query, plane, at, fetch, out),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(token) => token.products(query, plane, at, fetch, out),
            #[cfg(target_arch = "x86_64")]
            Self::Maddubs(token) => token.products(query, plane, at, fetch, out),
            #[cfg(target_arch = "aarch64")]
            Self::Dotprod(token) => token.products(query, plane, at, out),
            Self::Plain => plain::products(query, plane, at, out),
        }
    }

    /// Write the products with the whole codes plus `ZERO`.
    ///
    /// # Panics
    /// If a row lies outside the planes, or there are more than [`BLOCK`].
    pub(super) fn whole(self, query: &CodedQuery, planes: Planes<'_>, at: At<'_>, fetch: bool, out: &mut [i32]) {
        #[cfg(target_arch = "x86_64")]
        if let (Self::Vnni(token), true) = (self, fetch) {
            return token.whole(query, planes, at, out);
        }
        let mut low = [0; BLOCK];
        let low = &mut low[..out.len()];
        self.products(query, planes.high, at, fetch, out);
        self.products(query, planes.low, at, fetch, low);
        join(out, low);
    }

    /// True if whole codes are multiplied half by half: [`Kernel::upper_of_four`] comes before the rest.
    pub(super) fn multiplies_halves(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(self, Self::Maddubs(_));
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Prepare a block of rows for many queries; `lines` is the number of lines of a row in a plane.
    ///
    /// # Panics
    /// If a row lies outside the planes, or there are more than [`BLOCK`].
    pub(super) fn lay_out(self, planes: Planes<'_>, lines: usize, at: At<'_>, len: usize, tile: &mut Tile) {
        #[cfg(target_arch = "x86_64")]
        match self {
            Self::Vnni(token) => token.lay_out(planes, lines, at, len, &mut tile.codes),
            Self::AvxVnni(token) => token.lay_out(planes, lines, at, len, &mut tile.codes),
            Self::Maddubs(token) => token.lay_out(planes.high, lines, at, len, &mut tile.codes),
            Self::Plain => {}
        }
        #[cfg(target_arch = "aarch64")]
        if let Self::Dotprod(token) = self {
            token.lay_out(planes, lines, at, len, &mut tile.codes);
        }
        tile.has_low = false;
        let _ = (planes, lines, at, len);
    }

    /// Write the products of four queries with the upper nibbles of the rows that were laid out just now.
    ///
    /// # Panics
    /// Unless [`Kernel::multiplies_halves`].
    pub(super) fn upper_of_four(self, queries: &[&CodedQuery; FOUR], tile: &Tile, out: &mut [[i32; BLOCK]; FOUR]) {
        #[cfg(target_arch = "x86_64")]
        if let Self::Maddubs(token) = self {
            return token.tile_products(queries, &tile.codes, out);
        }
        unreachable!("{self:?} multiplies whole codes: {queries:?} {tile:?} {out:?}")
    }

    /// As [`Kernel::upper_of_four`], with the lower nibbles of the same rows, which are laid out once they are wanted.
    ///
    /// # Panics
    /// Unless [`Kernel::multiplies_halves`].
    pub(super) fn lower_of_four(
        self,
        queries: &[&CodedQuery; FOUR],
        (low, at, len): (&[Line], At<'_>, usize),
        tile: &mut Tile,
        out: &mut [[i32; BLOCK]; FOUR],
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Self::Maddubs(token) = self {
            if !std::mem::replace(&mut tile.has_low, true) {
                token.lay_out(low, queries[0].lines.len() / 2, at, len, &mut tile.low);
            }
            return token.tile_products(queries, &tile.low, out);
        }
        unreachable!("{self:?} multiplies whole codes: {queries:?} {low:?} {at:?} {len} {tile:?} {out:?}")
    }

    /// [`Kernel::whole`] of four queries, of the rows that were laid out just now.
    ///
    /// # Panics
    /// If a row lies outside the planes, or there are more than [`BLOCK`].
    pub(super) fn of_four(
        self,
        queries: &[&CodedQuery; FOUR],
        (planes, at, len): (Planes<'_>, At<'_>, usize),
        tile: &Tile,
        out: &mut [[i32; BLOCK]; FOUR],
    ) {
        #[cfg(target_arch = "x86_64")]
        match self {
            Self::Vnni(token) => return token.tile_products(queries, &tile.codes, out),
            Self::AvxVnni(token) => return token.tile_products(queries, &tile.codes, out),
            Self::Maddubs(_) | Self::Plain => {}
        }
        #[cfg(target_arch = "aarch64")]
        if let Self::Dotprod(token) = self {
            return token.tile_products(queries, &tile.codes, out);
        }
        let _ = tile;
        for (query, out) in queries.iter().zip(out) {
            self.whole(query, planes, at, false, &mut out[..len]);
        }
    }

    /// See [`bounds_in_lanes`].
    pub(super) fn bounds(
        self,
        scores: &Scores,
        of: Columns<'_>,
        products: &[i32],
        floor: f32,
        uppers: &mut [f32; BLOCK],
    ) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(token) => token.bounds(scores, of, products, floor, uppers),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(token) => token.avx2().bounds(scores, of, products, floor, uppers),
            #[cfg(target_arch = "x86_64")]
            Self::Maddubs(token) => token.bounds(scores, of, products, floor, uppers),
            _ => bounds_in_lanes(scores, of, products, floor, uppers),
        }
    }

    /// Ask memory for what will be read soon.
    pub(super) fn fetch<T>(self, items: &[T]) {
        #[cfg(target_arch = "x86_64")]
        match self {
            Self::Vnni(_) | Self::AvxVnni(_) | Self::Maddubs(_) => maddubs::fetch(items),
            Self::Plain => {}
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = items;
    }
}

/// Make products with upper nibbles products with whole codes, given those with lower nibbles.
pub(super) fn join(high: &mut [i32], low: &[i32]) {
    for (high, low) in high.iter_mut().zip(low) {
        *high = 16 * *high + low;
    }
}

#[cfg(test)]
mod tests {
    use super::super::coded_query::short;
    use super::super::line::{LINE, SPAN, ZERO, split};
    use super::*;

    fn bytes(count: usize, seed: u32) -> Vec<i32> {
        (0..count as u32).map(|i| ((i + seed).wrapping_mul(2_654_435_761) >> 24) as i32 % 255 - 127).collect()
    }

    fn slow(codes: &[i32], query: &[i32]) -> Vec<i32> {
        codes.chunks(query.len()).map(|row| row.iter().zip(query).map(|(&x, &q)| x * q).sum()).collect()
    }

    #[test]
    fn every_level_multiplies_nibbles_and_bytes_alike() {
        for lines in [1, 2, 3, 6, 33] {
            for extreme in [false, true] {
                let pick = |codes: Vec<i32>| -> Vec<i32> {
                    if extreme { codes.iter().map(|&code| if code < 0 { -127 } else { 127 }).collect() } else { codes }
                };
                let query = pick(bytes(lines * SPAN, 1));
                let codes: Vec<i32> = pick(bytes(lines * SPAN * 70, 7)).iter().map(|x| x + i32::from(ZERO)).collect();
                let nothing = vec![0.0; lines * SPAN];
                let mut coded = CodedQuery::new(&nothing, Level::best());
                coded.lines = query.chunks(LINE).map(|c| Line(std::array::from_fn(|i| c[i] as i8 as u8))).collect();
                (coded.short, coded.sum) = (short(&coded.lines), query.iter().sum());
                let (mut high, mut low) = (Vec::new(), Vec::new());
                split(&codes.iter().map(|&code| code as u8).collect::<Vec<_>>(), |h, l| {
                    high.push(h);
                    low.push(l);
                });
                let planes = Planes { high: &high, low: &low };
                let whole = slow(&codes, &query);
                let rough = slow(&codes.iter().map(|code| code >> 4).collect::<Vec<_>>(), &query);
                for kernel in Level::available().iter().map(|&level| Kernel::of(level)) {
                    for fetch in [false, true] {
                        let mut out = [0; 62];
                        kernel.products(&coded, &high, At::Run(8), fetch, &mut out);
                        assert_eq!(out, rough[8..], "{kernel:?} {lines}");
                        kernel.whole(&coded, planes, At::Run(8), fetch, &mut out);
                        assert_eq!(out, whole[8..], "{kernel:?} {lines}");
                        let (mut out, list) = ([0; 5], [69, 0, 3, 3, 5]);
                        kernel.whole(&coded, planes, At::List(&list), fetch, &mut out);
                        assert_eq!(out, list.map(|row| whole[row as usize]), "{kernel:?} {lines}");
                        let (mut out, mut tile) = ([[0; BLOCK]; FOUR], Tile::default());
                        for len in [1, 16, 17, 62, 64] {
                            let at = At::Run(70 - len);
                            kernel.lay_out(planes, lines, at, len, &mut tile);
                            kernel.of_four(&[&coded; FOUR], (planes, at, len), &tile, &mut out);
                            assert!(out.iter().all(|out| out[..len] == whole[70 - len..]), "{kernel:?} {lines} {len}");
                            if kernel.multiplies_halves() {
                                let mut low = out;
                                kernel.upper_of_four(&[&coded; FOUR], &tile, &mut out);
                                assert!(
                                    out.iter().all(|out| out[..len] == rough[70 - len..]),
                                    "{kernel:?} {lines} {len}"
                                );
                                kernel.lower_of_four(&[&coded; FOUR], (planes.low, at, len), &mut tile, &mut low);
                                join(&mut out[3], &low[3]);
                                assert_eq!(out[3][..len], whole[70 - len..], "{kernel:?} {lines} {len}");
                            }
                        }
                        kernel.lay_out(planes, lines, At::List(&list), 5, &mut tile);
                        kernel.of_four(&[&coded; FOUR], (planes, At::List(&list), 5), &tile, &mut out);
                        assert_eq!(out[3][..5], list.map(|row| whole[row as usize]), "{kernel:?} {lines}");
                    }
                }
            }
        }
    }
}
