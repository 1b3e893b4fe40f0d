//! Confidence: how likely an answer is there at all, whatever the other candidates are.
//!
//! A logistic model over what words and cosines say. A cosine counts from that of two random rows on, since what is near
//! for one model is far for another; without words also from that of the query and random rows.

use super::pool::Pool;
use crate::formula::Candidates;

/// The parameters of the logistic model that turns evidence into a probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// The weights in the logit of words: the reached part of BM25, the matched share damped by its information, and,
    /// against it, the matched share alone: a query of one word is matched by accident.
    pub words: [f64; 3],
    /// The logit of words where nothing is matched.
    pub nothing: f64,
    /// The information, in nats, of which half is believed.
    pub information: f64,
    /// Beside a cosine: what the logit of words counts, what the cosine counts, and the rest.
    pub both: [f64; 3],
    /// Without words: what the cosine counts, and the rest.
    pub alone: [f64; 2],
    /// Number of the best candidates that are compared for agreement.
    pub agreeing: usize,
}

/// The mean cosine of two rows of a space that was not measured.
const UNKNOWN_MEAN: f64 = 0.2;
/// The mean is no higher: in a space of equal rows no cosine says anything.
const MOST_MEAN: f64 = 0.999;

/// The evidence for a candidate: the logit of its words, and its cosine on the scale from two random rows (0) to equal
/// ones (1), and on that from [`unrelated`] on, which counts without words; NaN if unknown.
#[derive(Clone, Copy)]
struct Evidence {
    words: f64,
    cosine: f64,
    apart: f64,
}

impl Confidence {
    /// The confidence in each candidate `(m,)`, and in the best of them: `order` has the candidates, best first.
    ///
    /// None is higher than that of a candidate which stands before it: where evidence and order disagree, each has the mean of
    /// theirs.
    pub(super) fn of(&self, pool: &Pool, order: &[usize]) -> (Vec<f64>, f64) {
        let results = self.evidence(pool);
        let placed = order.iter().map(|&i| logistic(self.logit(results[i])));
        let mut each = vec![0.0; pool.len()];
        for (&i, confidence) in order.iter().zip(never_rising(placed)) {
            each[i] = confidence;
        }
        // With a vector and without one they are judged apart: the answer may be one whose vector has not come yet.
        let (known, unknown): (Vec<Evidence>, Vec<Evidence>) =
            order.iter().map(|&i| results[i]).partition(|evidence| !evidence.cosine.is_nan());
        let best = [known, unknown].into_iter().map(|part| self.logit(self.together(&part)));
        (each, best.filter(|logit| !logit.is_nan()).map(logistic).fold(0.0, f64::max))
    }

    fn evidence(&self, pool: &Pool) -> Vec<Evidence> {
        let column = |name| pool.column(name);
        let value = |column: Option<&[f64]>, i: usize| column.map_or(f64::NAN, |column| column[i]);
        let (matched, reach, information) = (column("matched"), column("reach"), column("information"));
        let (cosine, pairs, means) = (column("cosine"), column("pair_mean"), column("cosine_mean"));
        let one = |i: usize| {
            let [share, reach, information] = [matched, reach, information].map(|column| value(column, i));
            let [reached, outcome, against] = self.words;
            let believed = information / (information + self.information).max(f64::MIN_POSITIVE);
            let words = self.nothing + reached * reach + share * (outcome * believed - against);
            let mean = value(pairs, i);
            let mean = if mean.is_nan() { UNKNOWN_MEAN } else { mean.min(MOST_MEAN) };
            let above = |least: f64| (value(cosine, i) - least) / (1.0 - least);
            Evidence { words, cosine: above(mean), apart: above(unrelated(mean, value(means, i))) }
        };
        (0..pool.len()).map(one).collect()
    }

    /// The evidence for some candidates together, best first: the best of each kind, and the agreement of the first
    /// ones.
    fn together(&self, candidates: &[Evidence]) -> Evidence {
        let words = candidates.iter().map(|evidence| evidence.words).fold(f64::NAN, f64::max);
        let first = &candidates[..candidates.len().min(self.agreeing)];
        let mean = first.iter().map(|evidence| evidence.words).sum::<f64>() / first.len() as f64;
        let most = |of: fn(&Evidence) -> f64| candidates.iter().map(of).fold(f64::NAN, f64::max);
        Evidence { words: words.midpoint(mean), cosine: most(|of| of.cosine), apart: most(|of| of.apart) }
    }

    fn logit(&self, of: Evidence) -> f64 {
        let ([beside, steep, rest], [alone, start]) = (self.both, self.alone);
        match (of.cosine.is_nan(), of.words.is_nan()) {
            (false, false) => beside * of.words + steep * of.cosine + rest,
            (false, true) => alone * of.apart + start,
            (true, _) => of.words,
        }
    }
}

/// The cosine that says nothing: the mean of two rows of a space or, if the query lies farther from them, halfway to its
/// mean, which may be NaN. Some models embed queries unlike texts, and other languages lie apart.
fn unrelated(pairs: f64, query: f64) -> f64 {
    // NaN is never the lesser.
    pairs.midpoint(query.min(pairs))
}

/// 0 for what is not known.
fn logistic(logit: f64) -> f64 {
    if logit.is_nan() { 0.0 } else { 1.0 / (1.0 + (-logit).exp()) }
}

