//! Balance: vectors that single nothing out give way to words.

use super::pool::Pool;
use crate::formula::Candidates;

/// The most, and the inverse of the least, that words may count.
const MOST: f64 = 4.0;
/// Minimum and maximum of candidates by words that are compared.
const FEWEST: usize = 10;
const MOST_COMPARED: usize = 20;
/// The share of a query's information that a candidate must hold.
const WELL_MATCHED: f64 = 0.5;
/// Mean deviations of their cosines at which vectors count next to nothing, and fully.
const NO_AGREEMENT: f64 = 0.3;
const FULL_AGREEMENT: f64 = 1.3;
const LEAST_KEPT: f64 = 0.01;

/// Two signals that share their weight by how far the best cosine stands out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// The signal of words, by place.
    pub words: usize,
    /// The signal of vectors.
    pub vectors: usize,
    /// The weight of words when the best cosine stands out no more than the best of as many random ones would.
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
            let total = words + weights[self.vectors] * agreement(pool);
            if total > 0.0 {
                weights[self.words] = both * words / total;
                weights[self.vectors] = both - weights[self.words];
            }
        }
        weights
    }

    fn times(&self, pool: &Pool) -> Option<f64> {
        let results = prominence(pool)?;
        // Among very few vectors nothing can stand out.
        let times = if results > 0.0 { self.factor / results } else { MOST };
        Some(times.clamp(1.0 / MOST, MOST))
    }
}

/// The share of their weight that vectors keep: 1 if the candidates by words are near the query by vectors, too.
///
/// The mean of a working model's best by words lies one to three deviations above that of its space, that of random vectors
/// or another model's lies at it. A query of which no candidate holds half is no evidence: the words may be wrong. The
/// agreement measured over all vectors counts beside it.
pub(super) fn agreement(pool: &Pool) -> f64 {
    (of_space(pool) * of_query(pool)).max(LEAST_KEPT)
}

/// The agreement of the candidates' spaces with words; 1 if it was not measured, and if words find nothing.
fn of_space(pool: &Pool) -> f64 {
    let words_match = pool.column("bm25").is_some_and(|words| words.iter().any(|&score| score > 0.0));
    let measured: Vec<f64> =
        pool.column("agreement").into_iter().flatten().copied().filter(|one| !one.is_nan()).collect();
    if words_match && !measured.is_empty() { measured.iter().sum::<f64>() / measured.len() as f64 } else { 1.0 }
}

fn of_query(pool: &Pool) -> f64 {
    let column = |name| pool.column(name);
    let (Some(words), Some(cosines), Some(means), Some(deviations), Some(matched)) =
        (column("bm25"), column("cosine"), column("cosine_mean"), column("cosine_deviation"), column("matched"))
    else {
        return 1.0;
    };
    let known = |&i: &usize| words[i] > 0.0 && !cosines[i].is_nan() && deviations[i] > 0.0;
    let mut results: Vec<usize> = (0..pool.len()).filter(known).collect();
    if results.len() < FEWEST || matched.iter().all(|&share| share < WELL_MATCHED) {
        return 1.0;
    }
    results.sort_by(|&a, &b| words[b].total_cmp(&words[a]).then(a.cmp(&b)));
    results.truncate(MOST_COMPARED);
    let sum: f64 = results.iter().map(|&i| (cosines[i] - means[i]) / deviations[i]).sum();
    ((sum / results.len() as f64 - NO_AGREEMENT) / (FULL_AGREEMENT - NO_AGREEMENT)).clamp(LEAST_KEPT, 1.0)
}

/// The distinction of the best cosine, relative to the best of as many random ones; None without cosines.
pub(super) fn prominence(pool: &Pool) -> Option<f64> {
    let column = |name| pool.column(name);
    let (cosines, means) = (column("cosine")?, column("cosine_mean")?);
    let (deviations, rows) = (column("cosine_deviation")?, column("cosine_rows")?);
    let stands_out = |i: usize| (cosines[i] - means[i]) / deviations[i];
    let known = (0..pool.len()).filter(|&i| !cosines[i].is_nan());
    let best = known.max_by(|&a, &b| stands_out(a).total_cmp(&stands_out(b)))?;
    // A single vector has no expected best.
    let expected = (2.0 * rows[best].max(1.0).ln()).sqrt();
    Some(if expected > 0.0 { stands_out(best) / expected } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::search::Labels;

    /// Candidates whose cosines stand out this much, all of which hold a part of the query.
    fn pool(standing: &[f64], matched: f64) -> Pool {
        let m = standing.len();
        let labels = || Labels::of_texts(&vec!["entry"; m]);
        let pool = Pool::new((0..m as i64).collect(), vec![0; m], labels(), labels(), labels()).unwrap();
        let words: Vec<f64> = (0..m).map(|i| 100.0 - i as f64).collect();
        [
            ("bm25", words),
            ("cosine", standing.iter().map(|z| 0.8 + 0.01 * z).collect()),
            ("cosine_mean", vec![0.8; m]),
            ("cosine_deviation", vec![0.01; m]),
            ("matched", vec![matched; m]),
        ]
        .into_iter()
        .fold(pool, |pool, (name, values)| pool.with_column(Cow::Borrowed(name), values).unwrap())
    }

    #[test]
    fn vectors_count_by_how_near_they_find_what_words_find() {
        assert_eq!(agreement(&pool(&[2.0; 20], 1.0)), 1.0);
        assert!((agreement(&pool(&[0.8; 20], 1.0)) - 0.5).abs() < 1e-9);
        assert_eq!(agreement(&pool(&[0.0; 20], 1.0)), LEAST_KEPT);
        // The best by words count, not what vectors found.
        let behind: Vec<f64> = [[2.0; 20], [0.0; 20]].concat();
        assert_eq!(agreement(&pool(&behind, 1.0)), 1.0);
    }

    #[test]
    fn words_that_say_little_and_few_candidates_blame_no_vectors() {
        assert_eq!(agreement(&pool(&[0.0; 20], 0.4)), 1.0);
        assert_eq!(agreement(&pool(&[0.0; 9], 1.0)), 1.0);
    }
}
