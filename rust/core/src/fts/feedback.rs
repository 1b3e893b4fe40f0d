//! Word feedback: how well rows match the words that the best rows have in common (Rocchio 1971, by BM25's weights).

use rustc_hash::FxHashMap;

use super::list::Scorer;
use super::postings::Run;
use super::rank::{Part, single_terms, with_scorers};
use crate::collections::Sum;
use crate::error::Result;

/// Terms looked up in the best rows, per term that is wanted.
const LOOKED_UP: usize = 2;

/// The limits of feedback from the best rows.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// Maximum rows.
    pub rows: usize,
    /// Maximum terms; ties with the last come in addition.
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
        let query: Vec<u32> = query.iter().filter_map(|term| scorer.contents.term(term)).collect();
        let mut terms = told(scorer, &best[..best.len().min(how.rows)], &query, how)?;
        terms.sort_unstable_by_key(|term| term.number);
        let mut most = Sum::default();
        terms.iter().for_each(|term| most.add(term.told * term.idf * scorer.constants.most()));
        let most = most.total();
        let score = |&slot: &i64| {
            let slot = scorer.contents.check_slot(slot)?;
            // Both ascend: a row's terms are read once, and only what it has is looked up.
            let (mut sum, mut rest) = (Sum::default(), terms.as_slice());
            for number in scorer.contents.forward.get(slot) {
                rest = &rest[rest.iter().take_while(|term| term.number < number).count()..];
                match rest.first() {
                    Some(term) if term.number == number => sum.add(term.told * weight(scorer, term, slot)),
                    Some(_) => {}
                    None => break,
                }
            }
            Ok(sum.total() / most.max(f64::MIN_POSITIVE))
        };
        slots.iter().map(score).collect()
    })
}

/// A term of the best rows.
struct Term<'a> {
    number: u32,
    runs: [Run<'a>; 2],
    idf: f64,
    /// The sum of its weights in the best rows.
    told: f64,
}

/// The most informative terms among those that enough of the rows have.
fn told<'a>(scorer: &Scorer<'a>, rows: &[i64], query: &[u32], how: Feedback) -> Result<Vec<Term<'a>>> {
    let mut times: FxHashMap<u32, u32> = FxHashMap::default();
    for &slot in rows {
        let slot = scorer.contents.check_slot(slot)?;
        scorer.contents.forward.get(slot).for_each(|term| *times.entry(term).or_default() += 1);
    }
    let idf = |number| scorer.statistics.idf(scorer.statistics.count(number));
    let shared = times.into_iter().filter(|(number, times)| *times >= how.agreeing && !query.contains(number));
    // The upper bound of a term's information decides the terms that are looked up.
    let mut terms: Vec<Term<'a>> = shared
        .map(|(number, times)| (number, idf(number), f64::from(times)))
        .map(|(number, idf, times)| Term { number, runs: Default::default(), idf, told: times * idf })
        .collect();
    cut(&mut terms, LOOKED_UP * how.terms);
    for term in &mut terms {
        term.runs = scorer.contents.runs(term.number);
        term.told = rows.iter().map(|&slot| weight(scorer, term, slot as usize)).sum();
    }
    cut(&mut terms, how.terms);
    Ok(terms)
}

/// Keep the terms that tell most, and those that tell as much as the last: their numbers depend on the order in which
/// texts came.
fn cut(terms: &mut Vec<Term<'_>>, most: usize) {
    terms.sort_unstable_by(|a, b| b.told.total_cmp(&a.told));
    let least = most.checked_sub(1).and_then(|last| terms.get(last)).map_or(0.0, |term| term.told);
    terms.retain(|term| term.told >= least);
}

/// The BM25 score of a row for a term.
fn weight(scorer: &Scorer<'_>, term: &Term<'_>, slot: usize) -> f64 {
    let run = usize::from(slot >= scorer.contents.split());
    let posting = term.runs[run].find(slot);
    posting.map_or(0.0, |posting| scorer.score(term.idf, term.number, posting))
}

#[cfg(test)]
mod tests {
    use super::super::index::TextIndex;
    use super::super::statistics::Constants;
    use super::*;

    #[test]
    fn rows_like_the_best_score_without_a_word_of_the_query() {
        let index = TextIndex::new(1).unwrap();
        index
            .append(&[["fox den earth"], ["fox den"], ["den earth"], ["owl tree"], ["yak"], ["gnu"], ["emu"]])
            .unwrap();
        let all = index.statistics(&[0, 1, 2, 3, 4, 5, 6]).unwrap();
        let part = Part { index: &index, statistics: &all, weights: &[1.0], constants: Constants::default() };
        let ask = |rows, terms| {
            feedback_at(part, &["fox"], &[0, 1], &[0, 1, 2, 3], Feedback { rows, terms, agreeing: 1 }).unwrap()
        };
        let results = ask(5, 20);
        assert!(results[2] > 0.0 && results[3] == 0.0, "{results:?}");
        // `den` is in both of the best rows, but in others too: `earth` tells more.
        let one = ask(2, 1);
        assert!(one[0] > 0.0 && one[1] == 0.0 && one[2] > 0.0, "{one:?}");
        let shared = Feedback { rows: 2, terms: 1, agreeing: 2 };
        assert!(feedback_at(part, &["fox"], &[0, 1], &[1], shared).unwrap()[0] > 0.0);
        assert_eq!(ask(0, 20), [0.0; 4]);
        assert!(feedback_at(part, &["fox"], &[9], &[0], Feedback { rows: 5, terms: 20, agreeing: 1 }).is_err());
    }
}
