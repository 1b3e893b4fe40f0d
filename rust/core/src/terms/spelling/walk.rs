//! One query's walk over slots.

use super::contents::Contents;
use super::matches::{AT_ONCE, Matches};
use super::names::find;
use super::query_profile::QueryProfile;
use super::shared::Masks;
use super::statistics::Weights;
use crate::collections::for_each_number;
use crate::error::Result;
use crate::simd::fetch;

/// Maximum words whose matches are kept from block to block: most come again, for slots are of one search.
const MOST_WORDS: usize = if cfg!(test) { 60 } else { 1 << 14 };
/// Words remembered; of two that share a place the later one stays.
const REMEMBERED: usize = 1 << 12;
/// Slots looked at together: enough for many loads to be under way, few enough for their words to stay in the cache.
pub(super) const BLOCK: usize = 64;

/// The scratch of a query's walk, reused from block to block.
///
/// Most loads of a block miss the caches. So each step is a loop of its own over the whole block, short enough for the
/// processor to have many loads in flight.
pub(super) struct Walk<'a> {
    weights: Weights,
    matches: Matches<'a>,
    /// The slots' numbers as they are kept, and by slot their end and its number of trigrams.
    units: Vec<u16>,
    slots: Vec<(usize, u64)>,
    /// The slots' words, as places among `words`, and by slot their end.
    places: Vec<u32>,
    ends: Vec<usize>,
    /// The numbers of the words of this block and of those before, most of them once.
    words: Vec<u32>,
    /// By the lowest bits of a number, where it may be among `words`.
    remembered: Box<[u32; REMEMBERED]>,
    /// The trigrams of the words.
    masks: Masks,
}

impl<'a> Walk<'a> {
    pub(super) fn new(profile: &'a QueryProfile, weights: Weights) -> Self {
        Self {
            weights,
            matches: Matches::new(profile),
            units: Vec::new(),
            slots: Vec::new(),
            places: Vec::new(),
            ends: Vec::new(),
            words: Vec::new(),
            remembered: Box::new([0; REMEMBERED]),
            masks: Masks::new(profile.trigrams.len()),
        }
    }

    /// Push the scores of a block of slots.
    pub(super) fn scores(&mut self, contents: &Contents, slots: &[i64], scores: &mut Vec<f64>) -> Result<()> {
        if self.words.len() > MOST_WORDS {
            self.words.clear();
            self.masks.clear();
        }
        self.gather(contents, slots)?;
        let known = self.words.len();
        self.read();
        self.find(contents, known);
        let mut start = 0;
        for slot in 0..slots.len() {
            let end = self.ends[slot];
            scores.push(self.weights.score(self.masks.counts(&self.places[start..end]), self.slots[slot].1));
            start = end;
        }
        Ok(())
    }

    /// Copy what is kept of the slots.
    fn gather(&mut self, contents: &Contents, slots: &[i64]) -> Result<()> {
        // Copying branches on the length, so first all lengths have to be there.
        let kept = slots.iter().map(|&slot| contents.slot(slot)).collect::<Result<Vec<_>>>()?;
        self.units.clear();
        self.slots.clear();
        kept.iter().for_each(|(units, _)| fetch(units));
        for (units, trigrams) in kept {
            self.units.extend(units);
            self.slots.push((self.units.len(), trigrams));
        }
        Ok(())
    }

    /// Read the numbers of the slots' words.
    fn read(&mut self) {
        let Self { places, words, remembered, .. } = self;
        // Room for all of them, so that nothing has to grow; and no branch on whether a word is a new one, for which
        // the chances are even.
        places.resize(self.units.len(), 0);
        let (mut placed, mut new, mut start) = (0, words.len() as u32, 0);
        words.resize(words.len() + self.units.len() + 1, 0);
        self.ends.clear();
        for &(end, _) in &self.slots {
            for_each_number(&self.units[start..end], |number| {
                let place = &mut remembered[number as usize % REMEMBERED];
                words[new as usize] = number;
                let is_known = *place < new && words[*place as usize] == number;
                *place = if is_known { *place } else { new };
                places[placed] = *place;
                new += u32::from(!is_known);
                placed += 1;
            });
            self.ends.push(placed);
            start = end;
        }
        words.truncate(new as usize);
    }

    /// Find the trigrams of the words; the first `known` have theirs.
    fn find(&mut self, contents: &Contents, known: usize) {
        self.masks.grow(self.words.len());
        let (parts, mut first) = (contents.words(), known);
        let ask = |words: &[u32]| words.iter().for_each(|&number| super::names::fetch(&parts, number));
        let mut chunks = self.words[known..].chunks(AT_ONCE).peekable();
        chunks.peek().into_iter().for_each(|first| ask(first));
        while let Some(words) = chunks.next() {
            // Memory brings the next words while these are compared.
            chunks.peek().into_iter().for_each(|next| ask(next));
            let (mut records, mut passed) = ([0; AT_ONCE], [0; AT_ONCE]);
            records.iter_mut().zip(words).for_each(|(record, &number)| *record = find(&parts, number).0);
            self.matches.passed(&records, &mut passed);
            // Few words have any. Which ones cannot be guessed, so they are set apart without a branch.
            let (mut matching, mut count) = ([0; AT_ONCE], 0);
            for (at, (&record, &passed)) in records.iter().zip(&passed).enumerate().take(words.len()) {
                matching[count] = at;
                count += usize::from(self.matches.may_have_any(record, passed));
            }
            for &at in &matching[..count] {
                let long = || find(&parts, words[at]).1;
                self.matches.of(records[at], passed[at], long, |trigram| self.masks.mark(first + at, trigram));
            }
            first += words.len();
        }
    }
}
