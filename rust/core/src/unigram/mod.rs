//! The unigram tokenizer of XLM-R: a text is normalised, cut into words, and each word into the pieces whose scores have
//! the largest sum (Kudo 2018, <https://arxiv.org/abs/1804.10959>), found by Viterbi's algorithm.
//!
//! A word begins at a blank, which pieces spell `▁` (U+2581), also before the first. Neighbouring characters that are in no
//! piece are one unknown token. Time is linear in the text: a piece has at most [`MOST_PIECE_BYTES`].

mod normaliser;
mod pieces;
mod viterbi;

#[cfg(test)]
mod tests;

pub use pieces::MOST_PIECE_BYTES;

use crate::error::Result;
use normaliser::Normaliser;
use pieces::Pieces;
use viterbi::Lattice;

/// The blank of pieces.
const BLANK: char = '\u{2581}';

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The piece's number.
    pub id: u32,
    /// The characters of the text up to its end.
    pub end: usize,
}

/// Pieces with their scores, and what normalises a text.
pub struct Unigram {
    pieces: Pieces,
    normaliser: Normaliser,
    unknown: u32,
}

impl Unigram {
    /// Copy a tokenizer: piece `i` is `text[offsets[i]..offsets[i + 1]]`, and `map` replaces characters: for each a number,
    /// the count of its replacements in one byte, and their numbers, in 4 bytes each, in ascending order.
    ///
    /// # Errors
    /// [`Error`](crate::Error) for offsets or a map that are out of order or beyond their text, scores that are not finite,
    /// a piece of more than [`MOST_PIECE_BYTES`], or an unknown piece that there is not.
    pub fn new(offsets: &[u32], scores: &[f32], text: &[u8], map: &[u8], unknown: usize) -> Result<Self> {
        let pieces = Pieces::new(offsets, scores, text, unknown)?;
        Ok(Self { pieces, normaliser: Normaliser::new(map)?, unknown: unknown as u32 })
    }

    /// Return a text's tokens, without those that a model adds.
    pub fn encode(&self, text: &str) -> Vec<Token> {
        let (mut tokens, mut lattice) = (Vec::new(), Lattice::default());
        let mut last = None;
        for (at, given) in text.chars().enumerate() {
            let unchanged = [given];
            for &c in self.normaliser.of(given).unwrap_or(&unchanged) {
                let is_blank = c == ' ';
                if last.is_none() && !is_blank {
                    lattice.push(BLANK, 0);
                }
                // Blanks in a row are one.
                if !(is_blank && last == Some(' ')) {
                    if is_blank || c == BLANK {
                        self.finish(&mut lattice, &mut tokens);
                    }
                    lattice.push(if is_blank { BLANK } else { c }, at + 1);
                }
                last = Some(c);
            }
        }
        if last.is_none() {
            lattice.push(BLANK, 0);
        }
        self.finish(&mut lattice, &mut tokens);
        tokens
    }

    fn finish(&self, lattice: &mut Lattice, tokens: &mut Vec<Token>) {
        lattice.best(&self.pieces, self.unknown, tokens);
        lattice.clear();
    }
}
