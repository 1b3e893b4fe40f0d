//! `Codes`: exact top-k from 8-bit codes.

use std::path::PathBuf;

use numpy::prelude::*;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use septet_core::Error;
use septet_core::arrays::{ArrayFile, ArrayWriter};
use septet_core::vectors::{self, Hits, Level, Request};

use super::errors::Result;
use super::{Doubles, Input, Integers, Matrix, Pieces, Vector, checked, count, integers, thread_count};

type Best<'py> = (Integers<'py>, Doubles<'py>);
type BestOfMany<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>);

/// 8-bit codes of float32 rows, append-only.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Codes(pub(super) vectors::Codes);

#[pymethods]
impl Codes {
    #[new]
    #[pyo3(signature = (dimensions, *, distances=false))]
    fn new(dimensions: i64, distances: bool) -> Result<Self> {
        let dimensions = count("dimensions", dimensions)?;
        Ok(Self(if distances { vectors::Codes::of_distances(dimensions) } else { vectors::Codes::new(dimensions) }?))
    }

    /// True if searches are by distance.
    #[getter]
    fn distances(&self) -> bool {
        self.0.distances()
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.len())
    }

    /// The number of components of a row.
    #[getter]
    fn dimensions(&self) -> usize {
        self.0.d()
    }

    /// The memory the codes take.
    #[getter]
    fn size_bytes(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.size_bytes())
    }

    /// Write the codes of the first `rows` rows to a new file.
    fn save(&self, py: Python<'_>, path: PathBuf, rows: i64, stamp: &[u8]) -> Result<()> {
        let rows = count("rows", rows)?;
        let written = py.detach(|| {
            let mut writer = ArrayWriter::create(&path, stamp)?;
            self.0.write(&mut writer, "", rows)?;
            writer.finish().map(|_| ())
        });
        checked([self.0.source()], written)
    }

    /// The codes in a file with that stamp, mapped or read, its checksums compared.
    #[staticmethod]
    #[pyo3(signature = (path, stamp, *, mapped=true))]
    fn open(py: Python<'_>, path: PathBuf, stamp: &[u8], mapped: bool) -> Result<Self> {
        Ok(py.detach(|| {
            let file = ArrayFile::open_as(&path, mapped)?;
            if file.stamp() != stamp {
                return Err(Error::Damaged { what: "the stamp" });
            }
            file.verify()?;
            vectors::Codes::open(&file, "").map(Self)
        })?)
    }

    /// Code the rows `(n, d)`, add them at the end, and return the index of the first.
    fn append(&self, rows: Matrix<'_, f32>) -> Result<usize> {
        let (py, rows) = (rows.py(), rows.rows()?);
        Ok(py.detach(|| self.0.append(rows))?)
    }

    /// The number of lists; 0 if there are none.
    #[getter]
    fn lists(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.lists())
    }

    /// The number of rows that were added since the lists were made.
    #[getter]
    fn unlisted(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.unlisted())
    }

    /// Codes of the same rows in lists, without the dead ones; with `absorb` existing lists take in later rows.
    #[pyo3(signature = (rows, alive=None, *, absorb=false, threads=None))]
    fn arranged(
        &self,
        py: Python<'_>,
        rows: Pieces<'_>,
        alive: Option<Vector<'_, bool>>,
        absorb: bool,
        threads: Option<i64>,
    ) -> Result<Self> {
        let alive = alive.map(|alive| alive.bytes()).transpose()?;
        let alive = alive.as_ref().map(Input::slice).transpose()?;
        let (threads, rows) = (thread_count(threads)?, rows.rows()?);
        let codes = py.detach(|| self.0.arranged(rows, alive, absorb, threads));
        Ok(Self(checked([self.0.source(), rows.source().cloned()], codes)?))
    }

    /// Find `k` rows so that this share of the best is expected among them, and true if they are the best for certain.
    #[pyo3(signature = (query, rows, k, recall, mask=None))]
    fn probe<'py>(
        &self,
        query: Vector<'py, f32>,
        rows: Pieces<'py>,
        k: i64,
        recall: f64,
        mask: Option<Vector<'py, bool>>,
    ) -> Result<(Integers<'py>, Doubles<'py>, bool)> {
        let mask = mask.map(|mask| mask.bytes()).transpose()?;
        let request = request(k, mask.as_ref(), None, Some(1))?;
        let (py, query, rows) = (query.py(), query.slice()?, rows.rows()?);
        let results = py.detach(|| vectors::probe_coded(&self.0, query, rows, request, recall));
        let (hits, certain) = checked([self.0.source(), rows.source().cloned()], results)?;
        Ok((integers(py, &hits.rows), PyArray1::from_vec(py, self.shown(hits.scores)), certain))
    }

    /// Find the `k` rows with the largest dot product, exactly.
    #[expect(clippy::too_many_arguments, reason = "the signature that Python sees")]
    #[pyo3(signature = (query, rows, k, mask=None, *, kernel=None, threads=None, front=None))]
    fn top_k<'py>(
        &self,
        query: Vector<'py, f32>,
        rows: Pieces<'py>,
        k: i64,
        mask: Option<Vector<'py, bool>>,
        kernel: Option<&str>,
        threads: Option<i64>,
        front: Option<bool>,
    ) -> Result<Best<'py>> {
        let mask = mask.map(|mask| mask.bytes()).transpose()?;
        let request = Request { front, ..request(k, mask.as_ref(), kernel, threads)? };
        let (py, query, rows) = (query.py(), query.slice()?, rows.rows()?);
        let hits = py.detach(|| vectors::top_k_coded(&self.0, query, rows, request));
        let hits = checked([self.0.source(), rows.source().cloned()], hits)?;
        Ok((integers(py, &hits.rows), PyArray1::from_vec(py, self.shown(hits.scores))))
    }

    /// Find the `k` best rows of each query `(q, d)`.
    #[expect(clippy::too_many_arguments, reason = "the signature that Python sees")]
    #[pyo3(signature = (queries, rows, k, mask=None, *, kernel=None, threads=None, front=None))]
    fn top_k_batch<'py>(
        &self,
        queries: Matrix<'py, f32>,
        rows: Pieces<'py>,
        k: i64,
        mask: Option<Vector<'py, bool>>,
        kernel: Option<&str>,
        threads: Option<i64>,
        front: Option<bool>,
    ) -> Result<BestOfMany<'py>> {
        let mask = mask.map(|mask| mask.bytes()).transpose()?;
        let request = Request { front, ..request(k, mask.as_ref(), kernel, threads)? };
        let (py, queries, rows) = (queries.py(), queries.rows()?, rows.rows()?);
        let results = py.detach(|| vectors::top_k_batch_coded(&self.0, queries, rows, request));
        let results = checked([self.0.source(), rows.source().cloned()], results)?;
        let width = results.first().map_or(0, |hits| hits.rows.len());
        let (mut ids, mut scores) =
            (Vec::with_capacity(results.len() * width), Vec::with_capacity(results.len() * width));
        for Hits { rows, scores: own } in results {
            ids.extend(rows.into_iter().map(|row| row as i64));
            scores.extend(self.shown(own));
        }
        let shape = [queries.n(), width];
        Ok((PyArray1::from_vec(py, ids).reshape(shape)?, PyArray1::from_vec(py, scores).reshape(shape)?))
    }

    /// Find the rows of each query `(q, d)` whose score is at least `radius`, or distance at most: the `k` best of them.
    #[expect(clippy::too_many_arguments, reason = "the signature that Python sees")]
    #[pyo3(signature = (queries, rows, k, radius, mask=None, *, kernel=None, threads=None, front=None))]
    fn within<'py>(
        &self,
        queries: Matrix<'py, f32>,
        rows: Pieces<'py>,
        k: i64,
        radius: f64,
        mask: Option<Vector<'py, bool>>,
        kernel: Option<&str>,
        threads: Option<i64>,
        front: Option<bool>,
    ) -> Result<Vec<Best<'py>>> {
        let mask = mask.map(|mask| mask.bytes()).transpose()?;
        let least = if self.0.distances() { -radius } else { radius };
        let request = Request { front, within: Some(least), ..request(k, mask.as_ref(), kernel, threads)? };
        let (py, queries, rows) = (queries.py(), queries.rows()?, rows.rows()?);
        let results = py.detach(|| vectors::top_k_batch_coded(&self.0, queries, rows, request));
        let results = checked([self.0.source(), rows.source().cloned()], results)?;
        let each = results.into_iter();
        Ok(each.map(|hits| (integers(py, &hits.rows), PyArray1::from_vec(py, self.shown(hits.scores)))).collect())
    }
}

impl Codes {
    /// Scores as Python sees them: distances are not negated.
    fn shown(&self, mut scores: Vec<f64>) -> Vec<f64> {
        if self.0.distances() {
            scores.iter_mut().for_each(|score| *score = -*score);
        }
        scores
    }
}

fn request<'a>(
    k: i64,
    mask: Option<&'a Input<'_, u8, numpy::Ix1>>,
    kernel: Option<&str>,
    threads: Option<i64>,
) -> Result<Request<'a>> {
    let k = count("k", k)?;
    let threads = thread_count(threads)?;
    let level = kernel.map_or(Ok(Level::best()), Level::named)?;
    Ok(Request { k, mask: mask.map(Input::slice).transpose()?, level, threads, within: None, front: None })
}
