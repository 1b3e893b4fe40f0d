//! Codes against the float32 scan, whose answer they must give to the last bit, at every level.

use proptest::prelude::*;

use super::super::{Hits, Level, Rows, dot, top_k};
use super::centre::Centre;
use super::kernel::Kernel;
use super::line::LINE;
use super::quantise::CodedQuery;
use super::quantise::tests::BOUND;
use super::{Codes, Request, top_k_batch_coded, top_k_coded};

pub(super) fn request(k: usize, mask: Option<&[u8]>, level: Level) -> Request<'_> {
    Request { k, mask, level, threads: Some(1), within: None, front: None }
}

pub(super) fn coded(rows: Rows<'_>) -> Codes {
    let codes = Codes::new(rows.d()).unwrap();
    codes.append(rows).unwrap();
    codes
}

/// Every level, one thread and three, with the upper four bits first and without, must give what the float32 scan gives.
fn equal(query: &[f32], rows: Rows<'_>, k: usize, mask: Option<&[u8]>) {
    let codes = coded(rows);
    for &level in Level::available() {
        let wanted = top_k(query, rows, k, mask, level).unwrap();
        for (threads, front) in [(1, None), (3, None), (1, Some(true)), (1, Some(false))] {
            let request = Request { threads: Some(threads), front, ..request(k, mask, level) };
            assert_eq!(top_k_coded(&codes, query, rows, request).unwrap(), wanted, "{level:?} {threads} {front:?}");
        }
    }
}

/// Components on a coarse grid (many ties), ordinary, nearly equal, huge and tiny.
fn component() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => (-2_i8..3).prop_map(f32::from),
        4 => -1.0_f32..1.0,
        2 => (0_u8..4).prop_map(|i| 1.0 + f32::from(i) * f32::EPSILON),
        1 => prop_oneof![Just(3e38_f32), Just(-3e38), Just(1e-38), Just(1e-45), Just(-1e20), Just(0.0)],
    ]
}

/// A length to give to a whole vector: the limits of what is coded, of float32, and ordinary ones.
fn length() -> impl Strategy<Value = f32> {
    prop_oneof![
        6 => Just(1.0_f32),
        1 => prop_oneof![Just(0.0_f32), Just(1e-44), Just(1e-38), Just(1e-30), Just(1e-25), Just(1e-20)],
        1 => prop_oneof![Just(1e-3_f32), Just(1e3), Just(1e20), Just(1e25), Just(1e30), Just(1e38)],
    ]
}

pub(super) fn numbers(seed: usize) -> impl FnMut() -> f32 {
    let mut state = seed as u32;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    }
}

struct Interval {
    lower: f64,
    upper: f64,
    score: f64,
}

/// The bounds that a scan finds for a row, by the upper four bits and by whole codes, and the score between them.
fn intervals(query: &[f32], row: &[f32], centre: &Centre, level: Level) -> [Interval; 2] {
    let coded = CodedQuery::new(query, level);
    let mut codes = vec![0; row.len()];
    let factors = Kernel::of(level).code(row, centre.components(), &mut codes);
    let other = |i: usize| i32::from(coded.lines[i / LINE].0[i % LINE] as i8);
    let product = |of: fn(u8) -> u8| codes.iter().enumerate().map(|(i, &x)| i32::from(of(x)) * other(i)).sum::<i32>();
    let shift = centre.shift(query, &coded, level);
    let results = [
        (coded.rough(shift), product(|code| code >> 4), factors.rough),
        (coded.fine(shift), product(|code| code), factors.residual),
    ];
    results.map(|(scores, product, residual)| {
        let (middle, error) = (scores.middle(product, factors.scale), scores.error(residual, factors.norm));
        let bound = |bound: f32| f64::from(bound) * coded.unit;
        Interval { lower: bound(middle - error), upper: bound(middle + error), score: dot(query, row) }
    })
}

