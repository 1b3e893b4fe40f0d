//! An index in a file, with or without a tail, ranks as one that was built in memory.

use proptest::prelude::*;

use super::{Constants, Hits, Part, Statistics, TextIndex, Wanted, bm25_at, bm25_top_k};
use crate::Result;
use crate::arrays::folder::Folder;
use crate::arrays::{ArrayFile, ArrayWriter};

const WORDS: [&str; 9] = ["every", "red", "red", "green", "blue", "fox", "owl", "yak", "rarely"];
const WEIGHTS: [f64; 2] = [2.5, 0.1];

fn rows(seeds: &[u32]) -> Vec<[String; 2]> {
    let word = |seed: u32, i: u32| WORDS[(seed.wrapping_mul(2 * i + 3) >> 13) as usize % WORDS.len()];
    let text = |seed: u32, words: u32| (0..words).map(|i| word(seed, i)).collect::<Vec<_>>().join(" ");
    // Some rows repeat a word more often than the tests' small postings can say.
    seeds
        .iter()
        .map(|&seed| [text(seed, seed % 4), text(!seed, seed % 9) + &" owl".repeat((seed % 31 / 29 * 20) as usize)])
        .collect()
}

/// Write an index and statistics over it into a file, and open both.
fn reopened(folder: &Folder, name: &str, index: &TextIndex, rows: &Statistics) -> Result<(TextIndex, Statistics)> {
    let path = folder.file(name);
    let mut writer = ArrayWriter::create(&path, b"")?;
    index.write(&mut writer, "text.")?;
    rows.write(&mut writer, "rows.")?;
    writer.finish()?;
    open(&path)
}

fn open(path: &std::path::Path) -> Result<(TextIndex, Statistics)> {
    let file = ArrayFile::open(path)?;
    let index = TextIndex::open(&file, "text.")?;
    let rows = Statistics::open(&file, "rows.", &index)?;
    Ok((index, rows))
}

fn ask(index: &TextIndex, rows: &Statistics, terms: &[&str], k: usize) -> Result<(Hits, Vec<f64>)> {
    let part = [Part { index, statistics: rows, weights: &WEIGHTS, constants: Constants::default() }];
    let slots: Vec<i64> = (0..index.len() as i64).collect();
    let scores = bm25_at(&part, terms, &slots)?;
    // NaN is not equal to itself.
    let scores = scores.into_iter().map(|score| if score.is_nan() { -1.0 } else { score }).collect();
    Ok((bm25_top_k(&part, terms, Wanted { k, mask: None, ties: None })?, scores))
}

proptest! {
    #![proptest_config(crate::seeded(40))]

    #[test]
    fn files_and_tails_rank_as_memory_does(
        seeds in prop::collection::vec(any::<u32>(), 1..3_000),
        cuts in (0..3_000_usize, 0..3_000_usize),
        terms in prop::collection::vec(prop::sample::select(&WORDS[..]), 1..6),
        k in 0..40_usize,
    ) {
        let folder = Folder::new("fts");
        let rows = rows(&seeds);
        let (a, b) = (cuts.0.min(cuts.1).min(rows.len()), cuts.0.max(cuts.1).min(rows.len()));
        let counted = |end: usize| (0..end as i64).filter(|&slot| seeds[slot as usize] % 5 != 0).collect::<Vec<_>>();
        let memory = TextIndex::new(2).unwrap();
        memory.append(&rows).unwrap();
        let all = memory.statistics(&counted(rows.len())).unwrap();
        let wanted = ask(&memory, &all, &terms, k).unwrap();

        let first = TextIndex::new(2).unwrap();
        first.append(&rows[..a]).unwrap();
        let (one, _) = reopened(&folder, "one", &first, &first.statistics(&counted(a)).unwrap()).unwrap();
        one.append(&rows[a..b]).unwrap();
        let (two, some) = reopened(&folder, "two", &one, &one.statistics(&counted(b)).unwrap()).unwrap();
        two.append(&rows[b..]).unwrap();
        let added: Vec<i64> = counted(rows.len()).into_iter().filter(|&slot| slot >= b as i64).collect();
        let moved = some.moved(&two, &added, &[]).unwrap();
        prop_assert_eq!(&ask(&two, &moved, &terms, k).unwrap(), &wanted);
        let (three, end) = reopened(&folder, "three", &two, &moved).unwrap();
        prop_assert_eq!(&ask(&three, &end, &terms, k).unwrap(), &wanted);
        let sorted = |statistics: &Statistics| { let mut terms = statistics.to_vec(); terms.sort(); terms };
        prop_assert_eq!((sorted(&end), end.rows(), end.tokens()), (sorted(&all), all.rows(), all.tokens()));
        // Rows leave and come back, by the lists of terms in the file.
        let out = end.moved(&three, &[], &added).unwrap().moved(&three, &added, &[]).unwrap();
        prop_assert_eq!(sorted(&out), sorted(&all));
    }
}

