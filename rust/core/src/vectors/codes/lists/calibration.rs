//! The calibration of new lists: their own rows, as queries, show the scores to expect and the recall of a search.

use super::super::search::probe_within;
use super::super::{Codes, Request, top_k_batch_coded};
use super::cluster::{gathered, mean, spread};
use super::probe::Budget;
use crate::error::Result;
use crate::simd::Level;
use crate::vectors::{Hits, Pieces, Rows, dot};

/// Rows that are asked for, and the neighbours that each should have.
const QUERIES: usize = 512;
const K: usize = 10;
/// Lists per query whose rows' scores are compared with the expected ones.
const NEAR: usize = 24;
/// Better rows that lists left unread may hold, by the number of rows wanted.
const MISSES: [f32; 16] =
    [4.0, 2.0, 1.0, 0.5, 0.3, 0.18, 0.1, 0.06, 0.03, 0.015, 0.007, 0.003, 0.001, 3e-4, 1e-4, 1e-5];
/// A recall that needs no further calibration.
const ENOUGH: f32 = 0.999_5;
/// Deviations of a recall by chance that its estimate is lowered by.
const CAUTION: f64 = 1.0;

/// The results of a calibration.
#[derive(Clone, Debug)]
pub(super) struct Calibration {
    /// The rows that the lists were made of.
    pub(super) rows: usize,
    /// The mean square of `(q . r) / (|q| |r|)`, `r` a row less its list's mean.
    pub(super) scale: f32,
    /// Misses of [`MISSES`] and the recalls that they reached; empty if nothing was calibrated.
    pub(super) recalls: Vec<[f32; 2]>,
}

impl Calibration {
    /// That of lists that were not calibrated.
    pub(super) const NONE: Self = Self { rows: 0, scale: 1.0, recalls: Vec::new() };

    /// Try new lists on some of their rows.
    pub(super) fn of(codes: &Codes, rows: Pieces<'_>, living: &[u32], threads: Option<usize>) -> Result<Self> {
        let d = rows.d();
        let asked = spread(living, QUERIES);
        let data = gathered(rows, &asked)?;
        let queries = Rows::new(&data, asked.len(), d)?;
        let mut calibration = Self { rows: living.len(), ..Self::NONE };
        if asked.is_empty() {
            return Ok(calibration);
        }
        calibration.scale = scale(codes, queries, rows)?;
        // A row finds itself, so one more is asked for.
        let request = Request { k: K + 1, mask: None, level: Level::best(), threads, within: None, front: None };
        let exact = top_k_batch_coded(codes, queries, rows, request)?;
        for misses in MISSES {
            let budget = Budget { misses, scale: calibration.scale };
            let mut recalls = Vec::with_capacity(asked.len());
            for (i, exact) in exact.iter().enumerate() {
                let (hits, _) = probe_within(codes, queries.row(i), rows, request, budget)?;
                recalls.push(recall(&hits, exact, asked[i] as usize));
            }
            let (count, mean) = (recalls.len() as f64, recalls.iter().sum::<f64>() / recalls.len() as f64);
            let variance = recalls.iter().map(|recall| (recall - mean).powi(2)).sum::<f64>() / count;
            let reached = (mean - CAUTION * (variance / count).sqrt()) as f32;
            calibration.recalls.push([misses, reached]);
            if reached > ENOUGH {
                break;
            }
        }
        Ok(calibration)
    }

    /// The largest misses that reach a recall, by their logarithms between those that were tried; 0 if none reached it,
    /// so that only what is certain is left out.
    pub(super) fn misses(&self, recall: f64) -> f32 {
        let recall = recall as f32;
        let Some(at) = self.recalls.iter().position(|&[_, reached]| reached >= recall) else { return 0.0 };
        let [misses, reached] = self.recalls[at];
        let Some(before) = at.checked_sub(1) else { return misses };
        let [more, less] = self.recalls[before];
        more * (misses / more).powf((recall - less) / (reached - less))
    }
}

/// The share of the exact rows that were returned, the row itself left out; ties count by their scores.
fn recall(hits: &Hits, exact: &Hits, own: usize) -> f64 {
    let others: Vec<f64> =
        exact.rows.iter().zip(&exact.scores).filter(|(row, _)| **row != own).map(|(_, &score)| score).take(K).collect();
    let Some(&least) = others.last() else { return 1.0 };
    let reached = hits.rows.iter().zip(&hits.scores).filter(|&(&row, &score)| row != own && score >= least).count();
    reached.min(others.len()) as f64 / others.len() as f64
}

/// The mean square of `(q . r) / (|q| |r|)` over lists near each query, by distance with `q` less the list's mean.
fn scale(codes: &Codes, queries: Rows<'_>, rows: Pieces<'_>) -> Result<f32> {
    let published = codes.published();
    let Some(lists) = &published.lists else { return Ok(1.0) };
    let (mut sum, mut weight, mut buffer) = (0.0, 0.0, Vec::new());
    for i in 0..queries.n() {
        let query = queries.row(i);
        for list in lists.nearest(query, NEAR, codes.distances(), Level::best()).into_iter().skip(1) {
            let of = &published.segments[list.segment as usize].rows().map_or(&[][..], |rows| rows)[list.chunk().rows];
            let centre = &mean(&gathered(rows, of)?, queries.d());
            let from: Vec<f32> =
                if codes.distances() { query.iter().zip(centre).map(|(q, c)| q - c).collect() } else { query.to_vec() };
            let square = dot(&from, &from);
            for row in of {
                let rest: Vec<f32> =
                    rows.row(*row as usize, &mut buffer)?.iter().zip(centre).map(|(x, c)| x - c).collect();
                sum += dot(&from, &rest).powi(2);
                weight += square * dot(&rest, &rest);
            }
        }
    }
    Ok(if weight > 0.0 { (sum / weight) as f32 } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_lie_between_those_of_a_lower_and_a_higher_recall() {
        let calibration = Calibration { recalls: vec![[4.0, 0.9], [1.0, 0.98], [0.25, 0.99]], ..Calibration::NONE };
        assert_eq!(calibration.misses(0.5), 4.0);
        assert!((calibration.misses(0.98) - 1.0).abs() < 1e-4);
        let between = calibration.misses(0.985);
        assert!((between - 0.5).abs() < 1e-3, "{between}");
        assert_eq!(calibration.misses(0.995), 0.0);
        assert_eq!(Calibration::NONE.misses(0.5), 0.0);
    }
}
