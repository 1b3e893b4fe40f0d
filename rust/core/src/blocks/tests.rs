use std::collections::BTreeMap;

use proptest::prelude::*;

use super::changes::{Entries, Written, folded, put_change, written};
use super::*;
use crate::fts::{FTS5, Step};

/// Rows of several spans and places.
fn row() -> impl Strategy<Value = i64> {
    (0..3_000_i64, 0..3_i64).prop_map(|(sequence, place)| sequence * 1_024 + place)
}

fn posting() -> impl Strategy<Value = Posting> {
    let counts = prop::array::uniform5(prop_oneof![4 => Just(0_u32), 2 => Just(1), 1 => 0..300_u32]);
    (row(), prop::bool::weighted(0.2), any::<bool>(), counts, 0..1_000_u32).prop_map(
        |(row, removed, memory, counts, tokens)| match removed {
            true => Posting { row, removed, ..Posting::default() },
            false => Posting { row, removed, memory, counts, tokens },
        },
    )
}

/// Postings of some rows, ascending, each once.
fn postings() -> impl Strategy<Value = Vec<Posting>> {
    prop::collection::vec(posting(), 0..60).prop_map(|mut all| {
        all.sort_by_key(|one| one.row);
        all.dedup_by_key(|one| one.row);
        all
    })
}

fn blocks_of(postings: &[Posting]) -> BTreeMap<i64, Vec<u8>> {
    let mut blocks = BTreeMap::new();
    for of_span in postings.chunk_by(|a, b| span_of(a.row) == span_of(b.row)) {
        put_block(blocks.entry(span_of(of_span[0].row)).or_default(), of_span);
    }
    blocks
}

fn read(bytes: &[u8]) -> Vec<Posting> {
    Blocks::of(bytes).flat_map(|block| block.unwrap().postings().collect::<Vec<_>>()).collect::<Result<_>>().unwrap()
}

proptest! {
    #![proptest_config(crate::seeded(200))]

    #[test]
    fn what_is_read_of_blocks_is_what_was_written(postings in postings()) {
        let bytes: Vec<u8> = blocks_of(&postings).into_values().flatten().collect();
        prop_assert_eq!(read(&bytes), postings);
    }

    #[test]
    fn a_merge_is_what_a_map_of_rows_makes_of_it(first in postings(), later in prop::collection::vec(postings(), 1..4)) {
        let kept: Vec<Posting> = first.into_iter().filter(|one| !one.removed).collect();
        let mut wanted: BTreeMap<i64, Posting> = kept.iter().map(|one| (one.row, *one)).collect();
        let mut blocks = blocks_of(&kept);
        let mut writes = Vec::new();
        for change in &later {
            let mut bytes = Vec::new();
            put_change(&mut bytes, 0, "term", change);
            writes.push(bytes);
            for one in change {
                if one.removed { wanted.remove(&one.row) } else { wanted.insert(one.row, *one) };
            }
        }
        for _ in 0..2 {
            // The second time changes nothing.
            for (part, term, span, change) in folded(&writes).unwrap() {
                prop_assert_eq!((part, &*term), (0, "term"));
                let merged = merge(blocks.get(&span).map_or(&[], Vec::as_slice), &change).unwrap();
                if merged.is_empty() { blocks.remove(&span) } else { blocks.insert(span, merged) };
            }
            let bytes: Vec<u8> = blocks.values().flatten().copied().collect();
            prop_assert_eq!(&read(&bytes), &wanted.values().copied().collect::<Vec<_>>());
            let (number, sum) = checksum(0, "term", &bytes).unwrap();
            prop_assert_eq!(number, wanted.len() as u64);
            let each = wanted.values().map(|&one| blocks_of(&[one]).into_values().flatten().collect::<Vec<u8>>());
            let sums = each.map(|one| checksum(0, "term", &one).unwrap().1).fold(0, u64::wrapping_add);
            prop_assert_eq!(sum, sums);
        }
    }

    #[test]
    fn bytes_that_are_cut_or_changed_are_refused_or_read_as_other_postings(
        postings in postings(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()
    ) {
        let mut bytes: Vec<u8> = blocks_of(&postings).into_values().flatten().collect();
        prop_assume!(!bytes.is_empty());
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        let queries = [Asked { part: 0, term: "term", weight: Some(1.0) }];
        let _ = rank(&queries, &[(0, "term", &bytes)], &[&bytes], &ranking(&[], 3));
        let _ = (merge(&bytes, &bytes), folded(&[bytes]));
    }
}

fn ranking(needed: &[Vec<Way>], most: usize) -> Ranking<'_> {
    Ranking {
        weights: [1.0, 2.0, 1.0, 1.0, 1.0],
        average: [10.0, 5.0],
        constants: FTS5,
        needed,
        outside: &[],
        memories: true,
        most,
    }
}

