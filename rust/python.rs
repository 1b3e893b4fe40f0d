//! The border to Python: checks of arguments, release of the interpreter lock, errors. `_core.pyi` documents it.

use numpy::prelude::*;
use numpy::{Element, Ix1, Ix2, PyArray, PyArray1, PyArray2, PyReadonlyArray, PyUntypedArray, dtype, ndarray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{IntoPyDict, PyDict, PyFrozenSet};

use crate::facts::{self, Fading, Times};
use crate::terms::{self, Csr, Tokens};
use crate::vectors::{self, Level, Rows};
use crate::{Error, fuse};

type Doubles<'py> = Bound<'py, PyArray1<f64>>;
type Integers<'py> = Bound<'py, PyArray1<i64>>;
type CsrArrays<'py> = (Doubles<'py>, Bound<'py, PyArray1<i32>>, Integers<'py>);

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        PyValueError::new_err(error.to_string())
    }
}

/// A C-contiguous array of one dtype and number of dimensions.
struct Input<'py, T: Element, D: ndarray::Dimension>(PyReadonlyArray<'py, T, D>);

type Vector<'py, T> = Input<'py, T, Ix1>;
type Matrix<'py, T> = Input<'py, T, Ix2>;

impl<'py, T: Element, D: ndarray::Dimension> FromPyObject<'_, 'py> for Input<'py, T, D> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let fault = |text: String| Err(PyTypeError::new_err(text));
        let Ok(array) = object.cast::<PyUntypedArray>() else {
            return fault(format!("expected a numpy array, got {}", object.get_type().name()?));
        };
        let (seen, wanted) = (array.dtype(), dtype::<T>(object.py()));
        if !seen.is_equiv_to(&wanted) {
            return fault(format!("expected an array of {wanted}, got {seen}; convert it with .astype"));
        }
        if Some(array.ndim()) != D::NDIM {
            return fault(format!("expected {} dimensions, got {}", D::NDIM.unwrap_or(0), array.ndim()));
        }
        if !(array.is_c_contiguous() && array.is_aligned()) {
            return fault("the array is not C-contiguous and aligned; use numpy.ascontiguousarray".to_owned());
        }
        Ok(Self(object.cast::<PyArray<T, D>>()?.try_readonly()?))
    }
}

impl<'py, T: Element, D: ndarray::Dimension> Input<'py, T, D> {
    fn slice(&self) -> PyResult<&[T]> {
        Ok(self.0.as_slice()?)
    }

    fn py(&self) -> Python<'py> {
        self.0.py()
    }
}

impl Matrix<'_, f32> {
    fn rows(&self) -> PyResult<Rows<'_>> {
        let &[n, d] = self.0.shape() else { return Err(PyTypeError::new_err("expected 2 dimensions")) };
        Ok(Rows::new(self.slice()?, n, d)?)
    }
}

impl<'py> Vector<'py, bool> {
    /// The same memory as bytes: numpy does not promise that a bool is 0 or 1, and Rust demands it.
    fn bytes(&self) -> PyResult<Vector<'py, u8>> {
        self.0.call_method1("view", ("uint8",))?.extract()
    }
}

fn integers<'py>(py: Python<'py>, indices: &[usize]) -> Integers<'py> {
    PyArray1::from_iter(py, indices.iter().map(|&i| i as i64))
}

/// Return the SIMD levels this machine can run, fastest first.
#[pyfunction]
fn kernels() -> Vec<&'static str> {
    Level::available().iter().map(|level| level.name()).collect()
}

/// Return the level the dispatch uses by default.
#[pyfunction]
fn kernel() -> &'static str {
    Level::best().name()
}

/// Return the rows `(n, d)` scaled to Euclidean length 1.
#[pyfunction]
fn unit_rows<'py>(rows: Matrix<'py, f32>) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let (py, rows) = (rows.py(), rows.rows()?);
    let scaled = py.detach(|| vectors::unit_rows(rows))?;
    PyArray1::from_vec(py, scaled).reshape([rows.n(), rows.d()])
}

/// Find the `k` rows with the largest dot product, exactly.
#[pyfunction]
#[pyo3(signature = (query, rows, k, mask=None, *, kernel=None))]
fn top_k<'py>(
    query: Vector<'py, f32>,
    rows: Matrix<'py, f32>,
    k: i64,
    mask: Option<Vector<'py, bool>>,
    kernel: Option<&str>,
) -> PyResult<(Integers<'py>, Doubles<'py>)> {
    let Ok(k) = usize::try_from(k) else {
        return Err(Error::Parameter { what: "k", wanted: "at least 0", got: k as f64 }.into());
    };
    let level = kernel.map_or(Ok(Level::best()), Level::named)?;
    let mask = mask.map(|mask| mask.bytes()).transpose()?;
    let mask = mask.as_ref().map(Input::slice).transpose()?;
    let (py, query, rows) = (query.py(), query.slice()?, rows.rows()?);
    let hits = py.detach(|| vectors::top_k(query, rows, k, mask, level))?;
    Ok((integers(py, &hits.rows), PyArray1::from_vec(py, hits.scores)))
}

