//! The border to Python: checks of arguments, release of the interpreter lock, errors. `_core.pyi` documents it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use numpy::prelude::*;
use numpy::{Element, Ix1, Ix2, PyArray, PyArray1, PyReadonlyArray, PyUntypedArray, dtype, ndarray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyTuple};
use septet_core::Error;
use septet_core::arrays::Source;
use septet_core::vectors::Rows;

mod analysis;
mod arrays;
mod blocks;
mod chunks;
mod codes;
mod encoder;
mod entries;
mod errors;
mod fts;
mod fusion;
mod inventory;
mod leases;
mod links;
mod pool;
mod query;
mod ranking;
mod search;
mod terms;
mod text;
mod unigram;
mod vectors;
mod walk;

use errors::{Raised, Result};

type Doubles<'py> = Bound<'py, PyArray1<f64>>;
type Integers<'py> = Bound<'py, PyArray1<i64>>;

/// Read from files; fail if one was cut or overwritten while it was read, whatever the result.
fn guarded<T>(sources: impl IntoIterator<Item = Option<Arc<Source>>>, look: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(look)) {
        Ok(found) => checked(sources, found),
        Err(panic) => {
            checked(sources, Ok::<_, Raised>(()))?;
            resume_unwind(panic)
        }
    }
}

/// Fail when a file was cut or overwritten since it was opened: what was read of it may be wrong, and so may be an error.
fn checked<T>(
    sources: impl IntoIterator<Item = Option<Arc<Source>>>,
    found: Result<T, impl Into<Raised>>,
) -> Result<T> {
    let mut last: Option<Arc<Source>> = None;
    for source in sources.into_iter().flatten() {
        if !last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &source)) {
            source.check()?;
            last = Some(source);
        }
    }
    found.map_err(Into::into)
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
    fn slice(&self) -> Result<&[T]> {
        Ok(self.0.as_slice()?)
    }

    fn py(&self) -> Python<'py> {
        self.0.py()
    }
}

impl Matrix<'_, f32> {
    fn rows(&self) -> Result<Rows<'_>> {
        let &[n, d] = self.0.shape() else { return Err(PyTypeError::new_err("expected 2 dimensions").into()) };
        Ok(Rows::new(self.slice()?, n, d)?)
    }
}

/// A matrix of rows, or a pair: rows in memory or in a file, and those that were added since.
enum Pieces<'py> {
    One(Matrix<'py, f32>),
    InMemory(Matrix<'py, f32>, Matrix<'py, f32>),
    InFile(Bound<'py, arrays::FileRows>, Matrix<'py, f32>),
}

impl<'py> FromPyObject<'_, 'py> for Pieces<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if !object.is_instance_of::<PyTuple>() {
            return Ok(Self::One(object.extract()?));
        }
        let (first, more): (Bound<'py, PyAny>, _) = object.extract()?;
        Ok(match first.cast_into::<arrays::FileRows>() {
            Ok(file) => Self::InFile(file, more),
            Err(other) => Self::InMemory(other.into_inner().extract()?, more),
        })
    }
}

impl Pieces<'_> {
    fn rows(&self) -> Result<septet_core::vectors::Pieces<'_>> {
        Ok(match self {
            Self::One(rows) => rows.rows()?.into(),
            Self::InMemory(base, more) => septet_core::vectors::Pieces::of_memory(base.rows()?, more.rows()?)?,
            Self::InFile(base, more) => septet_core::vectors::Pieces::of_file(&base.get().0, more.rows()?)?,
        })
    }
}

impl<'py> Vector<'py, bool> {
    /// The same memory as bytes: numpy does not promise that a bool is 0 or 1, and Rust demands it.
    fn bytes(&self) -> Result<Vector<'py, u8>> {
        Ok(self.0.call_method1("view", ("uint8",))?.extract()?)
    }
}

fn integers<'py>(py: Python<'py>, indices: &[usize]) -> Integers<'py> {
    PyArray1::from_iter(py, indices.iter().map(|&i| i as i64))
}

fn array<T: Element>(py: Python<'_>, values: Vec<T>) -> Bound<'_, PyArray1<T>> {
    PyArray1::from_vec(py, values)
}

/// The keys of a mapping with their values.
fn pairs<'py, K: FromPyObjectOwned<'py>, V: FromPyObjectOwned<'py>>(
    mapping: &Bound<'py, PyMapping>,
) -> PyResult<Vec<(K, V)>> {
    mapping.items()?.iter().map(|pair| pair.extract()).collect()
}

/// A number of things, which Python may give as less than nothing.
fn count(what: &'static str, got: i64) -> Result<usize> {
    usize::try_from(got).map_err(|_| Error::Parameter { what, wanted: "at least 0", got: got as f64 }.into())
}

