//! Scores of candidates from their own facts: tags and time.

use std::f64::consts::LN_2;

use rustc_hash::FxHashSet;

use crate::error::{Error, Result};

/// Return the Jaccard coefficient of two tag lists as sets of exact strings, 0..1; 0 when both are empty.
pub fn jaccard<A: AsRef<str>, B: AsRef<str>>(query: &[A], tags: &[B]) -> f64 {
    let queries: FxHashSet<&str> = query.iter().map(AsRef::as_ref).collect();
    jaccard_with(&queries, tags)
}

/// Return [`jaccard`] of the query's tags with each candidate's, `(m,)`.
pub fn jaccards<A: AsRef<str>, B: AsRef<str>>(query: &[A], candidates: &[Vec<B>]) -> Vec<f64> {
    let queries: FxHashSet<&str> = query.iter().map(AsRef::as_ref).collect();
    candidates.iter().map(|tags| jaccard_with(&queries, tags)).collect()
}

fn jaccard_with<B: AsRef<str>>(queries: &FxHashSet<&str>, tags: &[B]) -> f64 {
    if queries.is_empty() || tags.is_empty() {
        return 0.0;
    }
    let held: FxHashSet<&str> = tags.iter().map(AsRef::as_ref).collect();
    let shared = held.intersection(queries).count();
    shared as f64 / (queries.len() + held.len() - shared) as f64
}

/// The times of candidates, each `(m,)`, in epoch seconds; NaN where absent.
#[derive(Clone, Copy, Debug)]
pub struct Times<'a> {
    /// When the candidate was made.
    pub created: &'a [f64],
    /// When it was last changed.
    pub updated: &'a [f64],
    /// When it began to hold.
    pub valid_from: &'a [f64],
    /// When it ceases to hold.
    pub valid_until: &'a [f64],
}

/// The decay of a candidate with age.
#[derive(Clone, Copy, Debug)]
pub struct Fading {
    /// The age in seconds at which a candidate without an end is worth half.
    pub half_life_s: f64,
    /// The share of a window, counted from its end, over which a candidate with an end fades.
    pub ramp: f64,
}

/// Return the temporal decay of candidates, `(m,)`, 0..1.
///
/// Without `valid_until`: `exp(-ln 2 * age / half_life_s)`, age from `updated`, else `created`, else 0, and at least 0.
/// With it: `start` is `valid_from`, else `created`, else `now`, and `window = valid_until - start`; 0 when nothing
/// remains, 1 when the window is empty or more than `ramp` of it remains, else `remaining / (ramp * window)`.
///
/// # Errors
/// [`Error::Length`] for lists of different lengths; [`Error::Parameter`] unless `now` is finite, `half_life_s` finite
/// and above 0, and `ramp` finite and at least 0; [`Error::NotFinite`] for an infinite time.
pub fn decay(now: f64, times: Times<'_>, fading: Fading) -> Result<Vec<f64>> {
    let m = times.created.len();
    check(now, times, fading, m)?;
    let age_weight = |i: usize| {
        let since = first_known(&[times.updated[i], times.created[i]]).unwrap_or(now);
        (-LN_2 * (now - since).max(0.0) / fading.half_life_s).exp()
    };
    let window_weight = |i: usize| {
        let start = first_known(&[times.valid_from[i], times.created[i]]).unwrap_or(now);
        let (window, remaining) = (times.valid_until[i] - start, times.valid_until[i] - now);
        let fade = fading.ramp * window;
        if remaining <= 0.0 {
            0.0
        } else if window <= 0.0 || remaining > fade {
            1.0
        } else {
            remaining / fade
        }
    };
    Ok((0..m).map(|i| if times.valid_until[i].is_nan() { age_weight(i) } else { window_weight(i) }).collect())
}

fn first_known(times: &[f64]) -> Option<f64> {
    times.iter().copied().find(|time| !time.is_nan())
}

