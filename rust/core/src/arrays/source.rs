//! The bytes of a file: mapped under a guard, or read.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use bytemuck::allocation::try_zeroed_slice_box;
use bytemuck::{Pod, Zeroable};
use memmap2::Mmap;

use super::array::Array;
use crate::error::{Error, Result};
use crate::system::{Guard, open_to_map, read_at};

/// Maximum bytes of a file that is read: that takes as long as its first page faults would.
pub const READ_BYTES: u64 = if cfg!(test) { 256 } else { 1 << 20 };

/// The bytes of a file.
///
/// Another process may cut or overwrite a file that is mapped. Then its bytes are anything, zeros among them, but looking
/// at them is no fault, and [`Source::check`] says that they are not to be believed.
#[derive(Debug)]
pub struct Source {
    // Before the map, so that it is dropped before.
    guard: Option<Guard>,
    bytes: Bytes,
    file: Arc<File>,
    state: State,
    /// A reader found what no writer writes.
    is_spoilt: AtomicBool,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    Read(Box<[Line]>, usize),
}

/// Memory that is aligned as the columns of a file are.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// The state that shows changes of a file: its length, and the time of the last write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct State {
    pub(super) bytes: u64,
    pub(super) written: SystemTime,
}

impl State {
    pub(super) fn of(file: &File) -> std::io::Result<Self> {
        let results = file.metadata()?;
        Ok(Self { bytes: results.len(), written: results.modified()? })
    }
}

impl Source {
    /// The bytes of a file in this state.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Damaged`] if the file changed during the call.
    pub(super) fn open(file: &Arc<File>, path: &Path, state: State, is_mapped: bool) -> Result<Self> {
        let fault = |fault: std::io::Error| Error::file(path, &fault);
        if is_mapped && state.bytes > READ_BYTES {
            // SAFETY: the map is only read. It holds plain numbers of any value, whose readers check what they
            // rely on. A file that is cut does not end the process while the guard stands, and a map without one is let
            // go before anything looks at it.
            let map = unsafe { Mmap::map(&**file) }.map_err(fault)?;
            if map.len() as u64 != state.bytes {
                return Err(changed());
            }
            if let Some(guard) = Guard::new(&map, file) {
                let bytes = Bytes::Mapped(map);
                return Ok(Self {
                    guard: Some(guard),
                    bytes,
                    file: Arc::clone(file),
                    state,
                    is_spoilt: AtomicBool::new(false),
                });
            }
        }
        let len = usize::try_from(state.bytes).map_err(|_| changed())?;
        // A file may be longer than there is memory.
        let mut lines: Box<[Line]> = try_zeroed_slice_box(len.div_ceil(64)).map_err(|()| {
            fault(std::io::Error::new(std::io::ErrorKind::OutOfMemory, "the file is larger than memory"))
        })?;
        read_at(file, &mut bytemuck::cast_slice_mut(&mut lines)[..len], 0).map_err(|fault| short(path, &fault))?;
        let read = Self {
            guard: None,
            bytes: Bytes::Read(lines, len),
            file: Arc::clone(file),
            state,
            is_spoilt: AtomicBool::new(false),
        };
        // Half of it may be of one time and half of another.
        if State::of(file).map_err(fault)? == state { Ok(read) } else { Err(changed()) }
    }

    /// True if the bytes are mapped.
    pub fn is_mapped(&self) -> bool {
        matches!(self.bytes, Bytes::Mapped(_))
    }

    /// Say that the bytes are not what a writer wrote, whatever their checksums: nothing that was read is to be believed.
    pub fn spoil(&self) {
        self.is_spoilt.store(true, Ordering::Relaxed);
    }

    /// Fail when the file was changed since it was opened, so that what was read of the map may be wrong, or a reader
    /// found that it is.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn check(&self) -> Result<()> {
        if self.is_spoilt.load(Ordering::Relaxed) {
            return Err(Error::Damaged { what: "a list" });
        }
        if self.guard.as_ref().is_some_and(Guard::is_cut) {
            return Err(changed());
        }
        let is_same = !self.is_mapped() || State::of(&self.file).is_ok_and(|state| state == self.state);
        if is_same { Ok(()) } else { Err(changed()) }
    }
}

impl Deref for Source {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Read(lines, len) => &bytemuck::cast_slice(lines)[..*len],
        }
    }
}

/// The items in `bytes` bytes from offset `at` of a file of another format, in which more may follow.
///
/// # Errors
/// [`Error::File`]; [`Error::Damaged`] for a shorter file, or items that are not aligned.
pub fn plain<T: Pod>(path: &Path, at: usize, bytes: usize, is_mapped: bool) -> Result<Array<T>> {
    let fault = |fault: std::io::Error| Error::file(path, &fault);
    let file = Arc::new(open_to_map(path).map_err(fault)?);
    let state = State::of(&file).map_err(fault)?;
    let end = at.saturating_add(bytes);
    if state.bytes < end as u64 {
        return Err(Error::Damaged { what: "the length" });
    }
    let source = Arc::new(Source::open(&file, path, state, is_mapped)?);
    Array::mapped(&source, at..end).ok_or(Error::Damaged { what: "the place of the items" })
}

/// All bytes of a file of another format.
///
/// # Errors
/// [`Error::File`]; [`Error::Damaged`] if the file changed during the call.
pub fn whole(path: &Path, is_mapped: bool) -> Result<Array<u8>> {
    let fault = |fault: std::io::Error| Error::file(path, &fault);
    let file = Arc::new(open_to_map(path).map_err(fault)?);
    let source = Arc::new(Source::open(&file, path, State::of(&file).map_err(fault)?, is_mapped)?);
    Array::mapped(&source, 0..source.len()).ok_or_else(changed)
}

fn changed() -> Error {
    Error::Damaged { what: "the content: the file was cut or overwritten while it was in use" }
}

/// The error of a read beyond the end of a file: the file was cut.
pub(super) fn short(path: &Path, fault: &std::io::Error) -> Error {
    if fault.kind() == std::io::ErrorKind::UnexpectedEof { changed() } else { Error::file(path, fault) }
}
