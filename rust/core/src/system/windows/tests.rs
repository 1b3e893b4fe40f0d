use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::fs::symlink_file;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use windows_sys::Win32::Foundation::{ERROR_SHARING_VIOLATION, ERROR_USER_MAPPED_FILE};

use super::{is_remote, keeps_folder_times, open_no_link, open_to_map, read_at, slashed, to_walk};
use crate::arrays::folder::Folder;
use crate::arrays::{ArrayFile, ArrayWriter};
use crate::inventory::{Bounds, Inventory};
use crate::symbols::Symbols;
use crate::walk::{Wanted, shown, walk};

fn code(results: std::io::Result<impl Sized>) -> Option<u32> {
    results.err().and_then(|fault| fault.raw_os_error()).map(i32::cast_unsigned)
}

fn writable(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

#[test]
fn a_folder_to_walk_has_a_whole_and_literal_name() {
    for (folder, wanted) in [
        (r"C:\a b\c.", r"\\?\C:\a b\c"),
        (r"d:/a/../b", r"\\?\D:\b"),
        (r"C:\", r"\\?\C:\"),
        (r"\\server\share\a", r"\\?\UNC\server\share\a"),
        (r"\\?\C:\a.", r"\\?\C:\a."),
        (r"\\?\UNC\server\share", r"\\?\UNC\server\share"),
        (r"\\.\pipe\a", r"\\.\pipe\a"),
    ] {
        assert_eq!(to_walk(Path::new(folder)).as_os_str(), wanted, "{folder}");
    }
    let here = to_walk(Path::new("a")).into_owned();
    assert!(here.to_str().is_some_and(|here| here.starts_with(r"\\?\") && here.ends_with(r"\a")), "{here:?}");
}

#[test]
fn a_path_below_a_folder_has_forward_slashes() {
    for (path, wanted) in [("", ""), ("a", "a"), (r"a\b c\d.md", "a/b c/d.md"), (r"a\b/c", "a/b/c"), (r"a\.\b", "a/b")]
    {
        assert_eq!(slashed(Path::new(path)).as_os_str(), wanted, "{path}");
    }
    let half = OsString::from_wide(&[0x61, 0x5c, 0xd800]);
    let (text, raw) = shown(Path::new(&half));
    assert_eq!((text.as_str(), raw), (r"a/\xed\xa0\x80", Some(OsString::from_wide(&[0x61, 0x2f, 0xd800]))));
}

/// A folder with a file under each of these names, and where they lie.
fn with_files(name: &str, files: &[PathBuf]) -> Folder {
    let folder = Folder::new(name);
    let root = to_walk(&folder.file("")).into_owned();
    for file in files {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "def found(): pass\r\n").unwrap_or_else(|fault| panic!("{file:?}: {fault}"));
    }
    folder
}

#[test]
fn names_that_the_system_reserves_or_cuts_are_files_like_others() {
    let long = ["long"; 80].join("/") + "/end.py";
    let names = ["con.py", "nul", "aux/a.py", "dot.", "dot", "blank ", "Mixed.py", &long];
    let mut wanted: Vec<PathBuf> = names.map(PathBuf::from).to_vec();
    let folder = with_files("odd names", &wanted);
    // Windows takes half a surrogate pair for a letter like others; Wine has no name for it.
    let half = PathBuf::from(OsString::from_wide(&[0xd83d, 0x2e, 0x70, 0x79]));
    if std::fs::write(folder.file("").join(&half), "def found(): pass\r\n").is_ok() {
        wanted.push(half);
    }
    wanted.sort_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    let files = walk(&folder.file(""), Wanted::default()).files;
    let results: Vec<_> = files.iter().map(|file| (file.path.as_os_str(), file.size)).collect();
    assert_eq!(results, wanted.iter().map(|path| (path.as_os_str(), 19)).collect::<Vec<_>>());
    let bounds = Bounds { most: 100, ..Bounds::default() };
    let symbols = Symbols::scan(&Inventory::walk(&folder.file(""), &bounds, None), None, 1_000, None);
    let programs = wanted.len() - 4;
    assert_eq!((symbols.files(), symbols.len(), symbols.unreadable()), (programs, programs, 0));
}

#[test]
fn the_size_of_a_file_that_is_being_written_is_that_of_now() {
    let folder = with_files("written", &["a.py".into()]);
    let file = writable(&folder.file("a.py")).unwrap();
    file.set_len(1_000).unwrap();
    assert_eq!(walk(&folder.file(""), Wanted::default()).files[0].size, 1_000);
}

fn array_file(path: &Path) -> ArrayFile {
    let mut writer = ArrayWriter::create(path, b"").unwrap();
    writer.column::<u8>("own", &[7; 10_000]).unwrap();
    writer.finish().unwrap();
    let file = ArrayFile::open(path).unwrap();
    assert!(file.source().is_mapped() && file.is_sealed());
    file
}

#[test]
fn a_file_that_is_mapped_is_neither_cut_nor_written_to_but_others_may_read_and_rename_it() {
    let folder = Folder::new("mapped");
    let (path, other) = (folder.file("a"), folder.file("b"));
    let file = array_file(&path);
    let own = file.column::<u8>("own").unwrap();
    assert_eq!(code(writable(&path)), Some(ERROR_SHARING_VIOLATION));
    assert!(std::fs::write(&path, "x").is_err() && ArrayWriter::create(&path, b"").is_err());
    assert_eq!(std::fs::read(&path).unwrap().len(), file.size_bytes());
    assert_eq!(ArrayFile::open(&path).unwrap().column::<u8>("own").unwrap()[..], own[..]);
    std::fs::rename(&path, &other).unwrap();
    file.verify().unwrap();
    assert!(file.source().check().is_ok() && own.iter().all(|&byte| byte == 7));
    drop((file, own));
    writable(&other).unwrap().set_len(5_000).unwrap();
    assert!(ArrayFile::open(&other).is_err());
}

#[test]
fn a_map_keeps_its_file_from_being_cut_by_those_who_had_it_open_before() {
    let folder = Folder::new("cut");
    let path = folder.file("a");
    std::fs::write(&path, [7; 100_000]).unwrap();
    let writer = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    // SAFETY: it is only read, and what is tried here is to cut it.
    let map = unsafe { memmap2::Mmap::map(&writer) }.unwrap();
    assert_eq!(code(writer.set_len(5_000)), Some(ERROR_USER_MAPPED_FILE));
    assert!(map.iter().all(|&byte| byte == 7));
    drop(map);
    writer.set_len(5_000).unwrap();
}

#[test]
fn a_file_that_somebody_writes_to_is_not_opened_to_be_mapped() {
    let folder = with_files("busy", &["a".into()]);
    let writer = writable(&folder.file("a")).unwrap();
    assert_eq!(code(open_to_map(&folder.file("a"))), Some(ERROR_SHARING_VIOLATION));
    drop(writer);
    open_to_map(&folder.file("a")).unwrap();
}

#[test]
fn a_file_that_is_open_and_not_mapped_can_be_removed_and_read_on() {
    let folder = with_files("removed", &["a".into()]);
    let file = open_to_map(&folder.file("a")).unwrap();
    std::fs::remove_file(folder.file("a")).unwrap();
    let mut buffer = [0; 3];
    read_at(&file, &mut buffer, 4).unwrap();
    assert_eq!(&buffer, b"fou");
    read_at(&file, &mut [], 1_000).unwrap();
    for at in [17, 19, 1_000] {
        assert_eq!(read_at(&file, &mut buffer, at).unwrap_err().kind(), ErrorKind::UnexpectedEof, "{at}");
    }
}

#[test]
fn a_link_is_not_opened_in_place_of_a_file() {
    let folder = with_files("link", &["a".into()]);
    assert!(open_no_link(&folder.file("a")).is_ok() && open_no_link(&folder.file("none")).is_err());
    // Links need a privilege, or a system that lets all make them.
    let _ = symlink_file(folder.file("a"), folder.file("b"));
    if std::fs::symlink_metadata(folder.file("b")).is_ok_and(|about| about.is_symlink()) {
        assert_eq!(open_no_link(&folder.file("b")).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(walk(&folder.file(""), Wanted::default()).links, [PathBuf::from("b")]);
    }
}

#[test]
fn a_folder_of_a_local_disk_is_not_remote_and_its_time_tells_of_new_names() {
    let folder = with_files("times", &["a".into()]);
    assert!(!is_remote(&File::open(folder.file("a")).unwrap()));
    assert!(!keeps_folder_times(&folder.file("none")));
    let before = SystemTime::now() - Duration::from_secs(100);
    super::set_modified(&folder.file(""), before).unwrap();
    std::fs::write(folder.file("b"), "").unwrap();
    let tells = std::fs::metadata(folder.file("")).unwrap().modified().unwrap() > before + Duration::from_secs(50);
    assert!(tells || !keeps_folder_times(&folder.file("")));
}
