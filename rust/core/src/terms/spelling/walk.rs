//! One query's walk over slots.

use std::ops::Range;

use super::contents::Contents;
use super::matches::Matches;
use super::names::find;
use super::query_profile::QueryProfile;
use super::statistics::Weights;
use crate::collections::for_each_number;
use crate::error::Result;
use crate::simd::fetch;

/// Maximum words whose matches are kept from block to block: most come again, for slots are of one search.
const MOST_WORDS: usize = if cfg!(test) { 60 } else { 1 << 14 };
/// Words remembered; of two that share a place the later one stays.
const REMEMBERED: usize = 1 << 11;
/// Slots looked at together: enough for many loads to be under way, few enough for their words to stay in the cache.
pub(super) const BLOCK: usize = 64;

/// Words loaded at once.
const AT_ONCE: usize = 64;

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
    /// The matches of the words, and by word where its own begin, and after the last one where they end.
    found: Vec<u32>,
    starts: Vec<u32>,
    /// By trigram of the query, and which are not 0.
    counts: Vec<u32>,
    seen: Vec<u64>,
    /// Those of a slot's words that have matches.
    matching: Vec<u32>,
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
            found: Vec::new(),
            starts: Vec::new(),
            counts: vec![0; profile.trigrams.len()],
            seen: vec![0; profile.trigrams.len().div_ceil(64)],
            matching: Vec::new(),
        }
    }

    /// Push the scores of a block of slots.
    pub(super) fn scores(&mut self, contents: &Contents, slots: &[i64], scores: &mut Vec<f64>) -> Result<()> {
        if self.words.len() > MOST_WORDS {
            self.words.clear();
            self.starts.clear();
            self.found.clear();
        }
        self.gather(contents, slots)?;
        let known = self.words.len();
        self.read();
        self.find(contents, known);
        let mut start = 0;
        for slot in 0..slots.len() {
            let end = self.ends[slot];
            self.count(start..end);
            start = end;
            scores.push(self.weights.score(taken(&mut self.seen, &mut self.counts), self.slots[slot].1));
        }
        Ok(())
    }

    /// Count the trigrams that a slot shares with the query.
    fn count(&mut self, places: Range<usize>) {
        // Few words have any. Which ones cannot be guessed, so they are set apart without a branch.
        self.matching.resize(places.len(), 0);
        let mut matching = 0;
        for &place in &self.places[places] {
            self.matching[matching] = place;
            matching += usize::from(self.starts[place as usize] != self.starts[place as usize + 1]);
        }
        for &place in &self.matching[..matching] {
            let run = self.starts[place as usize] as usize..self.starts[place as usize + 1] as usize;
            for &at in &self.found[run] {
                self.counts[at as usize] += 1;
                self.seen[at as usize / 64] |= 1 << (at % 64);
            }
        }
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

    /// Find the matches of the words; the first `known` have theirs.
    fn find(&mut self, contents: &Contents, known: usize) {
        // The place where the last one's matches end is where those of the next one begin.
        self.starts.truncate(known);
        let parts = contents.words();
        let ask = |words: &[u32]| words.iter().for_each(|&number| super::names::fetch(&parts, number));
        let mut chunks = self.words[known..].chunks(AT_ONCE).peekable();
        chunks.peek().into_iter().for_each(|first| ask(first));
        while let Some(words) = chunks.next() {
            // Memory brings the next words while these are compared.
            chunks.peek().into_iter().for_each(|next| ask(next));
            let mut records = [0; AT_ONCE];
            records.iter_mut().zip(words).for_each(|(record, &number)| *record = find(&parts, number).0);
            for (&record, &number) in records.iter().zip(words) {
                self.starts.push(self.found.len() as u32);
                self.matches.of(record, || find(&parts, number).1, |at| self.found.push(at));
            }
        }
        self.starts.push(self.found.len() as u32);
    }
}

/// Take the counts that are not 0, with their places, ascending.
fn taken<'c>(seen: &'c mut [u64], counts: &'c mut [u32]) -> impl Iterator<Item = (usize, u32)> + 'c {
    let mut word = 0;
    std::iter::from_fn(move || {
        while *seen.get(word)? == 0 {
            word += 1;
        }
        let at = 64 * word + seen[word].trailing_zeros() as usize;
        seen[word] &= seen[word] - 1;
        Some((at, std::mem::take(&mut counts[at])))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{SpellingIndex, SpellingStatistics};

    #[test]
    fn a_slot_scores_the_same_whichever_were_looked_at_before() {
        let index = SpellingIndex::new();
        let word = |i: usize| format!("{}{}", ["lamp", "lantern", "amber", "ember"][i % 4], i * 7 % 90);
        let texts: Vec<String> = (0..400).map(|i| (0..i % 9).map(|j| word(i * j + j) + " ").collect()).collect();
        index.append(&texts);
        let slots: Vec<i64> = (0..400).map(|i| i * 37 % 400).collect();
        let all = SpellingStatistics::default().moved(&index, &(0..400).collect::<Vec<_>>(), &[]).unwrap();
        let scores = |slots: &[i64]| index.bm25(&all, "lantern amber12", slots).unwrap();
        let alone: Vec<f64> = slots.iter().flat_map(|&slot| scores(&[slot])).collect();
        assert_eq!(scores(&slots), alone);
        assert!(alone.iter().filter(|&&score| score > 0.0).count() > 300);
    }
}
