//! A cascade over blocks: words by their beginnings, all of them, else fewer, else any, as [`crate::fts::cascade_top_k`].
//!
//! A word stands for every term that begins as it does; the occurrences of these count together.

use std::collections::BTreeMap;

use super::changes::Changes;
use super::rank::{Best, Lengths, Ranked};
use super::{Block, Blocks, COLUMNS, MEMORY, REMOVED, SPAN, slot_of, united};
use crate::collections::TopKHeap;
use crate::error::{Error, Result};
use crate::fts::{Constants, Step, weighted};

/// A word: the terms from `low` on, before `high`, and their blocks as the store has them.
#[derive(Clone, Debug)]
pub struct Beginning<'a> {
    /// The first term that begins with the word.
    pub low: &'a str,
    /// The exclusive upper bound of these terms; not above `low` for a word without any.
    pub high: &'a str,
    /// Terms with the bytes of their blocks.
    pub terms: Vec<(&'a str, &'a [u8])>,
}

/// Which rows count: the weights of the columns, and whether entries and memories do.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// The weights of the columns; a row holds a word in those of a weight above 0.
    pub weights: [f64; COLUMNS],
    /// True if entries that are no memories count.
    pub entries: bool,
    /// True if memories count.
    pub memories: bool,
}

/// The request of a cascade.
#[derive(Clone, Debug)]
pub struct Cascade<'a> {
    /// By word its inverse document frequency.
    pub idf: &'a [f64],
    /// The steps, in their order.
    pub steps: &'a [Step],
    /// The tokens of an average row.
    pub average: f64,
    /// k1 and b.
    pub constants: Constants,
    /// Rows that do not count, ascending.
    pub outside: &'a [i64],
    /// The number of rows wanted.
    pub most: usize,
}

