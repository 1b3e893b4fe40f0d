//! The term index, in memory and in files.

use super::{Frequencies, TermIndex};
use crate::arrays::folder::Folder;
use crate::arrays::{ArrayFile, ArrayWriter};
use crate::error::{Error, Result};

fn sorted(frequencies: &Frequencies) -> Vec<(String, u32)> {
    let mut terms = frequencies.to_vec();
    terms.sort();
    terms
}

type Counted = Vec<(u32, u32)>;

/// The names of all terms, and the counted terms of all slots.
fn held(index: &TermIndex) -> (Vec<Vec<u8>>, Vec<Counted>) {
    let held = index.shared.read();
    let slot = |slot: usize| {
        let mut counts = Vec::new();
        held.get(slot as i64).unwrap().for_each(|term, count| counts.push((term, count)));
        counts
    };
    (held.names().map(<[u8]>::to_vec).collect(), (0..held.len()).map(slot).collect())
}

fn index(texts: &[&str]) -> TermIndex {
    let index = TermIndex::new();
    assert_eq!(index.append(texts, None), 0);
    index
}

#[test]
fn frequencies_move() {
    let index = index(&["red green red", "green blue", "", "red"]);
    let all = index.frequencies(&[0, 1, 2, 3]).unwrap();
    assert_eq!((all.documents(), all.document_frequency("red"), all.document_frequency("none")), (4, 2, 0));
    assert_eq!(all.idf("red"), (5.0_f64 / 3.0).ln() + 1.0);
    assert_eq!(index.append(&["violet red"], None), 4);
    assert_eq!(all.document_frequency("violet"), 0);
    let moved = all.moved(&index, &[4], &[0, 1]).unwrap();
    let fresh = index.frequencies(&[2, 3, 4]).unwrap();
    assert_eq!(moved.documents(), 3);
    assert_eq!(sorted(&moved), sorted(&fresh));
    assert_eq!(sorted(&moved), [("red".to_owned(), 2), ("violet".to_owned(), 1)]);
}

#[test]
fn cosines() {
    let index = index(&["red green red", "green blue", "", "red", "the a"]);
    let all = index.frequencies(&[0, 1, 2, 3]).unwrap();
    let cosines = index.cosines(&all, "red unknown", &[3, 0, 1, 2, 4]).unwrap();
    let (red, green) = (all.idf("red"), all.idf("green"));
    let wanted = 2.0 * red / (4.0 * red * red + green * green).sqrt();
    assert_eq!((cosines[0], cosines[2], cosines[3], cosines[4]), (1.0, 0.0, 0.0, 0.0));
    assert!((cosines[1] - wanted).abs() < 1e-15);
    assert_eq!(index.cosines(&all, "", &[0]), Ok(vec![0.0]));
}

#[test]
fn a_cosine_is_never_more_than_1() {
    let word = |i: usize| format!("word{i:03}");
    // Words of every frequency, so that no two weights are equal.
    let texts: Vec<String> = (1..60).map(|n| (0..n).map(word).collect::<Vec<_>>().join(" ")).collect();
    let index = TermIndex::new();
    index.append(&texts, Some(1));
    let slots: Vec<i64> = (0..texts.len() as i64).collect();
    let frequencies = index.frequencies(&slots).unwrap();
    for (text, slot) in texts.iter().zip(&slots) {
        for times in 1..20 {
            // A text that says everything so often has the same direction.
            let query = format!("{text} ").repeat(times);
            let cosine = index.cosines(&frequencies, &query, &[*slot]).unwrap()[0];
            assert!(cosine <= 1.0 && cosine > 1.0 - 1e-12, "{cosine:.17}");
        }
    }
}

#[test]
fn terms_not_counted_carry_no_weight() {
    let index = index(&["red green", "red"]);
    let some = index.frequencies(&[1]).unwrap();
    assert_eq!(index.cosines(&some, "red green", &[0]), Ok(vec![1.0]));
}

