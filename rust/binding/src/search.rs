//! Recall over one snapshot.

use std::collections::HashSet;
use std::sync::Arc;

use numpy::prelude::*;
use numpy::{Element, PyArray1, PyReadonlyArray1, PyUntypedArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use septet_core::arrays::Source;
use septet_core::fts::Feedback;
use septet_core::search;

use super::codes::Codes;
use super::errors::{Raised, Result};
use super::fts::{Statistics, TextIndex, constants_of};
use super::pool::Pool;
use super::query::{QueryParts, Wanted};
use super::terms::{Frequencies, SpellingIndex, SpellingStatistics, TermIndex};
use super::vectors::Sample;
use super::{Integers, Pieces, Vector, array, count, guarded};

/// Names by number, append-only.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct NameTable(Arc<search::NameTable>);

#[pymethods]
impl NameTable {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Add names at the end.
    fn extend(&self, names: Vec<PyBackedStr>) {
        self.0.extend(&names);
    }
}

/// Which slots of a snapshot a search may return.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Selection(search::Selection);

#[pymethods]
impl Selection {
    #[new]
    fn new(mask: Vector<'_, bool>) -> Result<Self> {
        Ok(Self(search::Selection::new(mask.bytes()?.slice()?.to_vec())))
    }

    /// Return those of the slots that may be returned, in their order.
    fn allowed<'py>(&self, slots: Vector<'py, i64>) -> Result<Integers<'py>> {
        let (py, mask) = (slots.py(), self.0.slots());
        let allows = |slot: &i64| usize::try_from(*slot).is_ok_and(|at| mask.get(at).is_some_and(|&byte| byte != 0));
        Ok(array(py, slots.slice()?.iter().copied().filter(allows).collect()))
    }
}

type Array<T> = Py<PyArray1<T>>;
/// Full text: two indexes and the spelling, each with its statistics.
type FullText =
    (Py<TextIndex>, Py<Statistics>, Py<TextIndex>, Py<Statistics>, Py<SpellingIndex>, Py<SpellingStatistics>);

/// A snapshot's arrays and indexes, read by `recall`.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Corpus {
    rows: Array<i64>,
    created_at: Array<f64>,
    updated_at: Array<f64>,
    valid_from: Array<f64>,
    valid_until: Array<f64>,
    kind: Array<i32>,
    severity: Array<i32>,
    domain: Array<i32>,
    names: Arc<search::NameTable>,
    text: Option<FullText>,
    terms: Option<(Py<TermIndex>, Py<Frequencies>)>,
}

