//! Reading an array file.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytemuck::Pod;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::array::Array;
use super::places::Places;
use super::source::{Source, State, short};
use super::table::{Column, HEAD_BYTES, Head, Table};
use crate::error::{Error, Result};
use crate::system::{open_to_map, read_at};

const BUFFER_BYTES: usize = 1 << 18;
const CONTENT: &str = "the content of a column";
const PLACE: &str = "the place of a column";

/// A file of named columns, mapped or read.
#[derive(Debug)]
pub struct ArrayFile {
    path: PathBuf,
    file: Arc<File>,
    source: Arc<Source>,
    table: Table,
    is_sealed: bool,
}

impl ArrayFile {
    /// Map a file; see [`ArrayFile::open_as`].
    ///
    /// # Errors
    /// As there.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_as(path, true)
    }

    /// Open a file and check its head and its table, without touching the columns. A file that is not to be mapped, or
    /// is small, is read.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be read; [`Error::Foreign`] for another format; [`Error::Damaged`] for anything
    /// else but a whole array file.
    pub fn open_as(path: &Path, is_mapped: bool) -> Result<Self> {
        let fault = |fault: std::io::Error| Error::file(path, &fault);
        let file = Arc::new(open_to_map(path).map_err(fault)?);
        let state = State::of(&file).map_err(fault)?;
        if state.bytes < HEAD_BYTES as u64 {
            return Err(Error::Damaged { what: "the length" });
        }
        let mut head = [0; HEAD_BYTES];
        read_at(&file, &mut head, 0).map_err(|fault| short(path, &fault))?;
        let head = Head::from_bytes(&head)?;
        if head.file_bytes != state.bytes {
            return Err(Error::Damaged { what: "the length" });
        }
        let mut table = vec![0; head.table_bytes as usize];
        read_at(&file, &mut table, head.table_at).map_err(|fault| short(path, &fault))?;
        if xxh3_64(&table) != head.table_checksum {
            return Err(Error::Damaged { what: "the table of contents" });
        }
        let table = Table::from_bytes(&table)?;
        let source = Arc::new(Source::open(&file, path, state, is_mapped)?);
        let is_sealed = source.is_mapped()
            && SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(head.sealed)) == Some(state.written);
        Ok(Self { path: path.to_owned(), file, source, table, is_sealed })
    }

    /// True if the file is mapped and, by the system's account, was not written to since it was made. All others should
    /// be verified before they are used: those that are read are small, or on their way through memory anyway.
    pub fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// The bytes of the file.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The stamp that the writer put into the file.
    pub fn stamp(&self) -> &[u8] {
        &self.table.stamp
    }

    /// The names of the columns, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.table.columns.iter().map(|column| &*column.name)
    }

    /// The length of the file in bytes.
    pub fn size_bytes(&self) -> usize {
        self.source.len()
    }

    /// A column, where it lies.
    ///
    /// # Errors
    /// [`Error::Damaged`] when there is none of that name, or its items have another size.
    pub fn column<T: Pod>(&self, name: &str) -> Result<Array<T>> {
        let results = self.find(name)?;
        if results.item_bytes != size_of::<T>() as u64 {
            return Err(Error::Damaged { what: "the items of a column" });
        }
        self.mapped(results)
    }

    /// The bytes of a column, whatever its items.
    ///
    /// # Errors
    /// [`Error::Damaged`] when there is none of that name.
    pub fn bytes(&self, name: &str) -> Result<Array<u8>> {
        self.mapped(self.find(name)?)
    }

    /// The length of a column in bytes.
    ///
    /// # Errors
    /// [`Error::Damaged`] when there is none of that name, or it does not lie in the file.
    pub fn column_bytes(&self, name: &str) -> Result<usize> {
        Ok(self.range(name)?.len())
    }

    fn find(&self, name: &str) -> Result<&Column> {
        self.table.columns.iter().find(|column| column.name == name).ok_or(Error::Damaged { what: "a column's name" })
    }

    fn mapped<T: Pod>(&self, column: &Column) -> Result<Array<T>> {
        Array::mapped(&self.source, self.range(&column.name)?).ok_or(Error::Damaged { what: PLACE })
    }

    /// A column of which single places will be read, past the map.
    ///
    /// # Errors
    /// [`Error::Damaged`] when there is none of that name.
    pub fn places(&self, name: &str) -> Result<Places> {
        let range = self.range(name)?;
        Ok(Places::new(&self.file, &self.path, range.start as u64..range.end as u64))
    }

    /// Where a column lies in the file.
    fn range(&self, name: &str) -> Result<Range<usize>> {
        let column = self.find(name)?;
        let range = || {
            let at = usize::try_from(column.at).ok()?;
            let end = at.checked_add(usize::try_from(column.bytes).ok()?)?;
            (end <= self.source.len()).then_some(at..end)
        };
        range().ok_or(Error::Damaged { what: PLACE })
    }

    /// Compare the checksums of all columns; as [`Self::verify_column`].
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::File`].
    pub fn verify(&self) -> Result<()> {
        self.table.columns.iter().try_for_each(|column| self.verify_bytes(column))
    }

    /// Read a column, past the map, so that the process does not grow, and compare its checksum.
    ///
    /// # Errors
    /// [`Error::Damaged`] when it differs, or there is no such column; [`Error::File`].
    pub fn verify_column(&self, name: &str) -> Result<()> {
        self.verify_bytes(self.find(name)?)
    }

    fn verify_bytes(&self, column: &Column) -> Result<()> {
        let range = self.range(&column.name)?;
        let mut hash = Xxh3::new();
        if self.source.is_mapped() {
            let mut buffer = vec![0; BUFFER_BYTES];
            let mut done = 0;
            while done < range.len() {
                let part = &mut buffer[..(range.len() - done).min(BUFFER_BYTES)];
                read_at(&self.file, part, (range.start + done) as u64).map_err(|fault| short(&self.path, &fault))?;
                hash.update(part);
                done += part.len();
            }
        } else {
            hash.update(&self.source[range]);
        }
        if hash.digest() == column.checksum { Ok(()) } else { Err(Error::Damaged { what: CONTENT }) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ArrayWriter, folder::Folder};
    use super::*;

    fn written(path: &Path) -> Vec<u8> {
        let mut writer = ArrayWriter::create(path, b"stamp").unwrap();
        writer.column::<u8>("bytes", &[1, 2, 3]).unwrap();
        writer.column::<f64>("none", &[]).unwrap();
        writer.begin::<u32>("numbers").unwrap();
        (0..1_000_u32).for_each(|i| writer.put(&[i, i * i]).unwrap());
        let bytes = writer.finish().unwrap();
        let content = std::fs::read(path).unwrap();
        assert_eq!(bytes, content.len() as u64);
        content
    }

    #[test]
    fn columns_come_back() {
        let folder = Folder::new("columns");
        let path = folder.file("a");
        written(&path);
        let file = ArrayFile::open(&path).unwrap();
        assert_eq!((file.stamp(), file.names().collect::<Vec<_>>()), (&b"stamp"[..], vec!["bytes", "none", "numbers"]));
        file.verify_column("numbers").unwrap();
        let mut numbers = file.column::<u32>("numbers").unwrap();
        assert_eq!((numbers.len(), numbers[1_999], numbers.owned_bytes()), (2_000, 999 * 999, 0));
        assert!(numbers.as_ptr().addr().is_multiple_of(64));
        assert_eq!(
            (&*file.column::<u8>("bytes").unwrap(), file.column::<f64>("none").unwrap().len()),
            (&[1, 2, 3][..], 0)
        );
        assert!(file.column::<u64>("numbers").is_err() && file.column::<u32>("other").is_err());
        file.verify().unwrap();
        // Columns outlive the file's handle.
        drop(file);
        assert_eq!(numbers[3], 1);
        numbers.to_mut().push(7);
        assert_eq!((numbers.len(), numbers[2_000], numbers.owned_bytes() >= 8_004), (2_001, 7, true));
    }

    /// Write a file whose only column claims `beyond` bytes more than lie before the end of the file.
    fn with_column_beyond(path: &Path, beyond: i64) {
        let mut table = Table { stamp: Vec::new(), columns: Vec::new() };
        let column = Column { name: "own".to_owned(), item_bytes: 1, at: HEAD_BYTES as u64, bytes: 0, checksum: 0 };
        table.columns.push(column);
        let table_bytes = table.to_bytes().len() as u64;
        let file_bytes = HEAD_BYTES as u64 + table_bytes;
        table.columns[0].bytes = table_bytes.saturating_add_signed(beyond);
        let table = table.to_bytes();
        let table_checksum = xxh3_64(&table);
        let head = Head { table_at: HEAD_BYTES as u64, table_bytes, file_bytes, table_checksum, sealed: 0 };
        std::fs::write(path, [&head.to_bytes()[..], &table].concat()).unwrap();
    }

    #[test]
    fn a_column_may_end_with_the_file_and_not_beyond_it() {
        let folder = Folder::new("beyond");
        for (beyond, fits) in [(-1, true), (0, true), (1, false), (1 << 40, false)] {
            let path = folder.file(&beyond.to_string());
            with_column_beyond(&path, beyond);
            let file = ArrayFile::open(&path).unwrap();
            assert_eq!((file.column::<u8>("own").is_ok(), file.places("own").is_ok()), (fits, fits), "{beyond}");
        }
    }

    #[test]
    fn a_file_is_never_written_over_and_a_half_one_is_none() {
        let folder = Folder::new("half");
        let path = folder.file("a");
        let mut writer = ArrayWriter::create(&path, b"").unwrap();
        writer.column::<u32>("numbers", &[1, 2, 3]).unwrap();
        drop(writer);
        assert_eq!(ArrayFile::open(&path).unwrap_err(), Error::Damaged { what: "the magic number" });
        assert!(matches!(ArrayWriter::create(&path, b""), Err(Error::File { .. })));
        assert!(matches!(ArrayFile::open(&folder.file("none")), Err(Error::File { .. })));
    }

    #[test]
    fn cut_and_flipped_files_are_found_out() {
        let folder = Folder::new("cut");
        let content = written(&folder.file("whole"));
        let path = folder.file("other");
        for cut in (0..content.len()).step_by(97).chain([63, 64, content.len() - 1]) {
            std::fs::write(&path, &content[..cut]).unwrap();
            assert!(ArrayFile::open(&path).is_err(), "cut at {cut}");
        }
        let mut longer = content.clone();
        longer.push(0);
        std::fs::write(&path, &longer).unwrap();
        assert!(ArrayFile::open(&path).is_err());
        let columns: Vec<_> = ArrayFile::open(&folder.file("whole")).unwrap().table.columns;
        let padding = |at: usize| {
            let inside = |c: &super::super::table::Column| (c.at..c.at + c.bytes).contains(&(at as u64));
            (at < columns.last().map_or(0, |c| (c.at + c.bytes) as usize)) && !columns.iter().any(inside)
        };
        for at in (0..content.len()).step_by(13) {
            let mut flipped = content.clone();
            flipped[at] ^= 1 << (at % 8);
            std::fs::write(&path, &flipped).unwrap();
            let results = ArrayFile::open(&path).and_then(|file| file.verify());
            assert!(results.is_err() || (at >= HEAD_BYTES && padding(at)), "flipped at {at}");
        }
    }

    #[test]
    fn a_file_shorter_than_a_head_is_damaged_and_says_so() {
        let folder = Folder::new("short");
        let path = folder.file("a");
        for (length, what) in [(0, "the length"), (63, "the length"), (64, "the magic number")] {
            std::fs::write(&path, vec![0; length]).unwrap();
            assert_eq!(ArrayFile::open(&path).unwrap_err(), Error::Damaged { what }, "{length}");
        }
    }

    #[test]
    fn a_flipped_bit_is_found_in_its_column_wherever_it_is() {
        let folder = Folder::new("large");
        let (path, other) = (folder.file("a"), folder.file("b"));
        let mut writer = ArrayWriter::create(&path, b"").unwrap();
        writer.column::<u8>("small", &[1, 2, 3]).unwrap();
        // Two whole buffers and a part of one.
        let large = 2 * BUFFER_BYTES + 100;
        writer.column::<u8>("large", &(0..large).map(|i| (i % 251) as u8).collect::<Vec<_>>()).unwrap();
        writer.finish().unwrap();
        let content = std::fs::read(&path).unwrap();
        let file = ArrayFile::open(&path).unwrap();
        assert_eq!(file.size_bytes(), content.len());
        file.verify().unwrap();
        let first = file.range("large").unwrap().start;
        for at in [0, BUFFER_BYTES - 1, BUFFER_BYTES, 2 * BUFFER_BYTES, large - 1] {
            let mut flipped = content.clone();
            flipped[first + at] ^= 1;
            std::fs::write(&other, &flipped).unwrap();
            let results = ArrayFile::open(&other).unwrap();
            assert_eq!(results.verify_column("small"), Ok(()));
            assert_eq!(results.verify_column("large"), Err(Error::Damaged { what: "the content of a column" }), "{at}");
        }
        assert_eq!(file.verify_column("none"), Err(Error::Damaged { what: "a column's name" }));
    }
}