/// Return by word the number of rows that hold a term of it.
///
/// # Errors
/// [`Error::Damaged`] for bytes that are no blocks or changes.
pub fn count_begun(words: &[Beginning<'_>], changes: &[&[u8]], counted: Counted) -> Result<Vec<usize>> {
    let mut counts = vec![0; words.len()];
    each_span(words, changes, counted, |rows| {
        for (count, frequencies) in counts.iter_mut().zip(rows.frequencies) {
            *count += rows.held.iter().filter(|&&slot| frequencies[slot] > 0.0).count();
        }
    })?;
    Ok(counts)
}

/// Return the best rows of the first step that any row takes, and which step it is.
///
/// # Errors
/// As [`count_begun`]; [`Error::OutOfRange`] for a step with the number of no word, [`Error::Length`] of `idf`.
pub fn rank_begun(
    words: &[Beginning<'_>],
    changes: &[&[u8]],
    counted: Counted,
    cascade: &Cascade<'_>,
) -> Result<(Ranked, Option<usize>)> {
    if cascade.idf.len() != words.len() {
        return Err(Error::Length { what: "idf", got: cascade.idf.len(), wanted: words.len() });
    }
    if let Some(&word) = cascade.steps.iter().flat_map(|step| &step.words).find(|&&word| word >= words.len()) {
        return Err(Error::OutOfRange { what: "word", index: word as i64, len: words.len() });
    }
    let (mut answered, mut matches, mut best) = (cascade.steps.len(), 0, TopKHeap::new(cascade.most));
    let mut lengths = Lengths::new(cascade.constants, cascade.average);
    each_span(words, changes, counted, |rows| {
        for &slot in rows.held {
            let row = rows.numbers[slot];
            let holds = |&word: &usize| rows.frequencies[word][slot] > 0.0;
            // No later step answers once an earlier one does.
            let takes = |step: &Step| {
                if step.every { step.words.iter().all(holds) } else { step.words.iter().any(holds) }
            };
            let steps = cascade.steps.iter().take(answered + 1);
            let Some(step) = steps.into_iter().position(|step| !step.words.is_empty() && takes(step)) else { continue };
            if cascade.outside.binary_search(&row).is_ok() {
                continue;
            }
            if step < answered {
                (answered, matches, best) = (step, 0, TopKHeap::new(cascade.most));
            }
            matches += 1;
            let length = lengths.of(rows.tokens[slot]);
            let score_of = |&word: &usize| {
                let frequency = rows.frequencies[word][slot];
                cascade.idf[word] * ((frequency * cascade.constants.most()) / (frequency + length))
            };
            let held = cascade.steps[step].words.iter().filter(|word| holds(word));
            best.push(Best { whole: false, score: held.map(score_of).sum(), row });
        }
    })?;
    let step = (answered < cascade.steps.len()).then_some(answered);
    Ok((Ranked { best: best.into_sorted(), matches, whole: 0 }, step))
}

/// The rows of a span that hold any word.
struct Rows<'a> {
    /// Their positions, ascending.
    held: &'a [usize],
    /// By word and position how often it is there, by the weights of the columns.
    frequencies: &'a [Vec<f64>],
    /// By position the row, and its tokens.
    numbers: &'a [i64],
    tokens: &'a [u32],
}

/// Look at the rows of one span after the other.
fn each_span(
    words: &[Beginning<'_>],
    changes: &[&[u8]],
    counted: Counted,
    mut look: impl FnMut(&Rows<'_>),
) -> Result<()> {
    let spans = spans(words, changes)?;
    let mut frequencies = vec![vec![0.0; SPAN]; words.len()];
    let mut counts = vec![[0_u32; COLUMNS]; SPAN];
    let (mut numbers, mut tokens, mut held) = (vec![0; SPAN], vec![0; SPAN], Vec::new());
    let mut places: Vec<Vec<usize>> = vec![Vec::new(); words.len()];
    for of_words in spans.into_values() {
        for (word, terms) in of_words {
            for blocks in terms.values() {
                let mut bytes = Vec::new();
                let Some(block) = united(blocks, &mut bytes)? else { continue };
                let mut postings = block.postings();
                while !postings.is_at_end() {
                    let (row, flags) = postings.head()?;
                    if flags & REMOVED != 0 {
                        continue;
                    }
                    let (of_columns, of_row) = (postings.counts(flags)?, postings.reader.count()?);
                    if if flags & MEMORY != 0 { counted.memories } else { counted.entries } {
                        let slot = slot_of(row);
                        (numbers[slot], tokens[slot]) = (row, of_row);
                        let sums = counts[slot].iter_mut().zip(of_columns);
                        sums.for_each(|(sum, count)| *sum = sum.saturating_add(count));
                        places[word].push(slot);
                    }
                }
            }
            places[word].sort_unstable();
            places[word].dedup();
            for &slot in &places[word] {
                frequencies[word][slot] = weighted(&std::mem::take(&mut counts[slot]), &counted.weights);
            }
            held.extend_from_slice(&places[word]);
        }
        held.sort_unstable();
        held.dedup();
        look(&Rows { held: &held, frequencies: &frequencies, numbers: &numbers, tokens: &tokens });
        held.clear();
        for (word, places) in places.iter_mut().enumerate() {
            places.drain(..).for_each(|slot| frequencies[word][slot] = 0.0);
        }
    }
    Ok(())
}

/// By span, word and term the blocks, the older first.
type Spans<'a> = BTreeMap<i64, BTreeMap<usize, BTreeMap<&'a str, Vec<Block<'a>>>>>;

fn spans<'a>(words: &[Beginning<'a>], changes: &[&'a [u8]]) -> Result<Spans<'a>> {
    let mut spans = Spans::new();
    let mut put = |word: usize, term: &'a str, bytes: &'a [u8]| {
        for block in Blocks::of(bytes) {
            let block = block?;
            spans.entry(block.span).or_default().entry(word).or_default().entry(term).or_default().push(block);
        }
        Ok::<_, Error>(())
    };
    for (word, beginning) in words.iter().enumerate() {
        for &(term, bytes) in &beginning.terms {
            put(word, term, bytes)?;
        }
    }
    for write in changes {
        for change in Changes::of(write) {
            let change = change?;
            for (word, beginning) in words.iter().enumerate() {
                if change.part == 0 && change.term >= beginning.low && change.term < beginning.high {
                    put(word, change.term, change.blocks)?;
                }
            }
        }
    }
    Ok(spans)
}
