//! Terms: words, folding, grams, TF-IDF.

use std::collections::HashMap;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{IntoPyDict, PyDict, PyFrozenSet, PyMapping};
use septet_core::entries;
use septet_core::terms::{self, Csr, Cutting, Norm, Options, Tokens, Weighting};

use super::errors::Result;
use super::{Doubles, Integers, Vector, array, count, pairs, thread_count};

type CsrArrays<'py> = (Doubles<'py>, Bound<'py, PyArray1<i32>>, Integers<'py>);

/// Split text into lower-case words.
#[pyfunction]
pub(super) fn words(text: &str) -> Vec<String> {
    terms::words(text)
}

/// Return the search form of a word.
#[pyfunction]
pub(super) fn fold(word: &str) -> String {
    terms::fold(word)
}

/// Return the extra index terms of a text.
#[pyfunction]
pub(super) fn grams(text: &str) -> Vec<String> {
    terms::grams(text)
}

/// Return the extra index terms of an entry, with blanks between them.
#[pyfunction]
pub(super) fn gram_text(id: &str, title: &str, texts: Vec<PyBackedStr>) -> String {
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    entries::gram_text(id, title, &texts)
}

/// Return the extra query terms of a text.
#[pyfunction]
pub(super) fn query_grams(text: &str) -> Vec<String> {
    terms::query_grams(text, false)
}

/// Return the TF-IDF tokens of a text.
#[pyfunction]
pub(super) fn tokenize(text: &str) -> Vec<String> {
    terms::tokenize(text)
}

/// Return the 95 English stop words that `tokenize` drops.
#[pyfunction]
pub(super) fn stop_words(py: Python<'_>) -> PyResult<Bound<'_, PyFrozenSet>> {
    PyFrozenSet::new(py, terms::STOP_WORDS)
}

/// Return the numbers of a query's trigrams.
#[pyfunction]
pub(super) fn trigram_numbers(text: &str) -> Vec<u32> {
    terms::trigram_numbers(text)
}

/// The spelling of texts by slot, append-only.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct SpellingIndex(pub(super) terms::SpellingIndex);

#[pymethods]
impl SpellingIndex {
    #[new]
    fn new() -> Self {
        Self(terms::SpellingIndex::new())
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.len())
    }

    /// The memory the index takes.
    #[getter]
    fn size_bytes(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.size_bytes())
    }

    /// The index as it is now; appending to one leaves the other alone.
    fn frozen(&self, py: Python<'_>) -> Self {
        Self(py.detach(|| self.0.frozen()))
    }

    /// Cut the texts into words, in order, into new slots and return the first new slot.
    fn append(&self, py: Python<'_>, texts: Vec<PyBackedStr>) -> usize {
        py.detach(|| self.0.append(&texts))
    }

    /// Count the slots `(m,)`.
    fn statistics(&self, slots: Vector<'_, i64>) -> Result<SpellingStatistics> {
        let (py, slots) = (slots.py(), slots.slice()?);
        Ok(SpellingStatistics(py.detach(|| terms::SpellingStatistics::default().moved(&self.0, slots, &[]))?))
    }

    /// Take the statistics of a larger corpus, of which the index has some texts.
    fn statistics_given(&self, slots: u64, trigrams: u64, counts: &Bound<'_, PyMapping>) -> Result<SpellingStatistics> {
        let counts: HashMap<u32, u32> = pairs(counts)?.into_iter().collect();
        Ok(SpellingStatistics(terms::SpellingStatistics::given(slots, trigrams, &counts)?))
    }

    /// Return BM25 of the query's trigrams for the slots `(m,)`.
    fn bm25<'py>(
        &self,
        statistics: &Bound<'py, SpellingStatistics>,
        query: &str,
        slots: Vector<'py, i64>,
    ) -> Result<Doubles<'py>> {
        let (py, slots, statistics) = (slots.py(), slots.slice()?, &statistics.get().0);
        Ok(array(py, py.detach(|| self.0.bm25(statistics, query, slots))?))
    }
}

/// The number of slots with each trigram, at one moment: immutable, made from a `SpellingIndex`.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct SpellingStatistics(pub(super) terms::SpellingStatistics);

#[pymethods]
impl SpellingStatistics {
    /// The number of slots counted.
    #[getter]
    fn slots(&self) -> u64 {
        self.0.slots()
    }

    /// Return new statistics with slots added and removed.
    fn moved(
        &self,
        index: &Bound<'_, SpellingIndex>,
        added: Vector<'_, i64>,
        removed: Vector<'_, i64>,
    ) -> Result<Self> {
        let (py, added, removed, index) = (added.py(), added.slice()?, removed.slice()?, &index.get().0);
        Ok(Self(py.detach(|| self.0.moved(index, added, removed))?))
    }
}

/// Token counts of texts by slot, append-only.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct TermIndex(pub(super) terms::TermIndex);

