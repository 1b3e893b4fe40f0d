//! The share of a query that a row holds, by the information of its terms.

use super::list::{Scorer, check_slot};
use super::postings::Run;
use super::rank::{Part, single_terms, with_scorers};
use super::statistics::idf;
use super::tokens::{index_terms, tokens as tokens_of};
use crate::error::{Error, Result};
use crate::terms::is_stop_word;

/// Least rows that a corpus counts as: in three rows no word is rare.
const LEAST_ROWS: u64 = 1_000;
/// The place of the title among the columns of an entry.
pub(super) const TITLE: usize = 1;

/// The match of a row with a query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Matched {
    /// The information of the terms that the row holds, in nats: the sum of their `ln(1 + (n - df + 0.5) / (df + 0.5))`.
    pub information: f64,
    /// Its part of the information of all terms, 0 to 1; terms that no row holds have the most.
    pub share: f64,
    /// As `share`, of the words that the title holds, among the words of the query: grams have no columns.
    pub title: f64,
    /// The part of the title's tokens that are terms of the query, 0 to 1.
    pub covered: f64,
    /// The sum of the BM25 IDFs of the terms that the row holds: the upper bound of its BM25 in units of the most of a
    /// term.
    pub weight: f64,
}

impl Matched {
    /// The likeness of the title to the query, 0 to 1: its share of the query times the query's share of it, squared,
    /// as a title of a few of many words is weak evidence; times the row's share, as a name's words are not the name.
    pub fn titled(&self) -> f64 {
        (self.title * self.covered).powi(2) * self.share
    }

    /// The share, times how near BM25 is to the most that the row's terms can give: how much of the query the row is
    /// about. `score` is BM25 divided by the most of a term.
    pub fn reached(&self, score: f64) -> f64 {
        if self.weight > 0.0 { self.share * (score / self.weight).min(1.0) } else { 0.0 }
    }
}

/// One term of a query.
struct Term<'a> {
    idf: f64,
    /// As BM25 weighs it.
    weight: f64,
    role: Role,
    /// By part its number and its postings, where it has one.
    lists: Vec<(&'a Scorer<'a>, u32, [Run<'a>; 2])>,
}

/// The running match of a row with a query.
#[derive(Clone, Copy, Default)]
struct Held {
    information: f64,
    weight: f64,
    title: f64,
    /// Tokens of the title.
    tokens: u32,
}

/// The role of a term in a query; of equal terms the first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Word,
    /// A stop word, inside a name or because the query has no other words. It covers nothing of a title.
    StopWord,
    Gram,
}

impl Role {
    fn of(term: &str, is_word: bool) -> Self {
        match (is_word, is_stop_word(term)) {
            (true, false) => Self::Word,
            (true, true) => Self::StopWord,
            (false, _) => Self::Gram,
        }
    }
}

/// The number of tokens in a title: stop words count only if there are no others, as queries leave them out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TitleTokens {
    telling: u32,
    stop_words: u32,
}

impl TitleTokens {
    /// Count a folded word, if it is one of the title.
    pub(super) fn count(&mut self, of_title: bool, word: &[u8]) {
        if of_title {
            let is_stop = str::from_utf8(word).is_ok_and(is_stop_word);
            *(if is_stop { &mut self.stop_words } else { &mut self.telling }) += 1;
        }
    }

    pub(super) fn number(self) -> u32 {
        if self.telling > 0 { self.telling } else { self.stop_words }
    }
}

/// The information of all terms of a query, and of those that are words.
struct Information {
    all: f64,
    words: f64,
}

impl Information {
    fn of(terms: impl Iterator<Item = (f64, Role)>) -> Self {
        let mut sum = Self { all: 0.0, words: 0.0 };
        for (idf, role) in terms {
            sum.all += idf;
            sum.words += if role == Role::Gram { 0.0 } else { idf };
        }
        sum
    }

    /// The match of a row, from the tokens of its title that the query has and the number of all.
    fn shares(&self, information: f64, title: f64, (held, tokens): (u32, u32)) -> Matched {
        let covered = f64::from(held.min(tokens)) / f64::from(tokens.max(1));
        Matched { covered, ..shares(information, title, (self.all, self.words)) }
    }
}

