//! Files of arrays.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::prelude::*;
use numpy::{PyArray1, PyArray2, ndarray};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use septet_core::arrays::{self, Array};
use septet_core::{fts, terms, vectors};

use super::codes::Codes;
use super::errors::Result;
use super::fts::{Statistics, TextIndex};
use super::terms::{Frequencies, SpellingIndex, SpellingStatistics, TermIndex};
use super::{Matrix, Vector, count};

/// Rows that are copied from file to file at a time.
const PAGE_ROWS: usize = 1_024;

/// A file of named columns, mapped or read.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct ArrayFile(arrays::ArrayFile);

/// Float32 rows of a file, looked at where they lie or read when they are asked for.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct FileRows(pub(super) vectors::FileRows);

/// All bytes of a file of another format, mapped or read.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct FileBytes(Array<u8>);

#[pymethods]
impl FileBytes {
    #[new]
    #[pyo3(signature = (path, *, mapped=true))]
    fn new(py: Python<'_>, path: PathBuf, mapped: bool) -> Result<Self> {
        Ok(Self(py.detach(|| arrays::whole(&path, mapped))?))
    }

    /// The bytes, read-only, where they lie.
    fn view<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<u8>>> {
        looked_at(py, self.0.clone())
    }

    /// Fail when the file was cut or overwritten since it was opened.
    fn check(&self) -> Result<()> {
        Ok(self.0.source().map_or(Ok(()), |source| source.check())?)
    }
}

#[pymethods]
impl FileRows {
    fn __len__(&self) -> usize {
        self.0.n()
    }

    /// The number of components of a row.
    #[getter]
    fn dimensions(&self) -> usize {
        self.0.d()
    }

    /// The rows that begin `at` bytes into a file, mapped or read; more may follow them.
    #[staticmethod]
    #[pyo3(signature = (path, at, rows, dimensions, *, mapped=true))]
    fn open(py: Python<'_>, path: PathBuf, at: i64, rows: i64, dimensions: i64, mapped: bool) -> Result<Self> {
        let (at, rows, dimensions) = (count("at", at)?, count("rows", rows)?, count("dimensions", dimensions)?);
        Ok(Self(py.detach(|| {
            let bytes = rows.saturating_mul(dimensions).saturating_mul(size_of::<f32>());
            let array = arrays::plain(&path, at, bytes, mapped)?;
            vectors::FileRows::of_array(array, dimensions)
        })?))
    }

    /// A copy of the rows from `start` on, before `stop`.
    fn read<'py>(&self, py: Python<'py>, start: i64, stop: i64) -> Result<Bound<'py, PyArray2<f32>>> {
        let (start, stop, d) = (count("start", start)?, count("stop", stop)?.min(self.0.n()), self.0.d());
        let n = stop.saturating_sub(start);
        let mut rows = zeros(n.saturating_mul(d))?;
        py.detach(|| self.0.read(start, &mut rows))?;
        Ok(PyArray1::from_vec(py, rows).reshape([n, d])?)
    }
}

/// The owner of a column's bytes: keeps them in place while numpy reads them.
#[pyclass(frozen)]
struct Column(Array<u8>);

