//! Cosines of candidates whose vector has not come yet, estimated from what is known of them.

use super::candidates::Candidates;

/// The estimate of an unknown cosine from a value of 0 to 1, `t`: `mean + deviation * (intercept + slope * t) + r`,
/// with mean and deviation of the query's cosines over the space, and `r` the mean residual of such estimates of known
/// cosines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimator {
    /// In deviations, at `t = 0`.
    pub intercept: f64,
    /// In deviations.
    pub slope: f64,
    /// Number of candidates without unknowns that are assumed in addition when `r` is averaged.
    pub doubt: f64,
}

/// Known cosines `(m,)` as they are, unknown ones estimated from `t` `(m,)`; all unknown where nothing is known of the
/// space. A candidate whose title is the query (column `titled`) is taken to be as near as can be.
pub(super) fn estimated(mut cosines: Vec<f64>, t: &[f64], how: Estimator, of: &impl Candidates) -> Vec<f64> {
    if !cosines.iter().any(|cosine| cosine.is_nan()) {
        return cosines;
    }
    let (Some(means), Some(deviations)) = (of.column("cosine_mean"), of.column("cosine_deviation")) else {
        return cosines;
    };
    // A candidate of a tier without vectors is judged by the others.
    let (mean, deviation) = (average(means), average(deviations));
    let or = |value: f64, other: f64| if value.is_nan() { other } else { value };
    let linear = |i: usize| {
        let t = or(t[i], 0.0);
        or(means[i], mean) + or(deviations[i], deviation) * (how.intercept + how.slope * t)
    };
    let (mut lack, mut counted) = (0.0, how.doubt);
    for (i, &cosine) in cosines.iter().enumerate() {
        if !cosine.is_nan() && t[i] > 0.0 {
            lack += cosine - linear(i);
            counted += 1.0;
        }
    }
    let lack = if counted > 0.0 { lack / counted } else { 0.0 };
    let unknown: Vec<usize> = (0..cosines.len()).filter(|&i| cosines[i].is_nan()).collect();
    for &i in &unknown {
        cosines[i] = (linear(i) + lack).clamp(-1.0, 1.0);
    }
    if let Some(titled) = of.column("titled") {
        unknown.iter().filter(|&&i| titled[i] > 0.0).for_each(|&i| cosines[i] = 1.0);
    }
    cosines
}

/// The deviation of cosines in a space that was not measured.
const UNKNOWN_DEVIATION: f64 = 0.1;
/// Cosines that differ less are equal.
const LEAST_DEVIATION: f64 = 0.001;

/// The deviations of cosines from the mean of the query's cosines over all spaces, weighted by their rows: in a tier of
/// one entry the mean is its own cosine, which is no evidence.
pub(super) fn standing(mut cosines: Vec<f64>, of: &impl Candidates) -> Vec<f64> {
    let column = |name| of.column(name).unwrap_or_default();
    let (means, deviations, rows) = (column("cosine_mean"), column("cosine_deviation"), column("cosine_rows"));
    let (mut mean, mut deviation, mut all) = (0.0, 0.0, 0.0);
    for ((&own, &spread), i) in means.iter().zip(deviations).zip(0..) {
        if own.is_finite() && spread.is_finite() {
            let rows = rows.get(i).copied().filter(|rows| *rows > 0.0).unwrap_or(1.0);
            mean += rows * own;
            deviation += rows * spread;
            all += rows;
        }
    }
    let (mean, deviation) = if all > 0.0 { (mean / all, deviation / all) } else { (0.0, UNKNOWN_DEVIATION) };
    for cosine in cosines.iter_mut().filter(|cosine| !cosine.is_nan()) {
        *cosine = (*cosine - mean) / deviation.max(LEAST_DEVIATION);
    }
    cosines
}

fn average(values: &[f64]) -> f64 {
    let known = values.iter().filter(|value| !value.is_nan());
    let (sum, count) = known.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;
    const HOW: Estimator = Estimator { intercept: 0.5, slope: 2.0, doubt: 1.0 };

    struct Pool {
        titled: Option<[f64; 3]>,
        means: [f64; 3],
    }

    impl Candidates for Pool {
        fn count(&self) -> usize {
            3
        }

        fn column(&self, name: &str) -> Option<&[f64]> {
            match name {
                "cosine_mean" => Some(&self.means),
                "cosine_deviation" => Some(&[0.1, 0.1, 0.1]),
                "titled" => self.titled.as_ref().map(|titled| &titled[..]),
                _ => None,
            }
        }

        fn is_kind(&self, _: usize, _: &str) -> bool {
            false
        }
    }

    #[track_caller]
    fn gives(pool: &Pool, cosines: [f64; 3], t: [f64; 3], wanted: [f64; 3]) {
        let results = estimated(cosines.to_vec(), &t, HOW, pool);
        let near = |(a, b): (&f64, f64)| (a - b).abs() < 1e-12 || (a.is_nan() && b.is_nan());
        assert!(results.iter().zip(wanted).all(near), "{results:?}");
    }

    #[test]
    fn the_unknown_follow_the_line_and_what_the_known_lack() {
        let pool = Pool { titled: None, means: [0.2; 3] };
        gives(&pool, [0.3, 0.5, 0.1], [1.0; 3], [0.3, 0.5, 0.1]);
        gives(&pool, [NAN; 3], [0.0, 1.0, NAN], [0.25, 0.45, 0.25]);
        // The line gives the first 0.45, which is 0.2 too little; half of it is believed.
        gives(&pool, [0.65, NAN, 0.9], [1.0, 0.5, 0.0], [0.65, 0.45, 0.9]);
    }

    #[test]
    fn a_tier_without_vectors_is_judged_by_the_others() {
        gives(&Pool { titled: None, means: [0.2, NAN, 0.4] }, [0.25, NAN, 0.6], [0.0, 0.0, 0.0], [0.25, 0.35, 0.6]);
        gives(&Pool { titled: None, means: [NAN; 3] }, [NAN; 3], [1.0; 3], [NAN; 3]);
    }

    #[test]
    fn a_title_that_is_the_query_is_as_near_as_can_be() {
        gives(&Pool { titled: Some([0.0, 1.0, 1.0]), means: [0.2; 3] }, [0.9, NAN, 0.3], [0.0; 3], [0.9, 1.0, 0.3]);
    }
}
