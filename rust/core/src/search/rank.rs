//! From a pool to ranked candidates: signals from facts, a profile's formula, the order.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::adjustment::Adjustment;
use super::balance::Balance;
use super::confidence::Confidence;
use super::pool::Pool;
use super::smoothing::{Smoothing, smooth};
use crate::error::{Error, Result};
use crate::facts::{Fading, Times, decay};
use crate::formula::{self, Candidates, Expression, Missing, Scored};

/// The signals of 0 to 1 computed from facts of an entry.
#[derive(Clone, Debug)]
pub struct FactRules {
    severity: FxHashMap<String, f64>,
    least: f64,
    fading: Fading,
}

impl FactRules {
    /// Rules that give each severity its value, and the least of them to severities that have none.
    pub fn new(severity: impl IntoIterator<Item = (String, f64)>, half_life_s: f64, ramp: f64) -> Self {
        let severity: FxHashMap<String, f64> = severity.into_iter().collect();
        let least = severity.values().copied().reduce(f64::min).unwrap_or(0.0);
        Self { severity, least, fading: Fading { half_life_s, ramp } }
    }
}

/// When, and for whom, facts are judged.
#[derive(Clone, Copy, Debug)]
pub struct QueryFacts<'a> {
    /// Epoch seconds.
    pub now: f64,
    /// The domain that was asked for; None leaves the signal unknown.
    pub domain: Option<&'a str>,
}

/// A pool with its scores.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The candidates, with the columns that were added.
    pub pool: Pool,
    /// Signals, contributions, scores and order.
    pub scored: Scored,
    /// The probability that each candidate answers the query, 0 to 1 `(m,)`.
    pub confidences: Vec<f64>,
    /// The probability that there is an answer at all.
    pub confidence: f64,
}

/// The cut of the candidates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Least {
    /// Those of at least this score.
    pub score: Option<f64>,
    /// Those of at least this confidence; candidates of a fixed score have none.
    pub confidence: Option<f64>,
}

/// Candidates of a fixed score beside those of the pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed {
    /// The number of results.
    pub count: usize,
    /// The score of each.
    pub score: f64,
}

/// The candidate at a place of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// A candidate, by its position in the pool.
    Candidate(usize),
    /// One of those with a fixed score, by number.
    Fixed(usize),
}

impl Ranking {
    /// The best candidates and their scores, those of a fixed score among them, behind equal ones.
    ///
    /// At most `limit`, and none under `least`.
    pub fn best(&self, limit: Option<usize>, least: Least, fixed: Fixed) -> Vec<(Placed, f64)> {
        let sure = |&&at: &&usize| least.confidence.is_none_or(|least| self.confidences[at] >= least);
        let own = self.scored.order.iter().filter(sure);
        let mut own = own.map(|&at| (Placed::Candidate(at), self.scored.scores[at])).peekable();
        let fixed = if least.confidence.is_some_and(|least| least > 0.0) { Fixed::default() } else { fixed };
        let mut others = (0..fixed.count).map(|number| (Placed::Fixed(number), fixed.score));
        let mut left = fixed.count;
        let merged = std::iter::from_fn(|| {
            let first = left > 0 && own.peek().is_none_or(|&(_, score)| fixed.score > score);
            left -= usize::from(first);
            if first { others.next() } else { own.next() }
        });
        let merged = merged.take_while(|&(_, score)| least.score.is_none_or(|least| score >= least));
        merged.take(limit.unwrap_or(usize::MAX)).collect()
    }
}

/// The formula that turns signals into scores.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The signals.
    pub signals: Vec<Expression>,
    /// The value that stands in for unknown ones.
    pub missing: Missing,
    /// Two weights that depend on how far the best cosine stands out.
    pub balance: Option<Balance>,
    /// Signals that near candidates share.
    pub smoothing: Option<Smoothing>,
    /// The adjustments of scores after the formula.
    pub adjustment: Adjustment,
    /// The model that turns evidence into confidence; None leaves it 0.
    pub confidence: Option<Confidence>,
}