/// A read-only numpy array of bytes, where they lie.
fn looked_at(py: Python<'_>, bytes: Array<u8>) -> Result<Bound<'_, PyArray1<u8>>> {
    let owner = Bound::new(py, Column(bytes))?;
    let bytes = ndarray::ArrayView1::from(&*owner.get().0);
    // SAFETY: the owner is frozen and holds the file's bytes, so they neither move nor vanish while the array, which
    // keeps the owner alive, looks at them; the array is read-only from here on.
    let array = unsafe { PyArray1::borrow_from_array(&bytes, owner.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    Ok(array)
}

/// Memory for what a file says it holds, which may be more than there is.
fn zeros<T: bytemuck::Zeroable>(n: usize) -> PyResult<Vec<T>> {
    // As the system gives it: zeros are not written.
    let items = bytemuck::allocation::try_zeroed_slice_box(n);
    items.map(Vec::from).map_err(|()| PyMemoryError::new_err(format!("no memory for {n} items of a file")))
}

#[pymethods]
impl ArrayFile {
    #[new]
    #[pyo3(signature = (path, *, mapped=true))]
    fn new(py: Python<'_>, path: PathBuf, mapped: bool) -> Result<Self> {
        Ok(Self(py.detach(|| arrays::ArrayFile::open_as(&path, mapped))?))
    }

    /// True if it is mapped and was not written to since it was made.
    #[getter]
    fn is_sealed(&self) -> bool {
        self.0.is_sealed()
    }

    /// Fail when the file was cut or overwritten since it was opened.
    fn check(&self) -> Result<()> {
        Ok(self.0.source().check()?)
    }

    /// The stamp that the writer put into the file.
    #[getter]
    fn stamp<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.stamp())
    }

    /// The length of the file.
    #[getter]
    fn size_bytes(&self) -> usize {
        self.0.size_bytes()
    }

    /// The names of the columns, in their order.
    fn names(&self) -> Vec<String> {
        self.0.names().map(str::to_owned).collect()
    }

    /// The bytes of a column, read-only, where they lie.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> Result<Bound<'py, PyArray1<u8>>> {
        looked_at(py, self.0.bytes(name)?)
    }

    /// The float32 rows of a column: looked at where they lie, or, if there are more bytes, read when they are asked for.
    fn rows(&self, name: &str, dimensions: i64, most_bytes: i64) -> Result<FileRows> {
        let (d, most_bytes) = (count("dimensions", dimensions)?, count("most_bytes", most_bytes)?);
        let is_read = self.0.source().is_mapped() && self.0.column_bytes(name)? > most_bytes;
        Ok(FileRows(if is_read {
            vectors::FileRows::new(self.0.places(name)?, d)?
        } else {
            vectors::FileRows::of_array(self.0.column(name)?, d)?
        }))
    }

    /// Compare the checksum of a column, or of all, past the map.
    #[pyo3(signature = (name=None))]
    fn verify(&self, py: Python<'_>, name: Option<&str>) -> Result<()> {
        Ok(py.detach(|| name.map_or_else(|| self.0.verify(), |name| self.0.verify_column(name)))?)
    }

    /// The text index whose columns have this prefix.
    fn text_index(&self, py: Python<'_>, prefix: &str) -> Result<TextIndex> {
        Ok(TextIndex(py.detach(|| fts::TextIndex::open(&self.0, prefix))?))
    }

    /// The statistics over an index of this file whose columns have this prefix.
    fn statistics(&self, py: Python<'_>, prefix: &str, index: &Bound<'_, TextIndex>) -> Result<Statistics> {
        let index = &index.get().0;
        Ok(Statistics(py.detach(|| fts::Statistics::open(&self.0, prefix, index))?))
    }

    /// The spelling index whose columns have this prefix, and the statistics over it.
    fn spelling_index(&self, py: Python<'_>, prefix: &str) -> Result<(SpellingIndex, SpellingStatistics)> {
        let (index, statistics) = py.detach(|| {
            let index = terms::SpellingIndex::open(&self.0, prefix)?;
            septet_core::Result::Ok((index, terms::SpellingStatistics::open(&self.0, prefix)?))
        })?;
        Ok((SpellingIndex(index), SpellingStatistics(statistics)))
    }

    /// The term index whose columns have this prefix, and the frequencies of `documents` documents over it.
    fn term_index(&self, py: Python<'_>, prefix: &str, documents: i64) -> Result<(TermIndex, Frequencies)> {
        let documents = count("documents", documents)?;
        let (index, frequencies) = py.detach(|| {
            let index = terms::TermIndex::open(&self.0, prefix)?;
            let frequencies = terms::Frequencies::open(&self.0, prefix, &index, documents)?;
            septet_core::Result::Ok((index, frequencies))
        })?;
        Ok((TermIndex(index), Frequencies(frequencies)))
    }

    /// The codes whose columns have this prefix.
    fn codes(&self, py: Python<'_>, prefix: &str) -> Result<Codes> {
        Ok(Codes(py.detach(|| vectors::Codes::open(&self.0, prefix))?))
    }
}

