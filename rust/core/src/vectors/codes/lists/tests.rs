//! Lists against the scan of all rows: what they leave out, they must say.

use proptest::prelude::*;

use super::super::tests::{coded, numbers, request};
use super::super::{Codes, Request, probe_coded, top_k_batch_coded, top_k_coded};
use crate::arrays::folder::Folder;
use crate::arrays::{ArrayFile, ArrayWriter};
use crate::vectors::{Hits, Level, Rows};

/// Rows around some points, with some that are equal.
fn clustered(n: usize, d: usize, seed: usize) -> Vec<f32> {
    let mut number = numbers(seed);
    let points: Vec<f32> = (0..20 * d).map(|_| number()).collect();
    let mut data: Vec<f32> = Vec::with_capacity(n * d);
    for row in 0..n {
        if row % 17 == 3 {
            data.extend_from_within((row - 2) * d..(row - 1) * d);
        } else {
            let point = &points[row % 20 * d..][..d];
            data.extend(point.iter().map(|x| x + 0.3 * number()));
        }
    }
    data
}

fn by_distance(rows: Rows<'_>) -> Codes {
    let codes = Codes::of_distances(rows.d()).unwrap();
    codes.append(rows).unwrap();
    codes
}

/// A search of lists must give what the scan of all rows gives, or say that it may not.
fn equal(plain: &Codes, lists: &Codes, query: &[f32], rows: Rows<'_>, request: Request<'_>) {
    let wanted = top_k_coded(plain, query, rows, request).unwrap();
    assert_eq!(top_k_coded(lists, query, rows, request).unwrap(), wanted);
    for recall in [0.0, 0.9, 0.999] {
        let (hits, certain) = probe_coded(lists, query, rows, request, recall).unwrap();
        assert_eq!(hits.rows.len(), wanted.rows.len());
        if certain {
            assert_eq!(hits, wanted);
        }
        let pairs = hits.scores.iter().zip(&wanted.scores);
        assert!(pairs.fold(true, |all, (score, best)| all && score <= best), "{hits:?} {wanted:?}");
    }
    let three = [query, query, rows.row(0)].concat();
    let batch = top_k_batch_coded(lists, Rows::new(&three, 3, rows.d()).unwrap(), rows, request).unwrap();
    assert_eq!(batch[1], wanted);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn lists_give_what_all_rows_give(
        n in 1_usize..3_000, d in 1_usize..20, k in 0_usize..40, seed in 0_usize..1_000, share in 1_usize..40,
        distances in any::<bool>(),
    ) {
        let data = clustered(n, d, seed);
        let rows = Rows::new(&data, n, d).unwrap();
        let plain = if distances { by_distance(rows) } else { coded(rows) };
        let lists = plain.arranged(rows.into(), None, false, Some(1)).unwrap();
        prop_assert!(lists.lists() > 0 && lists.unlisted() == 0 && lists.len() == n);
        let some: Vec<u8> = (0..n).map(|row| u8::from(row % share == 0)).collect();
        let query: Vec<f32> = data[..d].iter().map(|x| x + 0.01).collect();
        for &level in Level::available() {
            for mask in [None, Some(&*some)] {
                for threads in [1, 3] {
                    let request = Request { threads: Some(threads), ..request(k, mask, level) };
                    equal(&plain, &lists, &query, rows, request);
                }
            }
        }
    }

    #[test]
    fn lists_that_take_in_rows_and_lose_others_give_what_all_rows_give(
        first in 1_usize..1_500, steps in prop::collection::vec((0_usize..1_200, 2_usize..20), 1..4),
        seed in 0_usize..1_000, distances in any::<bool>(),
    ) {
        let d = 6;
        let n = first + steps.iter().map(|step| step.0).sum::<usize>();
        let data = clustered(n, d, seed);
        let all = |n: usize| Rows::new(&data[..n * d], n, d).unwrap();
        let plain = if distances { by_distance(all(n)) } else { coded(all(n)) };
        let codes = if distances { by_distance(all(first)) } else { coded(all(first)) };
        let mut lists = codes.arranged(all(first).into(), None, false, Some(1)).unwrap();
        let (mut alive, mut n) = (vec![1; first], first);
        for (more, every) in steps {
            lists.append(Rows::new(&data[n * d..(n + more) * d], more, d).unwrap()).unwrap();
            n += more;
            alive.resize(n, 1);
            alive.iter_mut().skip(1).step_by(every).for_each(|alive| *alive = 0);
            for absorbs in [false, true] {
                if absorbs {
                    lists = lists.arranged(all(n).into(), Some(&alive), true, Some(1)).unwrap();
                    prop_assert_eq!(lists.unlisted(), 0);
                }
                let request = request(9, Some(&alive), Level::best());
                equal(&plain, &lists, &data[..d], all(n), request);
            }
        }
    }
}

