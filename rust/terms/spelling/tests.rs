//! The index against the texts, in memory and in a file.

use std::path::PathBuf;

use super::SpellingIndex;
use crate::arrays::{ArrayFile, ArrayWriter};
use crate::error::Error;
use crate::terms::trigrams;

#[test]
fn cosines_are_those_of_the_texts() {
    let texts = ["Vector index, vectors", "the of", "", "Straße café strasse cafe 漢字 漢", "vectr indx indx indx"];
    let index = SpellingIndex::new();
    assert!(index.is_empty());
    assert_eq!((index.append(&texts[..2]), index.append(&texts[2..])), (0, 2));
    for query in ["vector index", "Caffè straße", "漢字", "the", ""] {
        assert_eq!(index.cosines(query, &[0, 1, 2, 3, 4]), Ok(trigrams(query, &texts)));
        assert_eq!(index.cosines(query, &[3, 0, 3]), Ok(trigrams(query, &[texts[3], texts[0], texts[3]])));
    }
    assert!(index.size_bytes() > 0);
}

fn many() -> Vec<String> {
    (0..300_u64).map(|i| (0..40).map(|j| format!("{:x}é{} ", i * j * 2_654_435, i % 7)).collect()).collect()
}

#[test]
fn more_words_than_are_remembered_at_once() {
    let (texts, index) = (many(), SpellingIndex::new());
    texts.chunks(7).for_each(|some| _ = index.append(some));
    let slots: Vec<i64> = (0..300).collect();
    for query in &texts[..20] {
        assert_eq!(index.cosines(query, &slots), Ok(trigrams(query, &texts)));
    }
}

#[test]
fn a_frozen_index_goes_its_own_way() {
    let (texts, index) = (many(), SpellingIndex::new());
    index.append(&texts[..100]);
    let frozen = index.frozen();
    assert_eq!((index.append(&texts[100..]), frozen.append(&texts[200..]), frozen.len()), (100, 100, 200));
    for (index, slot) in [(&index, 250), (&frozen, 150)] {
        assert_eq!(index.cosines(&texts[9], &[slot, 3]), Ok(trigrams(&texts[9], &[&texts[250], &texts[3]])));
    }
}

#[test]
fn a_slot_out_of_range_is_a_fault() {
    let index = SpellingIndex::new();
    index.append(&["red"]);
    let fault = |slot| Err(Error::OutOfRange { what: "slot", index: slot, len: 1 });
    assert_eq!((index.cosines("red", &[0, 1]), index.cosines("", &[-1])), (fault(1), fault(-1)));
}

/// A file that goes with the test.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, index: &SpellingIndex) -> Self {
        let path = std::env::temp_dir().join(format!("septet-spelling-{name}-{}", std::process::id()));
        let mut writer = ArrayWriter::create(&path, b"").unwrap();
        index.write(&mut writer, "of_").unwrap();
        writer.finish().unwrap();
        Self(path)
    }

    fn open(&self) -> SpellingIndex {
        SpellingIndex::open(&ArrayFile::open(&self.0).unwrap(), "of_").unwrap()
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

#[test]
fn an_index_goes_on_from_a_file() {
    let (texts, index) = (many(), SpellingIndex::new());
    let slots: Vec<i64> = (0..300).collect();
    index.append(&texts[..100]);
    let first = Written::new("first", &index).open();
    assert_eq!((first.len(), first.size_bytes(), first.append(&texts[100..200])), (100, 0, 100));
    // A base and a tail become one base, with the words of the tail after those of the base.
    let second = Written::new("second", &first).open();
    assert_eq!((second.append(&texts[200..]), second.frozen().append(&texts)), (200, 300));
    for query in texts.iter().step_by(37) {
        let wanted = trigrams(query, &texts);
        assert_eq!(second.cosines(query, &slots), Ok(wanted.clone()));
        assert_eq!(first.cosines(query, &slots[..200]).as_deref(), Ok(&wanted[..200]));
    }
    let empty = Written::new("empty", &SpellingIndex::new()).open();
    assert_eq!((empty.append(&["red", "red"]), empty.cosines("red", &[1])), (0, Ok(vec![1.0])));
}

#[test]
fn a_file_that_was_tampered_with_may_spoil_an_answer_but_never_a_process() {
    let (texts, index) = (many(), SpellingIndex::new());
    index.append(&texts[..60]);
    let written = Written::new("tampered", &index);
    let whole = std::fs::read(&written.0).unwrap();
    let slots: Vec<i64> = (0..60).collect();
    for seed in 1..200_usize {
        let mut bytes = whole.clone();
        // Somewhere among the columns, which lie behind the head and before the table.
        let at = 64 + seed.wrapping_mul(0x9e37_79b9) % (whole.len() - 1_024);
        bytes[at..at + 1 + seed % 16].fill([0, 0x20, 0x7f, 0xff][seed % 4]);
        std::fs::write(&written.0, &bytes).unwrap();
        let index = written.open();
        assert_eq!(index.cosines(&texts[seed % 60], &slots).map(|cosines| cosines.len()), Ok(60));
        assert_eq!(index.append(&texts[50..70]), 60);
        drop(Written::new("copied", &index));
    }
}

#[test]
fn columns_must_fit_each_other() {
    let index = SpellingIndex::new();
    index.append(&["red"]);
    let written = Written::new("misfit", &index);
    let file = ArrayFile::open(&written.0).unwrap();
    assert!(matches!(SpellingIndex::open(&file, "other_"), Err(Error::Damaged { .. })));
}