/// Return the share of a query's terms that the rows of slots `(m,)` hold; a term counts once, in whichever part it is.
/// The first `words` terms are words, the others grams.
///
/// # Errors
/// As [`super::bm25_at`].
pub fn matched_at<T: AsRef<str>>(parts: &[Part<'_>], terms: &[T], words: usize, slots: &[i64]) -> Result<Vec<Matched>> {
    let mut single: Vec<(Vec<u8>, Role)> = Vec::with_capacity(terms.len());
    for (at, term) in terms.iter().enumerate() {
        let role = Role::of(term.as_ref(), at < words);
        single.extend(single_terms(&[term])?.into_iter().map(|term| (term, role)));
    }
    // A term that is both counts as a word.
    single.sort_unstable();
    single.dedup_by(|a, b| a.0 == b.0);
    with_scorers(parts, |scorers| {
        let terms: Vec<Term<'_>> = single.iter().map(|(term, role)| Term::new(term, *role, scorers)).collect();
        let all = Information::of(terms.iter().map(|term| (term.idf, term.role)));
        let slots: Vec<usize> = slots.iter().map(|&slot| check_slot(scorers, slot)).collect::<Result<_>>()?;
        // Term by term, so that a list stays in the cache and many look-ups in it are under way.
        let mut held = vec![Held::default(); slots.len()];
        terms.iter().for_each(|term| slots.iter().zip(&mut held).for_each(|(&slot, held)| term.add(slot, held)));
        let matched = |(&slot, held): (&usize, &Held)| {
            let of_title = scorers.first().map_or(0, |scorer| scorer.contents.details.title(slot));
            Matched { weight: held.weight, ..all.shares(held.information, held.title, (held.tokens, of_title)) }
        };
        Ok(slots.iter().zip(&held).map(matched).collect())
    })
}

impl<'a> Term<'a> {
    fn new(term: &[u8], role: Role, scorers: &'a [Scorer<'a>]) -> Self {
        let list = |scorer: &'a Scorer<'a>| {
            scorer.contents.term(term).map(|number| (scorer, number, scorer.contents.runs(number)))
        };
        let lists: Vec<_> = scorers.iter().filter_map(list).collect();
        let rows = scorers.iter().map(|scorer| scorer.statistics.rows()).max().unwrap_or(0);
        let counts = lists.iter().map(|(scorer, number, _)| scorer.statistics.count(*number));
        let all = counts.fold(0, u32::saturating_add);
        Self { idf: information_among(rows, all), weight: idf(rows, all), role, lists }
    }

    /// Add what a row holds of the term.
    fn add(&self, slot: usize, held: &mut Held) {
        let (mut holds, mut in_title) = (false, 0_u32);
        for (scorer, number, runs) in &self.lists {
            let run = usize::from(slot >= scorer.contents.split());
            let counts = scorer.statistics.slots().contains(slot);
            let Some(posting) = (if counts { runs[run].find(slot) } else { None }) else { continue };
            holds = true;
            let details = &scorer.contents.details;
            if self.role != Role::Gram && details.column_counts.columns() > 1 {
                let counts = details.column_counts.get(details.of(*number, posting).0);
                in_title = in_title.saturating_add(counts.get(TITLE).copied().unwrap_or(0));
            }
        }
        held.information += if holds { self.idf } else { 0.0 };
        held.weight += if holds { self.weight } else { 0.0 };
        if in_title > 0 {
            held.title += self.idf;
            held.tokens += if self.role == Role::Word { in_title } else { 0 };
        }
    }
}