/// The nearest values that never rise: those in the wrong order have their mean (isotonic regression).
fn never_rising(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for value in values {
        let mut block = (value, 1);
        while let Some(before) = blocks.pop_if(|before| before.0 * (block.1 as f64) < block.0 * before.1 as f64) {
            block = (block.0 + before.0, block.1 + before.1);
        }
        blocks.push(block);
    }
    blocks.iter().flat_map(|&(sum, count)| std::iter::repeat_n(sum / count as f64, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Labels;
    use std::borrow::Cow;

    const HOW: Confidence = Confidence {
        words: [4.0, 12.0, 2.0],
        nothing: -3.0,
        information: 10.0,
        both: [2.0, 1.0, 1.0],
        alone: [4.0, -2.0],
        agreeing: 2,
    };

    fn pool(columns: &[(&'static str, [f64; 3])]) -> Pool {
        let labels = || Labels::of_texts(&["x"; 3]);
        let pool = Pool::new(vec![1, 2, 3], vec![0; 3], labels(), labels(), labels()).unwrap();
        columns
            .iter()
            .fold(pool, |pool, (name, values)| pool.with_column(Cow::Borrowed(name), values.to_vec()).unwrap())
    }

    #[test]
    fn cosines_count_from_those_of_random_rows_on() {
        let of = |mean: f64| HOW.of(&pool(&[("cosine", [0.7, 0.5, -0.1]), ("pair_mean", [mean; 3])]), &[0, 1, 2]);
        let (each, best) = of(0.4);
        assert!((each[0] - 0.5).abs() < 1e-12 && best == each[0]);
        assert!((each[1] - logistic(4.0 / 6.0 - 2.0)).abs() < 1e-12 && each[2] < 0.05);
        // Among vectors that all lie near each other the same cosine says less, and nothing where all are equal.
        assert!(of(0.65).0[0] < 0.25 && of(1.0).0[0] < 0.01);
    }

    #[test]
    fn a_query_that_lies_far_from_all_rows_counts_from_halfway_on() {
        let of = |query: f64| {
            let pool = pool(&[("cosine", [0.9; 3]), ("pair_mean", [0.8; 3]), ("cosine_mean", [query; 3])]);
            HOW.of(&pool, &[0, 1, 2]).1
        };
        assert!((of(0.6) - logistic(4.0 * 2.0 / 3.0 - 2.0)).abs() < 1e-12);
        // Rows that all speak of what the query asks for do not make it less sure.
        assert!((of(0.85) - logistic(0.0)).abs() < 1e-12 && of(f64::NAN).to_bits() == of(0.85).to_bits());
    }

    #[test]
    fn words_count_by_what_they_tell_and_with_others() {
        let full = [("matched", [1.0, 0.0, f64::NAN]), ("information", [10.0, 0.0, f64::NAN])];
        let reach = ("reach", [0.5, 0.0, f64::NAN]);
        let (each, best) = HOW.of(&pool(&[full[0], full[1], reach]), &[0, 1, 2]);
        // Half of the information is believed: -3 + 4 * 0.5 + 12 * 0.5 - 2.
        assert!((each[0] - logistic(3.0)).abs() < 1e-12 && (each[1] - logistic(-3.0)).abs() < 1e-12 && each[2] == 0.0);
        // The second does not agree: the mean of 3 and of 0, the mean of both.
        assert!((best - logistic(1.5)).abs() < 1e-12, "{best}");
        let cosines = [("cosine", [0.4, 0.4, f64::NAN]), ("pair_mean", [0.4; 3])];
        let (each, _) = HOW.of(&pool(&[full[0], full[1], reach, cosines[0], cosines[1]]), &[0, 1, 2]);
        assert!((each[0] - logistic(7.0)).abs() < 1e-12, "{each:?}");
    }

    #[test]
    fn words_that_are_certain_are_not_overruled_by_cosines() {
        let results = pool(&[
            ("matched", [1.0; 3]),
            ("information", [30.0; 3]),
            ("reach", [0.8; 3]),
            ("cosine", [0.4; 3]),
            ("pair_mean", [0.5; 3]),
        ]);
        assert!(HOW.of(&results, &[0, 1, 2]).1 > 0.95);
    }

    #[test]
    fn no_confidence_is_higher_than_one_before_it() {
        let results = pool(&[("cosine", [0.2, 0.6, 0.4]), ("pair_mean", [0.2; 3])]);
        let alone = |x: f64| logistic(4.0 * x - 2.0);
        let mean = f64::midpoint(alone(0.0), alone(0.5));
        let (each, best) = HOW.of(&results, &[0, 1, 2]);
        assert!((each[0] - mean).abs() < 1e-12 && each[1] == each[0] && (each[2] - alone(0.25)).abs() < 1e-12);
        assert!((best - alone(0.5)).abs() < 1e-12);
        let risen = never_rising([0.25, 0.5, 0.75].into_iter());
        assert_eq!(risen, [0.5; 3]);
    }

    #[test]
    fn an_answer_without_a_vector_is_not_hidden_by_others_that_have_one() {
        let results = pool(&[
            ("matched", [1.0, 0.1, 0.1]),
            ("information", [30.0, 3.0, 3.0]),
            ("reach", [0.8, 0.1, 0.1]),
            ("cosine", [f64::NAN, 0.1, 0.1]),
            ("pair_mean", [0.2; 3]),
        ]);
        let (each, best) = HOW.of(&results, &[0, 1, 2]);
        assert!(best == each[0] && best > 0.9, "{each:?} {best}");
        assert_eq!(HOW.of(&pool(&[]), &[]).1, 0.0);
    }
}
