//! FTS5's ranking from memory.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyMapping};
use septet_core::Error;
use septet_core::arrays::Source;
use septet_core::fts::{self, Constants, Hits, Wanted};

use super::errors::Result;
use super::{Doubles, Input, Integers, Vector, array, checked, count, integers, pairs};

/// Return the terms that FTS5 makes of a text, in order.
#[pyfunction]
pub(super) fn index_terms<'py>(py: Python<'py>, text: &str) -> Vec<Bound<'py, PyBytes>> {
    fts::index_terms(text).iter().map(|term| PyBytes::new(py, term)).collect()
}

/// Postings of texts by slot, append-only.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct TextIndex(pub(super) fts::TextIndex);

#[pymethods]
impl TextIndex {
    #[new]
    #[pyo3(signature = (columns, terms=None))]
    fn new(columns: i64, terms: Option<Vec<PyBackedBytes>>) -> Result<Self> {
        let columns = count("columns", columns)?;
        Ok(Self(match terms {
            None => fts::TextIndex::new(columns)?,
            Some(terms) => fts::TextIndex::of_terms(columns, &terms)?,
        }))
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.len())
    }

    /// The number of texts a row has.
    #[getter]
    fn columns(&self) -> usize {
        self.0.columns()
    }

    /// Cut the rows' texts into terms, in order, into new slots and return the first new slot.
    fn append(&self, py: Python<'_>, rows: Vec<Vec<PyBackedStr>>) -> Result<usize> {
        Ok(py.detach(|| self.0.append(&rows))?)
    }

    /// The index as it is now; appending to one leaves the other alone.
    fn frozen(&self, py: Python<'_>) -> Self {
        Self(py.detach(|| self.0.frozen()))
    }

    /// Count the rows of the given slots `(m,)`.
    fn statistics(&self, slots: Vector<'_, i64>) -> Result<Statistics> {
        let (py, slots) = (slots.py(), slots.slice()?);
        Ok(Statistics(py.detach(|| self.0.statistics(slots))?))
    }

    /// Take the rows of slots for some of a larger corpus whose statistics are given.
    #[pyo3(signature = (slots, rows, tokens, counts, begun=None))]
    fn statistics_given(
        &self,
        slots: Vector<'_, i64>,
        rows: u64,
        tokens: u64,
        counts: &Bound<'_, PyMapping>,
        begun: Option<&Bound<'_, PyMapping>>,
    ) -> Result<Statistics> {
        let (py, slots) = (slots.py(), slots.slice()?);
        let named = |(term, count): (PyBackedBytes, u32)| (term.to_vec(), count);
        let counts: HashMap<Vec<u8>, u32> = pairs(counts)?.into_iter().map(named).collect();
        let begun = begun.map(pairs).transpose()?.unwrap_or_default().into_iter().map(named).collect();
        let input = fts::Given { rows, tokens, counts: &counts, begun: &begun };
        Ok(Statistics(py.detach(|| self.0.statistics_given(slots, &input))?))
    }
}

/// The rows that count at one moment: immutable, made from a `TextIndex`.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Statistics(pub(super) fts::Statistics);

#[pymethods]
impl Statistics {
    /// The number of rows.
    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows()
    }

    /// The number of tokens of all rows.
    #[getter]
    fn tokens(&self) -> u64 {
        self.0.tokens()
    }

    /// Return new statistics with slots added and removed.
    fn moved(
        &self,
        index: &Bound<'_, TextIndex>,
        added: Vector<'_, i64>,
        removed: Vector<'_, i64>,
    ) -> Result<Statistics> {
        let (py, added, removed, index) = (added.py(), added.slice()?, removed.slice()?, &index.get().0);
        Ok(Self(py.detach(|| self.0.moved(index, added, removed))?))
    }

    /// Return the number of rows that hold an index term.
    fn document_frequency(&self, py: Python<'_>, term: &[u8]) -> u32 {
        py.detach(|| self.0.document_frequency(term))
    }

    /// Return every index term that a row holds, and how many do.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let terms = py.detach(|| self.0.to_vec());
        terms.iter().map(|(term, rows)| (PyBytes::new(py, term), rows)).into_py_dict(py)
    }
}

/// An index, its statistics, and the weights of its columns.
type Part<'py> = (Bound<'py, TextIndex>, Bound<'py, Statistics>, Vector<'py, f64>);

