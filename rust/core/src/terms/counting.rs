//! Texts as counted terms, by many threads.

use std::ops::Range;

use super::tokens::{Cutter, Cutting};
use crate::collections::Lexicon;
use crate::pool;

/// Text worked off at a time: a fraction of a millisecond.
const UNIT_BYTES: usize = 64 << 10;
/// Text that one thread cuts and counts in about a millisecond; a second one is not woken for less.
const ALONE_BYTES: usize = 256 << 10;

/// Texts cut into short units of work.
pub(super) struct Units {
    pub(super) ranges: Vec<Range<usize>>,
    pub(super) threads: usize,
}

impl Units {
    /// `threads`: at least 1; `None` for every core, or one where there is little to do.
    pub(super) fn new<T: AsRef<str>>(texts: &[T], threads: Option<usize>) -> Self {
        let (mut ranges, mut start, mut bytes, mut all) = (Vec::new(), 0, 0, 0);
        for (i, text) in texts.iter().enumerate() {
            bytes += text.as_ref().len();
            if bytes >= UNIT_BYTES || i + 1 == texts.len() {
                ranges.push(start..i + 1);
                all += bytes;
                (start, bytes) = (i + 1, 0);
            }
        }
        let threads = threads.unwrap_or_else(|| if all < ALONE_BYTES { 1 } else { pool::cores() });
        Self { ranges, threads }
    }
}

/// The occurrences of a term in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) term: u32,
    pub(super) count: u32,
}

/// The counted terms of one unit's texts; those of a text are distinct and in no particular order.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) unit: usize,
    pub(super) terms: Vec<Counted>,
    /// By text where its terms end.
    pub(super) ends: Vec<usize>,
}

/// The counts of one thread, in numbers of its own.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) lexicon: Lexicon,
    pub(super) pieces: Vec<Piece>,
    cutter: Cutter,
    /// The terms of the text at hand, as they come.
    numbers: Vec<u32>,
    /// By term.
    seen: Vec<Seen>,
    /// The number of counted texts: the stamp of the current one.
    texts: u32,
}

/// Where a term was met last.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    text: u32,
    place: u32,
    /// The number of texts that hold the term.
    texts: u32,
}

/// Count the terms of all texts: one tally for each thread that came.
pub(super) fn count<T: AsRef<str> + Sync>(cutting: &Cutting, texts: &[T], units: &Units) -> Vec<Tally> {
    let each = |tally: &mut Tally, unit: usize| {
        let texts = &texts[units.ranges[unit].clone()];
        let mut piece = Piece { unit, ends: Vec::with_capacity(texts.len()), ..Piece::default() };
        for text in texts {
            tally.add(text.as_ref(), &mut piece);
        }
        tally.pieces.push(piece);
    };
    pool::fold(units.ranges.len(), units.threads, || Tally::new(cutting), each)
}

impl Piece {
    /// The same with only the terms that are kept.
    pub(super) fn kept(&self, is_kept: impl Fn(u32) -> bool) -> Self {
        let mut piece = Self { unit: self.unit, terms: Vec::new(), ends: Vec::with_capacity(self.ends.len()) };
        let mut start = 0;
        for &end in &self.ends {
            piece.terms.extend(self.terms[start..end].iter().filter(|counted| is_kept(counted.term)));
            piece.ends.push(piece.terms.len());
            start = end;
        }
        piece
    }
}

impl Tally {
    fn new(cutting: &Cutting) -> Self {
        Self {
            lexicon: Lexicon::default(),
            pieces: Vec::new(),
            cutter: Cutter::new(cutting.clone()),
            numbers: Vec::new(),
            seen: Vec::new(),
            texts: 0,
        }
    }

    /// By term how many texts hold it.
    pub(super) fn frequencies(&self) -> impl Iterator<Item = u32> + '_ {
        self.seen.iter().map(|seen| seen.texts)
    }

    fn add(&mut self, text: &str, piece: &mut Piece) {
        let Self { lexicon, numbers, .. } = self;
        numbers.clear();
        self.cutter.each(text, |term| numbers.push(lexicon.number(term)));
        self.seen.resize(lexicon.len(), Seen::default());
        self.texts += 1;
        let start = piece.terms.len();
        piece.terms.resize(start + numbers.len(), Counted::default());
        let terms = &mut piece.terms[start..];
        let mut distinct = 0;
        // True if a word was there before is a toss-up, so nothing here branches on it.
        for &term in &*numbers {
            let seen = &mut self.seen[term as usize];
            let new = u32::from(seen.text != self.texts);
            let place = if new == 1 { distinct } else { seen.place };
            *seen = Seen { text: self.texts, place, texts: seen.texts + new };
            let counted = &mut terms[place as usize];
            *counted = Counted { term, count: counted.count + 1 };
            distinct += new;
        }
        piece.terms.truncate(start + distinct as usize);
        piece.ends.push(piece.terms.len());
    }
}
