//! Balance: vectors that single nothing out give way to words.

use super::pool::Pool;
use crate::formula::Candidates;

/// The most, and the inverse of the least, that words may count.
const MOST: f64 = 4.0;

/// Two signals that share their weight by how far the best cosine stands out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// The signal of words, by place.
    pub words: usize,
    /// The signal of vectors.
    pub vectors: usize,
    /// How often words count when the best cosine stands out no more than the best of as many random ones would.
    pub factor: f64,
}

impl Balance {
    /// Weights `(c,)` for a pool: words count `factor * sqrt(2 ln n) / z` times, and both take what both had.
    ///
    /// `z` is how many deviations the best cosine lies above the mean of the `n` of its space. The best of `n` random
    /// ones is expected at about `sqrt(2 ln n)` (the maximum of normal variables).
    pub(super) fn of(&self, pool: &Pool, weights: &[f64]) -> Vec<f64> {
        let mut weights = weights.to_vec();
        if let Some(times) = self.times(pool) {
            let both = weights[self.words] + weights[self.vectors];
            let words = weights[self.words] * times;
            let total = words + weights[self.vectors];
            if total > 0.0 {
                weights[self.words] = both * words / total;
                weights[self.vectors] = both - weights[self.words];
            }
        }
        weights
    }

    fn times(&self, pool: &Pool) -> Option<f64> {
        let found = prominence(pool)?;
        // Among very few vectors nothing can stand out.
        let times = if found > 0.0 { self.factor / found } else { MOST };
        Some(times.clamp(1.0 / MOST, MOST))
    }
}

/// How far the best cosine stands out, as a part of what the best of as many random ones would; None without cosines.
pub(super) fn prominence(pool: &Pool) -> Option<f64> {
    let column = |name| pool.column(name);
    let (cosines, means) = (column("cosine")?, column("cosine_mean")?);
    let (deviations, rows) = (column("cosine_deviation")?, column("cosine_rows")?);
    let stands_out = |i: usize| (cosines[i] - means[i]) / deviations[i];
    let known = (0..pool.len()).filter(|&i| !cosines[i].is_nan());
    let best = known.max_by(|&a, &b| stands_out(a).total_cmp(&stands_out(b)))?;
    // Of one vector nothing is expected.
    let expected = (2.0 * rows[best].max(1.0).ln()).sqrt();
    Some(if expected > 0.0 { stands_out(best) / expected } else { 0.0 })
}