fn once(row: i64, tokens: u32) -> Posting {
    Posting { row, counts: [0, 0, 1, 0, 0], tokens, ..Posting::default() }
}

#[test]
fn rows_that_hold_every_needed_word_come_first_then_by_score_then_by_row() {
    let held = |rows: &[i64]| -> Vec<u8> {
        let postings: Vec<Posting> = rows.iter().map(|&row| once(row, 10)).collect();
        blocks_of(&postings).into_values().flatten().collect()
    };
    let (common, rare) = (held(&[1 << 10, 2 << 10, 3 << 10, 2_000 << 10]), held(&[2 << 10, 5 << 10]));
    let queries = [
        Asked { part: 0, term: "common", weight: Some(1.0) },
        Asked { part: 0, term: "rare", weight: Some(9.0) },
        Asked { part: 0, term: "silent", weight: None },
    ];
    let blocks = [(0, "common", &*common), (0, "rare", &*rare), (0, "silent", &*common)];
    let results = |needed: &[Vec<Way>], most| rank(&queries, &blocks, &[], &ranking(needed, most)).unwrap();
    let rows = |ranked: &Ranked| ranked.best.iter().map(|best| best.row >> 10).collect::<Vec<_>>();
    let by_score = results(&[], 3);
    assert_eq!((rows(&by_score), by_score.matches, by_score.whole), (vec![2, 5, 1], 5, 0));
    // The word "silent" is held where the term is, though it scores nothing.
    let whole = results(&[vec![vec![vec![2]]], vec![vec![vec![0], vec![2]], vec![vec![1]]]], 9);
    assert_eq!((rows(&whole), whole.whole), (vec![2, 1, 3, 2_000, 5], 4));
    let none = results(&[vec![]], 9);
    assert_eq!((none.matches, none.whole), (5, 0));
}

#[test]
fn changes_stand_over_blocks_and_later_ones_over_earlier_ones() {
    let block: Vec<u8> = blocks_of(&[once(1 << 10, 10), once(2 << 10, 10)]).into_values().flatten().collect();
    let gone = Posting { row: 1 << 10, removed: true, ..Posting::default() };
    let mut writes = [Vec::new(), Vec::new(), Vec::new()];
    put_change(&mut writes[0], 0, "term", &[gone, once(3 << 10, 10)]);
    put_change(&mut writes[1], 0, "other", &[once(4 << 10, 10)]);
    put_change(&mut writes[2], 0, "term", &[once(3 << 10, 1)]);
    let queries = [Asked { part: 0, term: "term", weight: Some(1.0) }];
    let writes: Vec<&[u8]> = writes.iter().map(Vec::as_slice).collect();
    let outside = [2 << 10];
    let results =
        rank(&queries, &[(0, "term", &block)], &writes, &Ranking { outside: &outside, ..ranking(&[], 9) }).unwrap();
    let frequency_one = 2.2 / (1.0 + 1.2 * (0.25 + 0.75 / 10.0));
    assert_eq!(results.best, [Best { whole: false, score: frequency_one, row: 3 << 10 }]);
    assert_eq!(results.matches, 1);
}

