//! Searches by distance and within a radius against plain loops, at every level.

use proptest::prelude::*;

use super::super::{Hits, Level, Rows, dot, square_distance, top_k};
use super::best::tests::SCORED;
use super::centre::Centre;
use super::kernel::Kernel;
use super::line::LINE;
use super::quantise::CodedQuery;
use super::quantise::tests::BOUND;
use super::tests::{coded, numbers, request};
use super::{Codes, Request, top_k_batch_coded, top_k_coded};

fn by_distance(rows: Rows<'_>) -> Codes {
    let codes = Codes::of_distances(rows.d()).unwrap();
    codes.append(rows).unwrap();
    codes
}

/// The nearest rows, by a plain loop.
fn slow(query: &[f32], rows: Rows<'_>, k: usize, mask: Option<&[u8]>) -> Hits {
    let allowed = (0..rows.n()).filter(|&row| mask.is_none_or(|mask| mask[row] != 0));
    let mut results: Vec<(f64, usize)> = allowed.map(|row| (square_distance(query, rows.row(row)), row)).collect();
    results.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    results.truncate(k);
    Hits { rows: results.iter().map(|hit| hit.1).collect(), scores: results.iter().map(|hit| -hit.0).collect() }
}

/// Those of at least a score.
fn cut(hits: &Hits, within: f64) -> Hits {
    let n = hits.scores.iter().take_while(|&&score| score >= within).count();
    Hits { rows: hits.rows[..n].to_vec(), scores: hits.scores[..n].to_vec() }
}

/// Every level, one thread and three, with the upper four bits first and without, within a radius and without.
fn equal(query: &[f32], rows: Rows<'_>, k: usize, mask: Option<&[u8]>) {
    let (near, like) = (by_distance(rows), coded(rows));
    let wanted = slow(query, rows, k, mask);
    let products = top_k(query, rows, k, mask, Level::best()).unwrap();
    for &level in Level::available() {
        for (threads, front) in [(1, None), (3, None), (1, Some(true)), (1, Some(false))] {
            let request = Request { threads: Some(threads), front, ..request(k, mask, level) };
            let what = format!("{level:?} {threads} {front:?}");
            assert_eq!(top_k_coded(&near, query, rows, request).unwrap(), wanted, "{what}");
            for (codes, all) in [(&near, &wanted), (&like, &products)] {
                for &within in all.scores.iter().step_by(7) {
                    let request = Request { within: Some(within), ..request };
                    assert_eq!(top_k_coded(codes, query, rows, request).unwrap(), cut(all, within), "{what} {within}");
                }
            }
        }
    }
}

/// Components on a coarse grid (many ties), ordinary, huge and tiny.
fn component() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => (-2_i8..3).prop_map(f32::from),
        4 => -1.0_f32..1.0,
        1 => prop_oneof![Just(3e38_f32), Just(-3e38), Just(1e-38), Just(1e-45), Just(-1e20), Just(2e19), Just(0.0)],
    ]
}

/// Lengths at the limits of what is coded, of float32, and of what float32 can square.
fn length() -> impl Strategy<Value = f32> {
    prop_oneof![
        6 => Just(1.0_f32),
        1 => prop_oneof![Just(0.0_f32), Just(1e-44), Just(1e-30), Just(1e-25), Just(1e-20), Just(1e-18), Just(1e-10)],
        1 => prop_oneof![Just(1e-3_f32), Just(1e3), Just(1e10), Just(1e18), Just(1e19), Just(1e20), Just(1e25), Just(1e38)],
    ]
}