proptest! {
    #![proptest_config(crate::seeded(64))]
    #[test]
    fn every_level_gives_the_answer_of_the_float32_scan(
        (d, query, data) in (0_usize..80).prop_flat_map(|d| (
            Just(d),
            prop::collection::vec(component(), d),
            prop::collection::vec(component(), d * 150),
        )),
        k in 0_usize..170,
        allowed in prop::option::of(prop::collection::vec(0_u8..2, 150)),
    ) {
        equal(&query, Rows::new(&data, 150, d).unwrap(), k, allowed.as_deref());
    }

    #[test]
    fn lengths_do_not_matter(
        d in 1_usize..70,
        seed in 0_usize..1000,
        own in length(),
        lengths in prop::collection::vec(length(), 90),
        k in 1_usize..12,
    ) {
        let mut number = numbers(seed);
        let query: Vec<f32> = (0..d).map(|_| number() * own).collect();
        let data: Vec<f32> = lengths.iter().flat_map(|length| (0..d).map(|_| number() * length).collect::<Vec<_>>()).collect();
        equal(&query, Rows::new(&data, 90, d).unwrap(), k, None);
    }

    #[test]
    fn the_bounds_hold(
        d in 1_usize..300,
        seed in 0_usize..1000,
        own in length(),
        length in length(),
        common in prop_oneof![Just(0.0_f32), Just(1.0), Just(1e-3), Just(1e15)],
    ) {
        let mut number = numbers(seed);
        let query: Vec<f32> = (0..d).map(|_| number() * own).collect();
        let row: Vec<f32> = (0..d).map(|_| number() * length).collect();
        let centre = Centre::at((0..d).map(|_| number() * common).collect());
        for &level in Level::available() {
            for Interval { lower, upper, score } in intervals(&query, &row, &centre, level) {
                // A query of length 0 has the bounds 0 * infinity, which say nothing.
                prop_assert!(upper >= score || upper.is_nan(), "{upper} {score}");
                prop_assert!(lower <= score || lower.is_nan(), "{lower} {score}");
            }
        }
    }
}

/// The remainder of coding one vector points along the other: the worst case of the Cauchy-Schwarz inequality.
#[test]
fn the_bound_holds_where_every_rounding_goes_the_same_way() {
    for d in [2, 50, 384, 1500] {
        for step in [40.49, 40.51] {
            let mut leaning = vec![step / 127.0; d];
            leaning[0] = 1.0;
            let straight = vec![1.0; d];
            for &level in Level::available() {
                for (query, row) in [(&straight, &leaning), (&leaning, &straight)] {
                    let [rough, fine] = intervals(query, row, &Centre::none(d), level);
                    assert!(rough.lower <= rough.score && rough.score <= rough.upper);
                    let Interval { lower, upper, score } = fine;
                    assert!(lower <= score && score <= upper, "{lower} {score} {upper}");
                    let nearest = (score - lower).min(upper - score);
                    assert!(nearest < 0.5 * (upper - lower) * if d == 2 { 0.4 } else { 0.05 }, "{d}: {nearest}");
                }
            }
        }
    }
}

/// The upper four bits leave out the most, all the same way, of rows that stand just over and just under a nibble.
#[test]
fn the_rough_bound_holds_where_every_nibble_is_wrong_the_same_way() {
    for d in [2, 50, 384, 1500] {
        for code in [15.4, 15.6, -16.4, 0.4, -0.6] {
            let mut row = vec![code / 127.0; d];
            row[0] = 1.0;
            for &level in Level::available() {
                for side in [1.0, -1.0] {
                    let query = vec![side; d];
                    let [Interval { lower, upper, score }, _] = intervals(&query, &row, &Centre::none(d), level);
                    assert!(lower <= score && score <= upper, "{lower} {score} {upper}");
                    let nearest = (score - lower).min(upper - score);
                    assert!(d == 2 || nearest < 0.05 * (upper - lower), "{d} {code}: {nearest} of {}", upper - lower);
                }
            }
        }
    }
}

/// The answer of a scan whose bounds are multiplied with a factor.
fn best_with_bounds(factor: f32, query: &[f32], rows: Rows<'_>, level: Level, front: bool) -> usize {
    let codes = coded(rows);
    BOUND.set(factor);
    let results = top_k_coded(&codes, query, rows, Request { front: Some(front), ..request(1, None, level) });
    BOUND.set(1.0);
    results.unwrap().rows[0]
}

