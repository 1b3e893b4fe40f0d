//! Adjustments of scores after signals were weighed: factors, a floor for candidates by words, and candidates that come
//! first.

use std::cmp::Ordering;

use super::pool::Pool;
use crate::error::Result;
use crate::formula::{Expression, Scored};

/// The adjustments of scores, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adjustment {
    /// The factor of scores; unknown counts 1.
    pub factors: Vec<Expression>,
    /// Candidates for which an expression is above 0 are raised to a score; lower ones keep their order.
    pub floor: Option<(Expression, f64)>,
    /// Candidates for which an expression is above 0 come first, the highest first, with the score 1.
    pub pinned: Option<Expression>,
}

impl Adjustment {
    /// True if nothing changes.
    pub fn is_empty(&self) -> bool {
        self.rows() == 0
    }

    /// The number of signals added, one for each adjustment, in the order of the fields.
    pub fn rows(&self) -> usize {
        self.factors.len() + usize::from(self.floor.is_some()) + usize::from(self.pinned.is_some())
    }

    /// Change scores and order. Each change adds a signal, and what it adds to the scores as its contribution, so that
    /// the contributions still sum to the score.
    ///
    /// `most` is the most that the floor raises to.
    ///
    /// # Errors
    /// As [`Expression::values`].
    pub fn apply(&self, pool: &Pool, scored: &mut Scored, most: Option<f64>) -> Result<()> {
        for factor in &self.factors {
            let times = factor.values(pool)?;
            scored.change(times, |score, times| if times.is_nan() { score } else { score * times });
        }
        // Those that are raised are equal then: their order is that of before.
        let before = scored.scores.clone();
        if let Some((by, least)) = &self.floor {
            let least = most.map_or(*least, |most| least.min(most));
            scored.change(by.values(pool)?, |score, by| if by > 0.0 { score.max(least) } else { score });
        }
        let raised = scored.scores.clone();
        let mut place = vec![0.0; pool.len()];
        if let Some(pinned) = &self.pinned {
            place = pinned.values(pool)?.into_iter().map(|x| if x > 0.0 { x } else { 0.0 }).collect();
            scored.change(place.clone(), |score, place| if place > 0.0 { 1.0 } else { score });
        }
        let high = |a: f64, b: f64| b.partial_cmp(&a).unwrap_or(Ordering::Equal);
        // Most stand in their order already, which the sort takes over.
        scored.order.sort_by(|&a, &b| {
            let by_scores = high(raised[a], raised[b]).then_with(|| high(before[a], before[b]));
            high(place[a], place[b]).then(by_scores).then(a.cmp(&b))
        });
        Ok(())
    }
}

impl Scored {
    /// Add a signal `(m,)` that changes the scores, with the difference as its contribution.
    fn change(&mut self, signal: Vec<f64>, changed: impl Fn(f64, f64) -> f64) {
        for (score, &value) in self.scores.iter_mut().zip(&signal) {
            let after = changed(*score, value);
            self.contributions.push(after - *score);
            *score = after;
        }
        self.signals.extend(signal);
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::search::Labels;

    const NAN: f64 = f64::NAN;

    fn column(name: &str) -> Expression {
        Expression::Column(name.to_owned())
    }

    fn pool(columns: &[(&'static str, &[f64])]) -> Pool {
        let m = columns[0].1.len();
        let labels = || Labels::of_texts(&vec!["entry"; m]);
        let pool = Pool::new((0..m as i64).collect(), vec![0; m], labels(), labels(), labels()).unwrap();
        let fill = |pool: Pool, (name, values): &(&'static str, &[f64])| {
            pool.with_column(Cow::Borrowed(name), values.to_vec()).unwrap()
        };
        columns.iter().fold(pool, fill)
    }

    fn adjusted(how: &Adjustment, pool: &Pool, scores: &[f64], most: Option<f64>) -> Scored {
        let mut scored = Scored::of(scores.to_vec(), scores.len(), vec![1.0]).unwrap();
        how.apply(pool, &mut scored, most).unwrap();
        let m = scores.len();
        for i in 0..m {
            let sum: f64 = scored.contributions.iter().skip(i).step_by(m).sum();
            assert!((sum - scored.scores[i]).abs() < 1e-12);
        }
        assert_eq!(scored.signals.len(), m * (1 + how.rows()));
        scored
    }

    #[test]
    fn factors_multiply_and_an_unknown_one_changes_nothing() {
        let pool = pool(&[("half", &[0.5, NAN, 0.5]), ("double", &[NAN, 2.0, 2.0])]);
        let how = Adjustment { factors: vec![column("half"), column("double")], ..Adjustment::default() };
        let results = adjusted(&how, &pool, &[0.8, 0.3, 0.5], None);
        assert_eq!((results.scores, results.order), (vec![0.4, 0.6, 0.5], vec![1, 2, 0]));
    }

    #[test]
    fn what_words_found_is_raised_to_the_floor_and_keeps_its_order() {
        let pool = pool(&[("bm25", &[1.0, 3.0, NAN, 0.0, 9.0])]);
        let how = Adjustment { floor: Some((column("bm25"), 0.35)), ..Adjustment::default() };
        let results = adjusted(&how, &pool, &[0.1, 0.2, 0.3, 0.4, 0.5], None);
        assert_eq!((results.scores, results.order), (vec![0.35, 0.35, 0.3, 0.4, 0.5], vec![4, 3, 1, 0, 2]));
        let lower = adjusted(&how, &pool, &[0.1, 0.2, 0.3, 0.4, 0.5], Some(0.15));
        assert_eq!((lower.scores, lower.order), (vec![0.15, 0.2, 0.3, 0.4, 0.5], vec![4, 3, 2, 1, 0]));
    }

    #[test]
    fn the_pinned_come_first_the_highest_first() {
        let pool = pool(&[("path", &[NAN, 1.0, 3.0, 1.0, 0.0])]);
        let how = Adjustment { pinned: Some(column("path")), ..Adjustment::default() };
        let results = adjusted(&how, &pool, &[0.9, 0.1, 0.2, 0.5, 2.0], None);
        assert_eq!((results.scores, results.order), (vec![0.9, 1.0, 1.0, 1.0, 2.0], vec![2, 3, 1, 4, 0]));
    }
}
