use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::windows::fs::symlink_file;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use windows_sys::Win32::Foundation::{ERROR_SHARING_VIOLATION, ERROR_USER_MAPPED_FILE};

use super::{is_remote, keeps_folder_times, open_no_link, open_to_map, read_at, slashed, to_walk};

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
}

/// A folder that goes with a test, with a file.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("septet-system-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a"), "def found(): pass\r\n").unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
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
    let folder = Folder::new("busy");
    let writer = writable(&folder.file("a")).unwrap();
    assert_eq!(code(open_to_map(&folder.file("a"))), Some(ERROR_SHARING_VIOLATION));
    drop(writer);
    open_to_map(&folder.file("a")).unwrap();
}

#[test]
fn a_file_that_is_open_and_not_mapped_can_be_removed_and_read_on() {
    let folder = Folder::new("removed");
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
    let folder = Folder::new("link");
    assert!(open_no_link(&folder.file("a")).is_ok() && open_no_link(&folder.file("none")).is_err());
    // Links need a privilege, or a system that lets all make them.
    let _ = symlink_file(folder.file("a"), folder.file("b"));
    if std::fs::symlink_metadata(folder.file("b")).is_ok_and(|about| about.is_symlink()) {
        assert_eq!(open_no_link(&folder.file("b")).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn a_folder_of_a_local_disk_is_not_remote_and_its_time_tells_of_new_names() {
    let folder = Folder::new("times");
    assert!(!is_remote(&File::open(folder.file("a")).unwrap()));
    assert!(!keeps_folder_times(&folder.file("none")));
    let before = SystemTime::now() - Duration::from_secs(100);
    super::set_modified(&folder.file(""), before).unwrap();
    std::fs::write(folder.file("b"), "").unwrap();
    let tells = std::fs::metadata(folder.file("")).unwrap().modified().unwrap() > before + Duration::from_secs(50);
    assert!(tells || !keeps_folder_times(&folder.file("")));
}
