//! The analysis of texts for stores outside SQLite: terms with counts, trigrams and words, counted as the indexes do.

use numpy::prelude::*;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyList;
use septet_core::Error;
use septet_core::{fts, terms};

use super::errors::Result;
use super::{Integers, array};

/// The texts of an entry that full text indexes: id, title, description, context, tags.
const COLUMNS: usize = 5;

type Numbers<'py> = Bound<'py, PyArray1<i32>>;
/// Names, where the terms of each text begin, and the numbers of these among the names.
type Lists<'py> = (Bound<'py, PyList>, Integers<'py>, Numbers<'py>);
/// The same, how often each is in each column, and the tokens of each text.
type Rows<'py> = (Bound<'py, PyList>, Integers<'py>, Numbers<'py>, Bound<'py, PyArray2<i32>>, Numbers<'py>);

/// The text that stands for a term, or for the bytes that FTS5 makes a term of.
#[derive(FromPyObject)]
pub(super) enum AnyTerm {
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
}

/// Return the texts that stand for terms in a database.
#[pyfunction]
pub(super) fn stored_terms(terms: Vec<AnyTerm>) -> Vec<String> {
    let bytes = |term: &AnyTerm| match term {
        AnyTerm::Text(text) => terms::stored_term(text.as_bytes()).into_owned(),
        AnyTerm::Bytes(bytes) => terms::stored_term(bytes).into_owned(),
    };
    terms.iter().map(bytes).collect()
}

/// The terms, trigrams and words of texts.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Analysis {
    texts: fts::ListedRows,
    grams: fts::ListedRows,
    spelling: terms::ListedSpelling,
    tfidf: terms::TermLists,
}

impl Analysis {
    fn of(rows: &[Vec<PyBackedStr>], searched: &[PyBackedStr]) -> Result<Self> {
        if searched.len() != rows.len() {
            return Err(Error::Length { what: "the searched texts", got: searched.len(), wanted: rows.len() }.into());
        }
        let (texts, grams) = (fts::TextIndex::new(COLUMNS)?, fts::TextIndex::new(1)?);
        let (mut columns, mut extra) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        for row in rows {
            match row.split_last() {
                Some((last, first)) if first.len() == COLUMNS => {
                    columns.push(first);
                    extra.push(std::slice::from_ref(last));
                }
                _ => return Err(Error::Length { what: "a row", got: row.len(), wanted: COLUMNS + 1 }.into()),
            }
        }
        texts.append(&columns)?;
        grams.append(&extra)?;
        let (spelling, tfidf) = (terms::SpellingIndex::new(), terms::TermIndex::new());
        spelling.append(searched);
        tfidf.append(searched, None);
        Ok(Self { texts: texts.listed(), grams: grams.listed(), spelling: spelling.listed()?, tfidf: tfidf.listed()? })
    }
}

#[pymethods]
impl Analysis {
    /// Terms as FTS5 makes them of the five columns.
    #[getter]
    fn texts<'py>(&self, py: Python<'py>) -> Result<Rows<'py>> {
        rows(py, &self.texts, COLUMNS)
    }

    /// The same of the grams, in one column.
    #[getter]
    fn grams<'py>(&self, py: Python<'py>) -> Result<Rows<'py>> {
        rows(py, &self.grams, 1)
    }

    /// Where the numbers of the trigrams of each text begin, these, and how many each has with repeated ones.
    #[getter]
    fn trigrams<'py>(&self, py: Python<'py>) -> (Integers<'py>, Numbers<'py>, Integers<'py>) {
        let results = &self.spelling;
        (slice(py, &results.offsets), slice(py, &results.trigrams), slice(py, &results.lengths))
    }

    /// The terms of TF-IDF.
    #[getter]
    fn tfidf<'py>(&self, py: Python<'py>) -> Result<Lists<'py>> {
        lists(py, &self.tfidf)
    }

    /// Words as spelling compares them.
    #[getter]
    fn words<'py>(&self, py: Python<'py>) -> Result<Lists<'py>> {
        lists(py, &self.spelling.words)
    }
}

/// Return what a store elsewhere keeps of entries.
#[pyfunction]
pub(super) fn analysed(py: Python<'_>, texts: Vec<Vec<PyBackedStr>>, searched: Vec<PyBackedStr>) -> Result<Analysis> {
    py.detach(|| Analysis::of(&texts, &searched))
}

fn lists<'py>(py: Python<'py>, results: &terms::TermLists) -> Result<Lists<'py>> {
    Ok((PyList::new(py, &results.names)?, slice(py, &results.offsets), slice(py, &results.terms)))
}

fn rows<'py>(py: Python<'py>, results: &fts::ListedRows, columns: usize) -> Result<Rows<'py>> {
    let (names, offsets, numbers) = lists(py, &results.terms)?;
    let counts = array(py, results.counts.clone()).reshape([results.terms.terms.len(), columns])?;
    Ok((names, offsets, numbers, counts, slice(py, &results.tokens)))
}

fn slice<'py, T: numpy::Element + Copy>(py: Python<'py>, values: &[T]) -> Bound<'py, PyArray1<T>> {
    PyArray1::from_slice(py, values)
}