/// Fill the columns `severity`, `decay` and `domain` and score the pool; without rules, score it as it is.
///
/// `least` is the score that callers want at least: the floor raises to no more.
///
/// # Errors
/// [`Error::Missing`] for a pool without times; as [`decay`] and [`formula::score`].
pub fn rank(
    pool: &Pool,
    rules: &Rules,
    weights: &[f64],
    facts: Option<(&FactRules, QueryFacts<'_>)>,
    least: Option<f64>,
) -> Result<Ranking> {
    let pool = match facts {
        Some((rules, at)) if !pool.is_empty() => with_facts(pool, rules, at)?,
        _ => pool.clone(),
    };
    if weights.len() != rules.signals.len() {
        return Err(Error::Length { what: "weights", got: weights.len(), wanted: rules.signals.len() });
    }
    let weights = rules.balance.map_or_else(|| weights.to_vec(), |balance| balance.of(&pool, weights));
    let mut scored = formula::score(&rules.signals, rules.missing, &pool, &weights)?;
    if let Some(smoothing) = &rules.smoothing
        && smooth(&pool, &mut scored, smoothing)
    {
        scored = Scored::of(scored.signals, pool.len(), scored.weights)?;
    }
    if !rules.adjustment.is_empty() {
        rules.adjustment.apply(&pool, &mut scored, least)?;
    }
    let nothing = || (vec![0.0; pool.len()], 0.0);
    let (confidences, confidence) = rules.confidence.map_or_else(nothing, |how| how.of(&pool, &scored.order));
    Ok(Ranking { pool, scored, confidences, confidence })
}

fn with_facts(pool: &Pool, rules: &FactRules, at: QueryFacts<'_>) -> Result<Pool> {
    let time = |name| pool.column(name).ok_or(Error::Missing { what: "the times of candidates" });
    let times = Times {
        created: time("created_at")?,
        updated: time("updated_at")?,
        valid_from: time("valid_from")?,
        valid_until: time("valid_until")?,
    };
    let decay = decay(at.now, times, rules.fading)?;
    let severity = pool.severity().map(|name| rules.severity.get(name).copied().unwrap_or(rules.least));
    let domain = match at.domain {
        Some(wanted) => pool.domain().map(|name| f64::from(u8::from(name == wanted))),
        None => vec![f64::NAN; pool.len()],
    };
    pool.clone()
        .with_column(Cow::Borrowed("decay"), decay)?
        .with_column(Cow::Borrowed("severity"), severity)?
        .with_column(Cow::Borrowed("domain"), domain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Labels;

    fn pool(severity: &[&str], domain: &[&str]) -> Pool {
        let m = severity.len();
        let labels = |texts: &[&str]| Labels::of_texts(texts);
        let kinds = labels(&vec!["entry"; m]);
        let mut pool = Pool::new((0..m as i64).collect(), vec![0; m], kinds, labels(severity), labels(domain)).unwrap();
        for name in ["created_at", "updated_at"] {
            pool = pool.with_column(Cow::Borrowed(name), vec![0.0; m]).unwrap();
        }
        for name in ["valid_from", "valid_until"] {
            pool = pool.with_column(Cow::Borrowed(name), vec![f64::NAN; m]).unwrap();
        }
        pool
    }

    fn column(name: &str) -> Expression {
        Expression::Column(name.to_owned())
    }

    fn plain(signals: &[Expression], missing: Missing) -> Rules {
        Rules {
            signals: signals.to_vec(),
            missing,
            balance: None,
            smoothing: None,
            adjustment: Adjustment::default(),
            confidence: None,
        }
    }

    #[test]
    fn facts_become_signals_and_an_unnamed_severity_counts_as_the_least() {
        let rules = FactRules::new([("critical".to_owned(), 1.0), ("warning".to_owned(), 0.7)], 10.0, 0.25);
        let pool = pool(&["warning", "critical", "odd"], &["a", "b", "a"]);
        let signals = [column("severity"), column("domain"), column("decay")];
        let at = QueryFacts { now: 10.0, domain: Some("a") };
        let results = rank(&pool, &plain(&signals, Missing::Zero), &[1.0, 1.0, 1.0], Some((&rules, at)), None).unwrap();
        assert_eq!(results.scored.signals[..3], [0.7, 1.0, 0.7]);
        assert_eq!(results.scored.signals[3..6], [1.0, 0.0, 1.0]);
        assert!(results.scored.signals[6..].iter().all(|x| (x - 0.5).abs() < 1e-12));
        assert_eq!(results.scored.order, [0, 2, 1]);
    }

    #[test]
    fn candidates_of_a_fixed_score_stand_behind_equal_ones_and_the_cuts_count_both() {
        let pool = pool(&["x"; 3], &["a"; 3]).with_column(Cow::Borrowed("bm25"), vec![0.2, 0.9, 0.5]).unwrap();
        let results = rank(&pool, &plain(&[column("bm25")], Missing::Zero), &[1.0], None, None).unwrap();
        let best = |limit, score, count| -> Vec<Placed> {
            let least = Least { score, confidence: None };
            results.best(limit, least, Fixed { count, score: 0.5 }).into_iter().map(|(placed, _)| placed).collect()
        };
        use Placed::{Candidate, Fixed as Memory};
        assert_eq!(best(None, None, 2), [Candidate(1), Candidate(2), Memory(0), Memory(1), Candidate(0)]);
        assert_eq!(best(Some(3), None, 2), [Candidate(1), Candidate(2), Memory(0)]);
        assert_eq!(best(None, Some(0.5), 1), [Candidate(1), Candidate(2), Memory(0)]);
        assert_eq!(best(Some(0), None, 2), []);
        assert_eq!(best(None, None, 0), [Candidate(1), Candidate(2), Candidate(0)]);
        let sure = Least { score: None, confidence: Some(0.1) };
        assert_eq!(results.best(None, sure, Fixed { count: 1, score: 0.5 }), []);
    }

    #[test]
    fn a_query_without_a_domain_leaves_the_signal_unknown() {
        let rules = FactRules::new([], 10.0, 0.25);
        let at = QueryFacts { now: 1.0, domain: None };
        let results =
            rank(&pool(&["x"], &["a"]), &plain(&[column("domain")], Missing::Share), &[1.0], Some((&rules, at)), None);
        assert!(results.unwrap().scored.signals[0].is_nan());
    }
}
