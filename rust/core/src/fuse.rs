//! Fusion of columns and of ranked lists, and the stable order of scores.

use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Result};

/// Return the contributions `(c, m)`, weight times value, of row-major columns `(c, m)`; NaN (unknown) contributes 0.
///
/// # Errors
/// [`Error::Length`] unless `columns` holds `weights.len() * m` values; [`Error::NotFinite`] for a weight.
pub fn weighted_sum(columns: &[f64], m: usize, weights: &[f64]) -> Result<Vec<f64>> {
    check_weights(weights)?;
    let wanted = weights.len().saturating_mul(m);
    if columns.len() != wanted {
        return Err(Error::Length { what: "columns", got: columns.len(), wanted });
    }
    let mut contributions = Vec::with_capacity(wanted);
    for (c, &weight) in weights.iter().enumerate() {
        let column = &columns[c * m..(c + 1) * m];
        contributions.extend(column.iter().map(|&value| if value.is_nan() { 0.0 } else { weight * value }));
    }
    Ok(contributions)
}

/// Fuse ranked id lists by reciprocal rank: `sum(weight / (k + rank))`, the first rank being `first_rank` (Cormack,
/// Clarke, Buettcher 2009: k = 60, ranks from 1).
///
/// Ids come back best first; equal scores keep the order in which the ids were first met, list by list. An id that a
/// list repeats counts once there, at its best rank; its repetitions keep their places in the list.
///
/// # Errors
/// [`Error::Length`] unless there is one weight a list; [`Error::NotFinite`] for a weight; [`Error::Parameter`] unless
/// `k` is finite and `k + first_rank` above 0.
pub fn rrf(lists: &[&[i64]], weights: &[f64], k: f64, first_rank: i64) -> Result<(Vec<i64>, Vec<f64>)> {
    check_weights(weights)?;
    if weights.len() != lists.len() {
        return Err(Error::Length { what: "weights", got: weights.len(), wanted: lists.len() });
    }
    if !(k.is_finite() && k + first_rank as f64 > 0.0) {
        return Err(Error::Parameter { what: "k", wanted: "a finite number with k + first_rank above 0", got: k });
    }
    let ids_at_most = lists.iter().map(|list| list.len()).sum();
    let mut places: FxHashMap<i64, usize> = FxHashMap::with_capacity_and_hasher(ids_at_most, Default::default());
    // Per id in order of first sight: id, score, and the last list that counted it.
    let mut fused: Vec<(i64, f64, usize)> = Vec::with_capacity(ids_at_most);
    for (number, (list, weight)) in lists.iter().zip(weights).enumerate() {
        for (position, &id) in list.iter().enumerate() {
            let share = weight / (k + (first_rank as f64 + position as f64));
            let place = *places.entry(id).or_insert(fused.len());
            match fused.get_mut(place) {
                None => fused.push((id, share, number)),
                Some((_, _, last)) if *last == number => {}
                Some((_, score, last)) => (*score, *last) = (*score + share, number),
            }
        }
    }
    fused.sort_by(|a, b| descending(a.1, b.1));
    Ok(fused.into_iter().map(|(id, score, _)| (id, score)).unzip())
}

/// Return the ids of one list, and after them those of another that the first does not hold; each list holds its own once.
pub fn unite(first: &[i64], second: &[i64]) -> Vec<i64> {
    let held: FxHashSet<i64> = first.iter().copied().collect();
    first.iter().chain(second.iter().filter(|id| !held.contains(id))).copied().collect()
}

/// Return the indices that sort scores from high to low, stable; NaN last.
pub fn order(scores: &[f64]) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..scores.len()).collect();
    indices.sort_by(|&a, &b| descending(scores[a], scores[b]));
    indices
}

/// High before low, -0.0 equal to 0.0, NaN last.
fn descending(a: f64, b: f64) -> Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn check_weights(weights: &[f64]) -> Result<()> {
    match weights.iter().position(|weight| !weight.is_finite()) {
        Some(at) => Err(Error::NotFinite { what: "weight", at }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_contributes_nothing() {
        let columns = [1.0, f64::NAN, 3.0, 0.5, 0.5, f64::NAN];
        assert_eq!(weighted_sum(&columns, 3, &[2.0, -1.0]), Ok(vec![2.0, 0.0, 6.0, -0.5, -0.5, 0.0]));
        assert_eq!(weighted_sum(&[], 0, &[2.0, -1.0]), Ok(vec![]));
        assert!(matches!(weighted_sum(&columns, 3, &[1.0]), Err(Error::Length { .. })));
        assert!(matches!(weighted_sum(&columns, 3, &[1.0, f64::NAN]), Err(Error::NotFinite { at: 1, .. })));
    }

    #[test]
    fn ranks_fuse_and_ties_keep_the_order_of_first_sight() {
        let (ids, scores) = rrf(&[&[7, 8, 9], &[9, 7]], &[1.0, 1.0], 60.0, 1).unwrap();
        assert_eq!(ids, [7, 9, 8]);
        assert_eq!(scores, [1.0 / 61.0 + 1.0 / 62.0, 1.0 / 63.0 + 1.0 / 61.0, 1.0 / 62.0]);
        let (ids, _) = rrf(&[&[1, 2], &[2, 1]], &[1.0, 1.0], 60.0, 1).unwrap();
        assert_eq!(ids, [1, 2]);
    }

    #[test]
    fn a_repeated_id_counts_at_its_best_rank() {
        let (ids, scores) = rrf(&[&[5, 5, 6]], &[1.0], 60.0, 0).unwrap();
        assert_eq!((ids, scores), (vec![5, 6], vec![1.0 / 60.0, 1.0 / 62.0]));
    }

    #[test]
    fn a_rank_that_divides_by_zero_is_refused() {
        assert!(rrf(&[&[1]], &[1.0], 0.0, 0).is_err());
        assert!(rrf(&[&[1]], &[1.0], 1.0, -1).is_err());
        assert!(rrf(&[&[1]], &[1.0], -1.0, 2).is_ok());
        assert!(rrf(&[&[1]], &[1.0], f64::NAN, 1).is_err());
        assert!(rrf(&[&[1]], &[], 60.0, 1).is_err());
        assert!(rrf(&[], &[], 60.0, 1).is_ok());
    }

    #[test]
    fn a_union_keeps_the_places_of_the_first_list() {
        assert_eq!(unite(&[3, 1], &[2, 1, 5]), [3, 1, 2, 5]);
        assert_eq!((unite(&[], &[2]), unite(&[2], &[])), (vec![2], vec![2]));
    }

    #[test]
    fn order_is_stable_with_nan_last() {
        let scores = [f64::NAN, 1.0, -0.0, 2.0, 0.0, f64::NAN, 1.0, f64::INFINITY, f64::NEG_INFINITY];
        assert_eq!(order(&scores), [7, 3, 1, 6, 2, 4, 8, 0, 5]);
    }
}
