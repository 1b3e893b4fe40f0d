//! Candidates of a search, as expressions read them.

/// Candidates as an expression sees them.
pub trait Candidates {
    /// How many there are.
    fn count(&self) -> usize;
    /// A column `(m,)`, None if nothing filled it.
    fn column(&self, name: &str) -> Option<&[f64]>;
    /// Whether a candidate is of a kind.
    fn is_kind(&self, candidate: usize, kind: &str) -> bool;
    /// How many a leg takes; None where that is not known.
    fn taken(&self) -> Option<usize> {
        None
    }
}