proptest! {
    #![proptest_config(crate::seeded(40))]

    #[test]
    fn parts_whose_files_end_at_other_slots_rank_as_memory_does(
        seeds in prop::collection::vec(any::<u32>(), 600..2_000),
        cuts in (0..2_000_usize, 0..2_000_usize, any::<bool>()),
        terms in prop::collection::vec(prop::sample::select(&WORDS[..8]), 1..8),
        k in 1..40_usize,
    ) {
        let folder = Folder::new("fts-parts");
        let cut = |cut: usize| cut.min(seeds.len());
        let cuts = [cut(cuts.0), cut(if cuts.2 { cuts.0 } else { cuts.1 })];
        let counted = |part: u32, range: std::ops::Range<usize>| {
            range.filter(|&slot| seeds[slot] % 5 != part).map(|slot| slot as i64).collect::<Vec<_>>()
        };
        let texts = [rows(&seeds), rows(&seeds.iter().map(|seed| seed.rotate_left(7)).collect::<Vec<_>>())];
        let mask: Vec<u8> = seeds.iter().map(|seed| (seed % 11 % 3) as u8).collect();
        let (mut memory, mut files) = (Vec::new(), Vec::new());
        for (part, (texts, cut)) in (0..).zip(texts.iter().zip(cuts)) {
            let all = TextIndex::new(2).unwrap();
            all.append(texts).unwrap();
            let statistics = all.statistics(&counted(part, 0..texts.len())).unwrap();
            memory.push((all, statistics));
            let first = TextIndex::new(2).unwrap();
            first.append(&texts[..cut]).unwrap();
            let some = first.statistics(&counted(part, 0..cut)).unwrap();
            let (index, some) = reopened(&folder, &format!("{part}"), &first, &some).unwrap();
            index.append(&texts[cut..]).unwrap();
            let statistics = some.moved(&index, &counted(part, cut..texts.len()), &[]).unwrap();
            files.push((index, statistics));
        }
        let best = |of: &[(TextIndex, Statistics)]| {
            let part = |(index, statistics), weights| Part { index, statistics, weights, constants: Constants::default() };
            let parts = [part((&of[0].0, &of[0].1), &WEIGHTS), part((&of[1].0, &of[1].1), &[0.0, 30.0])];
            bm25_top_k(&parts, &terms, Wanted { k, mask: Some(&mask), ties: None }).unwrap()
        };
        let slots: Vec<i64> = (0..seeds.len() as i64).collect();
        let all = [&memory[0], &memory[1]].map(|(index, statistics)| Part { index, statistics, weights: &WEIGHTS, constants: Constants::default() });
        let scores = bm25_at(&all[..1], &terms, &slots).unwrap();
        let mut wanted: Vec<f64> =
            scores.iter().zip(&mask).filter(|(score, allowed)| !score.is_nan() && **allowed != 0).map(|(s, _)| *s).collect();
        wanted.sort_by(|a, b| b.total_cmp(a));
        wanted.truncate(k);
        let results = bm25_top_k(&all[..1], &terms, Wanted { k, mask: Some(&mask), ties: None }).unwrap();
        prop_assert_eq!(results.scores, wanted);
        prop_assert_eq!(best(&files), best(&memory));
    }
}

#[test]
fn a_frozen_index_stays_as_it_is() {
    let index = TextIndex::new(2).unwrap();
    index.append(&rows(&[1, 2, 3])).unwrap();
    let frozen = index.frozen();
    index.append(&rows(&[4, 5])).unwrap();
    assert_eq!((frozen.len(), index.len()), (3, 5));
    frozen.append(&rows(&[6])).unwrap();
    assert_eq!((frozen.len(), index.len()), (4, 5));
}

#[test]
fn a_file_that_was_tampered_with_spoils_answers_but_nothing_else() {
    let folder = Folder::new("tampered");
    let seeds: Vec<u32> = (0..3_000_u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let index = TextIndex::new(2).unwrap();
    index.append(&rows(&seeds)).unwrap();
    let counted = index.statistics(&(0..3_000).collect::<Vec<_>>()).unwrap();
    reopened(&folder, "whole", &index, &counted).unwrap();
    let whole = std::fs::read(folder.file("whole")).unwrap();
    let mut opened = 0;
    for round in 0..400_usize {
        let mut bytes = whole.clone();
        // Whole stretches turn to noise; the head and the table stay.
        let columns = 64..whole.len() - 2_000;
        let start = columns.start + round * 7_919 % columns.len();
        for (i, byte) in bytes[start..columns.end.min(start + 1 + round * 37 % 5_000)].iter_mut().enumerate() {
            *byte = (i.wrapping_mul(round + 0x9e37) >> 5) as u8;
        }
        let path = folder.file(&format!("bad{round}"));
        std::fs::write(&path, &bytes).unwrap();
        let Ok((index, rows_)) = open(&path) else { continue };
        opened += 1;
        let _ = ask(&index, &rows_, &WORDS, 10);
        index.append(&rows(&[7, 8, 9])).unwrap();
        let moved = rows_.moved(&index, &[3_000, 3_001], &[5, 6, 2_999]);
        if let Ok(moved) = moved {
            let _ = ask(&index, &moved, &WORDS, 10);
            let _ = reopened(&folder, &format!("again{round}"), &index, &moved);
        }
    }
    assert!(opened > 100, "{opened}");
}