#[pymethods]
impl TermIndex {
    #[new]
    fn new() -> Self {
        Self(terms::TermIndex::new())
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.len())
    }

    /// The memory the counts take.
    #[getter]
    fn size_bytes(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.size_bytes())
    }

    /// The index as it is now; appending to one leaves the other alone.
    fn frozen(&self, py: Python<'_>) -> Self {
        Self(py.detach(|| self.0.frozen()))
    }

    /// Tokenise the texts in order into new slots and return the first new slot.
    #[pyo3(signature = (texts, *, threads=None))]
    fn append(&self, py: Python<'_>, texts: Vec<PyBackedStr>, threads: Option<i64>) -> Result<usize> {
        let threads = thread_count(threads)?;
        Ok(py.detach(|| self.0.append(&texts, threads)))
    }

    /// Count document frequencies over the given slots `(m,)`.
    fn frequencies(&self, slots: Vector<'_, i64>) -> Result<Frequencies> {
        let (py, slots) = (slots.py(), slots.slice()?);
        Ok(Frequencies(py.detach(|| self.0.frequencies(slots))?))
    }

    /// Take the document frequencies of a larger corpus, of which the index has some texts.
    fn frequencies_given(&self, documents: i64, counts: &Bound<'_, PyMapping>) -> Result<Frequencies> {
        let documents = count("documents", documents)?;
        let counts: HashMap<String, u32> = pairs(counts)?.into_iter().collect();
        Ok(Frequencies(self.0.frequencies_given(documents, &counts)))
    }

    /// Return the TF-IDF cosine of the query with each slot `(m,)`, in 0..1.
    fn cosines<'py>(
        &self,
        frequencies: &Bound<'py, Frequencies>,
        query: &str,
        slots: Vector<'py, i64>,
    ) -> Result<Doubles<'py>> {
        let (py, slots, frequencies) = (slots.py(), slots.slice()?, &frequencies.get().0);
        Ok(array(py, py.detach(|| self.0.cosines(frequencies, query, slots))?))
    }
}

/// Document frequencies at one moment: immutable, made from a `TermIndex`.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Frequencies(pub(super) terms::Frequencies);

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
    ) -> Result<Frequencies> {
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
pub(super) struct TfidfVectorizer(terms::TfidfVectorizer);

#[pymethods]
impl TfidfVectorizer {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the signature that Python sees")]
    #[pyo3(signature = (
        *, tokens="signals", ngrams=(1, 1), stop_words=vec![], least=1.0, most=f64::INFINITY, features=None, norm="l2",
        sublinear=false, idf=true, smooth=true
    ))]
    fn new(
        tokens: &str,
        ngrams: (i64, i64),
        stop_words: Vec<PyBackedStr>,
        least: f64,
        most: f64,
        features: Option<i64>,
        norm: &str,
        sublinear: bool,
        idf: bool,
        smooth: bool,
    ) -> Result<Self> {
        let ngrams = (count("ngrams", ngrams.0)?, count("ngrams", ngrams.1)?);
        Ok(Self(terms::TfidfVectorizer::new(Options {
            cutting: Cutting::new(Tokens::named(tokens)?, &stop_words, ngrams)?,
            weighting: Weighting { norm: Norm::named(norm)?, sublinear },
            idf,
            smooth,
            frequencies: (least, most),
            most: features.map(|features| count("features", features)).transpose()?,
        })))
    }

    /// Take over terms and idf by column, as `vocabulary` and `idf` gave them.
    fn restore(&self, vocabulary: Vec<PyBackedStr>, idf: Vec<f64>) -> Result<()> {
        Ok(self.0.restore(&vocabulary, idf)?)
    }

    /// Learn vocabulary and document frequencies; replaces what was learned before.
    #[pyo3(signature = (texts, *, threads=None))]
    fn fit(&self, py: Python<'_>, texts: Vec<PyBackedStr>, threads: Option<i64>) -> Result<()> {
        let threads = thread_count(threads)?;
        py.detach(|| self.0.fit(&texts, threads));
        Ok(())
    }

    /// Return weighted rows in CSR form: data, column indices, row offsets.
    #[pyo3(signature = (texts, *, threads=None))]
    fn transform<'py>(&self, py: Python<'py>, texts: Vec<PyBackedStr>, threads: Option<i64>) -> Result<CsrArrays<'py>> {
        let threads = thread_count(threads)?;
        Ok(csr_arrays(py, py.detach(|| self.0.transform(&texts, threads))?))
    }

    /// Return `transform` of the same texts after `fit`, tokenising them once.
    #[pyo3(signature = (texts, *, threads=None))]
    fn fit_transform<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
        threads: Option<i64>,
    ) -> Result<CsrArrays<'py>> {
        let threads = thread_count(threads)?;
        Ok(csr_arrays(py, py.detach(|| self.0.fit_transform(&texts, threads))))
    }

    /// The terms, by column.
    #[getter]
    fn vocabulary(&self) -> Result<Vec<String>> {
        Ok(self.0.vocabulary()?)
    }

    /// The inverse document frequencies by column.
    #[getter]
    fn idf<'py>(&self, py: Python<'py>) -> Result<Doubles<'py>> {
        Ok(array(py, self.0.idf()?))
    }
}

fn csr_arrays(py: Python<'_>, csr: Csr) -> CsrArrays<'_> {
    let Csr { data, columns, offsets } = csr;
    (array(py, data), array(py, columns), array(py, offsets))
}
