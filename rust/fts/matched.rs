//! How much of a query a row holds, by the information of its terms.

use super::list::Scorer;
use super::rank::{Part, single_terms, with_scorers};
use super::tokens::index_terms;
use crate::error::{Error, Result};

/// A corpus of fewer rows is counted as one of so many: in three rows no word is rare.
const LEAST_ROWS: u64 = 1_000;
/// The place of the title among the columns of an entry.
pub(super) const TITLE: usize = 1;

/// What a row holds of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Matched {
    /// The information of the terms that the row holds, in nats: the sum of their `ln(1 + (n - df + 0.5) / (df + 0.5))`.
    pub information: f64,
    /// Its part of the information of all terms, 0 to 1; terms that no row holds have the most.
    pub share: f64,
    /// As `share`, of the terms that the title holds.
    pub title: f64,
}

/// One term of a query.
struct Term<'a> {
    idf: f64,
    /// By part its number, where it has one.
    numbers: Vec<(&'a Scorer<'a>, u32)>,
}

/// Say how much of a query's terms the rows of slots `(m,)` hold, and the information of all terms; a term counts once,
/// in whichever part it is.
///
/// # Errors
/// As [`super::bm25_at`].
pub fn matched_at<T: AsRef<str>>(parts: &[Part<'_>], terms: &[T], slots: &[i64]) -> Result<(Vec<Matched>, f64)> {
    let mut single = single_terms(terms)?;
    single.sort_unstable();
    single.dedup();
    with_scorers(parts, |scorers| {
        let terms: Vec<Term<'_>> = single.iter().map(|term| Term::new(term, scorers)).collect();
        let all: f64 = terms.iter().map(|term| term.idf).sum();
        let matched = |&slot: &i64| {
            for scorer in scorers {
                scorer.contents.check_slot(slot)?;
            }
            let (mut information, mut title) = (0.0, 0.0);
            for term in &terms {
                let (holds, in_title) = term.at(slot as usize);
                information += if holds { term.idf } else { 0.0 };
                title += if in_title { term.idf } else { 0.0 };
            }
            Ok(shares(information, title, all))
        };
        Ok((slots.iter().map(matched).collect::<Result<_>>()?, all))
    })
}

impl<'a> Term<'a> {
    fn new(term: &[u8], scorers: &'a [Scorer<'a>]) -> Self {
        let number = |scorer: &'a Scorer<'a>| scorer.contents.term(term).map(|number| (scorer, number));
        let numbers: Vec<(&Scorer<'a>, u32)> = scorers.iter().filter_map(number).collect();
        let counts = numbers.iter().map(|(scorer, number)| scorer.statistics.count(*number));
        let rows = scorers.iter().map(|scorer| scorer.statistics.rows()).max().unwrap_or(0);
        Self { idf: information_among(rows, counts.max().unwrap_or(0)), numbers }
    }

    /// Whether a row holds the term, and whether its title does.
    fn at(&self, slot: usize) -> (bool, bool) {
        let (mut holds, mut in_title) = (false, false);
        for &(scorer, number) in &self.numbers {
            if !scorer.statistics.slots().contains(slot) {
                continue;
            }
            let run = usize::from(slot >= scorer.contents.split());
            let Some(posting) = scorer.contents.runs(number)[run].find(slot) else { continue };
            holds = true;
            let (tuple, _) = scorer.contents.details.of(number, posting);
            let counts = scorer.contents.details.column_counts.get(tuple);
            in_title |= counts.len() > 1 && counts.get(TITLE).is_some_and(|&count| count > 0);
        }
        (holds, in_title)
    }
}

/// As [`matched_at`], from texts: the title of each and all it holds, given how many of so many rows hold each term. A term
/// may be a phrase. With `begun` the last word of a term stands for those that begin with it.
///
/// # Errors
/// [`crate::Error::Length`] unless there is one count a term.
pub fn matched_in<T: AsRef<str>>(
    terms: &[T],
    begun: bool,
    (rows, counts): (u64, &[u32]),
    texts: &[(T, T)],
) -> Result<(Vec<Matched>, f64)> {
    if counts.len() != terms.len() {
        return Err(Error::Length { what: "counts", got: counts.len(), wanted: terms.len() });
    }
    let mut asked: Vec<(Vec<Vec<u8>>, f64)> = terms
        .iter()
        .zip(counts)
        .map(|(term, &count)| (index_terms(term.as_ref()), information_among(rows, count)))
        .filter(|(term, _)| !term.is_empty())
        .collect();
    asked.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    asked.dedup_by(|a, b| a.0 == b.0);
    let all: f64 = asked.iter().map(|(_, idf)| idf).sum();
    let held = |text: &T| {
        let tokens = index_terms(text.as_ref());
        let same = |some: &[Vec<u8>], term: &[Vec<u8>]| match (some.split_last(), term.split_last()) {
            (Some((last, some)), Some((begin, term))) if begun => some == term && last.starts_with(begin),
            _ => some == term,
        };
        let holds = |term: &[Vec<u8>]| tokens.windows(term.len()).any(|some| same(some, term));
        asked.iter().filter(|(term, _)| holds(term)).map(|(_, idf)| idf).sum::<f64>()
    };
    let matched = |(title, whole): &(T, T)| shares(held(whole), held(title), all);
    Ok((texts.iter().map(matched).collect(), all))
}

/// What a row holds, as parts of all.
pub(super) fn shares(information: f64, title: f64, all: f64) -> Matched {
    let share = |part: f64| if all > 0.0 { part / all } else { 0.0 };
    Matched { information, share: share(information), title: share(title) }
}

/// The information of a term that so many rows hold; of few rows as if they were some more.
pub(super) fn information_among(rows: u64, count: u32) -> f64 {
    information(rows.max(LEAST_ROWS), count)
}

fn information(rows: u64, count: u32) -> f64 {
    let others = rows.saturating_sub(u64::from(count)) as f64;
    (1.0 + (others + 0.5) / (f64::from(count) + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::super::index::TextIndex;
    use super::super::statistics::Constants;
    use super::*;

    #[test]
    fn a_row_holds_a_share_of_the_information() {
        let (entries, grams) = (TextIndex::new(5).unwrap(), TextIndex::new(1).unwrap());
        entries
            .append(&[["a", "red foxes", "", "", ""], ["b", "blue", "a fox", "", ""], ["c", "", "", "", ""]])
            .unwrap();
        grams.append(&[[""], [""], ["blue"]]).unwrap();
        let (all, other) = (entries.statistics(&[0, 1, 2]).unwrap(), grams.statistics(&[2]).unwrap());
        let parts = [
            Part { index: &entries, statistics: &all, weights: &[1.0; 5], constants: Constants::default() },
            Part { index: &grams, statistics: &other, weights: &[1.0], constants: Constants::default() },
        ];
        let (found, all) = matched_at(&parts, &["fox", "foxes", "blue", "yak"], &[0, 1, 2]).unwrap();
        let (fox, blue, yak) = (information(1_000, 2), information(1_000, 1), information(1_000, 0));
        let sum = blue + fox + yak;
        assert_eq!(all, sum);
        assert_eq!(found[0], Matched { information: fox, share: fox / sum, title: fox / sum });
        // The terms are summed in the order of their names.
        assert_eq!(found[1], Matched { information: blue + fox, share: (blue + fox) / sum, title: blue / sum });
        assert_eq!(found[2], Matched { information: blue, share: blue / sum, title: 0.0 });
        assert_eq!(matched_at::<&str>(&parts, &[], &[0]).unwrap(), (vec![Matched::default()], 0.0));
        let texts = [("red foxes", "a red foxes"), ("blue", "b blue a fox"), ("", "c blue")];
        let asked = ["fox", "foxes", "blue", "yak"];
        let (twin, total) = matched_in(&asked, false, (3, &[2, 2, 1, 0]), &texts).unwrap();
        assert_eq!((twin[0], twin[1].title, total), (found[0], found[1].title, all));
        assert!((twin[1].information - found[1].information).abs() < 1e-12);
        assert!(matched_in(&["red fox", "a"], false, (9, &[1, 1]), &texts).unwrap().0[0].share == 1.0);
        for (begun, wanted) in [("re", [1.0, 0.0, 0.0]), ("red fo", [1.0, 0.0, 0.0]), ("ed", [0.0; 3])] {
            let (found, _) = matched_in(&[begun, begun], true, (9, &[1, 1]), &texts).unwrap();
            assert_eq!(found.iter().map(|found| found.share).collect::<Vec<_>>(), wanted, "{begun}");
        }
        assert!(matched_in(&asked, false, (3, &[1]), &texts).is_err());
        assert!(matched_at(&parts, &["fox"], &[3]).is_err() && matched_at(&parts, &["a-b"], &[0]).is_err());
    }
}
