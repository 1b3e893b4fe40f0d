//! Fusion and the facts about an entry.

use std::borrow::Cow;
use std::collections::HashMap;

use numpy::PyArray2;
use numpy::prelude::*;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyString, PyTuple};
use septet_core::Error;
use septet_core::facts::{self, Fading, Times};
use septet_core::formula::{self, Candidates, Estimator, Expression, Missing, Scored, Term};
use septet_core::fuse;
use septet_core::search::{self, Adjustment, Balance, Confidence, QueryFacts, Smoothing, Unless};

use super::errors::Result;
use super::pool::Pool;
use super::ranking::{FactRules, Ranking};
use super::{Doubles, Input, Integers, Vector, array, integers};

/// Fuse ranked id lists by reciprocal rank.
#[pyfunction]
#[pyo3(signature = (lists, weights, *, k=60.0, first_rank=1))]
pub(super) fn rrf<'py>(
    lists: Vec<Vector<'py, i64>>,
    weights: Vector<'py, f64>,
    k: f64,
    first_rank: i64,
) -> Result<(Integers<'py>, Doubles<'py>)> {
    let slices = lists.iter().map(Input::slice).collect::<Result<Vec<_>>>()?;
    let (ids, scores) = fuse::rrf(&slices, weights.slice()?, k, first_rank)?;
    Ok((array(weights.py(), ids), array(weights.py(), scores)))
}

/// Return the ids of one list, and after them those of another that the first does not hold.
#[pyfunction]
pub(super) fn unite<'py>(first: Vector<'py, i64>, second: Vector<'py, i64>) -> Result<Integers<'py>> {
    Ok(array(first.py(), fuse::unite(first.slice()?, second.slice()?)))
}

/// Return `|a & b| / |a | b|` of the query's tags with each candidate's.
#[pyfunction]
pub(super) fn jaccard(py: Python<'_>, query: Vec<PyBackedStr>, tags: Vec<Vec<PyBackedStr>>) -> Doubles<'_> {
    array(py, facts::jaccards(&query, &tags))
}

/// Return the temporal decay, 0..1, of candidates `(m,)`.
#[pyfunction]
#[pyo3(signature = (now, created, updated, valid_from, valid_until, *, half_life_s, ramp))]
pub(super) fn decay<'py>(
    now: f64,
    created: Vector<'py, f64>,
    updated: Vector<'py, f64>,
    valid_from: Vector<'py, f64>,
    valid_until: Vector<'py, f64>,
    half_life_s: f64,
    ramp: f64,
) -> Result<Doubles<'py>> {
    let times = Times {
        created: created.slice()?,
        updated: updated.slice()?,
        valid_from: valid_from.slice()?,
        valid_until: valid_until.slice()?,
    };
    Ok(array(created.py(), facts::decay(now, times, Fading { half_life_s, ramp })?))
}

/// Signals of a profile, ready to be evaluated.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Formula(search::Rules);

/// Words, nothing, information, both, alone and agreeing of [`Confidence`].
type ConfidenceNumbers = ([f64; 3], f64, f64, [f64; 3], [f64; 2], usize);
/// Signals, share, neighbours and most of [`Smoothing`], and its lead, covered and prominence.
type SmoothingNumbers = (Vec<usize>, f64, usize, usize, [f64; 3]);

/// Factors, the expression and the score of the floor, and what is pinned of [`Adjustment`].
type AdjustmentParts = (Vec<Node>, Option<(Node, f64)>, Option<Node>);

type Evaluated<'py> = Bound<'py, PyArray2<f64>>;

#[pymethods]
impl Formula {
    #[new]
    #[pyo3(signature = (signals, *, missing, confidence=None, balance=None, smoothing=None, adjustment=None))]
    fn new(
        signals: Vec<Node>,
        missing: &str,
        confidence: Option<ConfidenceNumbers>,
        balance: Option<(usize, usize, f64)>,
        smoothing: Option<SmoothingNumbers>,
        adjustment: Option<AdjustmentParts>,
    ) -> Result<Self> {
        let signals: Vec<Expression> = signals.into_iter().map(|node| node.0).collect();
        let places = balance.iter().flat_map(|&(words, vectors, _)| [words, vectors]);
        let mut places = places.chain(smoothing.iter().flat_map(|(signals, ..)| signals.iter().copied()));
        if let Some(at) = places.find(|&at| at >= signals.len()) {
            return Err(Error::OutOfRange { what: "signal", index: at as i64, len: signals.len() }.into());
        }
        let balance = balance.map(|(words, vectors, factor)| Balance { words, vectors, factor });
        let smoothing = smoothing.map(|(signals, share, neighbours, most, [lead, covered, prominence])| {
            let unless = Unless { lead, covered, prominence };
            Smoothing { signals, share, neighbours, most, unless }
        });
        let adjustment = adjustment.map_or_else(Adjustment::default, |(factors, floor, pinned)| Adjustment {
            factors: factors.into_iter().map(|node| node.0).collect(),
            floor: floor.map(|(by, least)| (by.0, least)),
            pinned: pinned.map(|node| node.0),
        });
        let confidence = confidence.map(|(words, nothing, information, both, alone, agreeing)| Confidence {
            words,
            nothing,
            information,
            both,
            alone,
            agreeing,
        });
        let missing = missing_named(missing)?;
        Ok(Self(search::Rules { signals, missing, balance, smoothing, adjustment, confidence }))
    }

