//! A profile's signals: expressions over columns, evaluated for all candidates and fused into scores.

use crate::error::{Error, Result};
use crate::fuse;

mod candidates;
mod estimate;

use estimate::{estimated, standing};

pub use candidates::Candidates;
pub use estimate::Estimator;

/// One column made of others. A value is a float64 for each candidate; NaN is unknown.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A column by name; unknown for everyone if nothing filled it.
    Column(String),
    /// The same value for every candidate.
    Constant(f64),
    /// An expression for candidates of one kind, unknown for all others.
    Only(String, Box<Self>),
    /// `(x + shift) / max(x + shift)`, at least 0; 0 where nothing is positive; unknown stays unknown.
    Scale(Box<Self>, f64),
    /// The distance of a value from the least of the candidates.
    Above(Box<Self>),
    /// A value cut to a range.
    Clamp(Box<Self>, f64, f64),
    /// `ln(1 + x)`, of less than 0 that of 0.
    Log(Box<Self>),
    /// `2^(-x / half)`, of less than 0 that of 0: 1 for what is new, one half after each half-life.
    Decay(Box<Self>, f64),
    /// `x / (1 + x)`, of less than 0 that of 0: towards 1 for what has no upper bound.
    Saturate(Box<Self>),
    /// 1 where an expression is above 0, else 0.
    Found(Box<Self>),
    /// `factor * x + shift`.
    Linear(Box<Self>, f64, f64),
    /// An expression where another is unknown or 0, elsewhere unknown.
    Unless(Box<Self>, Box<Self>),
    /// The highest values, as many as a leg takes; elsewhere unknown.
    Top(Box<Self>),
    /// An expression, a cosine, where it is known, and elsewhere an estimate from another of 0 to 1.
    Estimate(Box<Self>, Box<Self>, Estimator),
    /// The deviations of a cosine from the mean of the query's cosines over its space.
    Standing(Box<Self>),
    /// The weighted mean of terms.
    Sum(Vec<Term>, Missing),
    /// Reciprocal ranks, `sum(weight / (k + rank))`; what is unknown or 0 has no rank.
    Ranks(Vec<Term>, f64, i64),
}

/// A weighted part of a sum or of ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// At least 0.
    pub weight: f64,
    /// The weighted expression.
    pub of: Expression,
}

/// The value that stands in for unknown ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// 0.
    Zero,
    /// Nothing: where a part is unknown for every candidate, the others share its weight.
    Share,
}

/// The values of the candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// Signals, row-major `(c, m)`.
    pub signals: Vec<f64>,
    /// Weight times signal, row-major `(c, m)`.
    pub contributions: Vec<f64>,
    /// The sums of the contributions `(m,)`.
    pub scores: Vec<f64>,
    /// Candidates from the highest score to the lowest, stable `(m,)`.
    pub order: Vec<usize>,
    /// The weights as they counted `(c,)`.
    pub weights: Vec<f64>,
}

impl Expression {
    /// The value of the expression for every candidate, `(m,)`.
    ///
    /// # Errors
    /// [`Error::Length`] for a column of another length; [`Error::NotFinite`], [`Error::Parameter`] for weights and `k`
    /// that are no numbers.
    pub fn values(&self, of: &impl Candidates) -> Result<Vec<f64>> {
        let m = of.count();
        match self {
            Self::Column(name) => match of.column(name) {
                None => Ok(vec![f64::NAN; m]),
                Some(column) if column.len() == m => Ok(column.to_vec()),
                Some(column) => Err(Error::Length { what: "a column", got: column.len(), wanted: m }),
            },
            Self::Constant(value) => Ok(vec![*value; m]),
            Self::Only(kind, inner) => {
                let values = inner.values(of)?.into_iter().enumerate();
                Ok(values.map(|(i, x)| if of.is_kind(i, kind) { x } else { f64::NAN }).collect())
            }
            Self::Scale(inner, shift) => Ok(scaled(inner.values(of)?, *shift)),
            Self::Above(inner) => Ok(above_least(inner.values(of)?)),
            Self::Clamp(inner, least, most) => Ok(each(inner.values(of)?, |x| x.max(*least).min(*most))),
            Self::Log(inner) => Ok(each(inner.values(of)?, |x| x.max(0.0).ln_1p())),
            Self::Decay(inner, half) => Ok(each(inner.values(of)?, |x| (-x.max(0.0) / half).exp2())),
            Self::Saturate(inner) => Ok(each(inner.values(of)?, saturated)),
            Self::Found(inner) => Ok(each(inner.values(of)?, |x| f64::from(u8::from(x > 0.0)))),
            Self::Linear(inner, factor, shift) => Ok(each(inner.values(of)?, |x| factor * x + shift)),
            Self::Unless(inner, other) => {
                let free = other.values(of)?.into_iter().map(|x| x.is_nan() || x == 0.0);
                Ok(inner.values(of)?.into_iter().zip(free).map(|(x, free)| if free { x } else { f64::NAN }).collect())
            }
            Self::Top(inner) => Ok(highest(inner.values(of)?, of.taken())),
            Self::Estimate(inner, by, how) => Ok(estimated(inner.values(of)?, &by.values(of)?, *how, of)),
            Self::Standing(inner) => Ok(standing(inner.values(of)?, of)),
            Self::Sum(terms, missing) => mean(terms, *missing, of),
            Self::Ranks(terms, k, first_rank) => ranks(terms, *k, *first_rank, of),
        }
    }
}