/// Return the float64 cosines `(m,)` of the query `(d,)` with the rows at the indices `at`.
#[pyfunction]
fn cosine_at<'py>(query: Vector<'py, f64>, rows: Matrix<'py, f32>, at: Vector<'py, i64>) -> PyResult<Doubles<'py>> {
    let (py, query, rows, at) = (query.py(), query.slice()?, rows.rows()?, at.slice()?);
    Ok(PyArray1::from_vec(py, py.detach(|| vectors::cosine_at(query, rows, at))?))
}

/// Split text into lower-case words.
#[pyfunction]
fn words(text: &str) -> Vec<String> {
    terms::words(text)
}

/// Return the search form of a word.
#[pyfunction]
fn fold(word: &str) -> String {
    terms::fold(word)
}

/// Return the extra index terms of a text.
#[pyfunction]
fn grams(text: &str) -> Vec<String> {
    terms::grams(text)
}

/// Return the extra query terms of a text.
#[pyfunction]
fn query_grams(text: &str) -> Vec<String> {
    terms::query_grams(text)
}

/// Return the TF-IDF tokens of a text.
#[pyfunction]
fn tokenize(text: &str) -> Vec<String> {
    terms::tokenize(text)
}

/// Return the 95 English stop words that `tokenize` drops.
#[pyfunction]
fn stop_words(py: Python<'_>) -> PyResult<Bound<'_, PyFrozenSet>> {
    PyFrozenSet::new(py, terms::STOP_WORDS)
}

/// Return how much of a query's spelling each text shares `(m,)`, 0..1.
#[pyfunction]
fn trigrams<'py>(py: Python<'py>, query: &str, texts: Vec<PyBackedStr>) -> Doubles<'py> {
    PyArray1::from_vec(py, py.detach(|| terms::trigrams(query, &texts)))
}

/// Token counts of texts by slot, append-only.
#[pyclass(frozen, module = "septet._core")]
struct TermIndex(terms::TermIndex);

#[pymethods]
impl TermIndex {
    #[new]
    fn new() -> Self {
        Self(terms::TermIndex::new())
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.len())
    }

    /// Tokenise the texts in order into new slots and return the first new slot.
    fn append(&self, py: Python<'_>, texts: Vec<PyBackedStr>) -> usize {
        py.detach(|| self.0.append(&texts))
    }

    /// Count document frequencies over the given slots `(m,)`.
    fn frequencies(&self, slots: Vector<'_, i64>) -> PyResult<Frequencies> {
        let (py, slots) = (slots.py(), slots.slice()?);
        Ok(Frequencies(py.detach(|| self.0.frequencies(slots))?))
    }

    /// Return the TF-IDF cosine of the query with each slot `(m,)`, in 0..1.
    fn cosines<'py>(
        &self,
        frequencies: &Bound<'py, Frequencies>,
        query: &str,
        slots: Vector<'py, i64>,
    ) -> PyResult<Doubles<'py>> {
        let (py, slots, frequencies) = (slots.py(), slots.slice()?, &frequencies.get().0);
        Ok(PyArray1::from_vec(py, py.detach(|| self.0.cosines(frequencies, query, slots))?))
    }
}

/// Document frequencies at one moment: immutable, made from a `TermIndex`.
#[pyclass(frozen, module = "septet._core")]
struct Frequencies(terms::Frequencies);

#[pymethods]
impl Frequencies {
    /// The number of documents counted.
    #[getter]
    fn documents(&self) -> usize {
        self.0.documents()
    }

    /// Return new frequencies with slots added and removed.
    fn moved(
        &self,
        index: &Bound<'_, TermIndex>,
        added: Vector<'_, i64>,
        removed: Vector<'_, i64>,
    ) -> PyResult<Frequencies> {
        let (py, added, removed, index) = (added.py(), added.slice()?, removed.slice()?, &index.get().0);
        Ok(Self(py.detach(|| self.0.moved(index, added, removed))?))
    }

    /// Return the number of counted documents that hold the term.
    fn document_frequency(&self, py: Python<'_>, term: &str) -> u32 {
        py.detach(|| self.0.document_frequency(term))
    }

    /// Return `ln((N + 1) / (df + 1)) + 1`.
    fn idf(&self, py: Python<'_>, term: &str) -> f64 {
        py.detach(|| self.0.idf(term))
    }

    /// Return every term with a document frequency of at least 1.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        py.detach(|| self.0.to_vec()).into_py_dict(py)
    }
}

