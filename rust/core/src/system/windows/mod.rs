//! Windows 10 and later.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::windows::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::os::windows::io::AsRawHandle;
use std::path::{Component, Path, PathBuf, Prefix};
use std::ptr::null_mut;

use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_REPARSE_POINT, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_REMOTE_PROTOCOL_INFO,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FileRemoteProtocolInfo, GetFileInformationByHandleEx,
    GetVolumeInformationByHandleW,
};

/// Characters of the longest name of a file system, and the zero behind it.
const SYSTEM_NAME: usize = 261;

/// A map that the system guards: a file of a local disk cannot be cut while it is mapped.
#[derive(Debug)]
pub(crate) struct Guard;

impl Guard {
    /// Guard the pages of a map of a file, which stays open as long; None where it cannot be guarded, as on a network
    /// drive, whose computer may be gone when a page is looked at: that ends the process.
    pub(crate) fn new(_bytes: &[u8], file: &File) -> Option<Self> {
        (!is_remote(file)).then_some(Self)
    }

    /// True if a page of the map was looked at that its file no longer had.
    pub(crate) const fn is_cut(&self) -> bool {
        false
    }
}

fn is_remote(file: &File) -> bool {
    let mut about = FILE_REMOTE_PROTOCOL_INFO::default();
    let bytes = size_of_val(&about) as u32;
    let room = (&raw mut about).cast();
    // SAFETY: the file is open, and the call fills a structure of the type and the length that it is told.
    unsafe { GetFileInformationByHandleEx(file.as_raw_handle(), FileRemoteProtocolInfo, room, bytes) != 0 }
}

/// Open a file that may be mapped: as long as it is open others may read, rename and remove it, and cannot write to it.
pub(crate) fn open_to_map(path: &Path) -> Result<File> {
    OpenOptions::new().read(true).share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE).open(path)
}

/// Open a file; not what a link leads to, and nothing that a reader would wait for.
pub(crate) fn open_no_link(path: &Path) -> Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path)?;
    let about = file.metadata()?;
    match about.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT {
        0 => Ok(file),
        _ if about.is_symlink() => Err(Error::new(ErrorKind::InvalidInput, "a link")),
        // A file that the system fetches from a cloud or puts together, which it does for those who open it plainly.
        _ => File::open(path),
    }
}

/// Fill a buffer from a place of a file, whose own place does not matter: any thread may read at any time.
pub(crate) fn read_at(file: &File, mut buffer: &mut [u8], mut at: u64) -> Result<()> {
    while !buffer.is_empty() {
        match file.seek_read(buffer, at) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => (buffer, at) = (&mut buffer[read..], at + read as u64),
            Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

/// A folder under a name from which every file below it can be reached: `\\?\` has no names of devices such as `nul`,
/// keeps dots and blanks at the end of a name, and has no limit of 260 characters.
pub(crate) fn to_walk(folder: &Path) -> Cow<'_, Path> {
    let Ok(whole) = std::path::absolute(folder) else { return folder.into() };
    let mut parts = whole.components();
    let Some(Component::Prefix(prefix)) = parts.next() else { return folder.into() };
    let mut verbatim = OsString::from(r"\\?\");
    match prefix.kind() {
        Prefix::Disk(letter) => verbatim.push(format!("{}:", char::from(letter))),
        Prefix::UNC(server, share) => {
            for part in [r"UNC\".as_ref(), server, r"\".as_ref(), share] {
                verbatim.push(part);
            }
        }
        _ => return folder.into(),
    }
    let mut verbatim = PathBuf::from(verbatim);
    verbatim.extend(parts);
    verbatim.into()
}

/// True if the time of a folder changes with the names in it: not on FAT and exFAT.
pub(crate) fn keeps_folder_times(folder: &Path) -> bool {
    let Ok(folder) = OpenOptions::new().access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(folder) else {
        return false;
    };
    let (handle, mut name) = (folder.as_raw_handle(), [0; SYSTEM_NAME]);
    let (room, len) = (name.as_mut_ptr(), name.len() as u32);
    // SAFETY: the folder is open; of what the call may tell it is told to leave out all but one text, and how long that
    // may be.
    let known = unsafe {
        GetVolumeInformationByHandleW(handle, null_mut(), 0, null_mut(), null_mut(), null_mut(), room, len) != 0
    };
    let name: Vec<u16> = name.into_iter().take_while(|&unit| unit != 0).collect();
    known && !String::from_utf16_lossy(&name).to_uppercase().contains("FAT")
}

/// A path below a folder, its parts divided by forward slashes.
pub(crate) fn slashed(path: &Path) -> Cow<'_, Path> {
    if !path.as_os_str().as_encoded_bytes().contains(&b'\\') {
        return path.into();
    }
    let mut slashed = OsString::with_capacity(path.as_os_str().len());
    for (at, part) in path.components().enumerate() {
        if at > 0 {
            slashed.push("/");
        }
        slashed.push(part);
    }
    PathBuf::from(slashed).into()
}

/// Have a file or a folder look changed at another time.
#[cfg(test)]
pub(crate) fn set_modified(path: &Path, time: std::time::SystemTime) -> Result<()> {
    let attributes = OpenOptions::new()
        .access_mode(windows_sys::Win32::Storage::FileSystem::FILE_WRITE_ATTRIBUTES)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)?;
    attributes.set_modified(time)
}

/// Large pages need a privilege that few accounts have.
pub(crate) const fn advise_large<T>(_room: &mut Vec<T>) {}

#[cfg(test)]
mod tests;
