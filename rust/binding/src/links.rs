//! `Links`: who is linked to whom.

use pyo3::prelude::*;
use septet_core::Error;
use septet_core::links::{self, Change};

use super::errors::Result;
use super::{Integers, Vector, array, count};

/// The links of a store between its rows, immutable.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Links(links::Links);

#[pymethods]
impl Links {
    #[new]
    fn new(source: Vector<'_, i64>, target: Vector<'_, i64>, age: Vector<'_, i64>) -> Result<Self> {
        let links = changes(source.slice()?, target.slice()?, age.slice()?, None)?;
        Ok(Self(source.py().detach(|| links::Links::new(&links))?))
    }

    /// The links that `columns` returned.
    #[staticmethod]
    fn of_columns(rows: Vector<'_, i64>, ends: Vector<'_, i64>, lists: Vector<'_, u32>) -> Result<Self> {
        Ok(Self(links::Links::of_columns(rows.slice()?, ends.slice()?, lists.slice()?)?))
    }

    /// The rows that have links, where the list of each ends, and the lists.
    fn columns<'py>(&self, py: Python<'py>) -> (Integers<'py>, Integers<'py>, Bound<'py, numpy::PyArray1<u32>>) {
        let (rows, ends, lists) = py.detach(|| self.0.columns());
        (array(py, rows), array(py, ends), array(py, lists))
    }

    /// The links after some were stored or removed.
    fn moved(
        &self,
        source: Vector<'_, i64>,
        target: Vector<'_, i64>,
        age: Vector<'_, i64>,
        there: Vector<'_, bool>,
    ) -> Result<Self> {
        let there = there.bytes()?;
        let changes = changes(source.slice()?, target.slice()?, age.slice()?, Some(there.slice()?))?;
        Ok(Self(source.py().detach(|| self.0.moved(&changes))?))
    }

    /// Find what is near some rows.
    fn near<'py>(
        &self,
        anchors: Vector<'py, i64>,
        known: Vector<'py, i64>,
        depth: i64,
        most: Option<i64>,
    ) -> Result<(Integers<'py>, Integers<'py>, Integers<'py>)> {
        let (py, depth) = (anchors.py(), count("depth", depth)?);
        let most = most.map(|most| count("most", most)).transpose()?;
        let (anchors, known) = (anchors.slice()?, known.slice()?);
        let results = py.detach(|| self.0.near(anchors, known, depth, most));
        Ok((array(py, results.known), array(py, results.rows), array(py, results.steps)))
    }
}

fn changes(source: &[i64], target: &[i64], age: &[i64], there: Option<&[u8]>) -> Result<Vec<Change>> {
    let wanted = source.len();
    for (what, got) in [("target", target.len()), ("age", age.len()), ("there", there.map_or(wanted, <[u8]>::len))] {
        if got != wanted {
            return Err(Error::Length { what, got, wanted }.into());
        }
    }
    let change = |i: usize| Change {
        source: source[i],
        target: target[i],
        age: age[i],
        there: there.is_none_or(|there| there[i] != 0),
    };
    Ok((0..wanted).map(change).collect())
}
