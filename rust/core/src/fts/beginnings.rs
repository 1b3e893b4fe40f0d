//! Words of a query as beginnings: each stands for every term that begins with its stem, as `"word" *` does in FTS5.

use super::list::Scorer;
use super::matched::{Matched, TITLE, information_among, shares};
use super::postings::Posting;
use super::rank::{Part, with_scorers};
use super::statistics::idf;
use super::tokens::index_terms;
use crate::collections::BitMask;
use crate::error::{Error, Result};

/// The terms that begin with the words of a query, in one index and at one moment.
#[derive(Clone, Debug)]
pub struct Beginnings {
    /// In the order of the query's words.
    pub(super) words: Vec<Beginning>,
}

/// One word.
#[derive(Clone, Debug, Default)]
pub(super) struct Beginning {
    stem: Vec<u8>,
    /// The numbers of the terms that begin with it and that rows hold.
    pub(super) terms: Vec<u32>,
    /// The rows that hold one of them in a column that counts.
    pub(super) rows: BitMask,
    /// The number of these.
    pub(super) count: u32,
}

/// Look for the terms that begin with words, in columns whose weight is above 0.
///
/// # Errors
/// [`Error::Phrase`] for a word that FTS5 would take for several; [`Error::Missing`] where statistics were given, and not
/// of this beginning; those of the part, as [`super::bm25_top_k`].
pub fn beginnings<T: AsRef<str>>(part: Part<'_>, words: &[T]) -> Result<Beginnings> {
    let stem = |word: &T| match &mut index_terms(word.as_ref())[..] {
        [] => Ok(Vec::new()),
        [term] => Ok(std::mem::take(term)),
        _ => Err(Error::Phrase { term: word.as_ref().to_owned() }),
    };
    let stems = words.iter().map(stem).collect::<Result<Vec<_>>>()?;
    with_scorers(&[part], |scorers| {
        let [scorer] = scorers else { return Ok(Beginnings { words: Vec::new() }) };
        // Statistics from outside do not list all terms, so the rows are read.
        let held = |number: &u32| scorer.statistics.is_given() || scorer.statistics.count(*number) > 0;
        let word = |stem: Vec<u8>| {
            let mut terms = Vec::new();
            if !stem.is_empty() {
                part.index.order.beginning(scorer.contents.names(), &stem, |number| terms.push(number));
            }
            terms.retain(held);
            Beginning::new(stem, terms, scorer)
        };
        Ok(Beginnings { words: stems.into_iter().map(word).collect::<Result<_>>()? })
    })
}

impl Beginnings {
    /// True if there is a word with which nothing begins.
    pub fn lacks_any(&self) -> bool {
        self.words.iter().any(|word| word.count == 0)
    }

    /// By word how many rows hold what it begins.
    pub fn counts(&self) -> Vec<usize> {
        self.words.iter().map(|word| word.count as usize).collect()
    }

    /// By word whether a row holds what it begins.
    pub fn held_at(&self, slot: i64) -> Vec<bool> {
        let holds = |word: &Beginning| usize::try_from(slot).is_ok_and(|slot| word.rows.contains(slot));
        self.words.iter().map(holds).collect()
    }

    /// Say how much of the words the rows of slots `(m,)` hold, as [`super::matched_at`]; a word counts once.
    ///
    /// # Errors
    /// As [`super::bm25_at`].
    pub fn matched_at(&self, part: Part<'_>, slots: &[i64]) -> Result<Vec<Matched>> {
        let mut words: Vec<&Beginning> = self.words.iter().filter(|word| !word.stem.is_empty()).collect();
        words.sort_unstable_by(|a, b| a.stem.cmp(&b.stem));
        words.dedup_by(|a, b| a.stem == b.stem);
        with_scorers(&[part], |scorers| {
            let Some(scorer) = scorers.first() else { return Ok(Vec::new()) };
            let rows = scorer.statistics.rows();
            let outcome = |word: &&Beginning| (information_among(rows, word.count), idf(rows, word.count));
            let outcome: Vec<(f64, f64)> = words.iter().map(outcome).collect();
            let all: f64 = outcome.iter().map(|outcome| outcome.0).sum();
            let matched = |&slot: &i64| {
                let slot = scorer.contents.check_slot(slot)?;
                let (mut held, mut title, mut weight) = (0.0, 0.0, 0.0);
                for (word, (idf, bm25)) in words.iter().zip(&outcome).filter(|(word, _)| word.rows.contains(slot)) {
                    held += idf;
                    weight += bm25;
                    title += if word.in_title(scorer, slot) { *idf } else { 0.0 };
                }
                Ok(Matched { weight, ..shares(held, title, (all, all)) })
            };
            slots.iter().map(matched).collect()
        })
    }
}