fn check(now: f64, times: Times<'_>, fading: Fading, m: usize) -> Result<()> {
    let Fading { half_life_s, ramp } = fading;
    if !now.is_finite() {
        return Err(Error::Parameter { what: "now", wanted: "a finite number of seconds", got: now });
    }
    if !(half_life_s > 0.0 && half_life_s.is_finite()) {
        let wanted = "a finite number of seconds above 0";
        return Err(Error::Parameter { what: "half_life_s", wanted, got: half_life_s });
    }
    if !(ramp >= 0.0 && ramp.is_finite()) {
        return Err(Error::Parameter { what: "ramp", wanted: "a finite share of at least 0", got: ramp });
    }
    for (what, column) in [
        ("created", times.created),
        ("updated", times.updated),
        ("valid_from", times.valid_from),
        ("valid_until", times.valid_until),
    ] {
        if column.len() != m {
            return Err(Error::Length { what, got: column.len(), wanted: m });
        }
        if let Some(at) = column.iter().position(|time| time.is_infinite()) {
            return Err(Error::NotFinite { what, at });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;
    const DAY: f64 = 86_400.0;
    const NOW: f64 = 1.76e9;

    fn one(created: f64, updated: f64, valid_from: f64, valid_until: f64) -> f64 {
        let times =
            Times { created: &[created], updated: &[updated], valid_from: &[valid_from], valid_until: &[valid_until] };
        decay(NOW, times, Fading { half_life_s: 365.0 * DAY, ramp: 0.25 }).unwrap()[0]
    }

    #[test]
    fn age_halves_by_half_life_and_counts_from_the_last_change() {
        assert_eq!(one(NAN, NAN, NAN, NAN), 1.0);
        assert_eq!(one(NOW - 730.0 * DAY, NAN, NAN, NAN), 0.25);
        assert_eq!(one(NOW - 730.0 * DAY, NOW - 365.0 * DAY, NAN, NAN), 0.5);
        assert_eq!(one(NAN, NOW + DAY, NAN, NAN), 1.0);
    }

    #[test]
    fn a_window_fades_over_its_last_quarter() {
        let window = |from: f64, until: f64| one(NAN, NAN, NOW + from * DAY, NOW + until * DAY);
        assert_eq!(window(-75.0, 25.0), 1.0);
        assert_eq!(window(-80.0, 20.0), 0.8);
        assert_eq!(window(-95.0, 5.0), 0.2);
        assert_eq!(window(-100.0, 0.0), 0.0);
        assert_eq!(window(5.0, 5.0), 1.0);
        assert_eq!(one(NAN, NAN, NAN, NOW + DAY), 1.0);
        assert_eq!(one(NOW - 80.0 * DAY, NOW, NAN, NOW + 20.0 * DAY), 0.8);
    }

    #[test]
    fn bad_numbers_are_refused() {
        let times = Times { created: &[0.0], updated: &[0.0], valid_from: &[0.0], valid_until: &[f64::INFINITY] };
        let fading = Fading { half_life_s: 1.0, ramp: 0.25 };
        assert_eq!(decay(NOW, times, fading), Err(Error::NotFinite { what: "valid_until", at: 0 }));
        let times = Times { valid_until: &[], ..times };
        assert_eq!(decay(NOW, times, fading), Err(Error::Length { what: "valid_until", got: 0, wanted: 1 }));
        for fading in [Fading { half_life_s: 0.0, ..fading }, Fading { ramp: -0.1, ..fading }] {
            assert!(matches!(decay(NOW, times, fading), Err(Error::Parameter { .. })));
        }
    }

    #[test]
    fn tags_are_sets_of_exact_strings() {
        assert_eq!(jaccard(&["a", "b", "a"], &["b", "c"]), 1.0 / 3.0);
        assert_eq!(jaccard(&["a"], &["A"]), 0.0);
        assert_eq!(jaccard::<&str, &str>(&[], &[]), 0.0);
        assert_eq!(jaccards(&["a", "b"], &[vec!["a", "b"], vec![]]), [1.0, 0.0]);
    }
}
