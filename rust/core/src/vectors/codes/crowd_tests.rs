//! Rows that are equal, or nearly: more can be among the best than there is room for.

use super::super::{Hits, Level, Rows, top_k};
use super::keep::Kept;
use super::search::{begin, search_with_room};
use super::tests::{coded, numbers, request};
use super::work::Work;
use super::{Request, top_k_batch_coded};

/// Rows of which many are equal, and the work of a batch over them, with room for `room` rows of each query.
fn crowd(data: &[f32], n: usize, k: usize, level: Level, room: usize) -> Work {
    let d = data.len() / n;
    let rows = Rows::new(data, n, d).unwrap();
    let codes = coded(rows);
    let queries = Rows::new(&data[..5 * d], 5, d).unwrap();
    let (task, _) = begin(&codes, queries, rows.into(), request(k, None, level)).unwrap().unwrap();
    Work::new(task, &[f32::NEG_INFINITY; 5], room)
}

#[test]
fn a_batch_over_equal_rows_keeps_no_more_rows_than_there_is_room_for() {
    let (n, d) = (14_000, 3);
    let data = [0.5, -0.25, 1.0].repeat(n);
    let rows = Rows::new(&data, n, d).unwrap();
    for level in [Level::best(), Level::named("scalar").unwrap()] {
        let work = crowd(&data, n, 4, level, 1000);
        work.take(&mut |_, _| f32::NEG_INFINITY);
        let results = work.finish(&mut |_, _| f32::NEG_INFINITY);
        assert!(results.iter().all(|(kept, _)| kept.is_none()), "{level:?}");
        let mut seen = Vec::new();
        let each = |fresh: &[Kept]| {
            assert!(fresh.len() < n / 2, "a part at a time");
            seen.extend(fresh.iter().map(|kept| kept.row));
            Ok(f32::NEG_INFINITY)
        };
        work.again(2, each).unwrap();
        assert_eq!(seen, (0..n).collect::<Vec<_>>(), "{level:?}");
        let roomy = crowd(&data, n, 4, level, n);
        roomy.take(&mut |_, _| f32::NEG_INFINITY);
        let results = roomy.finish(&mut |_, _| f32::NEG_INFINITY);
        assert!(results.iter().all(|(kept, _)| kept.as_ref().is_some_and(|kept| kept.len() == n)), "{level:?}");
        let codes = coded(rows);
        let queries = Rows::new(&data[..5 * d], 5, d).unwrap();
        let results = top_k_batch_coded(&codes, queries, rows, request(4, None, level)).unwrap();
        assert!(results.iter().all(|hits| hits.rows == [0, 1, 2, 3]), "{level:?}");
    }
}

#[test]
fn a_crowd_of_rows_is_answered_as_few_are() {
    let (n, d) = (7000, 6);
    let mut number = numbers(21);
    let mut data: Vec<f32> = (0..n * d).map(|_| number()).collect();
    for row in (0..n).filter(|row| row % 9 != 4) {
        data.copy_within(4 * d..5 * d, row * d);
    }
    // Rows that differ in the last bit only, better ones last.
    for row in n - 20..n {
        data[row * d] = data[4 * d] * (1.0 + (row + 20 - n) as f32 * f32::EPSILON);
    }
    let (rows, queries) = (Rows::new(&data, n, d).unwrap(), [3, 4, 6_995, 13, 14]);
    let codes = coded(rows);
    let requested: Vec<f32> = queries.iter().flat_map(|&query| rows.row(query).to_vec()).collect();
    let requested = Rows::new(&requested, 5, d).unwrap();
    let some: Vec<u8> = (0..n).map(|row| u8::from(row % 5 != 0)).collect();
    for level in [Level::best(), Level::named("scalar").unwrap()] {
        for (k, mask, threads) in [(1, None, 1), (30, Some(some.as_slice()), 2), (900, None, 3)] {
            let wanted: Vec<Hits> = (0..5).map(|i| top_k(requested.row(i), rows, k, mask, level).unwrap()).collect();
            let request = Request { threads: Some(threads), ..request(k, mask, level) };
            for room in [0, 1200, usize::MAX] {
                assert_eq!(
                    search_with_room(&codes, requested, rows, request, room).unwrap(),
                    wanted,
                    "{level:?} {k} {room}"
                );
            }
        }
    }
}