impl Beginning {
    fn new(stem: Vec<u8>, terms: Vec<u32>, scorer: &Scorer<'_>) -> Result<Self> {
        let (slots, mut rows) = (scorer.statistics.slots(), BitMask::default());
        let limit = slots.words().len() * 64;
        let every = scorer.counts_everything();
        for &term in &terms {
            for run in scorer.contents.runs(term) {
                if every {
                    run.mark(&mut rows, limit);
                    continue;
                }
                for &posting in run.postings {
                    let slot = posting.slot as usize;
                    if slot < limit && scorer.occurs(term, posting) {
                        rows.insert(slot);
                    }
                }
            }
        }
        rows.intersect(slots);
        let count = match (scorer.statistics.begun(&stem)?, &terms[..]) {
            (Some(input), _) => input,
            (None, &[one]) if every => scorer.statistics.count(one),
            (None, _) => rows.count() as u32,
        };
        Ok(Self { stem, terms, rows, count })
    }

    /// The number of postings of its terms.
    pub(super) fn postings(&self, scorer: &Scorer<'_>) -> usize {
        self.terms.iter().flat_map(|&term| scorer.contents.runs(term)).map(|run| run.postings.len()).sum()
    }

    /// The score that the word adds to a row; 0 if the row holds none of its terms.
    pub(super) fn score_at(&self, scorer: &Scorer<'_>, slot: usize) -> f64 {
        if !self.rows.contains(slot) {
            return 0.0;
        }
        let results: Vec<(u32, Posting)> =
            self.terms.iter().filter_map(|&term| Some((term, posting_at(scorer, term, slot)?))).collect();
        scorer.score_together(scorer.statistics.idf(self.count), &results)
    }

    /// Pass on what the word adds to the scores of rows, each row once.
    pub(super) fn scores(&self, scorer: &Scorer<'_>, rows: &BitMask, mut each: impl FnMut(usize, f64)) {
        let idf = scorer.statistics.idf(self.count);
        let inside = |posting: &Posting| rows.contains(posting.slot as usize);
        if let [term] = self.terms[..] {
            for run in scorer.contents.runs(term) {
                for &posting in run.postings.iter().filter(|&posting| inside(posting)) {
                    each(posting.slot as usize, scorer.score(idf, term, posting));
                }
            }
            return;
        }
        let mut results: Vec<(u32, Posting)> = Vec::new();
        for &term in &self.terms {
            for run in scorer.contents.runs(term) {
                results.extend(run.postings.iter().filter(|&posting| inside(posting)).map(|&posting| (term, posting)));
            }
        }
        results.sort_unstable_by_key(|(_, posting)| posting.slot);
        for of_row in results.chunk_by(|a, b| a.1.slot == b.1.slot) {
            each(of_row[0].1.slot as usize, scorer.score_together(idf, of_row));
        }
    }

    fn in_title(&self, scorer: &Scorer<'_>, slot: usize) -> bool {
        self.terms.iter().any(|&term| {
            let Some(posting) = posting_at(scorer, term, slot) else { return false };
            let counts = scorer.contents.details.column_counts.get(scorer.contents.details.of(term, posting).0);
            counts.len() > 1 && counts.get(TITLE).is_some_and(|&count| count > 0)
        })
    }
}

fn posting_at(scorer: &Scorer<'_>, term: u32, slot: usize) -> Option<Posting> {
    scorer.contents.runs(term)[usize::from(slot >= scorer.contents.split())].find(slot)
}