#[test]
fn history_does_not_show() {
    let texts: Vec<String> =
        (0..40).map(|i| (0..60).map(|j| format!("w{:03} ", (i * 37 + j * j) % 211)).collect()).collect();
    let forward = TermIndex::new();
    forward.append(&texts, None);
    let backward = TermIndex::new();
    for text in texts.iter().rev() {
        backward.append(&[text], None);
    }
    let slots: Vec<i64> = (0..40).collect();
    let reversed: Vec<i64> = slots.iter().rev().copied().collect();
    let query = "w001 w002 w100 w100 w007";
    let there = forward.cosines(&forward.frequencies(&slots).unwrap(), query, &slots).unwrap();
    let back = backward.cosines(&backward.frequencies(&slots).unwrap(), query, &reversed).unwrap();
    assert_eq!(there, back);
}

#[test]
fn faults() {
    let index = index(&["red", "green"]);
    let all = index.frequencies(&[0, 1]).unwrap();
    assert_eq!(index.frequencies(&[2]).unwrap_err(), Error::OutOfRange { what: "slot", index: 2, len: 2 });
    assert_eq!(index.frequencies(&[1, 0, 1]).unwrap_err(), Error::Repeated { slot: 1 });
    assert_eq!(all.moved(&TermIndex::new(), &[], &[]).unwrap_err(), Error::ForeignIndex);
    let one = index.frequencies(&[0]).unwrap();
    assert_eq!(one.moved(&index, &[], &[1]).unwrap_err(), Error::NotCounted { slot: 1 });
    assert!(index.cosines(&all, "red", &[-1]).is_err());
    assert!(TermIndex::new().cosines(&all, "red", &[]).is_err());
}
#[test]
fn threads_do_not_show() {
    let texts: Vec<String> =
        (0..3_000).map(|i| (0..40).map(|j| format!("word{} ", (i * 37 + j * j) % 2_111)).collect()).collect();
    let one = TermIndex::new();
    one.append(&texts[..9], Some(1));
    one.append(&texts[9..], Some(1));
    for threads in [2, 4] {
        let many = TermIndex::new();
        many.append(&texts[..9], Some(threads));
        assert_eq!(many.append(&texts[9..], Some(threads)), 9);
        assert_eq!(held(&many), held(&one));
    }
}

#[test]
fn a_name_with_nuls_or_without_bytes_is_no_term() {
    let all = index(&["abc", "abc"]).frequencies(&[0, 1]).unwrap();
    assert_eq!(["abc", "", "\0", "abc\0", "abd"].map(|name| all.document_frequency(name)), [2, 0, 0, 0, 0]);
}

/// Write an index and frequencies over it into a file.
fn write(path: &std::path::Path, index: &TermIndex, frequencies: &Frequencies) {
    let mut writer = ArrayWriter::create(path, b"").unwrap();
    index.write(&mut writer, "terms.").unwrap();
    frequencies.write(&mut writer, "terms.").unwrap();
    writer.finish().unwrap();
}

fn open(path: &std::path::Path, documents: usize) -> Result<(TermIndex, Frequencies)> {
    let file = ArrayFile::open(path)?;
    let index = TermIndex::open(&file, "terms.")?;
    let frequencies = Frequencies::open(&file, "terms.", &index, documents)?;
    Ok((index, frequencies))
}

/// Texts with words short and long, of several scripts, common and rare, and empty ones.
fn texts() -> Vec<String> {
    let word = |i: usize| match i % 5 {
        0 => format!("word{} ", i % 101),
        1 => format!("Größe{} ", i % 13),
        2 => format!("a-very-long-compound-word-{} ", i % 57),
        3 => format!("漢字{} ", i % 5),
        _ => format!("rare{i} "),
    };
    (0..300).map(|t| (0..t % 40).map(|j| word(t * t + 31 * j)).collect()).collect()
}