#[test]
fn of_a_row_that_goes_and_comes_what_comes_counts() {
    let (rows, memories) = ([1_024, 1_024, 2_048], [0, 0, 1]);
    let part = Written {
        part: 0,
        terms: &["b", "a"],
        term: &[0, 1, 0, 0],
        entry: &[0, 0, 1, 2],
        counts: &[0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 1, 0, 0, 0, 0],
        tokens: &[2, 3, 1],
    };
    let bytes = written(&[part], Entries { rows: &rows, memories: &memories, gone: 1 }).unwrap();
    let changes: Vec<_> = Changes::of(&bytes)
        .map(|change| change.map(|one| (one.term, read(one.blocks))))
        .collect::<Result<_>>()
        .unwrap();
    let gone = Posting { row: 1_024, removed: true, ..Posting::default() };
    let come = Posting { row: 1_024, counts: [0, 0, 3, 0, 0], tokens: 3, ..Posting::default() };
    let memory = Posting { row: 2_048, memory: true, counts: [1, 0, 0, 0, 0], tokens: 1, ..Posting::default() };
    assert_eq!(changes, [("a", vec![gone]), ("b", vec![come, memory])]);
    let short = Written { tokens: &[2], ..part };
    assert!(written(&[short], Entries { rows: &rows, memories: &memories, gone: 1 }).is_err());
}

#[test]
fn a_cascade_answers_with_the_first_step_that_a_row_takes_and_adds_what_begins_alike() {
    let held = |rows: &[i64]| -> Vec<u8> {
        let postings: Vec<Posting> = rows.iter().map(|&row| once(row << 10, 10)).collect();
        blocks_of(&postings).into_values().flatten().collect()
    };
    let (auth, author, token) = (held(&[1, 2, 5_000]), held(&[2, 3]), held(&[2, 4, 5_000]));
    let mut change = Vec::new();
    let gone = Posting { row: 5_000 << 10, removed: true, ..Posting::default() };
    put_change(&mut change, 0, "auth", &[gone]);
    put_change(&mut change, 0, "authz", &[once(6 << 10, 10)]);
    put_change(&mut change, 1, "auth", &[once(7 << 10, 10)]);
    let word = |low, high, terms| Beginning { low, high, terms };
    let words = [
        word("auth", "auti", vec![("auth", &*auth), ("author", &*author)]),
        word("token", "tokeo", vec![("token", &*token)]),
        word("", "", vec![]),
    ];
    let counted = Counted { weights: [1.0; COLUMNS], entries: true, memories: true };
    assert_eq!(count_begun(&words, &[&change], counted).unwrap(), [4, 3, 0]);
    let hidden = Counted { entries: false, ..counted };
    assert_eq!(count_begun(&words, &[&change], hidden).unwrap(), [0, 0, 0]);
    let unweighted = Counted { weights: [1.0, 1.0, 0.0, 1.0, 1.0], ..counted };
    assert_eq!(count_begun(&words, &[&change], unweighted).unwrap(), [0, 0, 0]);
    let step = |every, words: &[usize]| Step { every, words: words.to_vec() };
    let ask = |steps: &[Step], outside: &[i64], most| {
        let cascade = Cascade { idf: &[2.0, 1.0, 1.0], steps, average: 10.0, constants: FTS5, outside, most };
        let (ranked, step) = rank_begun(&words, &[&change], counted, &cascade).unwrap();
        (ranked.best.iter().map(|best| best.row >> 10).collect::<Vec<_>>(), ranked.matches, step)
    };
    let steps = [step(true, &[0, 1, 2]), step(true, &[0, 1]), step(false, &[1, 0])];
    assert_eq!(ask(&steps, &[], 9), (vec![2], 1, Some(1)));
    assert_eq!(ask(&steps, &[2 << 10], 9), (vec![1, 3, 6, 4, 5_000], 5, Some(2)));
    assert_eq!(ask(&steps[2..], &[], 2), (vec![2, 1], 6, Some(0)));
    assert_eq!(ask(&[step(true, &[2]), step(true, &[])], &[], 2), (vec![], 0, None));
    let wrong =
        Cascade { idf: &[1.0; 3], steps: &[step(true, &[3])], average: 1.0, constants: FTS5, outside: &[], most: 1 };
    assert!(rank_begun(&words, &[], counted, &wrong).is_err());
}
