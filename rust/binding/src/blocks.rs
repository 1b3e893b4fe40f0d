//! Blocks of postings that a store elsewhere keeps.

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;
use septet_core::Error;
use septet_core::blocks::{self, Asked, Beginning, COLUMNS, Cascade, Counted, Ranked, Ranking, Way, changes};
use septet_core::fts::Step;

use super::errors::Result;
use super::fts::constants_of;
use super::{Doubles, Integers, Vector, array, count};
use numpy::PyReadonlyArrayDyn;

/// A part, its terms, and by pair the term, the entry and the counts; by entry the tokens.
type Part<'py> =
    (u8, Vec<PyBackedStr>, Vector<'py, i64>, Vector<'py, i64>, PyReadonlyArrayDyn<'py, i32>, Vector<'py, i64>);
/// By part and term its blocks.
type Blocks = Vec<(u8, PyBackedStr, PyBackedBytes)>;

/// A part, a term, a span, and the change of this block.
type Folded<'py> = (u8, String, i64, Bound<'py, PyBytes>);

/// Return the changes of postings by a write of entries.
#[pyfunction]
pub(super) fn written_postings<'py>(
    py: Python<'py>,
    parts: Vec<Part<'py>>,
    rows: Vector<'py, i64>,
    memories: Vector<'py, bool>,
    gone: usize,
) -> Result<Bound<'py, PyBytes>> {
    let memories = memories.bytes()?;
    let entries = changes::Entries { rows: rows.slice()?, memories: memories.slice()?, gone };
    let written = parts.iter().map(|(part, terms, term, entry, counts, tokens)| {
        let (term, entry, tokens) = (term.slice()?, entry.slice()?, tokens.slice()?);
        Ok(changes::Written { part: *part, terms, term, entry, counts: counts.as_slice()?, tokens })
    });
    let written = written.collect::<Result<Vec<_>>>()?;
    let bytes = py.detach(|| changes::written(&written, entries))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Return the changes of several writes as one for each block.
#[pyfunction]
pub(super) fn folded_postings(py: Python<'_>, changes: Vec<PyBackedBytes>) -> Result<Vec<Folded<'_>>> {
    let folded = py.detach(|| changes::folded(&changes))?;
    Ok(folded.into_iter().map(|(part, term, span, bytes)| (part, term, span, PyBytes::new(py, &bytes))).collect())
}

/// Return blocks with their changes.
#[pyfunction]
pub(super) fn merged_postings(
    py: Python<'_>,
    pairs: Vec<(PyBackedBytes, PyBackedBytes)>,
) -> Result<Vec<Bound<'_, PyBytes>>> {
    let merged = py.detach(|| {
        pairs.iter().map(|(block, change)| blocks::merge(block, change)).collect::<septet_core::Result<Vec<_>>>()
    })?;
    Ok(merged.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
}

/// Return the number of the postings in blocks, and a checksum of them.
#[pyfunction]
pub(super) fn checked_postings(py: Python<'_>, blocks: Blocks) -> Result<(u64, u64)> {
    let results = py.detach(|| {
        blocks.iter().try_fold((0_u64, 0_u64), |(number, sum), (part, term, bytes)| {
            let (more, other) = blocks::checksum(*part, term, bytes)?;
            Ok::<_, Error>((number + more, sum.wrapping_add(other)))
        })
    })?;
    Ok(results)
}

/// Rows, scores, the number of matches, and of those that hold every needed word.
type Found<'py> = (Integers<'py>, Doubles<'py>, usize, usize);

/// Find the best rows for the terms of a query.
#[expect(clippy::too_many_arguments, reason = "the signature that Python sees")]
#[pyfunction]
#[pyo3(signature = (asked, blocks, changes, k, *, weights, average, constants, needed, outside, memories))]
pub(super) fn ranked_postings<'py>(
    py: Python<'py>,
    asked: Vec<(u8, PyBackedStr, Option<f64>)>,
    blocks: Blocks,
    changes: Vec<PyBackedBytes>,
    k: i64,
    weights: [f64; COLUMNS],
    average: [f64; 2],
    constants: (f64, f64),
    needed: Vec<Vec<Way>>,
    outside: Vec<i64>,
    memories: bool,
) -> Result<Found<'py>> {
    let (most, constants) = (count("k", k)?, constants_of(Some(constants))?);
    let ranked = py.detach(|| {
        let asked: Vec<_> =
            asked.iter().map(|(part, term, weight)| Asked { part: *part, term, weight: *weight }).collect();
        let blocks: Vec<_> = blocks.iter().map(|(part, term, bytes)| (*part, &**term, &**bytes)).collect();
        let changes: Vec<_> = changes.iter().map(|bytes| &**bytes).collect();
        let mut outside = outside;
        outside.sort_unstable();
        let ranking = Ranking { weights, average, constants, needed: &needed, outside: &outside, memories, most };
        blocks::rank(&asked, &blocks, &changes, &ranking)
    });
    let Ranked { best, matches, whole } = ranked?;
    let rows = array(py, best.iter().map(|best| best.row).collect());
    let scores = array(py, best.iter().map(|best| best.score).collect());
    Ok((rows, scores, matches, whole))
}