#[test]
fn an_index_goes_on_from_a_file() {
    let (folder, texts) = (Folder::new("terms"), texts());
    let slots: Vec<i64> = (0..300).collect();
    let memory = index(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let all = memory.frequencies(&slots).unwrap();
    let first = TermIndex::new();
    first.append(&texts[..100], None);
    write(&folder.file("first"), &first, &first.frequencies(&slots[..100]).unwrap());
    let (first, counted) = open(&folder.file("first"), 100).unwrap();
    assert_eq!((first.len(), first.size_bytes(), first.append(&texts[100..200], None)), (100, 0, 100));
    let counted = counted.moved(&first, &slots[100..200], &slots[..50]).unwrap();
    // A base and a tail become one base, with the terms of the tail after those of the base.
    write(&folder.file("second"), &first, &counted);
    let (second, counted) = open(&folder.file("second"), 150).unwrap();
    assert_eq!((second.frozen().append(&texts, None), second.append(&texts[200..], None)), (200, 200));
    let mut back: Vec<i64> = slots[200..].to_vec();
    back.extend(&slots[..50]);
    let counted = counted.moved(&second, &back, &[]).unwrap();
    assert_eq!((sorted(&counted), counted.documents()), (sorted(&all), 300));
    assert_eq!(counted.idf("word7"), all.idf("word7"));
    for query in texts.iter().step_by(37) {
        let wanted = memory.cosines(&all, query, &slots).unwrap();
        assert_eq!(second.cosines(&counted, query, &slots).unwrap(), wanted);
    }
    write(&folder.file("empty"), &TermIndex::new(), &TermIndex::new().frequencies(&[]).unwrap());
    let (empty, none) = open(&folder.file("empty"), 0).unwrap();
    assert_eq!(empty.append(&["red red"], None), 0);
    assert_eq!(empty.cosines(&none.moved(&empty, &[0], &[]).unwrap(), "red", &[0]), Ok(vec![1.0]));
    assert!(empty.cosines(&counted, "red", &[0]).is_err());
}

#[test]
fn a_file_that_was_tampered_with_may_spoil_an_answer_but_never_a_process() {
    let (folder, texts) = (Folder::new("terms-tampered"), texts());
    let index = TermIndex::new();
    index.append(&texts, None);
    let slots: Vec<i64> = (0..300).collect();
    write(&folder.file("whole"), &index, &index.frequencies(&slots).unwrap());
    let whole = std::fs::read(folder.file("whole")).unwrap();
    let mut opened = 0;
    for round in 0..600_usize {
        let mut bytes = whole.clone();
        // Whole stretches turn to noise; the head and the table stay.
        let columns = 64..whole.len() - 400;
        let start = columns.start + round * 7_919 % columns.len();
        let end = columns.end.min(start + 1 + round * 37 % 5_000);
        for (i, byte) in bytes[start..end].iter_mut().enumerate() {
            *byte = match round % 3 {
                0 => 0xff,
                _ => (i.wrapping_mul(round + 0x9e37) >> 5) as u8,
            };
        }
        let path = folder.file(&format!("bad{round}"));
        std::fs::write(&path, &bytes).unwrap();
        let Ok((index, counted)) = open(&path, round % 400) else { continue };
        opened += 1;
        assert_eq!(index.cosines(&counted, &texts[round % 300], &slots).map(|cosines| cosines.len()), Ok(300));
        assert_eq!(index.append(&texts[50..70], None), 300);
        let moved = counted.moved(&index, &[300, 301], &slots).unwrap();
        assert_eq!(moved.documents(), (round % 400 + 2).saturating_sub(300));
        assert_eq!(index.cosines(&moved, &texts[55], &[300, 305]).map(|cosines| cosines.len()), Ok(2));
        write(&folder.file(&format!("again{round}")), &index, &moved);
    }
    assert!(opened > 500, "{opened}");
}

#[test]
fn columns_must_be_there() {
    let folder = Folder::new("terms-misfit");
    write(&folder.file("a"), &TermIndex::new(), &TermIndex::new().frequencies(&[]).unwrap());
    let file = ArrayFile::open(&folder.file("a")).unwrap();
    assert!(matches!(TermIndex::open(&file, "other."), Err(Error::Damaged { .. })));
}
