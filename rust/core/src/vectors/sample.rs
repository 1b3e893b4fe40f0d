//! A sample of a space's rows: what cosines with a query are like when nothing is meant, and what those of two rows are.
//!
//! Rows are chosen by a hash of their components, so the same rows make the same sample, in whatever order they came and
//! wherever they lie.

use std::sync::{Arc, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

use super::pieces::Pieces;
use super::rows::Rows;
use crate::error::{Error, Result};
use crate::simd::Level;

/// A sample has this many rows, or up to twice as many; all of them while there are fewer.
const ENOUGH: usize = 256;
/// With how many of its neighbours in the sample a row is compared, and for how many rows.
const PAIRED: usize = 8;
const PAIRING: usize = 128;
/// The deviation of few cosines is not trusted: this many more are assumed, fewer as they come near to enough.
const DOUBT: f64 = 5.0;
/// Their deviation, as a part of what lies between the cosine of two rows and 1: a model whose cosines are all high spreads
/// them less.
const SPREAD: f64 = 0.125;
/// The mean cosine of two rows that is assumed as often.
const UNKNOWN_MEAN: f64 = 0.2;
/// Rows per row that may come or go before agreement is measured again.
const STAYS: usize = 4;

/// Mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, above 0.
    pub deviation: f64,
}

/// Some rows of a space, immutable.
#[derive(Clone, Debug)]
pub struct Sample {
    d: usize,
    rows: Arc<[f32]>,
    keys: Arc<[u32]>,
    population: usize,
    pairs: Moments,
    /// The deviation of cosines that is assumed of few.
    assumed: f64,
    agreement: Agreement,
}

/// A measured value, and the population at that time.
type Agreement = Arc<OnceLock<(f64, usize)>>;

/// The keys of the sampled rows `(n,)`.
pub fn row_keys(rows: Rows<'_>) -> Vec<u32> {
    (0..rows.n()).map(|i| (xxh3_64(bytemuck::cast_slice(rows.row(i))) >> 32) as u32).collect()
}

impl Sample {
    /// Sample rows `(v, d)`, given the key and slot of each `(v,)` and which slots are alive `(s,)`, not 0.
    ///
    /// Rows in an earlier sample of the same space are not read again. `population` is the number of live rows of the
    /// space, of which at least those are passed whose keys are at most [`Self::limit`] of it.
    ///
    /// # Errors
    /// [`Error::Length`] of keys or slots; [`Error::OutOfRange`] for a slot; [`Error::Parameter`] for a population of
    /// fewer rows than are given; [`Error::File`] when a row cannot be read.
    pub fn new(
        rows: Pieces<'_>,
        keys: &[u32],
        slots: &[i64],
        alive: &[u8],
        before: Option<&Self>,
        population: Option<usize>,
    ) -> Result<Self> {
        for (what, got) in [("the keys of rows", keys.len()), ("the slots of rows", slots.len())] {
            if got != rows.n() {
                return Err(Error::Length { what, got, wanted: rows.n() });
            }
        }
        let lives = |&slot: &i64| {
            let results = usize::try_from(slot).ok().and_then(|slot| alive.get(slot));
            results.map(|&alive| alive != 0).ok_or(Error::OutOfRange { what: "slot", index: slot, len: alive.len() })
        };
        let mut living = 0;
        for slot in slots {
            living += usize::from(lives(slot)?);
        }
        let population = population.unwrap_or(living);
        if population < living {
            let wanted = "at least the rows that are given";
            return Err(Error::Parameter { what: "population", wanted, got: population as f64 });
        }
        let limit = Self::limit(population);
        let mut chosen = Vec::new();
        for (row, (&key, slot)) in keys.iter().zip(slots).enumerate() {
            if key <= limit && lives(slot)? {
                chosen.push((key, row));
            }
        }
        chosen.sort_unstable();
        let before = before.filter(|before| before.d == rows.d());
        if let Some(before) = before.filter(|before| before.keys.iter().copied().eq(chosen.iter().map(|&(key, _)| key)))
        {
            return Ok(before.of(population));
        }
        let agreement = before.map_or_else(Agreement::default, |before| before.agreement_of(population));
        let (d, mut data, mut buffer) = (rows.d(), Vec::with_capacity(chosen.len() * rows.d()), Vec::new());
        for &(key, row) in &chosen {
            match before.and_then(|before| before.row_of(key)) {
                Some(known) => data.extend_from_slice(known),
                None => data.extend_from_slice(rows.row(row, &mut buffer)?),
            }
        }
        let keys = chosen.into_iter().map(|(key, _)| key).collect();
        let (rows, pairs, assumed) = (data.into(), moments(&[], 0.0), 0.0);
        let mut result = Self { d, rows, keys, population, pairs, assumed, agreement };
        let paired = result.paired();
        result.assumed = assumed_of(&paired);
        result.pairs = moments(&paired, result.assumed);
        Ok(result)
    }

