//! The best rows for query terms by FTS5's `bm25()`, and the scores of given rows: the same doubles.
//!
//! A row's score is a sum over the terms, and floating-point sums depend on their order. So candidates are found with
//! sums in any order and bounds that allow for the rounding (MaxScore: Turtle and Flood 1995), and only those that may
//! be among the best are summed again in FTS5's order.

use std::sync::Arc;

use super::index::TextIndex;
use super::list::Scorer;
use super::query::Query;
use super::statistics::{Constants, Statistics};
use super::tokens::index_terms;
use super::top_candidates::Candidate;
use crate::collections::BitMask;
use crate::error::{Error, Result};

/// One FTS5 table: its postings, its rows, and the weight of each column. All parts of a query share their slots.
///
/// A term has one document frequency: the rows that hold it in either of two tables, of as many rows as the larger has. No
/// row holds a term in both.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The postings.
    pub index: &'a TextIndex,
    /// The rows of the table.
    pub statistics: &'a Statistics,
    /// A weight for each column, finite and not negative.
    pub weights: &'a [f64],
    /// The constants of the formula; FTS5's score is that of its own.
    pub constants: Constants,
}

/// Which rows a query wants.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The number of results.
    pub k: usize,
    /// By slot, not 0 where a row may be returned; slots beyond the end are not allowed. None allows all rows.
    pub mask: Option<&'a [u8]>,
    /// By slot a key; of equal scores the smaller key comes first. None takes the slot.
    pub ties: Option<&'a [i64]>,
}

/// The rows found, best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hits {
    /// Their slots.
    pub slots: Vec<usize>,
    /// Their scores: the negative of SQLite's `bm25()`, the tables' scores added in the order of the parts.
    pub scores: Vec<f64>,
    /// The number of allowed rows that hold a term.
    pub matches: usize,
}

impl Hits {
    pub(super) fn of(results: &[Candidate], matches: usize) -> Self {
        let slots = results.iter().map(|candidate| candidate.slot).collect();
        Self { slots, scores: results.iter().map(|candidate| candidate.score).collect(), matches }
    }
}