/// Two rows of nearly the same score, among lower ones, in different blocks: the second is better by a ten-thousandth.
fn close_rows(query: &[f32], first: Vec<f32>, second: Vec<f32>) -> Vec<f32> {
    let d = query.len();
    let scaled = |row: Vec<f32>, to: f64| {
        let factor = to / dot(query, &row);
        row.into_iter().map(move |x| (f64::from(x) * factor) as f32).collect::<Vec<f32>>()
    };
    let mut data = vec![0.0; 150 * d];
    data[3 * d..4 * d].copy_from_slice(&scaled(first, 1.0));
    data[130 * d..131 * d].copy_from_slice(&scaled(second, 1.0001));
    data
}

/// Rows at the bound. The remainder of the first points along the query; the codes of the second leave no remainder. So
/// either the upper bound of the better row or the lower bound of the other is as wrong as it can be.
#[test]
fn rows_at_the_bound_are_found_and_lost_where_the_bound_is_a_tenth_smaller() {
    let d = 384;
    let query = vec![1.0; d];
    let exact = vec![1.0; d];
    let leaning = |code: f32| {
        let mut row = vec![code / 127.0; d];
        row[0] = 1.0;
        row
    };
    // The upper four bits read 15.4 as 8, the middle of what they stand for.
    let cases = [
        ("whole codes, upper bound", false, exact.clone(), leaning(40.49)),
        ("whole codes, lower bound", false, leaning(40.51), exact.clone()),
        ("upper four bits, upper bound", true, exact.clone(), leaning(15.4)),
    ];
    for (name, front, first, second) in cases {
        let data = close_rows(&query, first, second);
        let rows = Rows::new(&data, 150, d).unwrap();
        for &level in Level::available() {
            let best = |factor| best_with_bounds(factor, &query, rows, level, front);
            assert_eq!(best(1.0), 130, "{name} {level:?}");
            assert_eq!(best(0.9), 3, "{name} {level:?}");
        }
    }
}

#[test]
fn many_rows_in_every_shape() {
    for d in [1, 63, 64, 65, 128, 384, 1000, 2048] {
        let n = if d > 384 { 300 } else { 3000 };
        let mut number = numbers(d);
        let mut data: Vec<f32> = (0..n * d).map(|_| number()).collect();
        for row in (1..n).step_by(3) {
            data.copy_within(0..d, row * d);
        }
        data[5 * d..6 * d].fill(0.0);
        let rows = Rows::new(&data, n, d).unwrap();
        let sparse: Vec<u8> = (0..n).map(|row| u8::from(row % 97 == 3)).collect();
        for k in [1, 10, n + 1] {
            equal(rows.row(3), rows, k, None);
            equal(rows.row(0), rows, k, Some(&sparse));
            equal(&vec![0.0; d], rows, k, Some(&sparse));
        }
    }
}

#[test]
fn equal_rows_and_single_components() {
    let d = 70;
    let same = [0.5].repeat(2000 * d);
    let rows = Rows::new(&same, 2000, d).unwrap();
    equal(rows.row(0), rows, 7, None);
    let mut single = vec![0.0; 700 * d];
    for row in 0..700 {
        single[row * d + row % d] = if row % 2 == 0 { 1.0 } else { -1.0 };
    }
    let rows = Rows::new(&single, 700, d).unwrap();
    equal(rows.row(5), rows, 30, None);
}