    /// The sample after rows came and went, if that is this one: none of them belongs to it, and as many halvings do.
    ///
    /// Given the keys of the rows that came and of those that went.
    pub fn kept(&self, added: &[u32], went: &[u32]) -> Option<Self> {
        let population = (self.population + added.len()).checked_sub(went.len())?;
        let limit = Self::limit(population);
        let is_kept = limit == Self::limit(self.population) && added.iter().chain(went).all(|&key| key > limit);
        is_kept.then(|| self.of(population))
    }

    /// The largest key among the sampled rows of a space of `population` rows: each halving leaves half of them.
    pub fn limit(population: usize) -> u32 {
        u32::MAX >> (population / ENOUGH).checked_ilog2().unwrap_or(0)
    }

    /// The number of live rows of the space.
    pub fn population(&self) -> usize {
        self.population
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The moments of the cosines of two different rows.
    pub fn pairs(&self) -> Moments {
        self.pairs
    }

    /// The agreement of the vectors with words, 0 to 1, once it was measured: of this sample, or of one before it while
    /// no more than a quarter of its rows came or went since.
    pub fn agreement(&self) -> Option<f64> {
        self.agreement.get().map(|&(measured, _)| measured)
    }

    /// Remember how far the vectors agree with words; what was measured first stays.
    pub fn agree(&self, measured: f64) {
        // A measurement at the same time has the same result.
        let _ = self.agreement.set((measured, self.population));
    }

    /// The moments of the cosines of a unit query `(d,)` with the rows; None without rows.
    ///
    /// # Errors
    /// [`Error::Length`] of the query.
    pub fn cosines(&self, query: &[f32]) -> Result<Option<Moments>> {
        if query.len() != self.d {
            return Err(Error::Length { what: "query", got: query.len(), wanted: self.d });
        }
        let level = Level::best();
        let cosines: Vec<f64> = self.rows.chunks_exact(self.d.max(1)).map(|row| level.dot(query, row)).collect();
        Ok((!cosines.is_empty()).then(|| moments(&cosines, self.assumed)))
    }

    /// The same rows of a space of `population` rows.
    fn of(&self, population: usize) -> Self {
        Self { population, agreement: self.agreement_of(population), ..self.clone() }
    }

    fn agreement_of(&self, population: usize) -> Agreement {
        let far = |&(_, then): &(f64, usize)| population.abs_diff(then) > then / STAYS;
        if self.agreement.get().is_some_and(far) { Agreement::default() } else { self.agreement.clone() }
    }

    fn row(&self, at: usize) -> &[f32] {
        &self.rows[at * self.d..(at + 1) * self.d]
    }

    /// A row with this key: rows of equal keys are taken to be equal.
    fn row_of(&self, key: u32) -> Option<&[f32]> {
        self.keys.binary_search(&key).ok().map(|at| self.row(at))
    }

    /// The cosines of some pairs; equal rows, as of a text that stands twice, make none.
    fn paired(&self) -> Vec<f64> {
        let (n, level) = (self.len(), Level::best());
        let pairs = (0..n.min(PAIRING)).flat_map(|a| (1..=PAIRED.min(n - 1)).map(move |step| (a, (a + step) % n)));
        let differ = pairs.filter(|&(a, b)| self.keys[a] != self.keys[b]);
        differ.map(|(a, b)| level.dot(self.row(a), self.row(b))).collect()
    }
}

/// The deviation to assume of few cosines in a space, given those of some pairs.
fn assumed_of(pairs: &[f64]) -> f64 {
    let mean = (pairs.iter().sum::<f64>() + DOUBT * UNKNOWN_MEAN) / (pairs.len() as f64 + DOUBT);
    SPREAD * (1.0 - mean).max(0.0)
}

fn moments(cosines: &[f64], deviation: f64) -> Moments {
    let n = cosines.len() as f64;
    let rows = DOUBT * (1.0 - n / ENOUGH as f64).max(0.0);
    let mean = if cosines.is_empty() { 0.0 } else { cosines.iter().sum::<f64>() / n };
    let squares: f64 = cosines.iter().map(|cosine| (cosine - mean).powi(2)).sum();
    Moments { mean, deviation: ((squares + rows * deviation * deviation) / (n + rows)).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const D: usize = 5;

    fn data(n: usize) -> Vec<f32> {
        let wave = |i: usize| ((i * i + 7 * i) as f32 * 0.61).sin();
        let rows: Vec<f32> = (0..n * D).map(wave).collect();
        super::super::unit_rows(Rows::new(&rows, n, D).unwrap()).unwrap()
    }

    fn sample(data: &[f32], alive: &[u8], before: Option<&Sample>) -> Sample {
        let n = data.len() / D;
        let (rows, slots) = (Rows::new(data, n, D).unwrap(), (0..n as i64).collect::<Vec<_>>());
        Sample::new(rows.into(), &row_keys(rows), &slots, alive, before, None).unwrap()
    }

    #[test]
    fn few_rows_are_all_there_and_of_many_some() {
        for n in [0, 1, 255, 511] {
            assert_eq!(sample(&data(n), &vec![1; n], None).len(), n);
        }
        for n in [512, 3_000, 20_000] {
            let results = sample(&data(n), &vec![1; n], None);
            assert!((180..600).contains(&results.len()) && results.population() == n, "{}", results.len());
        }
    }

    #[test]
    fn moments_are_those_of_the_cosines() {
        let (data, query) = (data(400), [1.0, 0.0, 0.0, 0.0, 0.0]);
        let results = sample(&data, &[1; 400], None).cosines(&query).unwrap().unwrap();
        let first: Vec<f64> = data.chunks(D).map(|row| f64::from(row[0])).collect();
        let mean = first.iter().sum::<f64>() / 400.0;
        let variance = first.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 400.0;
        assert!((results.mean - mean).abs() < 1e-7 && (results.deviation - variance.sqrt()).abs() < 1e-7);
        // Half of enough rows are doubted half as much.
        let half = moments(&[0.9; 128], 0.1);
        assert!((half.deviation - (2.5_f64 * 0.01 / 130.5).sqrt()).abs() < 1e-12);
        assert_eq!(sample(&[], &[], None).cosines(&query), Ok(None));
        assert!(sample(&data, &[1; 400], None).cosines(&[1.0]).is_err());
    }

    #[test]
    fn few_cosines_are_assumed_to_spread_by_the_room_that_the_space_leaves_them() {
        let near: Vec<f32> =
            data(20).chunks(D).flat_map(|row| [row[0] + 3.0, row[1], row[2], row[3], row[4]]).collect();
        let near = super::super::unit_rows(Rows::new(&near, 20, D).unwrap()).unwrap();
        let of = |data: &[f32]| sample(data, &[1; 20], None).cosines(&[0.8, 0.6, 0.0, 0.0, 0.0]).unwrap().unwrap();
        let plain = |data: &[f32]| {
            let cosines: Vec<f64> = data.chunks(D).map(|row| f64::from(0.8 * row[0] + 0.6 * row[1])).collect();
            let mean = cosines.iter().sum::<f64>() / 20.0;
            (cosines.iter().map(|cosine| (cosine - mean).powi(2)).sum::<f64>() / 20.0).sqrt()
        };
        assert!(plain(&near) < 0.2 && of(&near).deviation < 1.1 * plain(&near), "{} {:?}", plain(&near), of(&near));
        assert!(sample(&near, &[1; 20], None).assumed < 0.03);
        // Nothing is known of the room in a space of one row.
        assert!((sample(&near[..D], &[1], None).assumed - 0.1).abs() < 1e-15);
    }

    #[test]
    fn equal_rows_are_no_pair() {
        let row = data(1);
        let twice = [row.clone(), row].concat();
        assert_eq!(sample(&twice, &[1, 1], None).pairs(), Moments { mean: 0.0, deviation: 0.1 });
    }

    #[test]
    fn lengths_and_slots_must_fit() {
        let data = data(2);
        let rows = Rows::new(&data, 2, D).unwrap();
        assert!(Sample::new(rows.into(), &[1], &[0, 1], &[1, 1], None, None).is_err());
        assert!(Sample::new(rows.into(), &[1, 2], &[0], &[1, 1], None, None).is_err());
        assert!(Sample::new(rows.into(), &[1, 2], &[0, 2], &[1, 1], None, None).is_err());
        assert!(Sample::new(rows.into(), &[1, 2], &[0, 1], &[1, 1], None, Some(1)).is_err());
    }

    #[test]
    fn the_rows_of_the_sample_make_it_again() {
        let data = data(3_000);
        let whole = sample(&data, &[1; 3_000], None);
        let rows = Rows::new(&data, 3_000, D).unwrap();
        let keys = row_keys(rows);
        let chosen: Vec<usize> = (0..3_000).rev().filter(|&row| keys[row] <= Sample::limit(3_000)).collect();
        let some: Vec<f32> = chosen.iter().flat_map(|&row| rows.row(row).iter().copied()).collect();
        let (some, slots) = (Rows::new(&some, chosen.len(), D).unwrap(), vec![0; chosen.len()]);
        let of = |population| Sample::new(some.into(), &row_keys(some), &slots, &[1], None, population).unwrap();
        let (input, query) = (of(Some(3_000)), [0.6, 0.0, 0.8, 0.0, 0.0]);
        assert_eq!((input.population(), input.pairs()), (3_000, whole.pairs()));
        assert_eq!(input.cosines(&query), whole.cosines(&query));
        assert_eq!(of(None).population(), chosen.len());
    }

    #[test]
    fn a_sample_is_kept_while_what_came_and_went_is_not_in_it() {
        let data = data(2_000);
        let keys = row_keys(Rows::new(&data, 2_000, D).unwrap());
        let (mut alive, all) = (vec![1; 2_000], sample(&data, &[1; 2_000], None));
        for row in 0..300 {
            alive[row] = 0;
            let moved = sample(&data, &alive, None);
            let went: Vec<u32> = keys[..=row].to_vec();
            if let Some(kept) = all.kept(&[], &went) {
                assert_eq!((kept.population(), &kept.keys), (moved.population(), &moved.keys), "{row}");
            } else {
                assert_ne!(all.keys, moved.keys);
                return;
            }
        }
        panic!("no row was in the sample");
    }

    proptest! {
        #![proptest_config(crate::seeded(64))]
        #[test]
        fn neither_order_nor_history_show(n in 1_usize..1_500, dead in 0_usize..700, turn in 0_usize..1_500) {
            let (data, mut alive) = (data(n), vec![1; n]);
            alive.iter_mut().step_by(2).take(dead).for_each(|alive| *alive = 0);
            let before = sample(&data, &vec![1; n], None);
            let moved = sample(&data, &alive, Some(&before));
            let fresh = sample(&data, &alive, None);
            let at = turn % n;
            let turned = sample(
                &[&data[at * D..], &data[..at * D]].concat(),
                &[&alive[at..], &alive[..at]].concat(),
                None,
            );
            let query = [0.6, 0.0, 0.8, 0.0, 0.0];
            for other in [&moved, &turned] {
                prop_assert_eq!(other.cosines(&query), fresh.cosines(&query));
                prop_assert_eq!((other.pairs(), other.population()), (fresh.pairs(), fresh.population()));
            }
        }
    }
}
