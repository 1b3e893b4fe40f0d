//! The index against the texts, in memory and in a file.

use std::path::PathBuf;

use std::collections::{BTreeMap, BTreeSet};

use super::spell::Speller;
use super::{SpellingIndex, SpellingStatistics};
use crate::arrays::{ArrayFile, ArrayWriter};
use crate::error::Error;

/// Every trigram of a text, by its letters.
fn trigrams(text: &str) -> Vec<String> {
    let mut results = Vec::new();
    Speller::default().for_each(text, |word| {
        let letters: Vec<char> = str::from_utf8(word).unwrap().chars().collect();
        results.extend(letters.windows(3).map(|three| three.iter().collect::<String>()));
    });
    results
}

/// The formula as it is written, text by text: `counted` are the texts that frequencies are counted over.
fn slow<A: AsRef<str>, B: AsRef<str>>(query: &str, counted: &[A], texts: &[B]) -> Vec<f64> {
    let all: Vec<Vec<String>> = counted.iter().map(|text| trigrams(text.as_ref())).collect();
    let sets: Vec<BTreeSet<&String>> = all.iter().map(|text| text.iter().collect()).collect();
    let (n, average) = (all.len() as f64, all.iter().map(Vec::len).sum::<usize>() as f64 / all.len() as f64);
    let mut queries: BTreeMap<String, f64> = BTreeMap::new();
    trigrams(query).into_iter().for_each(|trigram| *queries.entry(trigram).or_default() += 1.0);
    let frequency = |trigram: &String| sets.iter().filter(|set| set.contains(trigram)).count() as f64;
    let queries: Vec<(String, f64, f64)> =
        queries.into_iter().map(|(of, times)| (of.clone(), times, frequency(&of))).collect();
    let most: f64 = queries.iter().map(|(_, times, df)| times * (1.0 + (n - df + 0.5) / (df + 0.5)).ln() * 2.2).sum();
    let score = |text: &B| {
        let own = trigrams(text.as_ref());
        let share = |(trigram, times, df): &(String, f64, f64)| {
            let tf = own.iter().filter(|other| *other == trigram).count() as f64;
            let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
            times * idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * own.len() as f64 / average))
        };
        queries.iter().map(share).sum::<f64>() / most.max(f64::MIN_POSITIVE)
    };
    texts.iter().map(score).collect()
}

/// All slots of an index, counted.
fn counted(index: &SpellingIndex) -> SpellingStatistics {
    SpellingStatistics::default().moved(index, &slots(index.len()), &[]).unwrap()
}

fn slots(count: usize) -> Vec<i64> {
    (0..count as i64).collect()
}

#[track_caller]
fn close(results: &crate::error::Result<Vec<f64>>, wanted: &[f64]) {
    let results = results.as_deref().unwrap();
    let near = results.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= 1e-11 * b.abs());
    assert!(results.len() == wanted.len() && near, "{results:?} {wanted:?}");
}

#[test]
fn scores_are_those_of_the_texts() {
    let texts = ["Vector index, vectors", "the of", "", "Straße café strasse cafe 漢字 漢", "vectr indx indx indx"];
    let index = SpellingIndex::new();
    assert!(index.is_empty());
    assert_eq!((index.append(&texts[..2]), index.append(&texts[2..])), (0, 2));
    let all = counted(&index);
    for query in ["vector index index", "Caffè straße", "漢字", "the", ""] {
        let wanted = slow(query, &texts, &texts);
        close(&index.bm25(&all, query, &[0, 1, 2, 3, 4]), &wanted);
        close(&index.bm25(&all, query, &[3, 0, 3]), &[wanted[3], wanted[0], wanted[3]]);
    }
    assert!(index.size_bytes() > 0);
}

#[test]
fn slots_that_do_not_count_have_scores_too() {
    let texts = ["red green", "green", "blue green", "red red"];
    let index = SpellingIndex::new();
    index.append(&texts);
    let some = counted(&index).moved(&index, &[], &[0, 3]).unwrap();
    close(&index.bm25(&some, "red green", &[0, 1, 2, 3]), &slow("red green", &texts[1..3], &texts));
    let none = some.moved(&index, &[], &[1, 2]).unwrap();
    assert!(index.bm25(&none, "red", &[0, 1]).unwrap().iter().all(|score| score.is_finite()));
}