proptest! {
    #![proptest_config(crate::seeded(48))]
    #[test]
    fn the_nearest_rows_are_those_of_a_plain_loop(
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
    fn lengths_of_rows_and_queries_are_what_they_are(
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
    fn the_bounds_of_distances_hold(
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
        let square = dot(&query, &query);
        let score = (square - square_distance(&query, &row)) / 2.0;
        // The rounding of the sums that are compared here.
        let own = 4.0 * f64::EPSILON * (square + dot(&row, &row));
        for &level in Level::available() {
            for (lower, upper) in bounds(&query, &row, &centre, level) {
                prop_assert!(upper + own >= score || upper.is_nan(), "{upper} {score}");
                prop_assert!(lower - own <= score || lower.is_nan(), "{lower} {score}");
            }
        }
    }
}

/// The bounds of `q . x - |x|^2 / 2` by the upper four bits and by whole codes.
fn bounds(query: &[f32], row: &[f32], centre: &Centre, level: Level) -> [(f64, f64); 2] {
    let coded = CodedQuery::new(query, level).for_distances(dot(query, query));
    let mut codes = vec![0; row.len()];
    let factors = Kernel::of(level).code(row, centre.components(), &mut codes);
    let other = |i: usize| i32::from(coded.lines[i / LINE].0[i % LINE] as i8);
    let product = |of: fn(u8) -> u8| codes.iter().enumerate().map(|(i, &x)| i32::from(of(x)) * other(i)).sum::<i32>();
    let shift = centre.shift(query, &coded, level);
    let half = (dot(row, row) / 2.0) as f32;
    let half = if half.is_finite() { half } else { f32::NAN };
    let results = [
        (coded.rough(shift), product(|code| code >> 4), factors.rough),
        (coded.fine(shift), product(|code| code), factors.residual),
    ];
    results.map(|(scores, product, residual)| {
        let (middle, error) = (scores.middle(product, factors.scale), scores.error(residual, factors.norm));
        let (least, most) = scores.less(half);
        let bound = |bound: f32| f64::from(bound) * coded.unit;
        (bound(middle - error - most), bound(middle + error - least))
    })
}

/// Two rows about as near: the codes of the first leave nothing out, those of the second leave out the part along the
/// query. With a bound a tenth smaller the nearer row is lost.
#[test]
fn a_nearest_row_at_the_bound_is_found_and_lost_where_the_bound_is_a_tenth_smaller() {
    let d = 384;
    let query = vec![1000.0; d];
    let leaning = |code: f32| {
        let mut row = vec![code / 127.0; d];
        row[0] = 1.0;
        row
    };
    let scaled = |row: Vec<f32>, to: f64| {
        let factor = to / dot(&query, &row);
        row.into_iter().map(move |x| (f64::from(x) * factor) as f32).collect::<Vec<f32>>()
    };
    let exact = vec![1.0; d];
    for (front, first, second) in [
        (false, exact.clone(), leaning(40.49)),
        (false, leaning(40.51), exact.clone()),
        (true, exact.clone(), leaning(15.4)),
    ] {
        let mut data = vec![0.0; 150 * d];
        data[3 * d..4 * d].copy_from_slice(&scaled(first, 1000.0));
        data[130 * d..131 * d].copy_from_slice(&scaled(second, 1000.1));
        let rows = Rows::new(&data, 150, d).unwrap();
        assert_eq!(slow(&query, rows, 2, None).rows, [130, 3]);
        let codes = by_distance(rows);
        for &level in Level::available() {
            let best = |factor| {
                BOUND.set(factor);
                let results =
                    top_k_coded(&codes, &query, rows, Request { front: Some(front), ..request(1, None, level) });
                BOUND.set(1.0);
                results.unwrap().rows[0]
            };
            assert_eq!((best(1.0), best(0.9)), (130, 3), "{front} {level:?}");
        }
    }
}

/// Rows of one direction on both sides of the query, so that only their lengths tell which is nearest, by less than
/// float32 can tell of a squared length.
#[test]
fn lengths_that_float32_cannot_tell_apart_are_told_apart() {
    let d = 64;
    let query = vec![1.0; d];
    let rows: Vec<f32> = (0..300).flat_map(|i| vec![3.0 - (i * 7 % 300) as f32 * f32::EPSILON; d]).collect();
    let rows = Rows::new(&rows, 300, d).unwrap();
    for k in [1, 20, 300] {
        equal(&query, rows, k, None);
    }
}

/// Rows of many lengths, the nearest of them among the shorter ones: with bounds that leave out the half of a squared
/// length every longer row would be read again.
#[test]
fn few_rows_are_scored_again_at_every_level() {
    let (n, d) = (6000, 96);
    let mut number = numbers(21);
    let data: Vec<f32> =
        (0..n).flat_map(|i| (0..d).map(|_| number() * (1 + i % 5) as f32).collect::<Vec<_>>()).collect();
    let rows = Rows::new(&data, n, d).unwrap();
    let query: Vec<f32> = rows.row(20).iter().map(|x| x + 0.2 * number()).collect();
    let (near, like) = (by_distance(rows), coded(rows));
    for &level in Level::available() {
        for front in [None, Some(true), Some(false)] {
            let request = Request { front, ..request(10, None, level) };
            for codes in [&near, &like] {
                SCORED.set(0);
                top_k_coded(codes, &query, rows, request).unwrap();
                assert!(SCORED.get() < n / 20, "{level:?} {front:?}: {} of {n}", SCORED.get());
            }
        }
    }
}

#[test]
fn a_batch_by_distance_gives_what_single_queries_give() {
    let (n, d) = (2500, 40);
    let mut number = numbers(9);
    let data: Vec<f32> = (0..n * d).map(|_| number()).collect();
    let mut queries: Vec<f32> = (0..70 * d).map(|_| number()).collect();
    queries[7 * d..8 * d].fill(0.0);
    let (rows, queries) = (Rows::new(&data, n, d).unwrap(), Rows::new(&queries, 70, d).unwrap());
    let codes = by_distance(rows);
    let third: Vec<u8> = (0..n).map(|row| u8::from(row % 3 == 0)).collect();
    for &level in Level::available() {
        for mask in [None, Some(third.as_slice())] {
            for within in [None, Some(-8.0)] {
                let request = Request { within, threads: None, ..request(6, mask, level) };
                let results = top_k_batch_coded(&codes, queries, rows, request).unwrap();
                let single = |query| slow(queries.row(query), rows, 6, mask);
                let wanted = (0..70).map(single).map(|hits| cut(&hits, within.unwrap_or(f64::NEG_INFINITY)));
                assert_eq!(results, wanted.collect::<Vec<_>>());
            }
        }
    }
}