/// TF-IDF of whole corpora, numerically equal to scikit-learn's `TfidfVectorizer`.
#[pyclass(frozen, module = "septet._core")]
struct TfidfVectorizer(terms::TfidfVectorizer);

#[pymethods]
impl TfidfVectorizer {
    #[new]
    #[pyo3(signature = (*, tokens="signals"))]
    fn new(tokens: &str) -> PyResult<Self> {
        Ok(Self(terms::TfidfVectorizer::new(Tokens::named(tokens)?)))
    }

    /// Learn vocabulary and document frequencies; replaces what was learned before.
    fn fit(&self, py: Python<'_>, texts: Vec<PyBackedStr>) {
        py.detach(|| self.0.fit(&texts));
    }

    /// Return unit-length rows in CSR form: data, column indices, row offsets.
    fn transform<'py>(&self, py: Python<'py>, texts: Vec<PyBackedStr>) -> PyResult<CsrArrays<'py>> {
        Ok(csr_arrays(py, py.detach(|| self.0.transform(&texts))?))
    }

    /// Return `transform` of the same texts after `fit`, tokenising them once.
    fn fit_transform<'py>(&self, py: Python<'py>, texts: Vec<PyBackedStr>) -> CsrArrays<'py> {
        csr_arrays(py, py.detach(|| self.0.fit_transform(&texts)))
    }

    /// The terms, by column.
    #[getter]
    fn vocabulary(&self) -> PyResult<Vec<String>> {
        Ok(self.0.vocabulary()?)
    }

    /// `ln((1 + n) / (1 + df)) + 1` by column.
    #[getter]
    fn idf<'py>(&self, py: Python<'py>) -> PyResult<Doubles<'py>> {
        Ok(PyArray1::from_vec(py, self.0.idf()?))
    }
}

fn csr_arrays(py: Python<'_>, csr: Csr) -> CsrArrays<'_> {
    let Csr { data, columns, offsets } = csr;
    (PyArray1::from_vec(py, data), PyArray1::from_vec(py, columns), PyArray1::from_vec(py, offsets))
}

/// Return the contributions `(c, m)` weight x value of columns `(c, m)`; NaN contributes 0.
#[pyfunction]
fn weighted_sum<'py>(columns: Matrix<'py, f64>, weights: Vector<'py, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let &[c, m] = columns.0.shape() else { return Err(PyTypeError::new_err("expected 2 dimensions")) };
    let weights_of = weights.slice()?;
    if weights_of.len() != c {
        return Err(Error::Length { what: "weights", got: weights_of.len(), wanted: c }.into());
    }
    let contributions = fuse::weighted_sum(columns.slice()?, m, weights_of)?;
    PyArray1::from_vec(columns.py(), contributions).reshape([c, m])
}

/// Fuse ranked id lists by reciprocal rank.
#[pyfunction]
#[pyo3(signature = (lists, weights, *, k=60.0, first_rank=1))]
fn rrf<'py>(
    lists: Vec<Vector<'py, i64>>,
    weights: Vector<'py, f64>,
    k: f64,
    first_rank: i64,
) -> PyResult<(Integers<'py>, Doubles<'py>)> {
    let slices = lists.iter().map(Input::slice).collect::<PyResult<Vec<_>>>()?;
    let (ids, scores) = fuse::rrf(&slices, weights.slice()?, k, first_rank)?;
    Ok((PyArray1::from_vec(weights.py(), ids), PyArray1::from_vec(weights.py(), scores)))
}

/// Return the indices that sort scores from high to low, stable; NaN last.
#[pyfunction]
fn order<'py>(scores: Vector<'py, f64>) -> PyResult<Integers<'py>> {
    Ok(integers(scores.py(), &fuse::order(scores.slice()?)))
}

/// Return `|a & b| / |a | b|` of the query's tags with each candidate's.
#[pyfunction]
fn jaccard(py: Python<'_>, query: Vec<PyBackedStr>, tags: Vec<Vec<PyBackedStr>>) -> Doubles<'_> {
    PyArray1::from_vec(py, facts::jaccards(&query, &tags))
}

/// Return the temporal decay, 0..1, of candidates `(m,)`.
#[pyfunction]
#[pyo3(signature = (now, created, updated, valid_from, valid_until, *, half_life_s, ramp))]
fn decay<'py>(
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
    Ok(PyArray1::from_vec(created.py(), facts::decay(now, times, Fading { half_life_s, ramp })?))
}

/// Kernels of Septet.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::{
        Frequencies, TermIndex, TfidfVectorizer, cosine_at, decay, fold, grams, jaccard, kernel, kernels, order,
        query_grams, rrf, stop_words, tokenize, top_k, trigrams, unit_rows, weighted_sum, words,
    };
    use pyo3::prelude::*;

    /// The stub lists the names; a second list would have to be kept equal to it.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.delattr("__all__")
    }
}