/// A file of arrays in the making.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct ArrayWriter(Mutex<Option<Box<arrays::ArrayWriter>>>);

#[pymethods]
impl ArrayWriter {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, stamp: &[u8]) -> Result<Self> {
        Ok(Self(Mutex::new(Some(Box::new(py.detach(|| arrays::ArrayWriter::create(&path, stamp))?)))))
    }

    /// Write a column of items of `item_bytes` bytes, in pieces.
    fn column(&self, py: Python<'_>, name: &str, item_bytes: i64, pieces: Vec<Vector<'_, u8>>) -> Result<()> {
        let item_bytes = count("item_bytes", item_bytes)?;
        let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.slice()).collect::<Result<_>>()?;
        self.with(py, |to| {
            to.begin_items(name, item_bytes)?;
            pieces.iter().try_for_each(|piece| to.put_bytes(piece))
        })
    }

    /// Write a column of the first rows of others in a file, and of more in memory.
    fn rows(
        &self,
        py: Python<'_>,
        name: &str,
        base: &Bound<'_, FileRows>,
        first: i64,
        more: Matrix<'_, f32>,
    ) -> Result<()> {
        let (base, first, more) = (&base.get().0, count("first", first)?, more.rows()?);
        self.with(py, |to| {
            to.begin::<f32>(name)?;
            let mut start = 0;
            while start < first {
                let mut page = vec![0.0; (first - start).min(PAGE_ROWS) * base.d()];
                base.read(start, &mut page)?;
                to.put(&page)?;
                start += PAGE_ROWS;
            }
            to.put(more.data())
        })
    }

    /// Write a text index.
    fn text_index(&self, py: Python<'_>, prefix: &str, index: &Bound<'_, TextIndex>) -> Result<()> {
        let index = &index.get().0;
        self.with(py, |to| index.write(to, prefix))
    }

    /// Write statistics.
    fn statistics(&self, py: Python<'_>, prefix: &str, statistics: &Bound<'_, Statistics>) -> Result<()> {
        let statistics = &statistics.get().0;
        self.with(py, |to| statistics.write(to, prefix))
    }

    /// Write a spelling index, and statistics over it.
    fn spelling_index(
        &self,
        py: Python<'_>,
        prefix: &str,
        index: &Bound<'_, SpellingIndex>,
        statistics: &Bound<'_, SpellingStatistics>,
    ) -> Result<()> {
        let (index, statistics) = (&index.get().0, &statistics.get().0);
        self.with(py, |to| {
            index.write(to, prefix)?;
            statistics.write(to, prefix)
        })
    }

    /// Write a term index, and frequencies over it.
    fn term_index(
        &self,
        py: Python<'_>,
        prefix: &str,
        index: &Bound<'_, TermIndex>,
        frequencies: &Bound<'_, Frequencies>,
    ) -> Result<()> {
        let (index, frequencies) = (&index.get().0, &frequencies.get().0);
        self.with(py, |to| {
            index.write(to, prefix)?;
            frequencies.write(to, prefix)
        })
    }

    /// Write the codes of the first `rows` rows.
    fn codes(&self, py: Python<'_>, prefix: &str, codes: &Bound<'_, Codes>, rows: i64) -> Result<()> {
        let (codes, rows) = (&codes.get().0, count("rows", rows)?);
        self.with(py, |to| codes.write(to, prefix, rows))
    }

    /// Complete the file, have it reach the disk, and return its length.
    fn finish(&self, py: Python<'_>) -> Result<u64> {
        let writer = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let writer = writer.ok_or_else(finished)?;
        Ok(py.detach(|| writer.finish())?)
    }
}

impl ArrayWriter {
    fn with(
        &self,
        py: Python<'_>,
        write: impl FnOnce(&mut arrays::ArrayWriter) -> septet_core::Result<()> + Send,
    ) -> Result<()> {
        py.detach(|| match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(writer) => Ok(write(writer)?),
            None => Err(finished().into()),
        })
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("the file is finished")
}
