//! Linux, macOS and their kin.

mod guard;

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::Result;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

pub(crate) use guard::Guard;

/// Bytes of a large page of Linux on most machines.
#[cfg(target_os = "linux")]
const LARGE: usize = 2 << 20;

/// Open a file that may be mapped.
pub(crate) fn open_to_map(path: &Path) -> Result<File> {
    File::open(path)
}

/// Open a file; not what a link leads to, and nothing that a reader would wait for.
pub(crate) fn open_no_link(path: &Path) -> Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

/// Fill a buffer from a place of a file, whose own place does not matter: any thread may read at any time.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> Result<()> {
    file.read_exact_at(buffer, at)
}

/// A folder under a name from which every file below it can be reached.
pub(crate) fn to_walk(folder: &Path) -> Cow<'_, Path> {
    folder.into()
}

/// True if the time of a folder changes with the names in it.
pub(crate) const fn keeps_folder_times(_folder: &Path) -> bool {
    true
}

/// A path below a folder, its parts divided by forward slashes.
pub(crate) fn slashed(path: &Path) -> Cow<'_, Path> {
    path.into()
}

/// Have a file or a folder look changed at another time.
#[cfg(test)]
pub(crate) fn set_modified(path: &Path, time: std::time::SystemTime) -> Result<()> {
    File::open(path)?.set_modified(time)
}

/// Ask for large pages in the memory of a vector that holds nothing yet.
pub(crate) fn advise_large<T>(room: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        let (from, bytes) = (room.as_ptr().addr(), room.capacity() * size_of::<T>());
        let (first, end) = (from.next_multiple_of(LARGE), (from + bytes) / LARGE * LARGE);
        if first < end {
            let start = room.as_mut_ptr().cast::<libc::c_void>().wrapping_byte_add(first - from);
            // SAFETY: the range lies in memory of this vector; the advice changes no byte of it, and failing is harmless.
            unsafe { libc::madvise(start, end - first, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = room;
}
