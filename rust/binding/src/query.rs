//! Queries: their words, and what a search takes of them.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyTuple;
use septet_core::fts::Step;
use septet_core::search::{self, StopWords};
use septet_core::terms::Needed;

use super::errors::{Raised, Result};
use super::{Vector, count};

/// Which stop words are left out: none, the documented ones, or these.
#[derive(FromPyObject)]
pub(super) enum Dropped {
    Documented(bool),
    These(HashSet<String>),
}

impl From<Dropped> for StopWords {
    fn from(dropped: Dropped) -> Self {
        match dropped {
            Dropped::Documented(false) => Self::None,
            Dropped::Documented(true) => Self::English,
            Dropped::These(words) => Self::These(words.into_iter().collect()),
        }
    }
}

/// Cut a query into the terms of a full-text search.
#[pyfunction]
#[pyo3(signature = (text, stop_words, grams, most, least = 2, names = true))]
pub(super) fn query_terms<'py>(
    py: Python<'py>,
    text: &str,
    stop_words: Dropped,
    grams: bool,
    most: i64,
    least: i64,
    names: bool,
) -> Result<(Bound<'py, PyTuple>, usize, usize, bool)> {
    let found =
        search::query_terms(text, &stop_words.into(), (grams, names), count("most", most)?, count("least", least)?);
    Ok((PyTuple::new(py, found.terms)?, found.words, found.cut, found.has_phrase))
}

/// The words that entries need to hold: the forms and the pieces of each.
type NeededParts = Vec<(Vec<String>, Vec<String>)>;

/// Return the words that an entry must hold to hold the whole query, and whether FTS5 takes one for several tokens.
#[pyfunction]
#[pyo3(signature = (text, stop_words, grams, most, least = 2))]
pub(super) fn needed_words<'py>(
    py: Python<'py>,
    text: &str,
    stop_words: Dropped,
    grams: bool,
    most: i64,
    least: i64,
) -> Result<(Bound<'py, PyTuple>, bool)> {
    let (words, has_phrase) =
        search::needed_words(text, &stop_words.into(), grams, count("most", most)?, count("least", least)?);
    let each = |word: Needed| Ok((PyTuple::new(py, word.forms)?, PyTuple::new(py, word.pieces)?));
    let words = words.into_iter().map(each).collect::<Result<Vec<_>>>()?;
    Ok((PyTuple::new(py, words)?, has_phrase))
}

/// Return by text where terms stand in it: start, end (characters) and number of the term; the terms from the number
/// `prefixes` on match words that begin with them.
#[pyfunction]
pub(super) fn spans(
    py: Python<'_>,
    texts: Vec<PyBackedStr>,
    terms: Vec<String>,
    prefixes: usize,
    grams: bool,
) -> Vec<Vec<(usize, usize, usize)>> {
    let found = |text: &PyBackedStr| {
        let spans = search::spans(text, &terms, prefixes, grams);
        spans.into_iter().map(|span| (span.start, span.end, span.term)).collect()
    };
    py.detach(|| texts.iter().map(found).collect())
}

/// Cut a query into words whose beginnings are looked for.
#[pyfunction]
pub(super) fn cascade_words<'py>(
    py: Python<'py>,
    text: &str,
    stop_words: Dropped,
    most: i64,
) -> Result<(Bound<'py, PyTuple>, usize, bool, bool)> {
    let found = search::cascade_words(text, &stop_words.into(), count("most", most)?);
    Ok((PyTuple::new(py, found.words)?, found.cut, found.has_phrase, found.vague))
}

/// The steps of a cascade: whether all of the words are wanted, and their numbers.
type StepParts = Vec<(bool, Vec<usize>)>;

/// Text, terms, how many are words, grams, exact and unit vector, slots and scores that FTS5 found, words that are needed, steps of a cascade.
pub(super) type QueryParts<'py> = (
    PyBackedStr,
    Vec<String>,
    usize,
    bool,
    Option<(Vector<'py, f64>, Vector<'py, f32>)>,
    Option<(Vector<'py, i64>, Vector<'py, f64>)>,
    NeededParts,
    StepParts,
);

/// The words of a query, as a search takes them.
pub(super) struct Wanted {
    needed: Vec<Needed>,
    steps: Vec<Step>,
}

impl Wanted {
    pub(super) fn of((.., needed, steps): &QueryParts<'_>) -> Self {
        let word =
            |(forms, pieces): &(Vec<String>, Vec<String>)| Needed { forms: forms.clone(), pieces: pieces.clone() };
        let step = |(every, words): &(bool, Vec<usize>)| Step { every: *every, words: words.clone() };
        Self { needed: needed.iter().map(word).collect(), steps: steps.iter().map(step).collect() }
    }

    pub(super) fn query<'a>(
        &'a self,
        (text, terms, words, grams, vector, found, ..): &'a QueryParts<'_>,
    ) -> Result<search::Query<'a>> {
        let vector = vector.as_ref().map(|(exact, unit)| Ok::<_, Raised>((exact.slice()?, unit.slice()?)));
        let found = found.as_ref().map(|(slots, scores)| Ok::<_, Raised>((slots.slice()?, scores.slice()?)));
        let (needed, steps) = (&self.needed[..], &self.steps[..]);
        Ok(search::Query {
            text,
            terms,
            words: *words,
            grams: *grams,
            needed: (!needed.is_empty()).then_some(needed),
            steps: (!steps.is_empty()).then_some(steps),
            vector: vector.transpose()?,
            found: found.transpose()?,
        })
    }
}
