//! Rows that hold every word of a query come before those that hold some.

use super::list::Scorer;
use super::query::{LOOK_UP, Query};
use super::rank::{Hits, Part, Wanted, allowed, single_terms, with_scorers};
use crate::collections::BitMask;
use crate::error::Result;
use crate::terms::Needed;

/// Find the best rows for the terms of an FTS5 expression as [`super::bm25_top_k`], but those that hold every needed word
/// before all others; and how many allowed rows do. Scores are the same.
///
/// # Errors
/// As [`super::bm25_top_k`].
pub fn bm25_top_k_first<T: AsRef<str>>(
    parts: &[Part<'_>],
    terms: &[T],
    needed: &[Needed],
    wanted: Wanted<'_>,
) -> Result<(Hits, usize)> {
    let (terms, words) = (single_terms(terms)?, words_of(needed)?);
    with_scorers(parts, |scorers| {
        let allowed = allowed(scorers, wanted)?;
        let mut whole = Query::new(scorers, &allowed, &terms).matches();
        let matches = whole.count();
        let mut others = whole.clone();
        whole.intersect(&holding(scorers, &allowed, &words));
        let count = whole.count();
        let mut results = best_among(scorers, &allowed, &terms, &whole, wanted);
        if results.len() < wanted.k && count < matches {
            others.remove_all(&whole);
            let rest = Wanted { k: wanted.k - results.len(), ..wanted };
            results.extend(best_among(scorers, &allowed, &terms, &others, rest));
        }
        Ok((Hits::of(&results, matches), count))
    })
}

/// Say which of the slots `(m,)` hold every needed word.
///
/// # Errors
/// As [`super::bm25_at`].
pub fn holds_all_at(parts: &[Part<'_>], needed: &[Needed], slots: &[i64]) -> Result<Vec<bool>> {
    let words = words_of(needed)?;
    with_scorers(parts, |scorers| {
        let numbers = |terms: &[Vec<u8>]| -> Vec<Vec<Option<u32>>> {
            terms.iter().map(|term| scorers.iter().map(|scorer| scorer.contents.term(term)).collect()).collect()
        };
        let words: Vec<_> = words.iter().map(|(forms, pieces)| (numbers(forms), numbers(pieces))).collect();
        let holds_all = |&slot: &i64| {
            for scorer in scorers {
                scorer.contents.check_slot(slot)?;
            }
            let slot = slot as usize;
            let holds = |term: &Vec<Option<u32>>| {
                let in_part = |(scorer, number): (&Scorer<'_>, &Option<u32>)| {
                    let run = usize::from(slot >= scorer.contents.split());
                    let results = |number| scorer.contents.runs(number)[run].find(slot).is_some();
                    scorer.statistics.slots().contains(slot) && number.is_some_and(results)
                };
                scorers.iter().zip(term).any(in_part)
            };
            let held = |(forms, pieces): &(Vec<_>, Vec<_>)| {
                forms.iter().any(holds) || (!pieces.is_empty() && pieces.iter().all(holds))
            };
            Ok(!words.is_empty() && words.iter().all(held))
        };
        slots.iter().map(holds_all).collect()
    })
}

/// Forms and pieces as index terms.
pub(super) type Word = (Vec<Vec<u8>>, Vec<Vec<u8>>);

pub(super) fn words_of(needed: &[Needed]) -> Result<Vec<Word>> {
    needed.iter().map(|word| Ok((single_terms(&word.forms)?, single_terms(&word.pieces)?))).collect()
}

/// The allowed rows that hold every word; none without words.
pub(super) fn holding(scorers: &[Scorer<'_>], allowed: &[BitMask], words: &[Word]) -> BitMask {
    let mut all: Option<BitMask> = None;
    for (forms, pieces) in words {
        let mut held = rows_with(scorers, allowed, forms);
        let of_piece = |piece: &Vec<u8>| rows_with(scorers, allowed, std::slice::from_ref(piece));
        let together = pieces.iter().map(of_piece).reduce(|mut together, rows| {
            together.intersect(&rows);
            together
        });
        held.unite(0, together.unwrap_or_default().words());
        match &mut all {
            Some(all) => all.intersect(&held),
            None => all = Some(held),
        }
    }
    all.unwrap_or_default()
}

/// The allowed rows that hold one of the terms.
fn rows_with(scorers: &[Scorer<'_>], allowed: &[BitMask], terms: &[Vec<u8>]) -> BitMask {
    let mut all = BitMask::default();
    for (scorer, allowed) in scorers.iter().zip(allowed) {
        let (mut results, limit) = (BitMask::default(), allowed.words().len() * 64);
        for number in terms.iter().filter_map(|term| scorer.contents.term(term)) {
            scorer.contents.runs(number).iter().for_each(|run| run.mark(&mut results, limit));
        }
        results.intersect(allowed);
        all.unite(0, results.words());
    }
    all
}

/// The best of some rows that hold a term.
fn best_among(
    scorers: &[Scorer<'_>],
    allowed: &[BitMask],
    terms: &[Vec<u8>],
    rows: &BitMask,
    wanted: Wanted<'_>,
) -> Vec<super::top_candidates::Candidate> {
    let within = |part: &BitMask| {
        let mut part = part.clone();
        part.intersect(rows);
        part
    };
    let allowed: Vec<BitMask> = allowed.iter().map(within).collect();
    let mut query = Query::new(scorers, &allowed, terms);
    let count = rows.count();
    if wanted.k > 0 && count * query.lists() * LOOK_UP < query.postings() {
        let mut slots = Vec::with_capacity(count);
        rows.clone().drain(|slot| slots.push(slot));
        return query.best_of(slots, wanted.k, wanted.ties);
    }
    query.best(wanted.k, wanted.ties)
}

#[cfg(test)]
mod tests {
    use super::super::index::TextIndex;
    use super::super::rank::{bm25_at, bm25_top_k};
    use super::super::statistics::Constants;
    use super::*;

    fn word(forms: &[&str], pieces: &[&str]) -> Needed {
        let owned = |terms: &[&str]| terms.iter().map(|&term| term.to_owned()).collect();
        Needed { forms: owned(forms), pieces: owned(pieces) }
    }

    #[test]
    fn rows_with_every_word_come_first_with_the_scores_of_any_word() {
        let (entries, grams) = (TextIndex::new(1).unwrap(), TextIndex::new(1).unwrap());
        // Every third row holds both words, the others one; of the last ones a gram stands for the second.
        let text = |i: usize| match i % 3 {
            0 => format!("red and {} fox", "much ".repeat(i % 7)),
            1 => "red red".to_owned(),
            _ => "fox".to_owned(),
        };
        let rows: Vec<[String; 1]> = (0..900).map(|i| [if i < 800 { text(i) } else { "red".to_owned() }]).collect();
        entries.append(&rows).unwrap();
        grams.append(&(0..900).map(|i| [if i < 850 { "" } else { "fo ox" }]).collect::<Vec<_>>()).unwrap();
        let (all, others) = (
            entries.statistics(&(0..900).collect::<Vec<_>>()).unwrap(),
            grams.statistics(&(850..900).collect::<Vec<_>>()).unwrap(),
        );
        let parts = [
            Part { index: &entries, statistics: &all, weights: &[1.0], constants: Constants::default() },
            Part { index: &grams, statistics: &others, weights: &[1.0], constants: Constants::default() },
        ];
        let (terms, needed) = (["red", "fox", "fo", "ox"], [word(&["red"], &[]), word(&["fox"], &["fo", "ox"])]);
        let mask: Vec<u8> = (0..900).map(|i| u8::from(i % 5 > 0)).collect();
        for mask in [None, Some(&mask[..])] {
            let every = bm25_top_k(&parts, &terms, Wanted { k: 900, mask, ties: None }).unwrap();
            let held = |slot: usize| (slot < 800 && slot.is_multiple_of(3)) || slot >= 850;
            let (first, rest): (Vec<usize>, Vec<usize>) = every.slots.iter().partition(|&&slot| held(slot));
            for k in [0, 1, 5, 40, first.len(), first.len() + 3, 900] {
                let (hits, whole) = bm25_top_k_first(&parts, &terms, &needed, Wanted { k, mask, ties: None }).unwrap();
                let wanted: Vec<usize> = first.iter().chain(&rest).copied().take(k).collect();
                assert_eq!((&hits.slots, hits.matches, whole), (&wanted, every.matches, first.len()));
                let slots: Vec<i64> = hits.slots.iter().map(|&slot| slot as i64).collect();
                assert_eq!(hits.scores, bm25_at(&parts, &terms, &slots).unwrap());
                let at: Vec<bool> = hits.slots.iter().map(|&slot| held(slot)).collect();
                assert_eq!(holds_all_at(&parts, &needed, &slots).unwrap(), at);
            }
        }
        assert_eq!(bm25_top_k_first(&parts, &terms, &[], Wanted::default()).unwrap().1, 0);
        assert!(holds_all_at(&parts, &needed, &[900]).is_err());
        assert!(bm25_top_k_first(&parts, &terms, &[word(&["a-b"], &[])], Wanted::default()).is_err());
    }
}