/// Rows of unit length with their slots, codes if there are many, the row of each slot, and a sample.
type SpaceParts<'py> =
    (i64, Pieces<'py>, Vector<'py, i64>, Option<Bound<'py, Codes>>, Vector<'py, i32>, Bound<'py, Sample>);
/// A pool, its matches, how many candidates they are, whether a term is unknown, how many matches hold every word, the step
/// that answered, and whether no vector is nearer for certain.
type Found = (Pool, usize, usize, bool, usize, Option<usize>, bool);
/// Matches, those with every needed word, those before the slot; its score, whether it holds every needed word, whether it
/// holds each term and does as a word, and the share of the grams in its score.
type TextPlace = (usize, usize, usize, Option<f64>, bool, Vec<(bool, bool)>, f64);

#[pymethods]
impl Corpus {
    #[new]
    #[pyo3(signature = (columns, names, *, text=None, terms=None))]
    fn new(
        columns: &Bound<'_, PyDict>,
        names: &Bound<'_, NameTable>,
        text: Option<FullText>,
        terms: Option<(Py<TermIndex>, Py<Frequencies>)>,
    ) -> Result<Self> {
        let result = Self {
            rows: column(columns, "rows")?,
            created_at: column(columns, "created_at")?,
            updated_at: column(columns, "updated_at")?,
            valid_from: column(columns, "valid_from")?,
            valid_until: column(columns, "valid_until")?,
            kind: column(columns, "kind")?,
            severity: column(columns, "severity")?,
            domain: column(columns, "domain")?,
            names: Arc::clone(&names.get().0),
            text,
            terms,
        };
        result.with(columns.py(), |corpus| Ok(corpus.checked().map(|_| ())?))?;
        Ok(result)
    }

    /// Return the candidates of each query, with its full-text matches, how many of the candidates these are, whether no
    /// entry holds some term, and how many of the matches hold every needed word.
    #[expect(clippy::too_many_arguments, reason = "the signature that Python sees")]
    #[pyo3(signature = (queries, *, tier, k, guard, weights, columns, space=None, selection=None, feedback=None, constants=None, recall=1.0))]
    fn recall(
        &self,
        py: Python<'_>,
        queries: Vec<QueryParts<'_>>,
        tier: u32,
        k: (i64, i64),
        guard: Option<(i64, i64)>,
        weights: Vector<'_, f64>,
        columns: HashSet<String>,
        space: Option<SpaceParts<'_>>,
        selection: Option<&Bound<'_, Selection>>,
        feedback: Option<(usize, usize, u32, f64)>,
        constants: Option<(f64, f64)>,
        recall: f64,
    ) -> Result<Vec<Found>> {
        let guard = guard.map(|(below, limit)| {
            Ok::<_, Raised>(search::Guard { below: count("below", below)?, limit: count("limit", limit)? })
        });
        let request = search::Request {
            k: (count("k", k.0)?, count("k", k.1)?),
            guard: guard.transpose()?,
            weights: weights.slice()?,
            constants: constants_of(constants)?,
            columns: columns_of(&columns, feedback)?,
            selection: selection.map(|selection| &selection.get().0),
            recall,
            tier,
        };
        let space = space.as_ref().map(space_of).transpose()?;
        let wanted: Vec<Wanted> = queries.iter().map(Wanted::of).collect();
        let queries = queries.iter().zip(&wanted).map(|(parts, own)| own.query(parts)).collect::<Result<Vec<_>>>()?;
        let find =
            |corpus: search::Corpus<'_>| Ok(py.detach(|| search::recall(&corpus, space.as_ref(), &request, &queries))?);
        let results = guarded(self.sources(space.as_ref()), || self.with(py, find))?;
        let outcome = |one: search::Recalled| {
            (Pool(one.pool), one.matches, one.by_text, one.unknown, one.whole, one.step, one.certain)
        };
        Ok(results.into_iter().map(outcome).collect())
    }

    /// Return the place of a slot, or of none, in the full-text order of a query.
    #[expect(clippy::too_many_arguments, reason = "the signature that Python sees")]
    #[pyo3(signature = (query, slot, *, weights, selection=None, constants=None, before=None))]
    fn text_place(
        &self,
        py: Python<'_>,
        query: QueryParts<'_>,
        slot: Option<i64>,
        weights: Vector<'_, f64>,
        selection: Option<&Bound<'_, Selection>>,
        constants: Option<(f64, f64)>,
        before: Option<usize>,
    ) -> Result<TextPlace> {
        let request = search::Request {
            k: (0, 0),
            guard: None,
            weights: weights.slice()?,
            constants: constants_of(constants)?,
            columns: search::Columns::default(),
            selection: selection.map(|selection| &selection.get().0),
            recall: 1.0,
            tier: 0,
        };
        let wanted = Wanted::of(&query);
        let query = wanted.query(&query)?;
        let find =
            |corpus: search::Corpus<'_>| Ok(py.detach(|| search::text_place(&corpus, &request, &query, slot, before))?);
        let search::TextPlace { rank, held, grams } = guarded(self.sources(None), || self.with(py, find))?;
        Ok((rank.matches, rank.whole, rank.before, rank.score, rank.holds_all, held, grams))
    }

    /// Return the place of a slot, or of none, among the vectors of a space, the nearest first.
    #[pyo3(signature = (query, slot, space, selection))]
    fn vector_place(
        &self,
        py: Python<'_>,
        query: (Vector<'_, f64>, Vector<'_, f32>),
        slot: Option<i64>,
        space: SpaceParts<'_>,
        selection: Option<&Bound<'_, Selection>>,
    ) -> Result<(usize, Option<f64>, Option<usize>)> {
        let space = space_of(&space)?;
        let query = (query.0.slice()?, query.1.slice()?);
        let selection = selection.map(|selection| &selection.get().0);
        let find = || Ok(py.detach(|| search::vector_place(&space, selection, query, slot))?);
        let place = guarded(self.sources(Some(&space)), find)?;
        Ok((place.allowed, place.cosine, place.before))
    }

    /// Return the number of entries and how many of them hold each term, or what each begins in weighted columns; None
    /// without full text.
    #[pyo3(signature = (terms, grams, begun=None))]
    fn term_counts(
        &self,
        py: Python<'_>,
        terms: Vec<String>,
        grams: bool,
        begun: Option<Vector<'_, f64>>,
    ) -> Result<Option<(u64, Vec<usize>)>> {
        let weights = begun.as_ref().map(Vector::slice).transpose()?;
        let counts = |text: search::FullText<'_>| {
            weights.map_or_else(|| text.counts(&terms, grams), |weights| text.counts_begun(&terms, weights))
        };
        let count = |corpus: search::Corpus<'_>| Ok(py.detach(|| corpus.text.map(counts).transpose())?);
        guarded(self.sources(None), || self.with(py, count))
    }

    /// Return words near another one: each with its edits and how many entries hold it; None without full text.
    fn words_near(
        &self,
        py: Python<'_>,
        word: &str,
        edits: usize,
        most: usize,
    ) -> Result<Option<Vec<(String, usize, u32)>>> {
        let find = |corpus: search::Corpus<'_>| {
            Ok(py.detach(|| corpus.text.map(|text| listed(text.words_near(word, edits, most)))))
        };
        guarded(self.sources(None), || self.with(py, find))
    }

    /// Return words that begin with letters, as `words_near`.
    fn words_from(&self, py: Python<'_>, prefix: &str, most: usize) -> Result<Option<Vec<(String, usize, u32)>>> {
        let find = |corpus: search::Corpus<'_>| {
            Ok(py.detach(|| corpus.text.map(|text| listed(text.words_from(prefix, most)))))
        };
        guarded(self.sources(None), || self.with(py, find))
    }

    /// Return given slots as candidates of a query, every column filled.
    #[expect(clippy::too_many_arguments, reason = "the signature that Python sees")]
    #[pyo3(signature = (query, slots, *, tier, weights, columns, space=None, constants=None))]
    fn candidates_at(
        &self,
        py: Python<'_>,
        query: QueryParts<'_>,
        slots: Vector<'_, i64>,
        tier: u32,
        weights: Vector<'_, f64>,
        columns: HashSet<String>,
        space: Option<SpaceParts<'_>>,
        constants: Option<(f64, f64)>,
    ) -> Result<Pool> {
        let request = search::Request {
            k: (0, 0),
            guard: None,
            weights: weights.slice()?,
            constants: constants_of(constants)?,
            columns: columns_of(&columns, None)?,
            selection: None,
            recall: 1.0,
            tier,
        };
        let space = space.as_ref().map(space_of).transpose()?;
        let wanted = Wanted::of(&query);
        let (query, slots) = (wanted.query(&query)?, slots.slice()?);
        let find = |corpus: search::Corpus<'_>| {
            Ok(Pool(py.detach(|| search::candidates_at(&corpus, space.as_ref(), &request, &query, slots))?))
        };
        guarded(self.sources(space.as_ref()), || self.with(py, find))
    }
}

