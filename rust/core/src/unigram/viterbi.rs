//! One word's best pieces.

use super::Token;
use super::pieces::Pieces;

/// The last piece of the best way to a character.
#[derive(Clone, Copy)]
struct Step {
    score: f64,
    start: usize,
    id: u32,
}

const UNREACHED: Step = Step { score: f64::NEG_INFINITY, start: 0, id: 0 };

/// A word of normalised characters, and the best way to each.
#[derive(Default)]
pub(super) struct Lattice {
    text: Vec<u8>,
    /// Where each character ends, in bytes of the word and in characters of the text.
    ends: Vec<(usize, usize)>,
    steps: Vec<Step>,
}

impl Lattice {
    /// Add a character that comes from the text before its character `end`.
    pub(super) fn push(&mut self, c: char, end: usize) {
        self.text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        self.ends.push((self.text.len(), end));
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Append the word's tokens; of equal sums the one counts that was found first, from the left.
    pub(super) fn best(&mut self, pieces: &Pieces, unknown: u32, tokens: &mut Vec<Token>) {
        let n = self.ends.len();
        self.steps.clear();
        self.steps.resize(n + 1, UNREACHED);
        self.steps[0].score = 0.0;
        let mut begin = 0;
        for start in 0..n {
            let score = self.steps[start].score;
            let (mut hash, mut last, mut is_known) = (pieces.hash(), begin, false);
            for end in start + 1..=n.min(start + pieces.most_chars()) {
                let stop = self.ends[end - 1].0;
                hash.add(&self.text[last..stop]);
                last = stop;
                if let Some((id, own)) = pieces.find(&self.text[begin..stop], hash) {
                    is_known |= end == start + 1;
                    self.reach(end, Step { score: score + own, start, id });
                }
            }
            if !is_known {
                self.reach(start + 1, Step { score: score + pieces.unknown_score(), start, id: unknown });
            }
            begin = self.ends[start].0;
        }
        self.walk(unknown, tokens);
    }

    fn reach(&mut self, end: usize, step: Step) {
        if step.score > self.steps[end].score {
            self.steps[end] = step;
        }
    }

    /// Append the pieces of the best way to the end; unknown ones in a row are one.
    fn walk(&self, unknown: u32, tokens: &mut Vec<Token>) {
        let (first, mut end, mut is_unknown) = (tokens.len(), self.ends.len(), false);
        while end > 0 {
            let step = self.steps[end];
            if !(is_unknown && step.id == unknown) {
                tokens.push(Token { id: step.id, end: self.ends[end - 1].1 });
            }
            is_unknown = step.id == unknown;
            end = step.start;
        }
        tokens[first..].reverse();
    }
}
