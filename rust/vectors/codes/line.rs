//! The units of storage: cache lines of nibbles for rows, of bytes for queries.

use bytemuck::{Pod, Zeroable};

/// Bytes of a line.
pub(super) const LINE: usize = 64;

/// Codes of a row that one line of a plane holds half of: two nibbles a byte.
pub(super) const SPAN: usize = 2 * LINE;

/// Rows that are scanned between two looks at their scores: one bit of a word each.
pub(super) const BLOCK: usize = 64;

/// Queries that one pass over a block of rows can serve.
pub(super) const FOUR: usize = 4;

/// What is added to a row's code so that it is a byte without sign, as VNNI wants its first factor.
pub(super) const ZERO: u8 = 128;

/// Sixty-four bytes, aligned so that no load ever crosses a cache line.
///
/// Queries hold sixty-four codes in it, as two's complement. Rows hold a nibble of 128 codes: byte `i` that of code `i`
/// in its lower half and that of code `64 + i` in its upper half. What is left of a query's last line is zero, so it
/// does not matter what is left of a row's.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [u8; LINE]);

/// Lines per row of a plane; a row without components has one all the same, so that rows can be counted.
pub(super) fn lines(d: usize) -> usize {
    d.div_ceil(SPAN).max(1)
}

/// The rows of a segment: code plus [`ZERO`], cut into its upper and its lower four bits, which lie apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planes<'a> {
    pub(super) high: &'a [Line],
    pub(super) low: &'a [Line],
}

/// Cut codes into nibbles and put them into lines; `codes` is as long as both planes' lines together.
pub(super) fn split(codes: &[u8], mut put: impl FnMut(Line, Line)) {
    for span in codes.as_chunks::<SPAN>().0 {
        let (first, second) = span.split_at(LINE);
        let pair = |i: usize| (first[i], second[i]);
        let high = std::array::from_fn(|i| (pair(i).0 >> 4) | (pair(i).1 & 0xf0));
        let low = std::array::from_fn(|i| (pair(i).0 & 0x0f) | (pair(i).1 << 4));
        put(Line(high), Line(low));
    }
}

/// Which rows of a segment are meant, one for each output.
#[derive(Clone, Copy, Debug)]
pub(super) enum At<'a> {
    /// Consecutive rows from this one.
    Run(usize),
    /// These rows.
    List(&'a [u32]),
}

impl At<'_> {
    /// The row of output `j`.
    pub(super) fn row(self, j: usize) -> usize {
        match self {
            Self::Run(first) => first + j,
            Self::List(at) => at[j] as usize,
        }
    }

    /// # Panics
    /// Unless every row of `len` outputs lies below `n`; the unsafe kernels rely on it.
    pub(super) fn check(self, len: usize, n: usize) {
        match self {
            Self::Run(first) => assert!(first + len <= n, "rows {first}..{} of {n}", first + len),
            Self::List(at) => {
                assert_eq!(at.len(), len);
                let last = at.iter().copied().max().map_or(0, |last| last as usize + 1);
                assert!(last <= n, "row {} of {n}", last - 1);
            }
        }
    }
}