/// Return the edits between a word and others, None above the maximum.
#[pyfunction]
pub(super) fn edits_between(py: Python<'_>, word: &str, others: Vec<PyBackedStr>, most: usize) -> Vec<Option<usize>> {
    py.detach(|| search::edits_between(word, &others, most))
}

fn listed(words: Vec<search::Word>) -> Vec<(String, usize, u32)> {
    words.into_iter().map(|results| (results.word, results.edits, results.rows)).collect()
}

impl Corpus {
    /// The bytes of files that a search looks at.
    fn sources(&self, space: Option<&search::Space<'_>>) -> [Option<Arc<Source>>; 7] {
        let text = self.text.as_ref();
        let terms = self.terms.as_ref();
        [
            text.and_then(|(entries, ..)| entries.get().0.source()),
            text.and_then(|(_, _, grams, ..)| grams.get().0.source()),
            text.and_then(|(.., spelling, _)| spelling.get().0.source()),
            terms.and_then(|(index, _)| index.get().0.source()),
            terms.and_then(|(_, frequencies)| frequencies.get().0.source()),
            space.and_then(|space| space.codes?.source()),
            space.and_then(|space| space.rows.source().cloned()),
        ]
    }

    /// Borrow every array for as long as a search reads them.
    fn with<R>(&self, py: Python<'_>, go_on: impl FnOnce(search::Corpus<'_>) -> Result<R>) -> Result<R> {
        let (rows, kind) = (readonly(py, &self.rows)?, readonly(py, &self.kind)?);
        let (severity, domain) = (readonly(py, &self.severity)?, readonly(py, &self.domain)?);
        let (created_at, updated_at) = (readonly(py, &self.created_at)?, readonly(py, &self.updated_at)?);
        let (valid_from, valid_until) = (readonly(py, &self.valid_from)?, readonly(py, &self.valid_until)?);
        let text = self.text.as_ref().map(|(entries, entry_rows, grams, gram_rows, spelling, spelling_rows)| {
            search::FullText {
                entries: (&entries.get().0, &entry_rows.get().0),
                grams: (&grams.get().0, &gram_rows.get().0),
                spelling: (&spelling.get().0, &spelling_rows.get().0),
            }
        });
        go_on(search::Corpus {
            rows: rows.as_slice()?,
            created_at: created_at.as_slice()?,
            updated_at: updated_at.as_slice()?,
            valid_from: valid_from.as_slice()?,
            valid_until: valid_until.as_slice()?,
            kind: kind.as_slice()?,
            severity: severity.as_slice()?,
            domain: domain.as_slice()?,
            names: &self.names,
            text,
            terms: self.terms.as_ref().map(|(index, frequencies)| (&index.get().0, &frequencies.get().0)),
        })
    }
}

