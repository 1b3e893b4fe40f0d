//! Confidence: how likely an answer is there at all, whatever the other candidates are.

use super::pool::Pool;
use crate::formula::Candidates;

/// How evidence becomes a probability: the numbers of a logistic model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// Cosines begin so many deviations under the mean of two random rows: what lies lower means nothing.
    pub spread: f64,
    /// The evidence of a cosine at which an answer is as likely as none, and how steeply it becomes likelier.
    pub cosine: (f64, f64),
    /// The same for words alone.
    pub words: (f64, f64),
    /// How steeply words count beside a cosine.
    pub beside: f64,
    /// What the matched share of the query's information counts, that of the title, and the reached part of BM25.
    pub parts: [f64; 3],
    /// The information, in nats, of which half of the evidence is believed.
    pub information: f64,
    /// How many of the best candidates are asked whether they agree.
    pub agreeing: usize,
}

/// What speaks for a candidate; NaN where nothing is known.
#[derive(Clone, Copy)]
struct Evidence {
    words: f64,
    cosine: f64,
}

impl Confidence {
    /// The confidence in each candidate `(m,)`, and in the best of them: `order` has the candidates, best first.
    pub(super) fn of(&self, pool: &Pool, order: &[usize]) -> (Vec<f64>, f64) {
        let found = self.evidence(pool);
        let each = found.iter().map(|&evidence| logistic(self.logit(evidence))).collect();
        // With a vector and without one they are judged apart: the answer may be one whose vector has not come yet.
        let (known, unknown): (Vec<Evidence>, Vec<Evidence>) =
            order.iter().map(|&i| found[i]).partition(|evidence| !evidence.cosine.is_nan());
        let best = [known, unknown].into_iter().map(|part| self.logit(self.together(&part)));
        (each, best.filter(|logit| !logit.is_nan()).map(logistic).fold(0.0, f64::max))
    }

    fn evidence(&self, pool: &Pool) -> Vec<Evidence> {
        let column = |name| pool.column(name);
        let value = |column: Option<&[f64]>, i: usize| column.map_or(f64::NAN, |column| column[i]);
        let (matched, title, reach) = (column("matched"), column("matched_title"), column("reach"));
        let (information, cosine) = (column("information"), column("cosine"));
        let (mean, deviation) = (column("pair_mean"), column("pair_deviation"));
        let one = |i: usize| {
            let [share, title, reach] = [matched, title, reach].map(|column| value(column, i));
            let known = [(self.parts[0], share), (self.parts[1], title), (self.parts[2], reach)];
            let sum: f64 = known.iter().filter(|(_, x)| !x.is_nan()).map(|(weight, x)| weight * x).sum();
            let information = value(information, i);
            let words = sum * information / (information + self.information);
            let floor = (value(mean, i) - self.spread * value(deviation, i)).max(0.0);
            Evidence { words, cosine: (value(cosine, i) - floor) / (1.0 - floor) }
        };
        (0..pool.len()).map(one).collect()
    }

    /// What speaks for some candidates together, best first: the best of each kind, and whether the first ones agree.
    fn together(&self, candidates: &[Evidence]) -> Evidence {
        let words = candidates.iter().map(|evidence| evidence.words).fold(f64::NAN, f64::max);
        let first = &candidates[..candidates.len().min(self.agreeing)];
        let mean = first.iter().map(|evidence| evidence.words).sum::<f64>() / first.len() as f64;
        let cosine = candidates.iter().map(|evidence| evidence.cosine).fold(f64::NAN, f64::max);
        Evidence { words: words.midpoint(mean), cosine }
    }

    fn logit(&self, of: Evidence) -> f64 {
        let ((at, steep), (words_at, words_steep)) = (self.cosine, self.words);
        match (of.cosine.is_nan(), of.words.is_nan()) {
            (false, false) => steep * (of.cosine - at) + self.beside * (of.words - words_at),
            (false, true) => steep * (of.cosine - at),
            (true, _) => words_steep * (of.words - words_at),
        }
    }
}

/// 0 for what is not known.
fn logistic(logit: f64) -> f64 {
    if logit.is_nan() { 0.0 } else { 1.0 / (1.0 + (-logit).exp()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Labels;
    use std::borrow::Cow;

    const HOW: Confidence = Confidence {
        spread: 2.0,
        cosine: (0.4, 10.0),
        words: (0.2, 20.0),
        beside: 5.0,
        parts: [0.5, 0.3, 0.2],
        information: 10.0,
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
    fn cosines_are_judged_by_those_of_random_rows() {
        let of = |mean: f64| {
            let found = pool(&[("cosine", [0.7, 0.4, -0.1]), ("pair_mean", [mean; 3]), ("pair_deviation", [0.05; 3])]);
            HOW.of(&found, &[0, 1, 2])
        };
        let (each, best) = of(0.1);
        assert!((each[0] - logistic(3.0)).abs() < 1e-12 && (each[1] - 0.5).abs() < 1e-12 && best == each[0]);
        assert!(each[2] < 0.01);
        // Among vectors that all lie near each other the same cosine says less.
        assert!(of(0.6).0[0] < 0.5);
    }

    #[test]
    fn words_count_by_what_they_tell_and_with_others() {
        let full = [("matched", [1.0, 0.0, f64::NAN]), ("information", [10.0, 0.0, f64::NAN])];
        let (each, best) = HOW.of(&pool(&full), &[0, 1, 2]);
        // Half of 0.5 is believed.
        assert!((each[0] - logistic(1.0)).abs() < 1e-12 && each[1] < 0.02 && each[2] == 0.0);
        // The second does not agree: (0.25 + 0.125) / 2.
        assert!((best - logistic(20.0 * (0.1875 - 0.2))).abs() < 1e-12, "{best}");
        let (each, _) = HOW.of(&pool(&[full[0], full[1], ("cosine", [0.4, 0.4, f64::NAN])]), &[0, 1, 2]);
        // Without a background a cosine counts from 0.
        assert!((each[0] - logistic(5.0 * (0.25 - 0.2))).abs() < 1e-12, "{each:?}");
    }

    #[test]
    fn an_answer_without_a_vector_is_not_hidden_by_others_that_have_one() {
        let found = pool(&[
            ("matched", [1.0, 0.1, 0.1]),
            ("information", [30.0, 3.0, 3.0]),
            ("cosine", [f64::NAN, 0.1, 0.1]),
            ("pair_mean", [0.0; 3]),
            ("pair_deviation", [0.05; 3]),
        ]);
        let (each, best) = HOW.of(&found, &[0, 1, 2]);
        assert!(best == each[0] && best > 0.9, "{each:?} {best}");
        assert_eq!(HOW.of(&pool(&[]), &[]).1, 0.0);
    }
}