fn many() -> Vec<String> {
    (0..300_u64).map(|i| (0..40).map(|j| format!("{:x}é{} ", i * j * 2_654_435, i % 7)).collect()).collect()
}

#[test]
fn more_words_than_are_remembered_at_once() {
    let (texts, index) = (many(), SpellingIndex::new());
    texts.chunks(7).for_each(|some| _ = index.append(some));
    let all = counted(&index);
    for query in &texts[..5] {
        close(&index.bm25(&all, query, &slots(300)), &slow(query, &texts, &texts));
    }
}

#[test]
fn a_frozen_index_goes_its_own_way() {
    let (texts, index) = (many(), SpellingIndex::new());
    index.append(&texts[..100]);
    let (frozen, all) = (index.frozen(), counted(&index));
    assert_eq!((index.append(&texts[100..]), frozen.append(&texts[200..]), frozen.len()), (100, 100, 200));
    for (index, slot) in [(&index, 250), (&frozen, 150)] {
        let wanted = slow(&texts[9], &texts[..100], &[&texts[250], &texts[3]]);
        close(&index.bm25(&all, &texts[9], &[slot, 3]), &wanted);
    }
}

#[test]
fn a_slot_out_of_range_is_a_fault() {
    let index = SpellingIndex::new();
    index.append(&["red"]);
    let all = counted(&index);
    let fault = |slot| Err(Error::OutOfRange { what: "slot", index: slot, len: 1 });
    assert_eq!((index.bm25(&all, "red", &[0, 1]), index.bm25(&all, "", &[-1])), (fault(1), fault(-1)));
}

/// A file that goes with the test.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, index: &SpellingIndex) -> Self {
        let path = std::env::temp_dir().join(format!("septet-spelling-{name}-{}", std::process::id()));
        let mut writer = ArrayWriter::create(&path, b"").unwrap();
        index.write(&mut writer, "of_").unwrap();
        counted(index).write(&mut writer, "counted_").unwrap();
        writer.finish().unwrap();
        Self(path)
    }

    fn open(&self) -> SpellingIndex {
        SpellingIndex::open(&ArrayFile::open(&self.0).unwrap(), "of_").unwrap()
    }

    fn counted(&self) -> SpellingStatistics {
        SpellingStatistics::open(&ArrayFile::open(&self.0).unwrap(), "counted_").unwrap()
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
    index.append(&texts[..100]);
    let written = Written::new("first", &index);
    let first = written.open();
    assert_eq!((first.len(), first.size_bytes(), first.append(&texts[100..200])), (100, 0, 100));
    let moved = written.counted().moved(&first, &slots(200)[100..], &[]).unwrap();
    assert_eq!(moved, counted(&first));
    // A base and a tail become one base, with the words of the tail after those of the base.
    let written = Written::new("second", &first);
    let second = written.open();
    assert_eq!((second.append(&texts[200..]), second.frozen().append(&texts)), (200, 300));
    index.append(&texts[100..]);
    let all = counted(&second);
    assert_eq!(all, counted(&index));
    for query in texts.iter().step_by(37) {
        let wanted = index.bm25(&all, query, &slots(300)).unwrap();
        assert_eq!(second.bm25(&all, query, &slots(300)).as_deref(), Ok(&*wanted));
        assert_eq!(first.bm25(&all, query, &slots(200)).as_deref(), Ok(&wanted[..200]));
    }
    let written = Written::new("empty", &SpellingIndex::new());
    let empty = written.open();
    assert_eq!(empty.append(&["red", "red"]), 0);
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
        let all = counted(&index);
        assert_eq!(index.bm25(&all, &texts[seed % 60], &slots).map(|scores| scores.len()), Ok(60));
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
    assert!(matches!(SpellingStatistics::open(&file, "of_"), Err(Error::Damaged { .. })));
}