fn written(folder: &Folder, with: impl FnOnce(&mut ArrayWriter)) -> ArrayFile {
    let path = folder.another();
    let mut writer = ArrayWriter::create(&path, b"").unwrap();
    with(&mut writer);
    writer.finish().unwrap();
    ArrayFile::open(&path).unwrap()
}

#[test]
fn lists_in_a_file_answer_as_those_in_memory_and_take_in_rows() {
    let (n, d) = (3_000, 12);
    let data = clustered(n, d, 4);
    let rows = |n: usize| Rows::new(&data[..n * d], n, d).unwrap();
    let alive: Vec<u8> = (0..n).map(|row| u8::from(row % 9 != 1)).collect();
    let folder = Folder::new("lists");
    for make in [coded as fn(Rows<'_>) -> Codes, by_distance] {
        let lists = make(rows(2_000)).arranged(rows(2_000).into(), Some(&alive[..2_000]), false, None).unwrap();
        lists.append(Rows::new(&data[2_000 * d..2_500 * d], 500, d).unwrap()).unwrap();
        for end in [2_000, 2_500] {
            let file = written(&folder, |to| lists.write(to, "of/", end).unwrap());
            let opened = Codes::open(&file, "of/").unwrap();
            assert_eq!((opened.len(), opened.lists(), opened.unlisted()), (end, lists.lists(), end - 2_000));
            opened.append(Rows::new(&data[end * d..], n - end, d).unwrap()).unwrap();
            let plain = make(rows(n));
            equal(&plain, &opened, rows(n).row(7), rows(n), request(9, Some(&alive), Level::best()));
            let absorbed = opened.arranged(rows(n).into(), Some(&alive), true, None).unwrap();
            equal(&plain, &absorbed, rows(n).row(7), rows(n), request(9, Some(&alive), Level::best()));
        }
        written(&folder, |to| assert!(lists.write(to, "", 1_999).is_err()));
    }
}

#[test]
fn lists_are_not_searched_with_fewer_rows_than_they_have() {
    let data = clustered(500, 4, 1);
    let rows = Rows::new(&data, 500, 4).unwrap();
    let lists = coded(rows).arranged(rows.into(), None, false, None).unwrap();
    let fewer = Rows::new(&data[..400 * 4], 400, 4).unwrap();
    assert!(top_k_coded(&lists, rows.row(0), fewer, request(3, None, Level::best())).is_err());
    assert!(probe_coded(&lists, rows.row(0), fewer, request(3, None, Level::best()), 0.9).is_err());
    assert!(lists.arranged(fewer.into(), None, true, None).is_err());
}

#[test]
fn rows_of_any_length_are_found_and_certain_only_if_they_are() {
    let (n, d) = (1_200, 6);
    for length in [1e-44_f32, 1e-30, 1e-20, 1e20, 1e26, 3e37] {
        for some in [1, 7] {
            let mut data = clustered(n, d, 3);
            data.chunks_mut(d).step_by(some).for_each(|row| row.iter_mut().for_each(|x| *x *= length));
            let rows = Rows::new(&data, n, d).unwrap();
            for make in [coded as fn(Rows<'_>) -> Codes, by_distance] {
                let plain = make(rows);
                let lists = plain.arranged(rows.into(), None, false, None).unwrap();
                for row in [0, 1, 8] {
                    equal(&plain, &lists, rows.row(row), rows, request(9, None, Level::best()));
                }
            }
        }
    }
}

#[test]
fn a_narrow_filter_reads_lists_until_there_are_enough_rows() {
    let (n, d) = (20_000, 24);
    let data = clustered(n, d, 2);
    let rows = Rows::new(&data, n, d).unwrap();
    let plain = coded(rows);
    let lists = plain.arranged(rows.into(), None, false, None).unwrap();
    for share in [3, 8] {
        let mask: Vec<u8> = (0..n).map(|row| u8::from(row % share == 0)).collect();
        equal(&plain, &lists, rows.row(5), rows, request(150, Some(&mask), Level::best()));
    }
}

#[test]
fn equal_rows_and_none_make_lists_too() {
    for n in [0, 1, 5_000] {
        let data = [0.6, 0.8].repeat(n);
        let rows = Rows::new(&data, n, 2).unwrap();
        let lists = coded(rows).arranged(rows.into(), None, false, None).unwrap();
        let (hits, _) = probe_coded(&lists, &[1.0, 0.0], rows, request(7, None, Level::best()), 0.9).unwrap();
        assert_eq!(hits.rows.len(), n.min(7));
        let hits = top_k_coded(&lists, &[1.0, 0.0], rows, request(7, None, Level::best())).unwrap();
        assert_eq!(hits.rows, (0..n.min(7)).collect::<Vec<_>>());
    }
}

#[test]
fn a_search_of_lists_reads_few_of_them_and_misses_little() {
    let (n, d) = (20_000, 24);
    let data = clustered(n, d, 9);
    let rows = Rows::new(&data, n, d).unwrap();
    let plain = coded(rows);
    let lists = plain.arranged(rows.into(), None, false, None).unwrap();
    let (mut same, mut all) = (0, 0);
    for i in 0..100 {
        let query: Vec<f32> = rows.row(i * 199).iter().map(|x| x * 1.02).collect();
        let wanted: Hits = top_k_coded(&plain, &query, rows, request(10, None, Level::best())).unwrap();
        let (hits, _) = probe_coded(&lists, &query, rows, request(10, None, Level::best()), 0.98).unwrap();
        same += hits.scores.iter().filter(|score| **score >= wanted.scores[9]).count();
        all += 10;
    }
    assert!(same * 100 >= all * 97, "{same} of {all}");
}

#[test]
fn lists_stay_while_another_thread_holds_them() {
    let data = clustered(600, 8, 1);
    let rows = Rows::new(&data, 600, 8).unwrap();
    let codes = coded(rows).arranged(rows.into(), None, false, Some(1)).unwrap();
    let (held, lists) = (codes.published(), codes.lists());
    let living: Vec<u32> = (0..600).collect();
    assert_eq!(codes.calibrated(rows.into(), &living, Some(1)).unwrap().lists(), lists);
    assert!(lists > 0 && held.lists.is_some());
}

#[test]
fn lists_of_rows_whose_squares_pass_float32_open_again() {
    let data: Vec<f32> = clustered(600, 8, 2).iter().map(|x| x * 5e19).collect();
    let rows = Rows::new(&data, 600, 8).unwrap();
    let codes = by_distance(rows).arranged(rows.into(), None, false, Some(1)).unwrap();
    let folder = Folder::new("lists-long");
    let opened = Codes::open(&written(&folder, |to| codes.write(to, "", 600).unwrap()), "").unwrap();
    assert_eq!(opened.lists(), codes.lists());
    equal(&by_distance(rows), &opened, rows.row(0), rows, request(5, None, Level::best()));
}
