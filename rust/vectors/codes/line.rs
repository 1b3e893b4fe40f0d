//! The unit of storage: sixty-four codes in one cache line.

/// Codes per line.
pub(super) const LINE: usize = 64;

/// Queries that one pass over a row's codes can serve.
pub(super) const FOUR: usize = 4;

/// What is added to a row's code so that it fits a byte without sign, as VNNI wants its first factor.
pub(super) const ZERO: u8 = 128;

/// Sixty-four codes, aligned so that no load ever crosses a cache line.
///
/// Rows hold their codes plus [`ZERO`], queries hold theirs as two's complement. What is left of a vector's last line
/// is zero codes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [u8; LINE]);

/// Lines per row; a row without components has one all the same, so that rows can be counted.
pub(super) fn lines(d: usize) -> usize {
    d.div_ceil(LINE).max(1)
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
