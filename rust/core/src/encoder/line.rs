//! The unit of a panel: what matrices are laid out in and kernels read.

/// Columns of a panel.
pub(super) const WIDTH: usize = 32;
/// No kernel takes more rows at once.
pub(super) const MOST_ROWS: usize = 14;

/// One row of a panel; aligned, so that no load of a vector crosses a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [f32; WIDTH]);

impl Line {
    pub(super) const ZERO: Self = Self([0.0; WIDTH]);
}
