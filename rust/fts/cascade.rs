//! A cascade: the rows that hold every word, else those that hold fewer of them, else those that hold any.
//!
//! A score is FTS5's `bm25()` of the step that answered: `"a" * AND "b" *`, or with OR.

use super::beginnings::{Beginning, Beginnings};
use super::list::Scorer;
use super::rank::{Hits, Part, Wanted, allowed, with_scorers};
use super::top_candidates::{Candidate, TopCandidates};
use crate::collections::BitMask;
use crate::error::{Error, Result};

/// Looking a row up in a list is worth walking over so many postings.
const LOOK_UP: usize = 8;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whether rows must hold all of the words, or any.
    pub every: bool,
    /// The numbers of the words, in the order in which their parts of a score are added; a repeated one counts again.
    pub words: Vec<usize>,
}

/// Find the best rows of the first step that has any, and which step it is.
///
/// # Errors
/// As [`super::bm25_top_k`]; [`Error::OutOfRange`] for the number of a word.
pub fn cascade_top_k(
    part: Part<'_>,
    beginnings: &Beginnings,
    steps: &[Step],
    wanted: Wanted<'_>,
) -> Result<(Hits, Option<usize>)> {
    with_scorers(&[part], |scorers| {
        let allowed = allowed(scorers, wanted)?;
        let ([scorer], [allowed]) = (scorers, &allowed[..]) else { return Ok((Hits::default(), None)) };
        for (number, step) in steps.iter().enumerate() {
            let words = step.words_of(beginnings)?;
            let rows = step.rows(&words, allowed);
            let matches = rows.count();
            if matches > 0 {
                let found = if wanted.k == 0 { Vec::new() } else { best(scorer, &words, rows, matches, wanted) };
                return Ok((Hits::of(&found, matches), Some(number)));
            }
        }
        Ok((Hits::default(), None))
    })
}

/// Return the scores `(m,)` that [`cascade_top_k`] gives slots `(m,)` by one step; NaN for those that it does not find.
///
/// # Errors
/// As [`super::bm25_at`]; [`Error::OutOfRange`] for the number of a word.
pub fn cascade_at(part: Part<'_>, beginnings: &Beginnings, step: &Step, slots: &[i64]) -> Result<Vec<f64>> {
    let words = step.words_of(beginnings)?;
    with_scorers(&[part], |scorers| {
        let Some(scorer) = scorers.first() else { return Ok(Vec::new()) };
        let score = |&slot: &i64| {
            let slot = scorer.contents.check_slot(slot)?;
            let holds = |word: &&Beginning| word.rows.contains(slot);
            let found = if step.every { words.iter().all(holds) } else { words.iter().any(holds) };
            let sum = || words.iter().fold(0.0, |sum, word| sum + word.score_at(scorer, slot));
            Ok(if found && !words.is_empty() { sum() } else { f64::NAN })
        };
        slots.iter().map(score).collect()
    })
}

impl Step {
    fn words_of<'b>(&self, beginnings: &'b Beginnings) -> Result<Vec<&'b Beginning>> {
        let len = beginnings.words.len();
        let word =
            |&at: &usize| beginnings.words.get(at).ok_or(Error::OutOfRange { what: "word", index: at as i64, len });
        self.words.iter().map(word).collect()
    }

    /// The allowed rows that it finds.
    fn rows(&self, words: &[&Beginning], allowed: &BitMask) -> BitMask {
        let Some((first, rest)) = words.split_first() else { return BitMask::default() };
        let mut rows = first.rows.clone();
        if self.every {
            rows.intersect(allowed);
            for word in rest {
                rows.intersect(&word.rows);
                if rows.words().iter().all(|&bits| bits == 0) {
                    break;
                }
            }
            return rows;
        }
        rest.iter().for_each(|word| rows.unite(0, word.rows.words()));
        rows.intersect(allowed);
        rows
    }
}

fn best(
    scorer: &Scorer<'_>,
    words: &[&Beginning],
    mut rows: BitMask,
    matches: usize,
    wanted: Wanted<'_>,
) -> Vec<Candidate> {
    let mut best = TopCandidates::new(wanted.k);
    let mut push = |slot: usize, score: f64| {
        let key = wanted.ties.and_then(|ties| ties.get(slot).copied()).unwrap_or(slot as i64);
        best.push(Candidate { score, key, slot });
    };
    let terms: usize = words.iter().map(|word| word.terms.len()).sum();
    let postings: usize = words.iter().map(|word| word.postings(scorer)).sum();
    if matches * terms * LOOK_UP < postings {
        rows.drain(|slot| push(slot, words.iter().fold(0.0, |sum, word| sum + word.score_at(scorer, slot))));
        return best.into_sorted();
    }
    let mut sums = vec![0.0; rows.words().len() * 64];
    for word in words {
        word.scores(scorer, &rows, |slot, score| sums[slot] += score);
    }
    rows.drain(|slot| push(slot, sums[slot]));
    best.into_sorted()
}
