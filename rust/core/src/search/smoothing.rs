//! Smoothing: candidates that lie near each other share their signals, for near texts answer the same questions
//! (the cluster hypothesis: Jardine and van Rijsbergen 1971).

use rustc_hash::FxHashMap;

use super::balance::{agreement, prominence};
use super::pool::Pool;
use crate::formula::{Candidates, Scored};
use crate::vectors::{Rows, gram};

/// The smoothing of signals over neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct Smoothing {
    /// The signals that are shared, by place.
    pub signals: Vec<usize>,
    /// The part of a signal that comes from the neighbours, 0 to 1.
    pub share: f64,
    /// Number of neighbours.
    pub neighbours: usize,
    /// Number of the best candidates that take part.
    pub most: usize,
    /// A query for one thing needs no neighbours of it.
    pub unless: Unless,
}

/// When candidates share nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unless {
    /// Lead of the best candidate over the next, as a share of its own score.
    pub lead: f64,
    /// A candidate holds more of the query's information than this: the less is shared, up to nothing for all of it.
    pub covered: f64,
    /// The best cosine stands out less than this, as a part of what the best of as many random ones would.
    pub prominence: f64,
}

impl Unless {
    /// The part of what is shared otherwise, given the signals that are, summed.
    fn left(self, pool: &Pool, sums: &[f64]) -> f64 {
        let (mut best, mut second) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for &sum in sums {
            (best, second) = if sum > best { (sum, best) } else { (best, second.max(sum)) };
        }
        let leads = best - second >= self.lead * best;
        if leads || prominence(pool).is_none_or(|results| results < self.prominence) {
            return 0.0;
        }
        // Sharing lowers the best: beside many that cannot share, those with a vector would fall behind.
        let with_vector = pool.vectors().1.iter().flatten().count() as f64 / pool.len() as f64;
        let complete = (5.0 * with_vector - 4.0).max(0.0);
        let matched = pool.column("matched").unwrap_or_default().iter().copied().fold(0.0, f64::max);
        let open = if self.covered < 1.0 { ((1.0 - matched) / (1.0 - self.covered)).clamp(0.0, 1.0) } else { 1.0 };
        complete * open * agreement(pool)
    }
}

/// Replace signals of the best candidates by `(1 - share) * own + share * mean of the neighbours`.
///
/// Candidates without a vector keep their signals, and are neighbours of none. Returns true if signals may have changed.
pub(super) fn smooth(pool: &Pool, scored: &mut Scored, how: &Smoothing) -> bool {
    let (vectors, at) = pool.vectors();
    let (m, Scored { signals, contributions, order, .. }) = (pool.len(), scored);
    let sum = |i: usize| how.signals.iter().map(|&signal| contributions[signal * m + i]).sum();
    let share = how.share * how.unless.left(pool, &(0..m).map(sum).collect::<Vec<f64>>());
    if share == 0.0 {
        return false;
    }
    let mut groups: FxHashMap<u32, Vec<(usize, usize)>> = FxHashMap::default();
    for &i in order.iter().take(how.most) {
        if let Some((group, row)) = at[i] {
            groups.entry(group).or_default().push((i, row as usize));
        }
    }
    for (group, members) in groups {
        let of = &vectors[group as usize];
        let near = nearest(&of.data, of.d, &members, how.neighbours);
        for &signal in &how.signals {
            let values = &mut signals[signal * m..(signal + 1) * m];
            let own: Vec<f64> = members.iter().map(|&(i, _)| values[i]).collect();
            for ((&(i, _), near), &before) in members.iter().zip(&near).zip(&own) {
                let known = near.iter().map(|&j| own[j]).filter(|value| !value.is_nan());
                let (sum, count) = known.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
                if count > 0.0 && !before.is_nan() {
                    values[i] = (1.0 - share) * before + share * sum / count;
                }
            }
        }
    }
    true
}

/// By member the nearest other members.
fn nearest(data: &[f32], d: usize, members: &[(usize, usize)], k: usize) -> Vec<Vec<usize>> {
    let n = members.len();
    let rows: Vec<f32> = members.iter().flat_map(|&(_, row)| &data[row * d..(row + 1) * d]).copied().collect();
    let Ok(rows) = Rows::new(&rows, n, d) else { return vec![Vec::new(); n] };
    let cosines = gram(rows);
    cosines.chunks_exact(n.max(1)).enumerate().map(|(i, own)| largest(own, i, k)).collect()
}

/// The places of the `k` largest values but one, ascending; of equal values the first count.
fn largest(values: &[f32], but: usize, k: usize) -> Vec<usize> {
    // The best so far, the largest first: few, and most values are below the last of them.
    let mut best: Vec<usize> = Vec::with_capacity(k.min(values.len()));
    for (j, value) in values.iter().enumerate().filter(|&(j, _)| j != but) {
        let is_below = |&at: &usize| values[at].total_cmp(value).is_ge();
        if best.len() == k {
            if best.last().is_none_or(is_below) {
                continue;
            }
            best.pop();
        }
        best.insert(best.partition_point(is_below), j);
    }
    best.sort_unstable();
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_values_are_the_first_of_a_sorted_list() {
        let values = [0.5, -1.0, f32::NAN, 0.5, 0.25, 0.5, f32::NEG_INFINITY, 0.75, -f32::NAN, 0.0, -0.0];
        for but in 0..values.len() {
            let mut sorted: Vec<usize> = (0..values.len()).filter(|&j| j != but).collect();
            sorted.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
            for k in 0..values.len() + 2 {
                let mut wanted = sorted[..k.min(sorted.len())].to_vec();
                wanted.sort_unstable();
                assert_eq!(largest(&values, but, k), wanted, "{but} {k}");
            }
        }
        assert!(largest(&[], 0, 3).is_empty());
    }
}