fn column<T: Element>(columns: &Bound<'_, PyDict>, name: &str) -> Result<Array<T>> {
    let array =
        columns.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("the column {name} is missing")))?;
    // The checks of an argument: dtype, dimensions, layout.
    let _: Vector<'_, T> = array.extract()?;
    Ok(array.cast_into::<PyUntypedArray>()?.cast_into::<PyArray1<T>>()?.unbind())
}

fn readonly<'py, T: Element>(py: Python<'py>, array: &Array<T>) -> Result<PyReadonlyArray1<'py, T>> {
    Ok(array.bind(py).try_readonly()?)
}

fn space_of<'a>((number, rows, slots, codes, positions, sample): &'a SpaceParts<'_>) -> Result<search::Space<'a>> {
    Ok(search::Space {
        number: *number,
        rows: rows.rows()?,
        slots: slots.slice()?,
        codes: codes.as_ref().map(|codes| &codes.get().0),
        positions: positions.slice()?,
        sample: &sample.get().0,
    })
}

fn columns_of(names: &HashSet<String>, feedback: Option<(usize, usize, u32, f64)>) -> Result<search::Columns> {
    let feedback = feedback.map(|(rows, terms, agreeing, covered)| (Feedback { rows, terms, agreeing }, covered));
    let mut columns = search::Columns::default();
    for name in names {
        match name.as_str() {
            // Always there.
            "bm25" => {}
            "bm25_grams" => columns.grams = true,
            "tfidf" => columns.tfidf = true,
            "trigram" => columns.trigram = true,
            "cosine" => columns.cosine = true,
            "feedback" => columns.feedback = feedback,
            "vectors" => columns.vectors = true,
            _ => return Err(PyValueError::new_err(format!("{name:?} is no column of the corpus")).into()),
        }
    }
    Ok(columns)
}
