//! Rows that lie in memory, or in a file with those that were added since.

use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::rows::{Rows, check_query};

use crate::arrays::{Array, Places, Source};
use crate::error::{Error, Result};
use crate::simd::fetch;

/// Float32 rows of a file: where its bytes are mapped or were read, or read one at a time.
#[derive(Debug)]
pub struct FileRows {
    held: Held,
    n: usize,
    d: usize,
}

#[derive(Debug)]
enum Held {
    Places(Places),
    Bytes(Array<f32>),
}

impl FileRows {
    /// View a column as rows of `d` components.
    ///
    /// # Errors
    /// [`Error::Length`] unless it holds whole rows.
    pub fn new(places: Places, d: usize) -> Result<Self> {
        let bytes = usize::try_from(places.len()).unwrap_or(usize::MAX);
        Self::of(Held::Places(places), bytes, d)
    }

    /// View an array as rows of `d` components.
    ///
    /// # Errors
    /// [`Error::Length`] unless it holds whole rows.
    pub fn of_array(rows: Array<f32>, d: usize) -> Result<Self> {
        let bytes = size_of_val(&*rows);
        Self::of(Held::Bytes(rows), bytes, d)
    }

    fn of(held: Held, bytes: usize, d: usize) -> Result<Self> {
        match d.checked_mul(size_of::<f32>()) {
            Some(width) if width > 0 && bytes.is_multiple_of(width) => Ok(Self { held, n: bytes / width, d }),
            _ => Err(Error::Length { what: "rows", got: bytes, wanted: d }),
        }
    }

    /// The number of rows.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The number of components of a row.
    pub fn d(&self) -> usize {
        self.d
    }

    /// The bytes that rows are looked at in; None where they are read.
    pub fn source(&self) -> Option<&Arc<Source>> {
        match &self.held {
            Held::Places(_) => None,
            Held::Bytes(rows) => rows.source(),
        }
    }

    /// Copy the rows from `i` on.
    ///
    /// # Errors
    /// [`Error::OutOfRange`]; [`Error::Damaged`] when the file was cut or overwritten; [`Error::File`].
    pub fn read(&self, i: usize, rows: &mut [f32]) -> Result<()> {
        let start = i.saturating_mul(self.d);
        match &self.held {
            Held::Places(places) => places.read((start * size_of::<f32>()) as u64, bytemuck::cast_slice_mut(rows)),
            Held::Bytes(all) => {
                let results = start.checked_add(rows.len()).and_then(|end| all.get(start..end));
                let index = i64::try_from(i).unwrap_or(i64::MAX);
                rows.copy_from_slice(results.ok_or(Error::OutOfRange { what: "row", index, len: self.n })?);
                all.source().map_or(Ok(()), |source| source.check())
            }
        }
    }

    /// Copy row `i`, which must be one.
    fn finite(&self, i: usize, row: &mut [f32]) -> Result<()> {
        self.read(i, row)?;
        if is_finite(row) { Ok(()) } else { Err(Error::Damaged { what: "a row" }) }
    }
}

/// True if every component is finite; in any order, so that many are looked at at once.
fn is_finite(row: &[f32]) -> bool {
    const EXPONENT: u32 = 0x7f80_0000;
    !row.iter().fold(false, |any, x| any | (x.to_bits() & EXPONENT == EXPONENT))
}

/// Rows that were read from a file: the scan's best are candidates, whose cosines are asked for again.
#[derive(Debug, Default)]
pub struct ReadRows(Mutex<(FxHashMap<usize, usize>, Vec<f32>)>);

impl ReadRows {
    /// More rows than these are read again.
    const MOST: usize = 1_024;

    /// Fill the buffer with row `i`, read from the rows unless it was.
    fn row(&self, rows: &FileRows, i: usize, buffer: &mut [f32]) -> Result<()> {
        let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (places, data) = &mut *read;
        let room = places.len() < Self::MOST;
        match places.entry(i) {
            Entry::Occupied(place) => buffer.copy_from_slice(&data[*place.get()..*place.get() + rows.d]),
            Entry::Vacant(place) => {
                rows.finite(i, buffer)?;
                if room {
                    place.insert(data.len());
                    data.extend_from_slice(buffer);
                }
            }
        }
        Ok(())
    }
}

/// A matrix `(n, d)` of which single rows are read: first those of the base, then those added since.
#[derive(Clone, Copy, Debug)]
pub struct Pieces<'a> {
    base: Base<'a>,
    more: Rows<'a>,
    source: Option<&'a Arc<Source>>,
    read: Option<&'a ReadRows>,
}

#[derive(Clone, Copy, Debug)]
enum Base<'a> {
    Memory(Rows<'a>),
    File(&'a FileRows),
}

impl<'a> From<Rows<'a>> for Pieces<'a> {
    fn from(rows: Rows<'a>) -> Self {
        Self { base: Base::Memory(rows), more: rows.none(), source: None, read: None }
    }
}

impl<'a> Pieces<'a> {
    /// Rows in memory, and those added since.
    ///
    /// # Errors
    /// [`Error::Length`] for rows of another width.
    pub fn of_memory(base: Rows<'a>, more: Rows<'a>) -> Result<Self> {
        Self { base: Base::Memory(base), more, source: None, read: None }.checked(base.d())
    }