fn borrowed<'a>(parts: &'a [Part<'_>], constants: Option<(f64, f64)>) -> Result<Vec<fts::Part<'a>>> {
    let constants = constants_of(constants)?;
    let part = |(index, statistics, weights): &'a Part<'_>| {
        let weights = weights.slice()?;
        Ok(fts::Part { index: &index.get().0, statistics: &statistics.get().0, weights, constants })
    };
    parts.iter().map(part).collect()
}

/// The constants k1 and b of BM25, those of FTS5 if none are given.
pub(super) fn constants_of(input: Option<(f64, f64)>) -> Result<Constants> {
    let Some((k1, b)) = input else { return Ok(fts::FTS5) };
    if !(k1.is_finite() && k1 > 0.0) {
        return Err(Error::Parameter { what: "k1", wanted: "finite and above 0", got: k1 }.into());
    }
    if !(0.0..=1.0).contains(&b) {
        return Err(Error::Parameter { what: "b", wanted: "from 0 to 1", got: b }.into());
    }
    Ok(Constants { k1, b })
}

/// The bytes of files that a search looks at.
fn sources(parts: &[fts::Part<'_>]) -> impl Iterator<Item = Option<Arc<Source>>> {
    parts.iter().map(|part| part.index.source())
}

/// Find the best `k` slots for query terms by FTS5's `bm25()`.
#[pyfunction]
#[pyo3(signature = (parts, terms, k, mask=None, *, ties=None, constants=None))]
pub(super) fn bm25_top_k<'py>(
    py: Python<'py>,
    parts: Vec<Part<'py>>,
    terms: Vec<PyBackedStr>,
    k: i64,
    mask: Option<Vector<'py, bool>>,
    ties: Option<Vector<'py, i64>>,
    constants: Option<(f64, f64)>,
) -> Result<(Integers<'py>, Doubles<'py>, usize)> {
    let (k, parts) = (count("k", k)?, borrowed(&parts, constants)?);
    let mask = mask.map(|mask| mask.bytes()).transpose()?;
    let mask = mask.as_ref().map(Input::slice).transpose()?;
    let ties = ties.as_ref().map(Input::slice).transpose()?;
    let results = py.detach(|| fts::bm25_top_k(&parts, &terms, Wanted { k, mask, ties }));
    let Hits { slots, scores, matches } = checked(sources(&parts), results)?;
    Ok((integers(py, &slots), array(py, scores), matches))
}

/// Return the scores `(m,)` of slots for query terms by FTS5's `bm25()`.
#[pyfunction]
#[pyo3(signature = (parts, terms, slots, *, constants=None))]
pub(super) fn bm25_at<'py>(
    py: Python<'py>,
    parts: Vec<Part<'py>>,
    terms: Vec<PyBackedStr>,
    slots: Vector<'py, i64>,
    constants: Option<(f64, f64)>,
) -> Result<Doubles<'py>> {
    let (parts, slots) = (borrowed(&parts, constants)?, slots.slice()?);
    let results = py.detach(|| fts::bm25_at(&parts, &terms, slots)).map(|scores| array(py, scores));
    checked(sources(&parts), results)
}

/// The matches of texts with a query's terms: information, share, share by the title, likeness of the title to the
/// query, and share of the query that they are about, each `(m,)`.
type Held<'py> = (Doubles<'py>, Doubles<'py>, Doubles<'py>, Doubles<'py>, Doubles<'py>);

/// Return how much of a query's terms texts hold.
#[expect(clippy::too_many_arguments, reason = "the signature that Python sees")]
#[pyfunction]
#[pyo3(signature = (terms, words, rows, counts, texts, scores, begun=false))]
pub(super) fn matched_in<'py>(
    py: Python<'py>,
    terms: Vec<String>,
    words: usize,
    rows: u64,
    counts: Vec<u32>,
    texts: Vec<(String, String)>,
    scores: Vec<f64>,
    begun: bool,
) -> Result<Held<'py>> {
    let results = py.detach(|| fts::matched_in(&terms, (words, begun), (rows, &counts), &texts))?;
    let reach = results.iter().zip(scores).map(|(results, score)| results.reached(score)).collect();
    let column = |of: fn(&fts::Matched) -> f64| array(py, results.iter().map(of).collect());
    let [information, share] = [column(|results| results.information), column(|results| results.share)];
    Ok((information, share, column(|results| results.title), column(fts::Matched::titled), array(py, reach)))
}
