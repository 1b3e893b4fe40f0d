//! Vectors: unit rows, exact top-k, cosines.

use numpy::prelude::*;
use numpy::{PyArray1, PyArray2, PyUntypedArray};
use pyo3::prelude::*;
use septet_core::vectors::{self, Level};

use super::errors::Result;
use super::{Doubles, Input, Integers, Matrix, Pieces, Vector, array, checked, count, integers};

/// Return the SIMD levels this machine can run, fastest first.
#[pyfunction]
pub(super) fn kernels() -> Vec<&'static str> {
    Level::available().iter().map(|level| level.name()).collect()
}

/// Return the level the dispatch uses by default.
#[pyfunction]
pub(super) fn kernel() -> &'static str {
    Level::best().name()
}

/// Return the rows `(n, d)` scaled to Euclidean length 1.
#[pyfunction]
pub(super) fn unit_rows<'py>(rows: Matrix<'py, f32>) -> Result<Bound<'py, PyArray2<f32>>> {
    let (py, rows) = (rows.py(), rows.rows()?);
    let scaled = py.detach(|| vectors::unit_rows(rows))?;
    Ok(array(py, scaled).reshape([rows.n(), rows.d()])?)
}

/// Return what rows are sampled by `(n,)`.
#[pyfunction]
pub(super) fn row_keys<'py>(rows: Matrix<'py, f32>) -> Result<Bound<'py, PyArray1<u32>>> {
    let (py, rows) = (rows.py(), rows.rows()?);
    Ok(array(py, py.detach(|| vectors::row_keys(rows))))
}

/// A sample of the rows of a space.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Sample(pub(super) vectors::Sample);

#[pymethods]
impl Sample {
    #[new]
    #[pyo3(signature = (rows, keys, slots, alive, before=None, *, population=None))]
    fn new(
        rows: Pieces<'_>,
        keys: Vector<'_, u32>,
        slots: Vector<'_, i64>,
        alive: Vector<'_, bool>,
        before: Option<&Bound<'_, Self>>,
        population: Option<i64>,
    ) -> Result<Self> {
        let population = population.map(|population| count("population", population)).transpose()?;
        let (py, alive, before) = (keys.py(), alive.bytes()?, before.map(|before| &before.get().0));
        let (rows, keys, slots, alive) = (rows.rows()?, keys.slice()?, slots.slice()?, alive.slice()?);
        let result = py.detach(|| vectors::Sample::new(rows, keys, slots, alive, before, population)).map(Self);
        checked([rows.source().cloned()], result)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The largest key among the sampled rows of a space of `population` rows.
    #[staticmethod]
    fn limit(population: i64) -> Result<u32> {
        Ok(vectors::Sample::limit(count("population", population)?))
    }

    /// The sample after rows with these keys came and others went, if it stays this one; None if it must be drawn
    /// again.
    fn kept(&self, added: Vector<'_, u32>, went: Vector<'_, u32>) -> Result<Option<Self>> {
        Ok(self.0.kept(added.slice()?, went.slice()?).map(Self))
    }

    /// The number of live rows of the space.
    #[getter]
    fn population(&self) -> usize {
        self.0.population()
    }

    /// Mean and standard deviation of the cosines of two different rows.
    #[getter]
    fn pairs(&self) -> (f64, f64) {
        let pairs = self.0.pairs();
        (pairs.mean, pairs.deviation)
    }

    /// The agreement of the vectors with words, 0 to 1; None if it was not measured.
    #[getter]
    fn agreement(&self) -> Option<f64> {
        self.0.agreement()
    }

    /// Remember how far the vectors agree with words; what was measured first stays.
    fn agree(&self, measured: f64) {
        self.0.agree(measured);
    }

    /// Mean and standard deviation of the cosines of a unit query `(d,)`; None without rows.
    fn cosines(&self, query: Vector<'_, f32>) -> Result<Option<(f64, f64)>> {
        Ok(self.0.cosines(query.slice()?)?.map(|results| (results.mean, results.deviation)))
    }
}

/// Maximum components of a vector.
const MOST_DIMENSIONS: usize = 65_536;

/// A query `(d,)` in float64, and in float32 scaled to length 1.
type Query<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f32>>);

/// Return a query in both forms; None unless it is an array that needs no repair.
#[pyfunction]
pub(super) fn query_vector<'py>(value: &Bound<'py, PyAny>) -> Option<Query<'py>> {
    let py = value.py();
    // A masked array, a subclass, has numbers that do not count.
    let whole = value.cast_exact::<PyUntypedArray>().ok()?;
    if whole.len() > MOST_DIMENSIONS {
        return None;
    }
    let exact = match value.cast::<PyArray1<f32>>() {
        Ok(row) => row.try_readonly().ok()?.as_slice().ok()?.iter().map(|&x| f64::from(x)).collect(),
        Err(_) => value.cast::<PyArray1<f64>>().ok()?.try_readonly().ok()?.as_slice().ok()?.to_vec(),
    };
    let scan = vectors::unit_query(&exact)?;
    Some((array(py, exact), array(py, scan)))
}

/// Find the `k` rows with the largest dot product, exactly.
#[pyfunction]
#[pyo3(signature = (query, rows, k, mask=None, *, kernel=None))]
pub(super) fn top_k<'py>(
    query: Vector<'py, f32>,
    rows: Matrix<'py, f32>,
    k: i64,
    mask: Option<Vector<'py, bool>>,
    kernel: Option<&str>,
) -> Result<(Integers<'py>, Doubles<'py>)> {
    let k = count("k", k)?;
    let level = kernel.map_or(Ok(Level::best()), Level::named)?;
    let mask = mask.map(|mask| mask.bytes()).transpose()?;
    let mask = mask.as_ref().map(Input::slice).transpose()?;
    let (py, query, rows) = (query.py(), query.slice()?, rows.rows()?);
    let hits = py.detach(|| vectors::top_k(query, rows, k, mask, level))?;
    Ok((integers(py, &hits.rows), array(py, hits.scores)))
}

/// Return the float64 cosines `(m,)` of the query `(d,)` with the rows at the indices `at`.
#[pyfunction]
pub(super) fn cosine_at<'py>(query: Vector<'py, f64>, rows: Pieces<'py>, at: Vector<'py, i64>) -> Result<Doubles<'py>> {
    let (py, query, rows, at) = (query.py(), query.slice()?, rows.rows()?, at.slice()?);
    let results = py.detach(|| vectors::cosine_at(query, rows, at)).map(|cosines| array(py, cosines));
    checked([rows.source().cloned()], results)
}