/// Evaluate signals `(c, m)`, weigh them, and order the candidates by the sums.
///
/// # Errors
/// [`Error::Length`] unless there is one weight a signal; as [`Expression::values`].
pub fn score(signals: &[Expression], missing: Missing, of: &impl Candidates, weights: &[f64]) -> Result<Scored> {
    if weights.len() != signals.len() {
        return Err(Error::Length { what: "weights", got: weights.len(), wanted: signals.len() });
    }
    let m = of.count();
    let mut values = matrix(signals, of)?;
    if missing == Missing::Zero {
        values.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
    }
    let weights = shared(weights, &known(&values, m, signals.len()), missing);
    Scored::of(values, m, weights)
}

impl Scored {
    /// Weigh signals `(c, m)` and order the candidates by the sums.
    ///
    /// # Errors
    /// As [`fuse::weighted_sum`].
    pub fn of(signals: Vec<f64>, m: usize, weights: Vec<f64>) -> Result<Self> {
        let contributions = fuse::weighted_sum(&signals, m, &weights)?;
        let scores = sums(&contributions, m);
        Ok(Self { order: fuse::order(&scores), signals, contributions, scores, weights })
    }
}

/// Evaluate expressions, row-major `(c, m)`.
///
/// # Errors
/// As [`Expression::values`].
pub fn matrix<'a>(expressions: impl IntoIterator<Item = &'a Expression>, of: &impl Candidates) -> Result<Vec<f64>> {
    let mut values = Vec::new();
    for expression in expressions {
        values.extend(expression.values(of)?);
    }
    Ok(values)
}

/// For each of `c` columns, whether any candidate has a value in it.
fn known(values: &[f64], m: usize, c: usize) -> Vec<bool> {
    (0..c).map(|i| values[i * m..(i + 1) * m].iter().any(|x| !x.is_nan())).collect()
}

/// The weights as they count: shared, the known columns take all, up to sum 1.
fn shared(weights: &[f64], known: &[bool], missing: Missing) -> Vec<f64> {
    if missing == Missing::Zero {
        return weights.to_vec();
    }
    let kept: Vec<f64> = weights.iter().zip(known).map(|(&weight, &known)| if known { weight } else { 0.0 }).collect();
    let total: f64 = kept.iter().sum();
    if total > 0.0 { kept.iter().map(|weight| weight / total).collect() } else { kept }
}

