//! Writing an array file, column by column.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytemuck::Pod;
use xxhash_rust::xxh3::Xxh3;

use super::ALIGNMENT;
use super::table::{Column, HEAD_BYTES, Head, Table};
use crate::error::{Error, Result};

const BUFFER_BYTES: usize = 1 << 20;

/// An array file in the making. Until [`ArrayWriter::finish`] it has no head and is not accepted as an array file.
pub struct ArrayWriter {
    path: PathBuf,
    out: BufWriter<File>,
    /// Bytes written.
    at: u64,
    table: Table,
    hash: Xxh3,
}

impl ArrayWriter {
    /// Make a new file, stamped with whatever tells its reader where the arrays come from.
    ///
    /// # Errors
    /// [`Error::File`], also when there is a file of that name: an array file that may be mapped is never written over.
    pub fn create(path: &Path, stamp: &[u8]) -> Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|fault| Error::file(path, &fault))?;
        let mut writer = Self {
            path: path.to_owned(),
            out: BufWriter::with_capacity(BUFFER_BYTES, file),
            at: 0,
            table: Table { stamp: stamp.to_vec(), columns: Vec::new() },
            hash: Xxh3::new(),
        };
        writer.write(&[0; HEAD_BYTES])?;
        Ok(writer)
    }

    /// Begin a column of items of type `T`; what [`Self::put`] gets from now on is part of it.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn begin<T: Pod>(&mut self, name: &str) -> Result<()> {
        self.begin_items(name, size_of::<T>())
    }

    /// Begin a column of items of `item_bytes` bytes.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn begin_items(&mut self, name: &str, item_bytes: usize) -> Result<()> {
        self.end_column();
        let padding = self.at.next_multiple_of(ALIGNMENT) - self.at;
        self.write(&[0; ALIGNMENT as usize][..padding as usize])?;
        let (name, item_bytes, at) = (name.to_owned(), item_bytes as u64, self.at);
        self.table.columns.push(Column { name, item_bytes, at, bytes: 0, checksum: 0 });
        self.hash.reset();
        Ok(())
    }

    /// Add items to the column begun last; they must be of its type.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn put<T: Pod>(&mut self, items: &[T]) -> Result<()> {
        debug_assert!(self.table.columns.last().is_some_and(|column| column.item_bytes == size_of::<T>() as u64));
        self.put_bytes(bytemuck::cast_slice(items))
    }

    /// Add bytes to the column begun last: whole items, in the order of bytes of this machine.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn put_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.write(bytes)
    }

    /// Write a whole column.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn column<T: Pod>(&mut self, name: &str, items: &[T]) -> Result<()> {
        self.begin::<T>(name)?;
        self.put(items)
    }

    /// Write the table and the head, have everything reach the disk, and return the file's length in bytes.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn finish(mut self) -> Result<u64> {
        self.end_column();
        let (table, table_at) = (self.table.to_bytes(), self.at);
        self.write(&table)?;
        let head = Head {
            table_at,
            table_bytes: table.len() as u64,
            file_bytes: self.at,
            table_checksum: xxhash_rust::xxh3::xxh3_64(&table),
            // File systems keep times to two seconds at least.
            sealed: SystemTime::UNIX_EPOCH.elapsed().map_or(0, |now| now.as_secs() / 2 * 2),
        };
        let end = |out: &mut BufWriter<File>| {
            out.rewind()?;
            out.write_all(&head.to_bytes())?;
            out.flush()?;
            // Where that is refused the file is as good, and read once more by whoever opens it.
            let _ = out.get_ref().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(head.sealed));
            out.get_ref().sync_all()
        };
        end(&mut self.out).map_err(|fault| Error::file(&self.path, &fault))?;
        Ok(head.file_bytes)
    }

    fn end_column(&mut self) {
        if let Some(column) = self.table.columns.last_mut() {
            // Called again before the next column begins, it finds the same.
            if column.bytes == 0 {
                column.bytes = self.at - column.at;
                column.checksum = self.hash.digest();
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|fault| Error::file(&self.path, &fault))?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}