/// As [`matched_at`], from texts: the title and the whole of each, with the number of rows, the number that hold each
/// term, and the number of leading terms that are words. A term may be a phrase. With `begun` the last word of a term
/// stands for those that begin with it.
///
/// # Errors
/// [`crate::Error::Length`] unless there is one count a term.
pub fn matched_in<T: AsRef<str>>(
    terms: &[T],
    (words, begun): (usize, bool),
    (rows, counts): (u64, &[u32]),
    texts: &[(T, T)],
) -> Result<Vec<Matched>> {
    if counts.len() != terms.len() {
        return Err(Error::Length { what: "counts", got: counts.len(), wanted: terms.len() });
    }
    let mut queries: Vec<(Vec<Vec<u8>>, f64, Role, f64)> = terms
        .iter()
        .zip(counts)
        .enumerate()
        .map(|(at, (term, &count))| {
            let role = Role::of(term.as_ref(), at < words);
            (index_terms(term.as_ref()), information_among(rows, count), role, idf(rows, count))
        })
        .filter(|(term, ..)| !term.is_empty())
        .collect();
    queries.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.2.cmp(&b.2)));
    queries.dedup_by(|a, b| a.0 == b.0);
    let all = Information::of(queries.iter().map(|&(_, idf, role, _)| (idf, role)));
    // The information of the terms that a text holds, of the words among them, and its tokens: those of words, and all.
    let held = |text: &T| {
        let mut number = TitleTokens::default();
        let results = tokens_of(text.as_ref()).into_iter();
        let tokens: Vec<Vec<u8>> =
            results.inspect(|token| number.count(true, &token.word)).map(|token| token.term).collect();
        let same = |some: &[Vec<u8>], term: &[Vec<u8>]| match (some.split_last(), term.split_last()) {
            (Some((last, some)), Some((begin, term))) if begun => some == term && last.starts_with(begin),
            _ => some == term,
        };
        let mut covered = vec![false; tokens.len()];
        let (mut information, mut of_words, mut weight) = (0.0, 0.0, 0.0);
        for (term, idf, role, bm25) in &queries {
            let mut any = false;
            for (at, some) in tokens.windows(term.len()).enumerate().filter(|(_, some)| same(some, term)) {
                any = true;
                // A beginning of words covers no word.
                covered[at..at + some.len()].iter_mut().for_each(|covered| *covered |= *role == Role::Word && !begun);
            }
            information += if any { *idf } else { 0.0 };
            weight += if any { *bm25 } else { 0.0 };
            of_words += if any && *role != Role::Gram { *idf } else { 0.0 };
        }
        let covered = covered.iter().filter(|&&covered| covered).count() as u32;
        (information, of_words, (covered, number.number()), weight)
    };
    let matched = |(title, whole): &(T, T)| {
        let (_, of_title, tokens, _) = held(title);
        let (information, _, _, weight) = held(whole);
        Matched { weight, ..all.shares(information, of_title, tokens) }
    };
    Ok(texts.iter().map(matched).collect())
}

/// The match of a row, as shares of the information of all terms and of all words.
pub(super) fn shares(information: f64, title: f64, (all, words): (f64, f64)) -> Matched {
    let share = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
    Matched { information, share: share(information, all), title: share(title, words), ..Matched::default() }
}

/// The information of a term that `count` of `rows` rows hold; a small corpus counts as `LEAST_ROWS`.
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
        let results = matched_at(&parts, &["fox", "foxes", "blue", "yak"], 4, &[0, 1, 2]).unwrap();
        // Blue is a word of one row and a gram of another.
        let (fox, blue, yak) = (information(1_000, 2), information(1_000, 2), information(1_000, 0));
        let sum = blue + fox + yak;
        let weight = idf(3, 2);
        assert_eq!(results[0], Matched { information: fox, share: fox / sum, title: fox / sum, covered: 0.5, weight });
        // The terms are summed in the order of their names.
        let (both, title) = (blue + fox, blue / sum);
        let second = Matched { information: both, share: both / sum, title, covered: 1.0, weight: 2.0 * weight };
        assert_eq!(results[1], second);
        assert_eq!(results[2], Matched { information: blue, share: blue / sum, title: 0.0, covered: 0.0, weight });
        assert_eq!(matched_at::<&str>(&parts, &[], 0, &[0]).unwrap(), vec![Matched::default()]);
        let texts = [("red foxes", "a red foxes"), ("blue", "b blue a fox"), ("", "c blue")];
        let queries = ["fox", "foxes", "blue", "yak"];
        let twin = matched_in(&queries, (4, false), (3, &[2, 2, 2, 0]), &texts).unwrap();
        assert_eq!((twin[0], twin[1].title), (results[0], results[1].title));
        assert!((twin[1].information - results[1].information).abs() < 1e-12);
        assert!(matched_in(&["red fox", "a"], (2, false), (9, &[1, 1]), &texts).unwrap()[0].share == 1.0);
        for (begun, wanted) in [("re", [1.0, 0.0, 0.0]), ("red fo", [1.0, 0.0, 0.0]), ("ed", [0.0; 3])] {
            let results = matched_in(&[begun, begun], (2, true), (9, &[1, 1]), &texts).unwrap();
            assert_eq!(results.iter().map(|results| results.share).collect::<Vec<_>>(), wanted, "{begun}");
        }
        assert!(
            results[0].reached(weight) == results[0].share
                && results[0].reached(0.5 * weight) == 0.5 * results[0].share
        );
        assert_eq!((results[0].reached(9.0), Matched::default().reached(1.0)), (results[0].share, 0.0));
        assert!(matched_in(&queries, (4, false), (3, &[1]), &texts).is_err());
        assert!(matched_at(&parts, &["fox"], 1, &[3]).is_err() && matched_at(&parts, &["a-b"], 1, &[0]).is_err());
    }
}