/// Find the best rows for the terms of an FTS5 expression `"a" OR "b" OR …`; a repeated term counts again.
///
/// # Errors
/// [`Error::Phrase`] for a term that FTS5 would take for several; [`Error::ForeignStatistics`]; [`Error::Length`] of the
/// weights or ties; [`Error::Parameter`] for a weight that is negative or not finite.
pub fn bm25_top_k<T: AsRef<str>>(parts: &[Part<'_>], terms: &[T], wanted: Wanted<'_>) -> Result<Hits> {
    let terms = single_terms(terms)?;
    with_scorers(parts, |scorers| {
        let allowed = allowed(scorers, wanted)?;
        let mut query = Query::new(scorers, &allowed, &terms);
        let matches = query.matches().count();
        let results = query.best(wanted.k, wanted.ties);
        Ok(Hits::of(&results, matches))
    })
}

/// Return the scores `(m,)` that [`bm25_top_k`] gives the slots `(m,)`; NaN for those that hold no term or no row.
///
/// # Errors
/// As [`bm25_top_k`]; [`Error::OutOfRange`] for a slot.
pub fn bm25_at<T: AsRef<str>>(parts: &[Part<'_>], terms: &[T], slots: &[i64]) -> Result<Vec<f64>> {
    let terms = single_terms(terms)?;
    with_scorers(parts, |scorers| Query::new(scorers, &[], &terms).scores_at(slots))
}

/// Return what one of the parts adds to the scores `(m,)` of [`bm25_at`]; NaN for slots that hold no term in it.
///
/// # Errors
/// As [`bm25_at`].
pub fn bm25_of_part_at<T: AsRef<str>>(parts: &[Part<'_>], part: usize, terms: &[T], slots: &[i64]) -> Result<Vec<f64>> {
    let terms = single_terms(terms)?;
    with_scorers(parts, |scorers| Query::new(scorers, &[], &terms).only(part).scores_at(slots))
}

/// Return for each term how many rows of any part hold it, for one that FTS5 makes no term of 0.
///
/// # Errors
/// As [`bm25_top_k`].
pub fn rows_holding<T: AsRef<str>>(parts: &[Part<'_>], terms: &[T]) -> Result<Vec<usize>> {
    let single: Vec<Vec<Vec<u8>>> = terms.iter().map(|term| single_terms(&[term])).collect::<Result<_>>()?;
    with_scorers(parts, |scorers| {
        let in_part = |scorer: &Scorer<'_>, name: &Vec<u8>| {
            scorer.contents.term(name).map_or(0, |number| scorer.statistics.count(number) as usize)
        };
        let count = |name: &Vec<u8>| scorers.iter().map(|scorer| in_part(scorer, name)).sum();
        Ok(single.iter().map(|term| term.first().map_or(0, count)).collect())
    })
}

/// The one index term of each query term; those without any match nothing and add nothing.
pub(super) fn single_terms<T: AsRef<str>>(terms: &[T]) -> Result<Vec<Vec<u8>>> {
    let mut single = Vec::with_capacity(terms.len());
    for term in terms {
        let mut results = index_terms(term.as_ref());
        if results.len() > 1 {
            return Err(Error::Phrase { term: term.as_ref().to_owned() });
        }
        single.extend(results.pop());
    }
    Ok(single)
}

/// Check the parts, lock their indexes for reading, and go on.
pub(super) fn with_scorers<R>(parts: &[Part<'_>], go_on: impl FnOnce(&[Scorer<'_>]) -> Result<R>) -> Result<R> {
    for part in parts {
        part.statistics.check_index(part.index)?;
        if part.weights.len() != part.index.columns() {
            return Err(Error::Length { what: "weights", got: part.weights.len(), wanted: part.index.columns() });
        }
        if let Some(&got) = part.weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
            return Err(Error::Parameter { what: "a weight", wanted: "finite and at least 0", got });
        }
    }
    let address = |part: &Part<'_>| Arc::as_ptr(&part.index.contents) as usize;
    let mut indexes: Vec<&Part<'_>> = parts.iter().collect();
    // In the same order in every thread, and each lock once: with a writer waiting, anything else could wait forever.
    indexes.sort_unstable_by_key(|part| address(part));
    indexes.dedup_by_key(|part| address(part));
    let guards: Vec<_> = indexes.iter().map(|part| (address(part), part.index.read())).collect();
    let mut scorers = Vec::with_capacity(parts.len());
    for part in parts {
        if let Some((_, contents)) = guards.iter().find(|(of, _)| *of == address(part)) {
            scorers.push(Scorer::new(contents, part.statistics, part.weights, part.constants));
        }
    }
    go_on(&scorers)
}

/// By part the rows that may be returned.
///
/// # Errors
/// [`Error::Length`] unless there is a tie for each of them.
pub(super) fn allowed(scorers: &[Scorer<'_>], wanted: Wanted<'_>) -> Result<Vec<BitMask>> {
    let allowed = rows_of(scorers, wanted.mask);
    if let Some(ties) = wanted.ties {
        let last = allowed.iter().filter_map(BitMask::last).max();
        if last.is_some_and(|last| last >= ties.len()) {
            return Err(Error::Length { what: "ties", got: ties.len(), wanted: last.map_or(0, |last| last + 1) });
        }
    }
    Ok(allowed)
}

fn rows_of(scorers: &[Scorer<'_>], mask: Option<&[u8]>) -> Vec<BitMask> {
    let mask = mask.map(BitMask::from_bytes);
    let rows = |scorer: &Scorer<'_>| {
        let mut rows = scorer.statistics.slots().clone();
        if let Some(mask) = &mask {
            rows.intersect(mask);
        }
        rows
    };
    scorers.iter().map(rows).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WORDS: [&str; 8] = ["every", "red", "red", "green", "blue", "fox", "owl", "yak"];

    /// The formula as it is written, row by row.
    fn slow(rows: &[[String; 2]], live: &[bool], weights: [f64; 2], terms: &[&str]) -> Vec<f64> {
        let results: Vec<Vec<Vec<Vec<u8>>>> =
            rows.iter().map(|row| row.iter().map(|text| index_terms(text)).collect()).collect();
        let tokens = |row: usize| results[row].iter().map(Vec::len).sum::<usize>() as f64;
        let counted: Vec<usize> = (0..rows.len()).filter(|&row| live[row]).collect();
        let average = counted.iter().map(|&row| tokens(row)).sum::<f64>() / counted.len() as f64;
        let holds = |row: usize, term: &[u8]| results[row].iter().flatten().any(|other| other == term);
        let score = |row: usize| {
            let (mut score, mut matches) = (0.0, false);
            for term in terms.iter().flat_map(|term| index_terms(term)) {
                let df = counted.iter().filter(|&&row| holds(row, &term)).count() as f64;
                let idf = ((counted.len() as f64 - df + 0.5) / (df + 0.5)).ln();
                let idf = if idf <= 0.0 { 1e-6 } else { idf };
                let mut f = 0.0;
                for (texts, weight) in results[row].iter().zip(weights) {
                    texts.iter().filter(|other| **other == term).for_each(|_| f += weight);
                }
                matches |= holds(row, &term);
                score += idf * ((f * 2.2) / (f + 1.2 * (0.25 + 0.75 * tokens(row) / average)));
            }
            if matches && live[row] { score } else { f64::NAN }
        };
        (0..rows.len()).map(score).collect()
    }

    fn text(seed: u32, words: usize) -> String {
        let word = |i: usize| WORDS[(seed.wrapping_mul(2 * i as u32 + 3) >> 13) as usize % WORDS.len()];
        (0..words).map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_fault_says_what_is_wrong() {
        let index = TextIndex::new(2).unwrap();
        index.append(&[["red", "fox"], ["owl", ""], ["red", ""]]).unwrap();
        let statistics = index.statistics(&[0, 1, 2]).unwrap();
        let ask = |weights: &[f64], ties: Option<&[i64]>| {
            let part = Part { index: &index, statistics: &statistics, weights, constants: Constants::default() };
            bm25_top_k(&[part], &["red"], Wanted { k: 3, mask: None, ties })
        };
        // A weight may be 0, and there may be a tie for each row and no more.
        assert_eq!(ask(&[0.0, 1.0], Some(&[9, 8, 7])).unwrap().slots, [2, 0]);
        assert_eq!(ask(&[1.0, 1.0], Some(&[0, 0])), Err(Error::Length { what: "ties", got: 2, wanted: 3 }));
        assert_eq!(ask(&[1.0], None), Err(Error::Length { what: "weights", got: 1, wanted: 2 }));
        for bad in [-1e-9, f64::INFINITY, f64::NAN] {
            let fault = ask(&[1.0, bad], None).unwrap_err();
            assert!(matches!(fault, Error::Parameter { what: "a weight", got, .. } if got.to_bits() == bad.to_bits()));
        }
        let part =
            |index| [Part { index, statistics: &statistics, weights: &[1.0, 1.0], constants: Constants::default() }];
        let phrase = bm25_at(&part(&index), &["red-fox"], &[0]).unwrap_err();
        assert_eq!(phrase, Error::Phrase { term: "red-fox".to_owned() });
        let other = TextIndex::new(2).unwrap();
        assert_eq!(bm25_at(&part(&other), &["red"], &[]), Err(Error::ForeignStatistics));
    }

    #[test]
    fn the_same_table_twice_counts_twice() {
        let index = TextIndex::new(2).unwrap();
        index.append(&[["red", "fox"], ["owl", ""]]).unwrap();
        let statistics = index.statistics(&[0, 1]).unwrap();
        let part =
            Part { index: &index, statistics: &statistics, weights: &[1.0, 2.0], constants: Constants::default() };
        let one = bm25_at(&[part], &["red", "fox"], &[0]).unwrap();
        let two = bm25_at(&[part, part], &["red", "fox"], &[0]).unwrap();
        assert_eq!(two, [2.0 * one[0]]);
    }

    proptest! {
        #![proptest_config(crate::seeded(60))]

        #[test]
        fn the_best_are_those_of_the_formula(
            seeds in prop::collection::vec((any::<u32>(), 0..4_usize, 0..9_usize, 0..5_u8), 1..400),
            terms in prop::collection::vec(prop::sample::select(&WORDS[..]), 1..6),
            k in 0..40_usize,
            masked in any::<bool>(),
        ) {
            let rows: Vec<_> = seeds.iter().map(|&(seed, a, b, _)| [text(seed, a), text(!seed, b)]).collect();
            let live: Vec<bool> = seeds.iter().map(|&(_, _, _, kind)| kind != 0).collect();
            let mask: Vec<u8> = seeds.iter().map(|&(_, _, _, kind)| u8::from(kind != 1)).collect();
            let ties: Vec<i64> = seeds.iter().map(|&(seed, ..)| i64::from(seed)).collect();
            let index = TextIndex::new(2).unwrap();
            index.append(&rows).unwrap();
            let slots: Vec<i64> = (0..rows.len() as i64).collect();
            let counted: Vec<i64> = slots.iter().copied().filter(|&slot| live[slot as usize]).collect();
            let statistics = index.statistics(&counted).unwrap();
            let weights = [2.5, 0.1];
            let part = Part { index: &index, statistics: &statistics, weights: &weights, constants: Constants::default() };
            let all = slow(&rows, &live, weights, &terms);
            let at = bm25_at(&[part], &terms, &slots).unwrap();
            prop_assert!(at.iter().zip(&all).all(|(a, b)| a == b || (a.is_nan() && b.is_nan())));
            let mut wanted: Vec<usize> =
                (0..rows.len()).filter(|&i| !all[i].is_nan() && (!masked || mask[i] != 0)).collect();
            wanted.sort_by(|&a, &b| all[b].total_cmp(&all[a]).then((ties[a], a).cmp(&(ties[b], b))));
            let queries = Wanted { k, mask: masked.then_some(&mask[..]), ties: Some(&ties) };
            let hits = bm25_top_k(&[part], &terms, queries).unwrap();
            prop_assert_eq!(hits.matches, wanted.len());
            wanted.truncate(k);
            prop_assert_eq!(hits.scores, wanted.iter().map(|&i| all[i]).collect::<Vec<_>>());
            prop_assert_eq!(hits.slots, wanted);
        }
    }
}
