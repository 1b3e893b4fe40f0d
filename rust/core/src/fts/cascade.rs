//! A cascade: the rows that hold every word, else those that hold fewer of them, else those that hold any.
//!
//! A score is FTS5's `bm25()` of the step that answered: `"a" * AND "b" *`, or with OR.

use super::beginnings::{Beginning, Beginnings};
use super::list::Scorer;
use super::query::LOOK_UP;
use super::rank::{Hits, Part, Wanted, allowed, with_scorers};
use super::top_candidates::{Candidate, best_of};
use crate::collections::BitMask;
use crate::error::{Error, Result};

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// True if rows must hold all of the words, or any.
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
                let results = if wanted.k == 0 { Vec::new() } else { best(scorer, &words, rows, matches, wanted) };
                return Ok((Hits::of(&results, matches), Some(number)));
            }
        }
        Ok((Hits::default(), None))
    })
}

/// Return how many rows a step finds, and how many of them come before another one by score, then by key.
///
/// # Errors
/// As [`cascade_top_k`].
pub(super) fn rows_before(
    part: Part<'_>,
    beginnings: &Beginnings,
    step: &Step,
    wanted: Wanted<'_>,
    own: Option<Candidate>,
) -> Result<(usize, usize)> {
    let words = step.words_of(beginnings)?;
    with_scorers(&[part], |scorers| {
        let allowed = allowed(scorers, wanted)?;
        let ([scorer], [allowed]) = (scorers, &allowed[..]) else { return Ok((0, 0)) };
        let rows = step.rows(&words, allowed);
        let (matches, mut before) = (rows.count(), 0);
        if let Some(own) = own {
            score(scorer, &words, rows, matches, wanted, |other| before += usize::from(other > own));
        }
        Ok((matches, before))
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
            let results = if step.every { words.iter().all(holds) } else { words.iter().any(holds) };
            let sum = || words.iter().fold(0.0, |sum, word| sum + word.score_at(scorer, slot));
            Ok(if results && !words.is_empty() { sum() } else { f64::NAN })
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
    rows: BitMask,
    matches: usize,
    wanted: Wanted<'_>,
) -> Vec<Candidate> {
    let mut all = Vec::with_capacity(matches);
    score(scorer, words, rows, matches, wanted, |candidate| all.push(candidate));
    best_of(all, wanted.k)
}

/// Pass on some rows with their scores, slots ascending.
fn score(
    scorer: &Scorer<'_>,
    words: &[&Beginning],
    mut rows: BitMask,
    matches: usize,
    wanted: Wanted<'_>,
    mut each: impl FnMut(Candidate),
) {
    let mut push = |slot: usize, score: f64| {
        let key = wanted.ties.and_then(|ties| ties.get(slot).copied()).unwrap_or(slot as i64);
        each(Candidate { score, key, slot });
    };
    let terms: usize = words.iter().map(|word| word.terms.len()).sum();
    let postings: usize = words.iter().map(|word| word.postings(scorer)).sum();
    if matches * terms * LOOK_UP < postings {
        rows.drain(|slot| push(slot, words.iter().fold(0.0, |sum, word| sum + word.score_at(scorer, slot))));
        return;
    }
    let mut sums = vec![0.0; rows.words().len() * 64];
    for word in words {
        word.scores(scorer, &rows, |slot, score| sums[slot] += score);
    }
    rows.drain(|slot| push(slot, sums[slot]));
}

#[cfg(test)]
mod tests {
    use super::super::beginnings::beginnings;
    use super::super::index::TextIndex;
    use super::super::rank::bm25_at;
    use super::super::statistics::Constants;
    use super::*;

    const EVERY: bool = true;

    fn step(every: bool, words: &[usize]) -> Step {
        Step { every, words: words.to_vec() }
    }

    #[test]
    fn the_first_step_with_allowed_rows_answers() {
        let index = TextIndex::new(2).unwrap();
        let rows: Vec<[String; 2]> = (0..600)
            .map(|i| match i % 6 {
                0 => ["authentic tokens".to_owned(), "auth ".repeat(i % 5)],
                1 => ["token".to_owned(), "gateway".to_owned()],
                2 => ["tokenizer".to_owned(), "author token".to_owned()],
                3 => ["".to_owned(), "auth".to_owned()],
                _ => [format!("other{i}"), "rain".to_owned()],
            })
            .collect();
        index.append(&rows).unwrap();
        let slots: Vec<i64> = (0..600).collect();
        let statistics = index.statistics(&slots).unwrap();
        let words = ["auth", "token", "zebra"];
        let steps = [step(EVERY, &[0, 1, 2]), step(EVERY, &[1, 0]), step(!EVERY, &[0, 1, 2])];
        for (weights, holds_both) in [([3.0, 0.5], &[0, 2][..]), ([3.0, 0.0], &[0][..])] {
            let part =
                Part { index: &index, statistics: &statistics, weights: &weights, constants: Constants::default() };
            let begun = beginnings(part, &words).unwrap();
            assert!(begun.lacks_any() && begun.counts()[2] == 0);
            let wanted = Wanted { k: 600, mask: None, ties: None };
            let (hits, answered) = cascade_top_k(part, &begun, &steps, wanted).unwrap();
            assert_eq!(answered, Some(1));
            assert_eq!(hits.matches, holds_both.len() * 100);
            assert!(hits.slots.iter().all(|slot| holds_both.contains(&(slot % 6))));
            let at: Vec<i64> = hits.slots.iter().map(|&slot| slot as i64).collect();
            // Few rows are looked up, many are walked to: the same doubles.
            assert_eq!(cascade_at(part, &begun, &steps[1], &at).unwrap(), hits.scores);
            assert!(hits.scores.is_sorted_by(|a, b| a >= b));
            for (k, mask) in
                [(0, None), (1, None), (7, None), (7, Some((0..600).map(|i| u8::from(i < 9)).collect::<Vec<_>>()))]
            {
                let wanted = Wanted { k, mask: mask.as_deref(), ties: None };
                let (few, answered) = cascade_top_k(part, &begun, &steps, wanted).unwrap();
                let all: Vec<usize> = hits.slots.iter().copied().filter(|&at| mask.is_none() || at < 9).collect();
                assert_eq!((answered, few.matches), (Some(1), all.len()));
                assert_eq!(few.slots, all[..k.min(all.len())]);
            }
            // Where the filter leaves none, the next step answers, or none does.
            let only = |kept: usize| (0..600).map(|i| u8::from(i == kept)).collect::<Vec<_>>();
            let under = |mask: &[u8]| {
                let (hits, answered) =
                    cascade_top_k(part, &begun, &steps, Wanted { k: 9, mask: Some(mask), ties: None }).unwrap();
                (hits.slots, answered)
            };
            assert_eq!(under(&only(1)), (vec![1], Some(2)));
            assert_eq!(under(&only(4)), (vec![], None));
            let held = begun.matched_at(part, &[0, 1, 4]).unwrap();
            assert!(held[0].share > held[1].share && held[1].share > 0.0 && held[2].share == 0.0);
        }
    }

    #[test]
    fn a_word_that_begins_itself_alone_scores_as_a_term_and_faults_are_told() {
        let index = TextIndex::new(1).unwrap();
        index.append(&[["red fox red"], ["fox"], ["owl"], ["yak"], ["cow"]]).unwrap();
        let statistics = index.statistics(&[0, 1, 2, 3, 4]).unwrap();
        let part = Part { index: &index, statistics: &statistics, weights: &[1.0], constants: Constants::default() };
        let begun = beginnings(part, &["red", "fox", ""]).unwrap();
        let any = step(!EVERY, &[0, 1]);
        let scores = cascade_at(part, &begun, &any, &[0, 1]).unwrap();
        assert_eq!(scores, bm25_at(&[part], &["red", "fox"], &[0, 1]).unwrap());
        assert!(cascade_at(part, &begun, &any, &[2]).unwrap()[0].is_nan());
        assert!(cascade_at(part, &begun, &step(!EVERY, &[2]), &[0]).unwrap()[0].is_nan());
        assert!(cascade_at(part, &begun, &step(EVERY, &[]), &[0]).unwrap()[0].is_nan());
        assert!(cascade_at(part, &begun, &any, &[5]).is_err());
        assert!(cascade_at(part, &begun, &step(EVERY, &[3]), &[0]).is_err());
        assert!(beginnings(part, &["red-fox"]).is_err());
        assert_eq!(cascade_top_k(part, &begun, &[], Wanted::default()).unwrap(), (Hits::default(), None));
    }
}