#[test]
fn a_batch_gives_what_single_queries_give() {
    let (n, d) = (2500, 40);
    let mut number = numbers(9);
    let data: Vec<f32> = (0..n * d).map(|_| number()).collect();
    let mut queries: Vec<f32> = (0..150 * d).map(|_| number()).collect();
    queries[7 * d..8 * d].fill(0.0);
    let (rows, queries) = (Rows::new(&data, n, d).unwrap(), Rows::new(&queries, 150, d).unwrap());
    let codes = coded(rows);
    let third: Vec<u8> = (0..n).map(|row| u8::from(row % 3 == 0)).collect();
    for &level in Level::available() {
        for mask in [None, Some(third.as_slice())] {
            for threads in [Some(1), Some(4), None] {
                let request = Request { threads, ..request(6, mask, level) };
                let results = top_k_batch_coded(&codes, queries, rows, request).unwrap();
                let single = |query| top_k(queries.row(query), rows, 6, mask, level).unwrap();
                assert_eq!(results, (0..150).map(single).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn rows_added_piece_by_piece_are_the_rows_added_at_once() {
    let (n, d) = (5000, 3);
    let mut number = numbers(4);
    let data: Vec<f32> = (0..n * d).map(|_| number()).collect();
    let codes = Codes::new(d).unwrap();
    assert!(codes.is_empty());
    let mut next = 0;
    for step in (1..).step_by(37) {
        let end = n.min(next + step);
        let part = Rows::new(&data[next * d..end * d], end - next, d).unwrap();
        assert_eq!(codes.append(part), Ok(next));
        next = end;
        assert_eq!(codes.len(), next);
        let rows = Rows::new(&data[..next * d], next, d).unwrap();
        let query = rows.row(next / 2);
        let best = Level::best();
        assert_eq!(top_k_coded(&codes, query, rows, request(9, None, best)), top_k(query, rows, 9, None, best));
        if next == n {
            break;
        }
    }
    assert!(codes.size_bytes() >= n * 64);
}

#[test]
fn searches_see_only_the_rows_of_their_matrix_while_others_append() {
    let (n, d) = (4000, 16);
    let mut number = numbers(11);
    let data: Vec<f32> = (0..n * d).map(|_| number()).collect();
    let codes = Codes::new(d).unwrap();
    codes.append(Rows::new(&data[..100 * d], 100, d).unwrap()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for row in 100..n {
                codes.append(Rows::new(&data[row * d..(row + 1) * d], 1, d).unwrap()).unwrap();
            }
        });
        while codes.len() < n {
            let len = codes.len();
            let rows = Rows::new(&data[..len * d], len, d).unwrap();
            let (query, best) = (rows.row(len - 1), Level::best());
            let request = Request { threads: Some(2), ..request(5, None, best) };
            assert_eq!(top_k_coded(&codes, query, rows, request), top_k(query, rows, 5, None, best));
        }
    });
}

#[test]
fn arguments_that_do_not_fit() {
    use crate::Error;
    let data = [1.0, 2.0, f32::NAN, 0.0];
    let codes = Codes::new(2).unwrap();
    let rows = Rows::new(&data[..2], 1, 2).unwrap();
    assert_eq!(codes.append(Rows::new(&data, 2, 2).unwrap()), Err(Error::NotFinite { what: "row", at: 1 }));
    assert_eq!(codes.len(), 0);
    assert!(matches!(codes.append(Rows::new(&data[..2], 2, 1).unwrap()), Err(Error::Length { .. })));
    assert!(matches!(Codes::new(70_000).map(|codes| codes.d()), Err(Error::Parameter { .. })));
    let best = Level::best();
    let fault = |query: &[f32], rows, mask| top_k_coded(&codes, query, rows, request(1, mask, best));
    assert!(matches!(fault(&[1.0, 1.0], rows, None), Err(Error::Length { what: "rows", got: 1, wanted: 0 })));
    codes.append(rows).unwrap();
    assert!(matches!(fault(&[1.0], rows, None), Err(Error::Length { what: "query", .. })));
    assert!(matches!(fault(&[1.0, f32::NAN], rows, None), Err(Error::NotFinite { at: 1, .. })));
    assert!(matches!(fault(&[1.0, 1.0], rows, Some(&[])), Err(Error::Length { what: "mask", .. })));
    assert_eq!(fault(&[1.0, 1.0], rows, Some(&[0])), Ok(Hits::default()));
    assert_eq!(fault(&[1.0, 1.0], rows, None).map(|hits| hits.rows), Ok(vec![0]));
}