    /// Rows in a file, and those added since.
    ///
    /// # Errors
    /// [`Error::Length`] for rows of another width.
    pub fn of_file(base: &'a FileRows, more: Rows<'a>) -> Result<Self> {
        let rows = match &base.held {
            Held::Places(_) => Base::File(base),
            Held::Bytes(rows) => Base::Memory(Rows::new(rows, base.n, base.d)?),
        };
        Self { base: rows, more, source: base.source(), read: None }.checked(base.d)
    }

    /// The same rows, of which those that are read stay in memory.
    #[must_use]
    pub fn reading_once(self, read: &'a ReadRows) -> Self {
        Self { read: Some(read), ..self }
    }

    fn checked(self, d: usize) -> Result<Self> {
        if self.more.d() == d { Ok(self) } else { Err(Error::Length { what: "a row", got: self.more.d(), wanted: d }) }
    }

    fn split(self) -> usize {
        match self.base {
            Base::Memory(rows) => rows.n(),
            Base::File(rows) => rows.n(),
        }
    }

    /// The number of rows.
    pub fn n(self) -> usize {
        self.split() + self.more.n()
    }

    /// The number of components of a row.
    pub fn d(self) -> usize {
        self.more.d()
    }

    /// The bytes of a file that rows are looked at in, if any.
    pub fn source(self) -> Option<&'a Arc<Source>> {
        self.source
    }

    /// True if every row lies in memory.
    pub(super) fn are_in_memory(self) -> bool {
        matches!(self.base, Base::Memory(_))
    }

    /// Ask memory for row `i`, which will be read soon; nothing for a row of a file, or an index that is no row.
    pub fn fetch(self, i: i64) {
        let row = usize::try_from(i).ok().filter(|&i| i < self.n()).and_then(|i| self.in_memory(i));
        row.into_iter().for_each(fetch);
    }

    /// Row `i`, read into the buffer if it lies in a file.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless `0 <= i < n`; [`Error::File`] when it cannot be read.
    pub fn checked_row<'b>(self, i: i64, buffer: &'b mut Vec<f32>) -> Result<&'b [f32]>
    where
        'a: 'b,
    {
        match usize::try_from(i) {
            Ok(at) if at < self.n() => self.row(at, buffer),
            _ => Err(Error::OutOfRange { what: "row", index: i, len: self.n() }),
        }
    }

    /// Row `i`, where it lies in memory; None in a file. It is not looked at, so that it may be fetched ahead.
    ///
    /// # Panics
    /// If `i >= n`.
    pub(super) fn in_memory(self, i: usize) -> Option<&'a [f32]> {
        let split = self.split();
        match self.base {
            _ if i >= split => Some(self.more.row(i - split)),
            Base::Memory(rows) => Some(rows.row(i)),
            Base::File(_) => None,
        }
    }

    /// Row `i`, read into the buffer if it lies in a file.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be read.
    ///
    /// # Panics
    /// If `i >= n`.
    pub(super) fn row<'b>(self, i: usize, buffer: &'b mut Vec<f32>) -> Result<&'b [f32]>
    where
        'a: 'b,
    {
        match (self.in_memory(i), self.base) {
            (Some(row), _) => {
                if let Some(source) = self.source.filter(|_| !is_finite(row)) {
                    source.spoil();
                }
                Ok(row)
            }
            (None, Base::File(rows)) => {
                buffer.resize(rows.d, 0.0);
                match self.read {
                    Some(read) => read.row(rows, i, buffer)?,
                    None => rows.finite(i, buffer)?,
                }
                Ok(buffer)
            }
            (None, Base::Memory(_)) => unreachable!("rows of memory are in memory"),
        }
    }

    /// Fail unless the query has `d` components, all finite.
    pub(super) fn check_query(self, query: &[f32]) -> Result<()> {
        check_query(query, self.d())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::{ArrayFile, ArrayWriter, folder::Folder};

    #[test]
    fn pieces_are_one_matrix_wherever_they_lie() {
        let (base, more) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0]);
        let folder = Folder::new("pieces");
        let mut writer = ArrayWriter::create(&folder.file("a"), b"").unwrap();
        writer.column::<f32>("rows", &base).unwrap();
        writer.finish().unwrap();
        let places = ArrayFile::open(&folder.file("a")).unwrap().places("rows").unwrap();
        assert!(FileRows::new(places.clone(), 3).is_err() && FileRows::new(places.clone(), 0).is_err());
        let file = FileRows::new(places, 2).unwrap();
        let (base, more) = (Rows::new(&base, 2, 2).unwrap(), Rows::new(&more, 1, 2).unwrap());
        let mut buffer = Vec::new();
        for pieces in [Pieces::of_memory(base, more).unwrap(), Pieces::of_file(&file, more).unwrap()] {
            assert_eq!((pieces.n(), pieces.d()), (3, 2));
            for (i, row) in [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]].iter().enumerate() {
                assert_eq!(pieces.row(i, &mut buffer).unwrap(), row);
            }
        }
        let narrow = Rows::new(&[1.0], 1, 1).unwrap();
        assert!(Pieces::of_memory(base, narrow).is_err() && Pieces::of_file(&file, narrow).is_err());
    }
}
