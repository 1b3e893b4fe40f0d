//! Single places of a file, read past its map.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::source::short;
use crate::error::{Error, Result};
use crate::system::read_at;

/// A range of a file of which single places are read.
///
/// A look at a mapped page maps the 64 kB around it, which then count as the process's memory; a read takes only what
/// it was asked for, in about a third of the time of such a look.
#[derive(Clone, Debug)]
pub struct Places {
    file: Arc<File>,
    path: PathBuf,
    bytes: Range<u64>,
}

impl Places {
    pub(super) fn new(file: &Arc<File>, path: &Path, bytes: Range<u64>) -> Self {
        Self { file: Arc::clone(file), path: path.to_owned(), bytes }
    }

    /// The length of the range in bytes.
    pub fn len(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }

    /// True if the range is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fill `buffer` with what stands `from` bytes after the beginning of the range.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless all of it lies in the range; [`Error::Damaged`] when the file ends before;
    /// [`Error::File`].
    pub fn read(&self, from: u64, buffer: &mut [u8]) -> Result<()> {
        let end = from.checked_add(buffer.len() as u64).filter(|&end| end <= self.len());
        if end.is_none() {
            let (what, len) = ("place", usize::try_from(self.len()).unwrap_or(usize::MAX));
            return Err(Error::OutOfRange { what, index: i64::try_from(from).unwrap_or(i64::MAX), len });
        }
        read_at(&self.file, buffer, self.bytes.start + from).map_err(|fault| short(&self.path, &fault))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ArrayFile, ArrayWriter, folder::Folder};
    use super::*;

    #[test]
    fn places_are_those_of_the_column_and_of_nothing_else() {
        let folder = Folder::new("places");
        let path = folder.file("a");
        let mut writer = ArrayWriter::create(&path, b"").unwrap();
        writer.column::<u8>("before", &[9; 100]).unwrap();
        writer.column::<u8>("own", &[1, 2, 3, 4]).unwrap();
        writer.finish().unwrap();
        let places = ArrayFile::open(&path).unwrap().places("own").unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut buffer = [0; 2];
        places.read(2, &mut buffer).unwrap();
        assert_eq!((buffer, places.len(), places.is_empty()), ([3, 4], 4, false));
        places.read(4, &mut []).unwrap();
        for from in [3, 4, u64::MAX] {
            assert!(matches!(places.read(from, &mut buffer), Err(Error::OutOfRange { .. })), "{from}");
        }
    }

    /// Windows refuses to cut a file that is open here.
    #[cfg(unix)]
    #[test]
    fn a_file_that_was_cut_is_an_error() {
        let folder = Folder::new("cut_places");
        let path = folder.file("a");
        let mut writer = ArrayWriter::create(&path, b"").unwrap();
        writer.column::<u8>("own", &[1; 10_000]).unwrap();
        writer.finish().unwrap();
        let places = ArrayFile::open(&path).unwrap().places("own").unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(5_000).unwrap();
        assert!(matches!(places.read(9_000, &mut [0; 8]), Err(Error::Damaged { .. })));
    }
}