/// The number of threads asked for; `None` leaves it to the kernel.
fn thread_count(got: Option<i64>) -> Result<Option<usize>> {
    let Some(got) = got else { return Ok(None) };
    match usize::try_from(got) {
        Ok(threads) if threads > 0 => Ok(Some(threads)),
        _ => Err(Error::Parameter { what: "threads", wanted: "at least 1", got: got as f64 }.into()),
    }
}

/// Python allocates its objects at multiples of sixteen bytes: what needs more must stand behind a pointer.
const fn python_can_hold<T>() {
    assert!(align_of::<T>() <= 16);
}

const _: () = {
    python_can_hold::<analysis::Analysis>();
    python_can_hold::<arrays::ArrayFile>();
    python_can_hold::<arrays::ArrayWriter>();
    python_can_hold::<arrays::FileBytes>();
    python_can_hold::<arrays::FileRows>();
    python_can_hold::<blocks::Begun>();
    python_can_hold::<codes::Codes>();
    python_can_hold::<encoder::Encoder>();
    python_can_hold::<fts::Statistics>();
    python_can_hold::<fts::TextIndex>();
    python_can_hold::<fusion::Formula>();
    python_can_hold::<inventory::Repository>();
    python_can_hold::<leases::Lock>();
    python_can_hold::<leases::Held>();
    python_can_hold::<leases::Readers>();
    python_can_hold::<leases::ReadTransaction>();
    python_can_hold::<leases::WriteTransaction>();
    python_can_hold::<links::Links>();
    python_can_hold::<pool::Pool>();
    python_can_hold::<ranking::FactRules>();
    python_can_hold::<ranking::Ranking>();
    python_can_hold::<search::Corpus>();
    python_can_hold::<search::NameTable>();
    python_can_hold::<search::Selection>();
    python_can_hold::<terms::Frequencies>();
    python_can_hold::<terms::SpellingIndex>();
    python_can_hold::<terms::SpellingStatistics>();
    python_can_hold::<terms::TermIndex>();
    python_can_hold::<terms::TfidfVectorizer>();
    python_can_hold::<text::Redactions>();
    python_can_hold::<unigram::Unigram>();
    python_can_hold::<vectors::Sample>();
};

/// Kernels of Septet. A free-threaded Python turns its lock on for them: docs/free_threading.md says what is missing.
#[pymodule(gil_used = true)]
mod _core {
    #[pymodule_export]
    use super::analysis::{Analysis, analysed, stored_terms};
    #[pymodule_export]
    use super::arrays::{ArrayFile, ArrayWriter, FileBytes, FileRows};
    #[pymodule_export]
    use super::blocks::{Begun, checked_postings, folded_postings, merged_postings, ranked_postings, written_postings};
    #[pymodule_export]
    use super::chunks::{chunk_markdown, document_chunks, split_utf8};
    #[pymodule_export]
    use super::codes::Codes;
    #[pymodule_export]
    use super::encoder::{Encoder, code_weights, four_bit_rows};
    #[pymodule_export]
    use super::entries::{made_id, plain_json, plain_rows, text_hash, text_set};
    #[pymodule_export]
    use super::errors::Damaged;
    #[pymodule_export]
    use super::fts::{Statistics, TextIndex, bm25_at, bm25_top_k, index_terms, matched_in};
    #[pymodule_export]
    use super::fusion::{Formula, decay, jaccard, rrf, unite};
    #[pymodule_export]
    use super::inventory::{Repository, proximities};
    #[pymodule_export]
    use super::leases::{
        Held, Lock, ReadTransaction, Readers, WriteTransaction, leak, open_gate, passed_gate, shut_gate,
    };
    #[pymodule_export]
    use super::links::Links;
    #[pymodule_export]
    use super::pool::Pool;
    #[pymodule_export]
    use super::query::{cascade_words, needed_words, query_terms, spans};
    #[pymodule_export]
    use super::ranking::{FactRules, Ranking};
    #[pymodule_export]
    use super::search::{Corpus, NameTable, Selection, edits_between};
    #[pymodule_export]
    use super::terms::{
        Frequencies, SpellingIndex, SpellingStatistics, TermIndex, TfidfVectorizer, fold, gram_text, grams,
        query_grams, stop_words, tokenize, trigram_numbers, words,
    };
    #[pymodule_export]
    use super::text::{Redactions, windows};
    #[pymodule_export]
    use super::unigram::Unigram;
    #[pymodule_export]
    use super::vectors::{Sample, cosine_at, kernel, kernels, query_vector, row_keys, top_k, unit_rows};
    #[pymodule_export]
    use super::walk::{check_globs, shown_path, walk_folder};
    use pyo3::prelude::*;

    /// The stub lists the names; a second list would have to be kept equal to it.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.delattr("__all__")
    }
}
