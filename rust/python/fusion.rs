//! Fusion and the facts about an entry.

use numpy::PyArray2;
use numpy::prelude::*;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use super::{Doubles, Input, Integers, Matrix, Vector, array, integers};
use crate::facts::{self, Fading, Times};
use crate::{Error, fuse};

/// Return the contributions `(c, m)` weight x value of columns `(c, m)`; NaN contributes 0.
#[pyfunction]
pub(super) fn weighted_sum<'py>(
    columns: Matrix<'py, f64>,
    weights: Vector<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let &[c, m] = columns.0.shape() else { return Err(PyTypeError::new_err("expected 2 dimensions")) };
    let weights_of = weights.slice()?;
    if weights_of.len() != c {
        return Err(Error::Length { what: "weights", got: weights_of.len(), wanted: c }.into());
    }
    let contributions = fuse::weighted_sum(columns.slice()?, m, weights_of)?;
    array(columns.py(), contributions).reshape([c, m])
}

/// Fuse ranked id lists by reciprocal rank.
#[pyfunction]
#[pyo3(signature = (lists, weights, *, k=60.0, first_rank=1))]
pub(super) fn rrf<'py>(
    lists: Vec<Vector<'py, i64>>,
    weights: Vector<'py, f64>,
    k: f64,
    first_rank: i64,
) -> PyResult<(Integers<'py>, Doubles<'py>)> {
    let slices = lists.iter().map(Input::slice).collect::<PyResult<Vec<_>>>()?;
    let (ids, scores) = fuse::rrf(&slices, weights.slice()?, k, first_rank)?;
    Ok((array(weights.py(), ids), array(weights.py(), scores)))
}

/// Return the indices that sort scores from high to low, stable; NaN last.
#[pyfunction]
pub(super) fn order<'py>(scores: Vector<'py, f64>) -> PyResult<Integers<'py>> {
    Ok(integers(scores.py(), &fuse::order(scores.slice()?)))
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
) -> PyResult<Doubles<'py>> {
    let times = Times {
        created: created.slice()?,
        updated: updated.slice()?,
        valid_from: valid_from.slice()?,
        valid_until: valid_until.slice()?,
    };
    Ok(array(created.py(), facts::decay(now, times, Fading { half_life_s, ramp })?))
}