    /// Return the signals `(c, m)` of candidates.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        columns: HashMap<String, Vector<'py, f64>>,
        kinds: Vec<PyBackedStr>,
    ) -> Result<Evaluated<'py>> {
        let candidates = Filled::new(&columns, kinds)?;
        let values = formula::matrix(&self.0.signals, &candidates)?;
        Ok(array(py, values).reshape([self.0.signals.len(), candidates.count()])?)
    }

    /// Return signals `(c, m)`, contributions `(c, m)`, scores `(m,)`, order `(m,)` and the weights that counted `(c,)`.
    fn score<'py>(
        &self,
        columns: HashMap<String, Vector<'py, f64>>,
        kinds: Vec<PyBackedStr>,
        weights: Vector<'py, f64>,
    ) -> Result<(Evaluated<'py>, Evaluated<'py>, Doubles<'py>, Integers<'py>, Doubles<'py>)> {
        let candidates = Filled::new(&columns, kinds)?;
        let (py, shape) = (weights.py(), [self.0.signals.len(), candidates.count()]);
        let Scored { signals, contributions, scores, order, weights } =
            formula::score(&self.0.signals, self.0.missing, &candidates, weights.slice()?)?;
        Ok((
            array(py, signals).reshape(shape)?,
            array(py, contributions).reshape(shape)?,
            array(py, scores),
            integers(py, &order),
            array(py, weights),
        ))
    }

    /// Score a pool, its facts made signals by rules, and order it.
    #[pyo3(signature = (pool, names, weights, *, rules=None, now=0.0, domain=None, least=None, taken=None))]
    #[expect(clippy::too_many_arguments, reason = "the signature that Python sees")]
    fn rank(
        &self,
        pool: &Bound<'_, Pool>,
        names: Vec<Py<PyString>>,
        weights: Vec<f64>,
        rules: Option<&Bound<'_, FactRules>>,
        now: f64,
        domain: Option<&str>,
        least: Option<f64>,
        taken: Option<usize>,
    ) -> Result<Ranking> {
        let pool = taken
            .map_or_else(|| Cow::Borrowed(&pool.get().0), |taken| Cow::Owned(pool.get().0.clone().with_taken(taken)));
        let facts = rules.map(|rules| (&rules.get().0, QueryFacts { now, domain }));
        // Candidates are few: giving the interpreter's lock away would cost more than the work.
        let results = search::rank(&pool, &self.0, &weights, facts, least)?;
        Ok(Ranking::new(names, results))
    }
}

/// Columns as Python filled them.
struct Filled<'a> {
    columns: HashMap<&'a str, &'a [f64]>,
    kinds: Vec<PyBackedStr>,
}

impl<'a> Filled<'a> {
    fn new(columns: &'a HashMap<String, Vector<'_, f64>>, kinds: Vec<PyBackedStr>) -> Result<Self> {
        let columns = columns.iter().map(|(name, column)| Ok((name.as_str(), column.slice()?)));
        Ok(Self { columns: columns.collect::<Result<_>>()?, kinds })
    }
}

impl Candidates for Filled<'_> {
    fn count(&self) -> usize {
        self.kinds.len()
    }

    fn column(&self, name: &str) -> Option<&[f64]> {
        self.columns.get(name).copied()
    }

    fn is_kind(&self, candidate: usize, kind: &str) -> bool {
        &*self.kinds[candidate] == kind
    }
}

/// An expression as nested tuples: what it is, and its parts.
struct Node(Expression);

impl<'py> FromPyObject<'_, 'py> for Node {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let object = object.cast::<PyTuple>()?;
        let what: String = object.get_item(0)?.extract()?;
        let inner = |at: usize| -> PyResult<Box<Expression>> {
            let Self(expression) = object.get_item(at)?.extract()?;
            Ok(Box::new(expression))
        };
        let terms = || -> PyResult<Vec<Term>> {
            let terms: Vec<(f64, Self)> = object.get_item(1)?.extract()?;
            Ok(terms.into_iter().map(|(weight, Self(of))| Term { weight, of }).collect())
        };
        Ok(Self(match what.as_str() {
            "col" => Expression::Column(object.get_item(1)?.extract()?),
            "const" => Expression::Constant(object.get_item(1)?.extract()?),
            "only" => Expression::Only(object.get_item(1)?.extract()?, inner(2)?),
            "scale" => Expression::Scale(inner(1)?, object.get_item(2)?.extract()?),
            "above" => Expression::Above(inner(1)?),
            "clamp" => Expression::Clamp(inner(1)?, object.get_item(2)?.extract()?, object.get_item(3)?.extract()?),
            "log1p" => Expression::Log(inner(1)?),
            "halve" => Expression::Decay(inner(1)?, object.get_item(2)?.extract()?),
            "saturate" => Expression::Saturate(inner(1)?),
            "found" => Expression::Found(inner(1)?),
            "linear" => Expression::Linear(inner(1)?, object.get_item(2)?.extract()?, object.get_item(3)?.extract()?),
            "top" => Expression::Top(inner(1)?),
            "unless" => Expression::Unless(inner(1)?, inner(2)?),
            "estimate" => {
                let [intercept, slope, doubt]: [f64; 3] = object.get_item(3)?.extract()?;
                Expression::Estimate(inner(1)?, inner(2)?, Estimator { intercept, slope, doubt })
            }
            "standing" => Expression::Standing(inner(1)?),
            "sum" => Expression::Sum(terms()?, missing_named(&object.get_item(2)?.extract::<String>()?)?),
            "rrf" => Expression::Ranks(terms()?, object.get_item(2)?.extract()?, object.get_item(3)?.extract()?),
            _ => return Err(PyValueError::new_err(format!("there is no expression {what:?}"))),
        }))
    }
}

fn missing_named(name: &str) -> PyResult<Missing> {
    match name {
        "zero" => Ok(Missing::Zero),
        "share" => Ok(Missing::Share),
        _ => Err(PyValueError::new_err(format!("missing is {name:?}: wanted 'zero' or 'share'"))),
    }
}
