//! Ranked candidates: rules for facts, scores, the best.

use std::collections::{HashMap, HashSet};

use numpy::prelude::*;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use septet_core::formula::Candidates;
use septet_core::search;

use super::errors::Result;
use super::integers;
use super::pool::Pool;

/// The signals computed from facts of an entry.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct FactRules(pub(super) search::FactRules);

#[pymethods]
impl FactRules {
    #[new]
    #[pyo3(signature = (severity, *, half_life_s, ramp))]
    fn new(severity: HashMap<String, f64>, half_life_s: f64, ramp: f64) -> Self {
        Self(search::FactRules::new(severity, half_life_s, ramp))
    }
}

/// A pool with its scores.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Ranking {
    names: Vec<Py<PyString>>,
    found: search::Ranking,
}

/// Position, tier, row, score, breakdown, signals, confidence and raw values; of a memory (position -1, -2, …) the first and
/// the score.
type Placed<'py> =
    (i64, i64, i64, f64, Option<Bound<'py, PyDict>>, Option<Bound<'py, PyDict>>, f64, Option<Bound<'py, PyDict>>);

/// The number of candidates and memories, the place of one and itself, and the last place of others.
type Place<'py> = (usize, Option<usize>, Option<Placed<'py>>, Option<usize>);

/// Values as they were before signals were made of them, and the columns that hold them.
const RAW: [(&str, &str); 3] = [("cosine", "cosine"), ("bm25", "bm25_given"), ("tfidf", "tfidf")];

#[pymethods]
impl Ranking {
    /// The pool, with the columns that were added.
    #[getter]
    fn pool(&self) -> Pool {
        Pool(self.found.pool.clone())
    }

    /// The names of the signals.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.names)
    }

    /// The scores `(m,)`.
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.found.scored.scores)
    }

    /// Candidates, best first `(m,)`.
    #[getter]
    fn order<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        integers(py, &self.found.scored.order)
    }

    /// Raw signals `(c, m)`.
    #[getter]
    fn signals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.matrix(py, &self.found.scored.signals)
    }

    /// Weight times signal `(c, m)`.
    #[getter]
    fn contributions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.matrix(py, &self.found.scored.contributions)
    }

    /// The weights as they counted `(c,)`.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.found.scored.weights)
    }

    /// The probability that there is an answer at all.
    #[getter]
    fn confidence(&self) -> f64 {
        self.found.confidence
    }

    /// The weights by signal.
    fn named_weights<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        self.named(py, self.found.scored.weights.iter().map(|&weight| Some(weight)))
    }

    /// The signals of candidates; None where unknown.
    fn raw<'py>(&self, py: Python<'py>, positions: Vec<usize>) -> Result<Vec<Bound<'py, PyDict>>> {
        positions.into_iter().map(|at| self.known(py, self.checked(at)?)).collect()
    }

    /// Return the best candidates, and memories of a fixed score among them.
    #[pyo3(signature = (limit=None, *, least=None, least_confidence=None, memories=0, memory_score=0.0))]
    fn best<'py>(
        &self,
        py: Python<'py>,
        limit: Option<usize>,
        least: Option<f64>,
        least_confidence: Option<f64>,
        memories: usize,
        memory_score: f64,
    ) -> Result<Vec<Placed<'py>>> {
        let fixed = search::Fixed { count: memories, score: memory_score };
        let least = search::Least { score: least, confidence: least_confidence };
        let best = self.found.best(limit, least, fixed);
        best.into_iter().map(|(placed, score)| self.placed(py, placed, score)).collect()
    }

    /// Return how many candidates and memories there are, the place of the first that is one of some rows, that candidate,
    /// and the last place of some positions.
    fn place<'py>(
        &self,
        py: Python<'py>,
        copies: HashSet<(i64, i64)>,
        memories: Vec<(i64, i64)>,
        memory_score: f64,
        returned: HashSet<i64>,
    ) -> Result<Place<'py>> {
        let fixed = search::Fixed { count: memories.len(), score: memory_score };
        let all = self.found.best(None, search::Least::default(), fixed);
        let pool = &self.found.pool;
        let is_copy = |(placed, _): &(search::Placed, f64)| match *placed {
            search::Placed::Fixed(number) => copies.contains(&memories[number]),
            search::Placed::Candidate(at) => copies.contains(&(i64::from(pool.tiers()[at]), pool.rows()[at])),
        };
        let is_returned = |(placed, _): &(search::Placed, f64)| returned.contains(&position(*placed));
        let (rank, last) = (all.iter().position(is_copy), all.iter().rposition(is_returned));
        let candidate = rank.map(|rank| self.placed(py, all[rank].0, all[rank].1)).transpose()?;
        Ok((all.len(), rank, candidate, last))
    }
}

