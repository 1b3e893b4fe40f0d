use std::ffi::OsString;
use std::fs::{OpenOptions, create_dir_all, write};
use std::os::windows::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::tests::Folder;
use super::{Wanted, shown, to_walk, walk};

#[test]
fn a_name_that_is_no_text_is_shown_as_its_bytes() {
    let half = OsString::from_wide(&[0x61, 0x5c, 0xd800]);
    let (text, raw) = shown(Path::new(&half));
    assert_eq!((text.as_str(), raw), (r"a/\xed\xa0\x80", Some(OsString::from_wide(&[0x61, 0x2f, 0xd800]))));
}

#[test]
fn names_that_the_system_reserves_or_cuts_are_files_like_others() {
    let long = ["long"; 80].join("/") + "/end.md";
    let names = ["con.md", "nul", "aux/a.md", "dot.", "dot", "blank ", "Mixed.md", &long];
    let mut wanted: Vec<PathBuf> = names.map(PathBuf::from).to_vec();
    let folder = Folder::new("odd names", &[]);
    for file in &wanted {
        let path = to_walk(&folder.0).join(file);
        create_dir_all(path.parent().unwrap()).unwrap();
        write(path, "12345").unwrap_or_else(|fault| panic!("{file:?}: {fault}"));
    }
    // Windows takes half a surrogate pair for a letter like others; Wine has no name for it.
    let half = PathBuf::from(OsString::from_wide(&[0xd83d, 0x2e, 0x70, 0x79]));
    if write(folder.0.join(&half), "12345").is_ok() {
        wanted.push(half);
    }
    wanted.sort_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    let files = walk(&folder.0, Wanted::default()).files;
    let results: Vec<_> = files.iter().map(|file| (file.path.as_os_str(), file.size)).collect();
    assert_eq!(results, wanted.iter().map(|path| (path.as_os_str(), 5)).collect::<Vec<_>>());
}

#[test]
fn the_size_of_a_file_that_is_being_written_is_that_of_now() {
    let folder = Folder::new("written", &[("a.md", "")]);
    let file = OpenOptions::new().write(true).open(folder.0.join("a.md")).unwrap();
    file.set_len(1_000).unwrap();
    assert_eq!(walk(&folder.0, Wanted::default()).files[0].size, 1_000);
}
