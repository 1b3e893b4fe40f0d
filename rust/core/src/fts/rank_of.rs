//! The place of one row among the matches of a query: a count of the rows before it, without a list of them.

use super::beginnings::Beginnings;
use super::cascade::{Step, cascade_at, rows_before as rows_before_in_step};
use super::needed::{holding, holds_all_at, words_of};
use super::query::Query;
use super::rank::{Part, Wanted, allowed, bm25_at, single_terms, with_scorers};
use super::top_candidates::Candidate;
use crate::error::Result;
use crate::terms::Needed;

/// The place of a row among the allowed rows that match.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TextRank {
    /// The number of allowed rows that match.
    pub matches: usize,
    /// The number of them that hold every needed word; 0 if none is needed.
    pub whole: usize,
    /// The number of them that come before the row; 0 if the row does not match.
    pub before: usize,
    /// The score of the row, allowed or not; None if it does not match.
    pub score: Option<f64>,
    /// True if the row holds every needed word.
    pub holds_all: bool,
}

/// Return the place of a slot in the order of [`super::bm25_top_k`], or of [`super::bm25_top_k_first`] with needed words;
/// without a slot the numbers of matches alone. `before` is the number of those that come before it, where that is known.
///
/// # Errors
/// As [`super::bm25_at`] and [`super::bm25_top_k_first`].
pub fn rank_of<T: AsRef<str>>(
    parts: &[Part<'_>],
    terms: &[T],
    needed: Option<&[Needed]>,
    wanted: Wanted<'_>,
    slot: Option<i64>,
    before: Option<usize>,
) -> Result<TextRank> {
    let (known, score) = (before, own(slot, |slots| bm25_at(parts, terms, slots))?);
    let holds_all = match (slot, needed) {
        (Some(slot), Some(needed)) => holds_all_at(parts, needed, &[slot])?.contains(&true),
        _ => false,
    };
    let (terms, words) = (single_terms(terms)?, needed.map(words_of).transpose()?);
    with_scorers(parts, |scorers| {
        let allowed = allowed(scorers, wanted)?;
        let query = Query::new(scorers, &allowed, &terms);
        let mut rows = query.matches();
        let (matches, mut whole, mut before) = (rows.count(), 0, 0);
        if let Some(words) = words {
            let mut every = rows.clone();
            every.intersect(&holding(scorers, &allowed, &words));
            whole = every.count();
            if holds_all {
                rows = every;
            } else {
                rows.remove_all(&every);
                before = if score.is_some() { whole } else { 0 };
            }
        }
        if let Some(known) = known {
            before = known;
        } else if let Some(own) = candidate(slot, score, wanted) {
            before += query.count_before(rows, own, wanted.ties);
        }
        Ok(TextRank { matches, whole, before, score, holds_all })
    })
}

/// As [`rank_of`], in the order of [`super::cascade_top_k`] of one step.
///
/// # Errors
/// As [`cascade_at`].
pub fn cascade_rank_of(
    part: Part<'_>,
    beginnings: &Beginnings,
    step: &Step,
    wanted: Wanted<'_>,
    slot: Option<i64>,
) -> Result<TextRank> {
    let score = own(slot, |slots| cascade_at(part, beginnings, step, slots))?;
    let own = candidate(slot, score, wanted);
    let (matches, before) = rows_before_in_step(part, beginnings, step, wanted, own)?;
    Ok(TextRank { matches, before, score, ..TextRank::default() })
}

/// Say of each term whether a row holds it, and whether it does in the first part.
///
/// # Errors
/// As [`bm25_at`].
pub fn held_at<T: AsRef<str>>(parts: &[Part<'_>], terms: &[T], slot: i64) -> Result<Vec<(bool, bool)>> {
    let single: Vec<Option<Vec<u8>>> =
        terms.iter().map(|term| Ok(single_terms(&[term])?.pop())).collect::<Result<_>>()?;
    with_scorers(parts, |scorers| {
        let slots = scorers.iter().map(|scorer| scorer.contents.check_slot(slot)).collect::<Result<Vec<_>>>()?;
        let holds = |term: &Option<Vec<u8>>| {
            let mut in_parts = scorers.iter().zip(&slots).map(|(scorer, &slot)| {
                let number = term.as_ref().and_then(|term| scorer.contents.term(term));
                let run = usize::from(slot >= scorer.contents.split());
                let in_list = |number| scorer.contents.runs(number)[run].find(slot).is_some();
                scorer.statistics.slots().contains(slot) && number.is_some_and(in_list)
            });
            let first = in_parts.next().unwrap_or(false);
            (first || in_parts.any(|held| held), first)
        };
        Ok(single.iter().map(holds).collect())
    })
}

/// The score of a slot that is given and that matches.
fn own(slot: Option<i64>, scores: impl FnOnce(&[i64]) -> Result<Vec<f64>>) -> Result<Option<f64>> {
    let Some(slot) = slot else { return Ok(None) };
    Ok(scores(&[slot])?.first().copied().filter(|score| !score.is_nan()))
}

fn candidate(slot: Option<i64>, score: Option<f64>, wanted: Wanted<'_>) -> Option<Candidate> {
    let slot = usize::try_from(slot?).ok()?;
    let key = wanted.ties.and_then(|ties| ties.get(slot).copied()).unwrap_or(slot as i64);
    Some(Candidate { score: score?, key, slot })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::beginnings::beginnings;
    use super::super::cascade::cascade_top_k;
    use super::super::index::TextIndex;
    use super::super::needed::bm25_top_k_first;
    use super::super::rank::bm25_top_k;
    use super::super::statistics::Constants;
    use super::*;

    const WORDS: [&str; 7] = ["every", "red", "redder", "green", "blue", "fox", "owl"];

    fn text(seed: u32, words: usize) -> String {
        let word = |i: usize| WORDS[(seed.wrapping_mul(2 * i as u32 + 3) >> 13) as usize % WORDS.len()];
        (0..words).map(word).collect::<Vec<_>>().join(" ")
    }

    proptest! {
        #![proptest_config(crate::seeded(60))]

        #[test]
        fn the_place_of_each_row_is_its_place_in_the_list(
            seeds in prop::collection::vec((any::<u32>(), 0..4_usize, 0..4_usize, 0..5_u8), 1..300),
            terms in prop::collection::vec(prop::sample::select(&WORDS[..]), 1..5),
            masked in any::<bool>(),
        ) {
            let (texts, grams) = (TextIndex::new(2).unwrap(), TextIndex::new(1).unwrap());
            texts.append(&seeds.iter().map(|&(seed, a, b, _)| [text(seed, a), text(!seed, b)]).collect::<Vec<_>>()).unwrap();
            // A row holds a term in one of the tables.
            let gram = |&(_, a, b, kind): &(u32, usize, usize, u8)| [if a + b == 0 && kind > 2 { "fox" } else { "" }];
            grams.append(&seeds.iter().map(gram).collect::<Vec<_>>()).unwrap();
            let slots: Vec<i64> = (0..seeds.len() as i64).collect();
            let live: Vec<i64> = slots.iter().copied().filter(|&slot| seeds[slot as usize].3 != 0).collect();
            let (all, some) = (texts.statistics(&live).unwrap(), grams.statistics(&live).unwrap());
            let mask: Vec<u8> = seeds.iter().map(|&(.., kind)| u8::from(kind != 1)).collect();
            let ties: Vec<i64> = seeds.iter().map(|&(seed, ..)| i64::from(seed % 50)).collect();
            let wanted = Wanted { k: seeds.len(), mask: masked.then_some(&mask[..]), ties: Some(&ties) };
            let part = Part { index: &texts, statistics: &all, weights: &[2.5, 0.0], constants: Constants::default() };
            let other = Part { index: &grams, statistics: &some, weights: &[1.0], constants: Constants::default() };
            let parts = [part, other];
            let needed: Vec<Needed> =
                terms.iter().map(|&term| Needed { forms: vec![term.to_owned()], pieces: vec![] }).collect();
            let is_allowed = |slot: i64| !masked || mask[slot as usize] != 0;
            let step = Step { every: false, words: (0..terms.len()).collect() };
            let begun = beginnings(part, &terms).unwrap();
            let (plain, (first, whole)) =
                (bm25_top_k(&parts, &terms, wanted).unwrap(), bm25_top_k_first(&parts, &terms, &needed, wanted).unwrap());
            let (steps, _) = cascade_top_k(part, &begun, std::slice::from_ref(&step), wanted).unwrap();
            for &slot in &slots {
                let places = [
                    (&plain, rank_of(&parts, &terms, None, wanted, Some(slot), None).unwrap()),
                    (&first, rank_of(&parts, &terms, Some(&needed), wanted, Some(slot), None).unwrap()),
                    (&steps, cascade_rank_of(part, &begun, &step, wanted, Some(slot)).unwrap()),
                ];
                prop_assert_eq!(places[1].1.whole, whole);
                prop_assert_eq!(places[1].1.holds_all, holds_all_at(&parts, &needed, &[slot]).unwrap()[0]);
                let known = rank_of(&parts, &terms, Some(&needed), wanted, Some(slot), Some(places[1].1.before)).unwrap();
                prop_assert_eq!(known, places[1].1);
                for (hits, place) in places {
                    prop_assert_eq!(place.matches, hits.matches);
                    match hits.slots.iter().position(|&other| other as i64 == slot) {
                        Some(at) => prop_assert_eq!((place.before, place.score), (at, Some(hits.scores[at]))),
                        None => prop_assert!(place.score.is_none() || !is_allowed(slot)),
                    }
                }
                let held = held_at(&parts, &terms, slot).unwrap();
                for (term, held) in terms.iter().zip(held) {
                    let alone = |parts: &[Part<'_>]| !bm25_at(parts, &[term], &[slot]).unwrap()[0].is_nan();
                    prop_assert_eq!(held, (alone(&parts), alone(&parts[..1])));
                }
            }
            let none = rank_of(&parts, &terms, None, wanted, None, None).unwrap();
            prop_assert_eq!((none.matches, none.before, none.score), (plain.matches, 0, None));
        }
    }
}
