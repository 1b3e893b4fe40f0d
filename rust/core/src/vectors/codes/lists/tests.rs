//! Lists against the scan of all rows: what they leave out, they must say.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::super::published::Published;
use super::super::search::begin;
use super::super::tests::{coded, numbers, request};
use super::super::{Codes, Request, probe_coded, top_k_batch_coded, top_k_coded};
use super::Lists;
use super::cluster::Means;
use super::estimate::Estimator;
use crate::arrays::folder::Folder;
use crate::arrays::{ArrayFile, ArrayWriter};
use crate::vectors::{Hits, Level, Rows, dot, square_distance};

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
    #![proptest_config(crate::seeded(24))]
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

/// The codes with groups of lists, and without.
fn grouped_and_not(codes: &Codes) -> (Codes, Codes) {
    let published = codes.published();
    let lists = published.lists.as_ref().unwrap();
    let with = |groups: bool| {
        let (means, centres) = (lists.means.to_vec(), lists.lists.clone());
        let segments = &published.segments[..lists.segments];
        let calibration = lists.calibration.clone();
        let mut lists = Lists::new(lists.rows, segments, centres, means, codes.d(), calibration).unwrap();
        if !groups {
            lists.groups = Vec::new();
        }
        Codes {
            d: codes.d,
            distances: codes.distances,
            appending: Mutex::default(),
            published: Mutex::new(Arc::new(Published { lists: Some(Arc::new(lists)), ..(*published).clone() })),
        }
    };
    (with(true), with(false))
}

#[test]
fn lists_in_groups_give_the_same_exact_rows_and_miss_as_little() {
    let (n, d) = (30_000, 24);
    let data = clustered(n, d, 9);
    let rows = Rows::new(&data, n, d).unwrap();
    for make in [coded as fn(Rows<'_>) -> Codes, by_distance] {
        let (grouped, flat) = grouped_and_not(&make(rows).arranged(rows.into(), None, false, None).unwrap());
        let groups = |codes: &Codes| codes.published().lists.as_ref().unwrap().groups.len();
        assert!(groups(&grouped) > 40 && groups(&flat) == 0);
        let (mut found, mut all) = ([0; 2], 0);
        for i in 0..100 {
            let query: Vec<f32> = rows.row(i * 299).iter().map(|x| x * 1.02).collect();
            let request = request(10, None, Level::best());
            let wanted = top_k_coded(&flat, &query, rows, request).unwrap();
            assert_eq!(top_k_coded(&grouped, &query, rows, request).unwrap(), wanted);
            for (found, codes) in found.iter_mut().zip([&grouped, &flat]) {
                let (hits, _) = probe_coded(codes, &query, rows, request, 0.98).unwrap();
                *found += hits.scores.iter().filter(|score| **score >= wanted.scores[9]).count();
            }
            all += 10;
        }
        assert!(found.iter().all(|found| found * 100 >= all * 97), "{found:?} of {all}");
    }
}

proptest! {
    #![proptest_config(crate::seeded(24))]
    #[test]
    fn bounds_of_groups_hold_for_all_their_rows(
        n in 1_200_usize..3_000, d in 1_usize..20, seed in 0_usize..1_000, distances in any::<bool>(),
        length in prop_oneof![Just(1.0_f32), Just(1e-18), Just(1e-20), Just(1e12), Just(5e19)],
    ) {
        let data: Vec<f32> = clustered(n, d, seed).iter().map(|x| x * length).collect();
        let rows = Rows::new(&data, n, d).unwrap();
        let codes = if distances { by_distance(rows) } else { coded(rows) };
        let codes = codes.arranged(rows.into(), None, false, Some(1)).unwrap();
        let query: Vec<f32> = rows.row(seed % n).iter().map(|x| x * 1.5).collect();
        let (task, _) = begin(&codes, Rows::new(&query, 1, d).unwrap(), rows.into(), request(1, None, Level::best()))
            .unwrap().unwrap();
        let lists = task.rows.lists.as_ref().unwrap();
        let estimator = Estimator::new(lists, (&query, &task.queries[0]), distances, Level::best(), 1.0);
        let groups = estimator.groups(&task.shifts);
        prop_assert_eq!(groups.len(), lists.groups.len());
        prop_assert!(length > 1e15 || !groups.is_empty());
        let square = dot(&query, &query);
        for (estimate, group) in groups.iter().zip(&lists.groups) {
            let segment = &task.rows.segments[lists.lists[group.lists.start].segment as usize];
            prop_assert_eq!(group.rows, segment.len());
            for at in 0..segment.len() {
                let row = rows.row(segment.row(at));
                let score = if distances { (square - square_distance(&query, row)) / 2.0 } else { dot(&query, row) };
                prop_assert!(f64::from(estimate.upper) >= score, "{} {score}", estimate.upper);
            }
        }
    }
}

#[test]
fn rows_go_to_means_as_near_as_the_nearest_where_these_are_in_groups() {
    let (n, d) = (8_000, 24);
    let data = clustered(n, d, 3);
    let rows = Rows::new(&data, n, d).unwrap();
    let all: Vec<u32> = (0..n as u32).collect();
    let means = Means::learnt(rows.into(), &all, 40, Some(1)).unwrap();
    let away = |homes: &[u32]| -> f64 {
        homes.iter().enumerate().map(|(row, &home)| square_distance(rows.row(row), means.mean(home as usize))).sum()
    };
    let grouped = means.nearest(rows.into(), &all, Some(2)).unwrap();
    // Fewer rows than means are compared with all of these.
    let few = all.chunks(50).map(|part| means.nearest(rows.into(), part, Some(1)).unwrap());
    let nearest = few.collect::<Vec<_>>().concat();
    assert!(means.len() == 200 && grouped.len() == n);
    assert!(away(&grouped) < 1.02 * away(&nearest), "{} {}", away(&grouped), away(&nearest));
}
