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
/// Candidates without a vector keep their signals, and are neighbours of none.
pub(super) fn smooth(pool: &Pool, scored: &mut Scored, how: &Smoothing) {
    let (vectors, at) = pool.vectors();
    let (m, Scored { signals, contributions, order, .. }) = (pool.len(), scored);
    let sum = |i: usize| how.signals.iter().map(|&signal| contributions[signal * m + i]).sum();
    let share = how.share * how.unless.left(pool, &(0..m).map(sum).collect::<Vec<f64>>());
    if share == 0.0 {
        return;
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
}

/// By member the nearest other members.
fn nearest(data: &[f32], d: usize, members: &[(usize, usize)], k: usize) -> Vec<Vec<usize>> {
    let n = members.len();
    let rows: Vec<f32> = members.iter().flat_map(|&(_, row)| &data[row * d..(row + 1) * d]).copied().collect();
    let Ok(rows) = Rows::new(&rows, n, d) else { return vec![Vec::new(); n] };
    let cosines = gram(rows);
    let nearest = |(i, own): (usize, &[f32])| {
        let mut others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
        let k = k.min(others.len());
        let nearer = |&a: &usize, &b: &usize| own[b].total_cmp(&own[a]).then(a.cmp(&b));
        if k > 0 && k < others.len() {
            others.select_nth_unstable_by(k - 1, nearer);
        }
        others.truncate(k);
        others.sort_unstable();
        others
    };
    cosines.chunks_exact(n.max(1)).enumerate().map(nearest).collect()
}