/// The position of a candidate, or of a memory: -1, -2, ….
fn position(placed: search::Placed) -> i64 {
    match placed {
        search::Placed::Fixed(number) => -(number as i64) - 1,
        search::Placed::Candidate(at) => at as i64,
    }
}

impl Ranking {
    pub(super) fn new(names: Vec<Py<PyString>>, found: search::Ranking) -> Self {
        Self { names, found }
    }

    fn placed<'py>(&self, py: Python<'py>, placed: search::Placed, score: f64) -> Result<Placed<'py>> {
        let search::Placed::Candidate(at) = placed else {
            return Ok((position(placed), -1, -1, score, None, None, 0.0, None));
        };
        let (tier, row) = (self.found.pool.tiers()[at], self.found.pool.rows()[at]);
        let (breakdown, raw) = (self.breakdown(py, at)?, self.known(py, at)?);
        let (confidence, values) = (self.found.confidences[at], self.values(py, at)?);
        Ok((at as i64, i64::from(tier), row, score, Some(breakdown), Some(raw), confidence, Some(values)))
    }

    fn checked(&self, at: usize) -> Result<usize> {
        let len = self.found.scored.scores.len();
        let out_of_range = septet_core::Error::OutOfRange { what: "candidate", index: at as i64, len };
        if at < len { Ok(at) } else { Err(out_of_range.into()) }
    }

    fn breakdown<'py>(&self, py: Python<'py>, at: usize) -> Result<Bound<'py, PyDict>> {
        self.named(py, self.of(&self.found.scored.contributions, at).map(Some))
    }

    fn known<'py>(&self, py: Python<'py>, at: usize) -> Result<Bound<'py, PyDict>> {
        self.named(py, self.of(&self.found.scored.signals, at).map(|x| (!x.is_nan()).then_some(x)))
    }

    /// Cosine, BM25 and TF-IDF of a candidate; None where they are not known.
    fn values<'py>(&self, py: Python<'py>, at: usize) -> Result<Bound<'py, PyDict>> {
        let (values, pool) = (PyDict::new(py), &self.found.pool);
        for (name, column) in RAW {
            let column = pool.column(column).or_else(|| pool.column(name));
            let value = column.map(|column| column[at]).filter(|value| !value.is_nan());
            values.set_item(name, value)?;
        }
        Ok(values)
    }

    fn of<'a>(&self, matrix: &'a [f64], at: usize) -> impl Iterator<Item = f64> + use<'a> {
        let m = self.found.scored.scores.len();
        matrix.iter().skip(at).step_by(m.max(1)).copied()
    }

    fn named<'py>(&self, py: Python<'py>, values: impl Iterator<Item = Option<f64>>) -> Result<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        for (name, value) in self.names.iter().zip(values) {
            named.set_item(name, value)?;
        }
        Ok(named)
    }

    fn matrix<'py>(&self, py: Python<'py>, values: &[f64]) -> PyResult<Bound<'py, PyArray2<f64>>> {
        PyArray1::from_slice(py, values).reshape([self.names.len(), self.found.scored.scores.len()])
    }
}
