//! Candidates of a search, as expressions read them.

/// Candidates as an expression sees them.
pub trait Candidates {
    /// The number of them.
    fn count(&self) -> usize;
    /// A column `(m,)`, None if nothing filled it.
    fn column(&self, name: &str) -> Option<&[f64]>;
    /// True if a candidate is of a kind.
    fn is_kind(&self, candidate: usize, kind: &str) -> bool;
    /// Maximum candidates of a leg; None if that is not known.
    fn taken(&self) -> Option<usize> {
        None
    }
}
