use std::fs::OpenOptions;
use std::path::Path;

use super::folder::Folder;
use super::{ArrayFile, ArrayWriter};

fn writable(path: &Path) -> std::io::Result<std::fs::File> {
    OpenOptions::new().write(true).open(path)
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
    assert!(writable(&path).is_err());
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
