//! The units of storage: cache lines of nibbles for rows, of bytes for queries.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

/// Bytes of a line.
pub(super) const LINE: usize = 64;

/// Codes of a row that one line of a plane holds half of: two nibbles a byte.
pub(super) const SPAN: usize = 2 * LINE;

/// Rows that are scanned between two looks at their scores: one bit of a word each.
pub(super) const BLOCK: usize = 64;

/// Queries that one pass over a block of rows can serve.
pub(super) const FOUR: usize = 4;

/// The offset that makes a row's code an unsigned byte, as VNNI wants its first factor.
pub(super) const ZERO: u8 = 128;

/// Sixty-four bytes, aligned so that no load ever crosses a cache line.
///
/// Queries hold sixty-four codes in it, as two's complement. Rows hold a nibble of 128 codes: byte `i` that of code `i`
/// in its lower half and that of code `64 + i` in its upper half. The rest of a query's last line is zero, so the rest
/// of a row's does not matter.
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

    /// As many rows behind the last of `len`, of `n` rows; none where rows are listed.
    pub(super) fn behind(self, len: usize, n: usize) -> Range<usize> {
        match self {
            Self::Run(first) => (first + len).min(n)..(first + 2 * len).min(n),
            Self::List(_) => 0..0,
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

/// Rows that a kernel reads side by side.
#[cfg(target_arch = "x86_64")]
pub(super) const WIDTH: usize = 4;

/// Lines to prefetch ahead of neighbouring rows, and rows of a list.
#[cfg(target_arch = "x86_64")]
const AHEAD: (usize, usize) = (64, 12);

/// Where the lines of four rows begin.
#[cfg(target_arch = "x86_64")]
pub(super) type Four = [*const Line; WIDTH];

/// One of each for four rows. An array's own `map` is not always made part of a loop.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn each<T>(of: impl Fn(usize) -> T) -> [T; WIDTH] {
    [of(0), of(1), of(2), of(3)]
}

/// The lines to ask of memory while four rows are read; they may lie anywhere.
///
/// Those of neighbouring rows come in the order of memory, not row by row: pages are walked through once, and what the
/// processor itself asks for is what comes next.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Next {
    first: Four,
    step: usize,
}

#[cfg(target_arch = "x86_64")]
impl Next {
    /// While the rows from output `first` of `len` on are read.
    #[inline(always)]
    pub(super) fn of(plane: &[Line], lines: usize, at: At<'_>, first: usize, len: usize) -> Self {
        let line = |line: usize| plane.as_ptr().wrapping_add(line);
        match at {
            At::Run(start) => {
                let next = (start + first) * lines + AHEAD.0;
                Self { first: each(|j| line(next + j)), step: WIDTH }
            }
            At::List(at) => {
                let row = |j: usize| at[(first + j + AHEAD.1).min(len - 1)] as usize;
                Self { first: each(|j| line(row(j) * lines)), step: 1 }
            }
        }
    }

    /// The lines to ask for beside line `i` of the four rows.
    #[inline(always)]
    pub(super) fn beside(self, i: usize) -> Four {
        each(|j| self.first[j].wrapping_add(i * self.step))
    }
}

/// Write the results of `four` for four rows at a time; it also gets the lines to prefetch.
///
/// A short last group reads its last row again rather than having a loop of its own.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn fours(
    plane: &[Line],
    lines: usize,
    at: At<'_>,
    out: &mut [i32],
    four: impl Fn(Four, Next) -> [i32; WIDTH],
) {
    let row = |row: usize| plane.as_ptr().wrapping_add(row.wrapping_mul(lines));
    let len = out.len();
    // One place that calls `four`, so that it becomes part of the loop.
    for (group, out) in out.chunks_mut(WIDTH).enumerate() {
        let first = group * WIDTH;
        let place = |j: usize| (first + j).min(len - 1);
        let here = match at {
            At::Run(start) if first + WIDTH <= len => {
                let base = row(start + first);
                each(|j| base.wrapping_add(j * lines))
            }
            At::Run(start) => each(|j| row(start + place(j))),
            At::List(list) => each(|j| row(list[place(j)] as usize)),
        };
        let sums = four(here, Next::of(plane, lines, at, first, len));
        match out.first_chunk_mut::<WIDTH>() {
            Some(out) => *out = sums,
            None => out.copy_from_slice(&sums[..out.len()]),
        }
    }
}