/// The sum of each candidate's column, in the order of the rows.
fn sums(matrix: &[f64], m: usize) -> Vec<f64> {
    let mut sums = vec![0.0; m];
    if m > 0 {
        for row in matrix.chunks_exact(m) {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
    }
    sums
}

/// Known values changed one by one; what is unknown stays so.
fn each(mut values: Vec<f64>, change: impl Fn(f64) -> f64) -> Vec<f64> {
    values.iter_mut().filter(|x| !x.is_nan()).for_each(|x| *x = change(*x));
    values
}

/// The `most` highest values; the others become unknown.
fn highest(mut values: Vec<f64>, most: Option<usize>) -> Vec<f64> {
    let order = fuse::order(&values);
    order.into_iter().skip(most.unwrap_or(usize::MAX)).for_each(|at| values[at] = f64::NAN);
    values
}

fn saturated(x: f64) -> f64 {
    let x = x.max(0.0);
    if x.is_infinite() { 1.0 } else { x / (1.0 + x) }
}

fn scaled(mut values: Vec<f64>, shift: f64) -> Vec<f64> {
    values.iter_mut().for_each(|x| *x += shift);
    let top = values.iter().copied().filter(|x| !x.is_nan()).fold(f64::NAN, f64::max);
    for x in values.iter_mut().filter(|x| !x.is_nan()) {
        // A best of 0 or less says that nothing matched; dividing by it would turn the order round.
        *x = if top > 0.0 { x.max(0.0) / top } else { 0.0 };
    }
    values
}

fn above_least(values: Vec<f64>) -> Vec<f64> {
    let least = values.iter().copied().filter(|x| !x.is_nan()).fold(f64::NAN, f64::min);
    each(values, |x| x - least)
}

fn mean(terms: &[Term], missing: Missing, of: &impl Candidates) -> Result<Vec<f64>> {
    let m = of.count();
    let values = matrix(terms.iter().map(|term| &term.of), of)?;
    let known = known(&values, m, terms.len());
    if !known.contains(&true) {
        return Ok(vec![f64::NAN; m]);
    }
    let total: f64 = terms.iter().map(|term| term.weight).sum();
    let weights: Vec<f64> = terms.iter().map(|term| term.weight / total).collect();
    Ok(sums(&fuse::weighted_sum(&values, m, &shared(&weights, &known, missing))?, m))
}

fn ranks(terms: &[Term], k: f64, first_rank: i64, of: &impl Candidates) -> Result<Vec<f64>> {
    let mut lists = Vec::with_capacity(terms.len());
    for term in terms {
        let values = term.of.values(of)?;
        let ranked = fuse::order(&values).into_iter().filter(|&i| values[i] != 0.0 && !values[i].is_nan());
        lists.push(ranked.map(|i| i as i64).collect::<Vec<_>>());
    }
    let lists: Vec<&[i64]> = lists.iter().map(Vec::as_slice).collect();
    let weights: Vec<f64> = terms.iter().map(|term| term.weight).collect();
    let (ids, scores) = fuse::rrf(&lists, &weights, k, first_rank)?;
    let mut values = vec![f64::NAN; of.count()];
    ids.iter().zip(scores).for_each(|(&id, score)| values[id as usize] = score);
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;

    struct Two;

    impl Candidates for Two {
        fn count(&self) -> usize {
            2
        }

        fn column(&self, name: &str) -> Option<&[f64]> {
            match name {
                "a" => Some(&[4.0, 1.0]),
                "cosine_mean" => Some(&[0.8, NAN]),
                "cosine_deviation" => Some(&[0.05, NAN]),
                "partly" => Some(&[NAN, -2.0]),
                "mixed" => Some(&[4.0, -2.0]),
                "short" => Some(&[1.0]),
                _ => None,
            }
        }

        fn is_kind(&self, candidate: usize, kind: &str) -> bool {
            (candidate == 0) == (kind == "web")
        }
    }

    fn column(name: &str) -> Expression {
        Expression::Column(name.to_owned())
    }

    fn term(weight: f64, name: &str) -> Term {
        Term { weight, of: column(name) }
    }

    #[track_caller]
    fn gives(expression: &Expression, wanted: [f64; 2]) {
        let results = expression.values(&Two).unwrap();
        let same = results.iter().zip(wanted).all(|(&x, w)| x == w || (x.is_nan() && w.is_nan()));
        assert!(results.len() == wanted.len() && same, "{expression:?}: {results:?}");
    }

    #[test]
    fn each_expression_is_what_its_definition_says() {
        gives(&column("nobody's"), [NAN, NAN]);
        gives(&Expression::Constant(0.5), [0.5, 0.5]);
        gives(&Expression::Only("web".to_owned(), Box::new(column("a"))), [4.0, NAN]);
        gives(&Expression::Scale(Box::new(column("a")), 1.0), [1.0, 0.4]);
        gives(&Expression::Scale(Box::new(column("partly")), 0.0), [NAN, 0.0]);
        gives(&Expression::Sum(vec![term(3.0, "a"), term(1.0, "nobody's")], Missing::Share), [4.0, 1.0]);
        gives(&Expression::Sum(vec![term(3.0, "a"), term(1.0, "nobody's")], Missing::Zero), [3.0, 0.75]);
        gives(&Expression::Sum(vec![term(3.0, "nobody's")], Missing::Zero), [NAN, NAN]);
        gives(&Expression::Ranks(vec![term(1.0, "a"), term(2.0, "partly")], 1.0, 1), [0.5, 1.0 / 3.0 + 1.0]);
        assert!(matches!(column("short").values(&Two), Err(Error::Length { got: 1, wanted: 2, .. })));
    }

    #[test]
    fn cosines_stand_out_by_deviations() {
        gives(&Expression::Standing(Box::new(column("mixed"))), [64.0, -55.99999999999999]);
        gives(&Expression::Standing(Box::new(column("nobody's"))), [NAN, NAN]);
    }

    #[test]
    fn values_are_cut_logarithms_are_taken_and_ages_fade() {
        gives(&Expression::Clamp(Box::new(column("a")), 2.0, 3.0), [3.0, 2.0]);
        gives(&Expression::Clamp(Box::new(column("partly")), 0.0, 1.0), [NAN, 0.0]);
        gives(&Expression::Log(Box::new(column("mixed"))), [5.0_f64.ln(), 0.0]);
        gives(&Expression::Decay(Box::new(column("a")), 2.0), [0.25, 0.5_f64.sqrt()]);
        gives(&Expression::Decay(Box::new(column("partly")), 2.0), [NAN, 1.0]);
    }

    #[test]
    fn what_has_no_bound_saturates_and_what_is_known_elsewhere_is_left_out() {
        gives(&Expression::Saturate(Box::new(column("mixed"))), [0.8, 0.0]);
        gives(&Expression::Saturate(Box::new(column("partly"))), [NAN, 0.0]);
        gives(&Expression::Saturate(Box::new(Expression::Constant(f64::INFINITY))), [1.0, 1.0]);
        gives(&Expression::Found(Box::new(column("mixed"))), [1.0, 0.0]);
        gives(&Expression::Found(Box::new(column("partly"))), [NAN, 0.0]);
        gives(&Expression::Linear(Box::new(column("partly")), 0.5, 3.0), [NAN, 2.0]);
        gives(&Expression::Unless(Box::new(column("a")), Box::new(column("partly"))), [4.0, NAN]);
        gives(&Expression::Unless(Box::new(column("a")), Box::new(Expression::Constant(0.0))), [4.0, 1.0]);
    }

    #[test]
    fn the_highest_are_as_many_as_a_leg_takes() {
        let values = vec![0.5, NAN, 0.9, 0.9, -1.0];
        for (most, kept) in [(None, 4), (Some(9), 4), (Some(3), 3), (Some(1), 1), (Some(0), 0)] {
            let results = highest(values.clone(), most);
            assert_eq!(results.iter().filter(|x| !x.is_nan()).count(), kept, "{most:?}");
            assert!(kept == 0 || results[2] == 0.9);
            assert!(results.iter().zip(&values).all(|(x, value)| x.is_nan() || x == value));
        }
        gives(&Expression::Top(Box::new(column("mixed"))), [4.0, -2.0]);
    }

    #[test]
    fn scaling_and_the_least_never_give_less_than_0() {
        gives(&Expression::Above(Box::new(column("mixed"))), [6.0, 0.0]);
        gives(&Expression::Above(Box::new(column("partly"))), [NAN, 0.0]);
        gives(&Expression::Scale(Box::new(column("mixed")), 0.0), [1.0, 0.0]);
        // The best is 0 exactly, and divides nothing.
        gives(&Expression::Scale(Box::new(column("a")), -4.0), [0.0, 0.0]);
    }

    #[test]
    fn no_candidates_get_no_scores() {
        struct NoCandidates;

        impl Candidates for NoCandidates {
            fn count(&self) -> usize {
                0
            }

            fn column(&self, _: &str) -> Option<&[f64]> {
                Some(&[])
            }

            fn is_kind(&self, _: usize, _: &str) -> bool {
                unreachable!("there is nobody to ask about")
            }
        }

        let signals = [column("a"), Expression::Sum(vec![term(1.0, "a")], Missing::Share)];
        let results = score(&signals, Missing::Share, &NoCandidates, &[0.5, 0.5]).unwrap();
        assert_eq!((results.scores, results.order, results.signals), (vec![], vec![], vec![]));
    }

    #[test]
    fn unknown_signals_count_nothing_or_leave_their_weight_to_the_others() {
        let signals = [column("a"), column("nobody's")];
        let results = score(&signals, Missing::Share, &Two, &[0.25, 0.75]).unwrap();
        assert_eq!((results.scores, results.order, results.weights), (vec![4.0, 1.0], vec![0, 1], vec![1.0, 0.0]));
        let results = score(&signals, Missing::Zero, &Two, &[0.25, 0.75]).unwrap();
        assert_eq!((results.scores, results.signals), (vec![1.0, 0.25], vec![4.0, 1.0, 0.0, 0.0]));
        assert!(score(&signals, Missing::Zero, &Two, &[1.0]).is_err());
    }
}