/// The bounds `[first, end)` of the terms that begin with a word, and the blocks of each.
type Word = (String, String, Vec<(PyBackedStr, PyBackedBytes)>);

/// The words of a cascade, with what a store has of the terms that begin with them.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Begun {
    words: Vec<Word>,
    changes: Vec<PyBackedBytes>,
}

impl Begun {
    fn words(&self) -> Vec<Beginning<'_>> {
        let mut words = Vec::with_capacity(self.words.len());
        for (low, high, terms) in &self.words {
            let terms = terms.iter().map(|(term, bytes)| (&**term, &**bytes)).collect();
            words.push(Beginning { low, high, terms });
        }
        words
    }

    fn changes(&self) -> Vec<&[u8]> {
        self.changes.iter().map(|bytes| &**bytes).collect()
    }
}

#[pymethods]
impl Begun {
    #[new]
    fn new(words: Vec<Word>, changes: Vec<PyBackedBytes>) -> Self {
        Self { words, changes }
    }

    /// The number of rows that hold each word.
    fn counts(&self, py: Python<'_>, weights: [f64; COLUMNS], entries: bool, memories: bool) -> Result<Vec<usize>> {
        let counted = Counted { weights, entries, memories };
        Ok(py.detach(|| blocks::count_begun(&self.words(), &self.changes(), counted))?)
    }

    /// Find the best rows of the first step that any row takes.
    #[expect(clippy::too_many_arguments, reason = "the signature that Python sees")]
    #[pyo3(signature = (k, steps, *, idf, weights, average, constants, outside, memories))]
    fn best<'py>(
        &self,
        py: Python<'py>,
        k: i64,
        steps: Vec<(bool, Vec<usize>)>,
        idf: Vec<f64>,
        weights: [f64; COLUMNS],
        average: f64,
        constants: (f64, f64),
        mut outside: Vec<i64>,
        memories: bool,
    ) -> Result<(Integers<'py>, Doubles<'py>, usize, Option<usize>)> {
        let (most, constants) = (count("k", k)?, constants_of(Some(constants))?);
        let steps: Vec<_> = steps.into_iter().map(|(every, words)| Step { every, words }).collect();
        let results = py.detach(|| {
            outside.sort_unstable();
            let cascade = Cascade { idf: &idf, steps: &steps, average, constants, outside: &outside, most };
            let counted = Counted { weights, entries: true, memories };
            blocks::rank_begun(&self.words(), &self.changes(), counted, &cascade)
        });
        let (Ranked { best, matches, .. }, step) = results?;
        let rows = array(py, best.iter().map(|best| best.row).collect());
        Ok((rows, array(py, best.iter().map(|best| best.score).collect()), matches, step))
    }
}
