//! Sums whose order does not matter.

/// A sum that carries its rounding error (Knuth's two-sum), so that it does not depend on the order of the terms, which
/// follows the history of the index: an index built afresh gives the same sums.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    /// Add a number.
    pub(crate) fn add(&mut self, x: f64) {
        let high = self.high + x;
        let rest = high - self.high;
        self.low += (self.high - (high - rest)) + (x - rest);
        self.high = high;
    }

    /// The sum.
    pub(crate) fn total(self) -> f64 {
        self.high + self.low
    }
}
