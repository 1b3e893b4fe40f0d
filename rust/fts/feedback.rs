//! Word feedback: how well rows match the words that the best rows have in common (Rocchio 1971, by BM25's weights).

use rustc_hash::FxHashMap;

use super::list::Scorer;
use super::rank::{Part, single_terms, with_scorers};
use super::statistics::K1;
use crate::error::Result;

/// How much of the best rows is taken up.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// How many rows.
    pub rows: usize,
    /// How many terms, and those that tell as much as the last.
    pub terms: usize,
    /// In how many of the rows a term must be.
    pub agreeing: u32,
}

/// Return by slot `(m,)` BM25 of the best rows' most telling terms, those of the query left out, as a part of the most
/// that they can give, 0 to 1.
///
/// A term tells as much as the weights sum to that BM25 gives it in the `best` rows, the first of which are read.
///
/// # Errors
/// As [`super::bm25_at`].
pub fn feedback_at<T: AsRef<str>>(
    part: Part<'_>,
    query: &[T],
    best: &[i64],
    slots: &[i64],
    how: Feedback,
) -> Result<Vec<f64>> {
    let query = single_terms(query)?;
    with_scorers(&[part], |scorers| {
        let Some(scorer) = scorers.first() else { return Ok(vec![0.0; slots.len()]) };
        let mut terms = told(scorer, &best[..best.len().min(how.rows)], how.agreeing)?;
        for term in query.iter().filter_map(|term| scorer.contents.term(term)) {
            terms.remove(&term);
        }
        let mut terms: Vec<(u32, f64)> = terms.into_iter().collect();
        terms.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
        // Terms that tell as much as the last one stay too: their numbers depend on the order in which texts came.
        let least = how.terms.checked_sub(1).and_then(|last| terms.get(last)).map_or(0.0, |&(_, told)| told);
        terms.retain(|&(_, told)| told >= least);
        let idf = |term: u32| scorer.statistics.idf(scorer.statistics.count(term));
        let most: f64 = terms.iter().map(|&(term, told)| told * idf(term) * (K1 + 1.0)).sum();
        let score = |&slot: &i64| {
            let slot = scorer.contents.check_slot(slot)?;
            Ok(terms.iter().map(|&(term, told)| told * weight(scorer, term, slot)).sum::<f64>()
                / most.max(f64::MIN_POSITIVE))
        };
        slots.iter().map(score).collect()
    })
}

/// What the terms tell that so many of the rows have.
fn told(scorer: &Scorer<'_>, rows: &[i64], agreeing: u32) -> Result<FxHashMap<u32, f64>> {
    let mut terms: FxHashMap<u32, (f64, u32)> = FxHashMap::default();
    for &slot in rows {
        let slot = scorer.contents.check_slot(slot)?;
        for term in scorer.contents.forward.get(slot) {
            let (told, times) = terms.entry(term).or_default();
            (*told, *times) = (*told + weight(scorer, term, slot), *times + 1);
        }
    }
    Ok(terms.into_iter().filter(|(_, (_, times))| *times >= agreeing).map(|(term, (told, _))| (term, told)).collect())
}

/// What BM25 gives a row for a term.
fn weight(scorer: &Scorer<'_>, term: u32, slot: usize) -> f64 {
    let run = usize::from(slot >= scorer.contents.split());
    match scorer.contents.runs(term)[run].find(slot) {
        Some(posting) => scorer.score(scorer.statistics.idf(scorer.statistics.count(term)), term, posting),
        None => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::TextIndex;
    use super::*;

    #[test]
    fn rows_like_the_best_score_without_a_word_of_the_query() {
        let index = TextIndex::new(1).unwrap();
        index
            .append(&[["fox den earth"], ["fox den"], ["den earth"], ["owl tree"], ["yak"], ["gnu"], ["emu"]])
            .unwrap();
        let all = index.statistics(&[0, 1, 2, 3, 4, 5, 6]).unwrap();
        let part = Part { index: &index, statistics: &all, weights: &[1.0] };
        let ask = |rows, terms| {
            feedback_at(part, &["fox"], &[0, 1], &[0, 1, 2, 3], Feedback { rows, terms, agreeing: 1 }).unwrap()
        };
        let found = ask(5, 20);
        assert!(found[2] > 0.0 && found[3] == 0.0, "{found:?}");
        // `den` is in both of the best rows, but in others too: `earth` tells more.
        let one = ask(2, 1);
        assert!(one[0] > 0.0 && one[1] == 0.0 && one[2] > 0.0, "{one:?}");
        let shared = Feedback { rows: 2, terms: 1, agreeing: 2 };
        assert!(feedback_at(part, &["fox"], &[0, 1], &[1], shared).unwrap()[0] > 0.0);
        assert_eq!(ask(0, 20), [0.0; 4]);
        assert!(feedback_at(part, &["fox"], &[9], &[0], Feedback { rows: 5, terms: 20, agreeing: 1 }).is_err());
    }
}
