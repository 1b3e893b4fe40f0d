//! A query whose words are beginnings, of which entries hold all, fewer, or any: how it is answered from memory.

use super::corpus::Corpus;
use super::recall::Matches;
use super::request::{Query, Request};
use super::selection::Selection;
use crate::error::Result;
use crate::fts::{self, Beginnings, Matched, Part, Step, TextRank, Wanted};

/// A cascade that is answered.
pub(super) struct Cascade<'a> {
    part: Part<'a>,
    beginnings: Beginnings,
    steps: &'a [Step],
    /// The step that has an answer.
    pub(super) answered: Option<usize>,
}

impl<'a> Cascade<'a> {
    /// Look for what the words begin; None for a query without steps, or that FTS5 answered.
    pub(super) fn begin(corpus: &Corpus<'a>, request: &Request<'a>, query: &Query<'a>) -> Result<Option<Self>> {
        let (Some(steps), Some(text), None) = (query.steps, corpus.text, query.found) else { return Ok(None) };
        if query.terms.is_empty() {
            return Ok(None);
        }
        let part = text.entries(request.weights, request.constants);
        let beginnings = fts::beginnings(part, query.terms)?;
        // A request for given slots names the step that answered.
        Ok(Some(Self { part, beginnings, steps, answered: (steps.len() == 1).then_some(0) }))
    }

    /// Find the best of the first step that has an answer.
    pub(super) fn matches(&mut self, corpus: &Corpus<'_>, request: &Request<'_>, query: &Query<'_>) -> Result<Matches> {
        let mask = request.selection.map(Selection::slots);
        let wanted = Wanted { k: request.look(query), mask, ties: Some(corpus.rows) };
        let (hits, answered) = fts::cascade_top_k(self.part, &self.beginnings, self.steps, wanted)?;
        self.answered = answered;
        let slots = hits.slots.into_iter().map(|slot| slot as i64).collect();
        Ok(Matches { slots, scores: hits.scores, matches: hits.matches, whole: 0 })
    }

    /// The scores of slots by the step that answered, NaN for those that it does not find.
    pub(super) fn bm25(&self, slots: &[i64]) -> Result<Vec<f64>> {
        match self.answered.and_then(|step| self.steps.get(step)) {
            Some(step) => fts::cascade_at(self.part, &self.beginnings, step, slots),
            None => Ok(vec![f64::NAN; slots.len()]),
        }
    }

    /// The place of a slot by the step that answered; the default without one.
    pub(super) fn rank_of(&self, wanted: Wanted<'_>, slot: Option<i64>) -> Result<TextRank> {
        match self.answered.and_then(|step| self.steps.get(step)) {
            Some(step) => fts::cascade_rank_of(self.part, &self.beginnings, step, wanted, slot),
            None => Ok(TextRank::default()),
        }
    }

    /// By word whether a slot holds what it begins; all count as words.
    pub(super) fn held(&self, slot: i64) -> Vec<(bool, bool)> {
        self.beginnings.held_at(slot).into_iter().map(|held| (held, held)).collect()
    }

    /// The share of all words that slots hold, and the information of these.
    pub(super) fn matched(&self, slots: &[i64]) -> Result<Vec<Matched>> {
        self.beginnings.matched_at(self.part, slots)
    }

    /// True if there is a word with which nothing begins.
    pub(super) fn lacks_any(&self) -> bool {
        self.beginnings.lacks_any()
    }
}
