//! The pieces with their scores, found by their text.

use std::hash::{BuildHasher, RandomState};

use crate::error::{Error, Result};

/// The longest piece; those of published models have 48 bytes.
pub const MOST_PIECE_BYTES: usize = 256;
/// Below the smallest score, as in SentencePiece.
const UNKNOWN_PENALTY: f64 = 10.0;

/// A place of the table: a part of a hash, and a piece's number.
#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    id: u32,
}

const EMPTY: Slot = Slot { tag: 0, id: u32::MAX };

/// The hash of a text so far. Its key is drawn at random, so that no file can be made whose pieces collide.
#[derive(Clone, Copy)]
pub(super) struct Hash {
    state: u64,
    key: u64,
}

impl Hash {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.state = (self.state.rotate_left(5) ^ u64::from(byte)).wrapping_mul(self.key);
        }
    }
}

/// A table of pieces by text, with open addressing.
pub(super) struct Pieces {
    text: Vec<u8>,
    offsets: Vec<u32>,
    scores: Vec<f32>,
    slots: Vec<Slot>,
    /// Bits of a hash that are not part of a place.
    shift: u32,
    empty: Hash,
    unknown_score: f64,
    most_chars: usize,
}

impl Pieces {
    pub(super) fn new(offsets: &[u32], scores: &[f32], text: &[u8], unknown: usize) -> Result<Self> {
        let (offsets, scores, n) = (offsets.to_vec(), scores.to_vec(), scores.len());
        if offsets.len() != n + 1 {
            return Err(Error::Length { what: "the offsets of pieces", got: offsets.len(), wanted: n + 1 });
        }
        if unknown >= n || u32::try_from(n).is_err() {
            return Err(Error::OutOfRange { what: "the unknown piece", index: unknown as i64, len: n });
        }
        if let Some(at) = scores.iter().position(|score| !score.is_finite()) {
            return Err(Error::NotFinite { what: "the score of piece", at });
        }
        let fits = |pair: &[u32]| pair[0] <= pair[1] && (pair[1] - pair[0]) as usize <= MOST_PIECE_BYTES;
        if offsets[0] != 0 || offsets[n] as usize != text.len() || !offsets.windows(2).all(fits) {
            return Err(Error::Damaged { what: "the offsets of pieces" });
        }
        let random = RandomState::new();
        let empty = Hash { state: random.hash_one(0), key: random.hash_one(1) | 1 };
        let places = (2 * n).next_power_of_two().max(2);
        let least = scores.iter().fold(f32::INFINITY, |least, &score| least.min(score));
        let mut pieces = Self {
            text: text.to_vec(),
            offsets,
            scores,
            slots: vec![EMPTY; places],
            shift: 64 - places.trailing_zeros(),
            empty,
            unknown_score: f64::from(least) - UNKNOWN_PENALTY,
            most_chars: 1,
        };
        (0..n).filter(|&id| id != unknown).for_each(|id| pieces.insert(id));
        Ok(pieces)
    }

    /// The hash of no text.
    pub(super) fn hash(&self) -> Hash {
        self.empty
    }

    /// The characters of the longest piece.
    pub(super) fn most_chars(&self) -> usize {
        self.most_chars
    }

    /// The score of a character that is in no piece.
    pub(super) fn unknown_score(&self) -> f64 {
        self.unknown_score
    }

    /// Return the number and the score of the piece of a text with its hash.
    pub(super) fn find(&self, text: &[u8], hash: Hash) -> Option<(u32, f64)> {
        let slot = self.slots[self.place(text, hash)];
        (slot.id != EMPTY.id).then(|| (slot.id, f64::from(self.scores[slot.id as usize])))
    }

    /// Enter a piece, unless it has no text, or an earlier one has the same.
    fn insert(&mut self, id: usize) {
        let (start, end) = (self.offsets[id] as usize, self.offsets[id + 1] as usize);
        let text = &self.text[start..end];
        if text.is_empty() {
            return;
        }
        let mut hash = self.empty;
        hash.add(text);
        // A byte that continues a character begins with 10.
        self.most_chars = self.most_chars.max(text.iter().filter(|&byte| byte & 0xc0 != 0x80).count());
        let place = self.place(text, hash);
        if self.slots[place].id == EMPTY.id {
            self.slots[place] = Slot { tag: hash.state as u32, id: id as u32 };
        }
    }

    /// The place of a text, or an empty one where it would be.
    fn place(&self, text: &[u8], hash: Hash) -> usize {
        let mut place = (hash.state >> self.shift) as usize;
        loop {
            let slot = self.slots[place];
            if slot.id == EMPTY.id || (slot.tag == hash.state as u32 && self.piece(slot.id) == text) {
                return place;
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    fn piece(&self, id: u32) -> &[u8] {
        let id = id as usize;
        &self.text[self.offsets[id] as usize..self.offsets[id + 1] as usize]
    }
}
