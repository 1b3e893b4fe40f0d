//! Postings in blocks: the full-text index of a store elsewhere, as bytes that it keeps and this crate reads.
//!
//! A block holds the postings of one term in the rows of one span, ascending by row. A row number is
//! `sequence * 1024 + place`; no two rows share a sequence number, and a span is [`SPAN`] of these. A change is a block
//! whose postings may be removals; merging it into a block twice gives the same as once.
//!
//! - [`merge()`]: a block, and a change of it;
//! - [`changes`]: the changes of one write, by term, and those of several writes folded into one;
//! - [`rank()`]: the best rows for the terms of a query, by FTS5's formula; [`rank_begun()`]: for a cascade of words as
//!   beginnings; [`count_begun()`]: how many rows hold each;
//! - [`checksum()`]: whether blocks hold the postings that they should.

mod cascade;
pub mod changes;
mod rank;
#[cfg(test)]
mod tests;

use std::hash::Hasher;

use rustc_hash::FxHasher;

pub use cascade::{Beginning, Cascade, Counted, count_begun, rank_begun};
pub use changes::{Change, Changes};
pub use rank::{Asked, Best, Ranked, Ranking, Way, rank};

use crate::error::{Error, Result};

/// The indexed texts of an entry: id, title, description, context, tags. Grams are in the second.
pub const COLUMNS: usize = 5;
/// The rows of a span.
pub const SPAN: usize = 1 << SPAN_BITS;
const SPAN_BITS: u32 = 10;
const PLACE_BITS: u32 = 10;
const ROW_MASK: u64 = (1 << (SPAN_BITS + PLACE_BITS)) - 1;

/// Flags of a posting beside a bit for each column that holds the term.
const MEMORY: u8 = 1 << 5;
const ONCE: u8 = 1 << 6;
const REMOVED: u8 = 1 << 7;

const DAMAGED: Error = Error::Damaged { what: "a block of postings" };

/// The same, made only where it is needed: that takes longer than to read a number.
fn damaged() -> Error {
    DAMAGED
}

/// A term in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Posting {
    /// The number of the row, not negative.
    pub row: i64,
    /// True if the row is no longer to hold the term; nothing else is kept of it then.
    pub removed: bool,
    /// True if the row is a memory.
    pub memory: bool,
    /// Occurrences of the term in each column.
    pub counts: [u32; COLUMNS],
    /// The tokens of the row, of all terms.
    pub tokens: u32,
}

/// The span of a row.
pub fn span_of(row: i64) -> i64 {
    row >> (SPAN_BITS + PLACE_BITS)
}

/// The position of a row in its span, below [`SPAN`].
fn slot_of(row: i64) -> usize {
    (row >> PLACE_BITS) as usize & (SPAN - 1)
}

/// Bytes that are read from their beginning.
#[derive(Clone, Copy, Debug)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[inline(always)]
    fn byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.0.split_first().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(first)
    }

    #[inline(always)]
    fn number(&mut self) -> Result<u64> {
        // Most numbers are of one byte.
        match self.byte()? {
            byte if byte < 0x80 => Ok(u64::from(byte)),
            byte => self.long_number(u64::from(byte & 0x7f)),
        }
    }

    #[inline]
    fn long_number(&mut self, mut number: u64) -> Result<u64> {
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(DAMAGED)
    }

    #[inline]
    fn count(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| DAMAGED)
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.number()?).map_err(|_| DAMAGED)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(bytes)
    }
}

fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put_number(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

/// A block: the number of its span, and its postings as bytes.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The span of all its rows.
    pub span: i64,
    /// The bytes of the block, with its head.
    pub whole: &'a [u8],
    body: &'a [u8],
}

/// The blocks that follow each other in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a>(Reader<'a>);

impl<'a> Blocks<'a> {
    /// Those of `bytes`.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self(Reader(bytes))
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Result<Block<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let before = self.0.0;
        if before.is_empty() {
            return None;
        }
        let mut read = || {
            let span =
                i64::try_from(self.0.number()?).ok().filter(|&span| span <= span_of(i64::MAX)).ok_or_else(damaged)?;
            let body = self.0.bytes()?;
            Ok(Block { span, whole: &before[..before.len() - self.0.0.len()], body })
        };
        let block = read();
        if block.is_err() {
            self.0.0 = &[];
        }
        Some(block)
    }
}

impl<'a> Block<'a> {
    /// Its postings, ascending by row.
    fn postings(&self) -> Postings<'a> {
        Postings { reader: Reader(self.body), first: self.span << (SPAN_BITS + PLACE_BITS), next: 0 }
    }
}

/// The postings of a block.
struct Postings<'a> {
    reader: Reader<'a>,
    first: i64,
    /// The least number of the next row within its span.
    next: u64,
}

impl Postings<'_> {
    /// The row of the next posting, and its flags, as [`Self::read`] reads them on.
    #[inline(always)]
    fn head(&mut self) -> Result<(i64, u8)> {
        let offset = self.reader.number()?.checked_add(self.next).filter(|&at| at <= ROW_MASK).ok_or_else(damaged)?;
        self.next = offset + 1;
        Ok((self.first | offset as i64, self.reader.byte()?))
    }

    /// Occurrences of the term in each column.
    #[inline]
    fn counts(&mut self, flags: u8) -> Result<[u32; COLUMNS]> {
        let mut counts = [0; COLUMNS];
        for (column, count) in counts.iter_mut().enumerate() {
            if flags >> column & 1 != 0 {
                *count = if flags & ONCE != 0 { 1 } else { self.reader.count()? };
            }
        }
        Ok(counts)
    }

    fn read(&mut self) -> Result<Posting> {
        let (row, flags) = self.head()?;
        if flags & REMOVED != 0 {
            return Ok(Posting { row, removed: true, ..Posting::default() });
        }
        let counts = self.counts(flags)?;
        Ok(Posting { row, removed: false, memory: flags & MEMORY != 0, counts, tokens: self.reader.count()? })
    }

    #[inline]
    fn is_at_end(&self) -> bool {
        self.reader.0.is_empty()
    }
}

impl Iterator for Postings<'_> {
    type Item = Result<Posting>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_at_end() {
            return None;
        }
        let posting = self.read();
        if posting.is_err() {
            self.reader.0 = &[];
        }
        Some(posting)
    }
}

/// Write postings, ascending by row and all of one span, as a block; none are no block.
fn put_block(to: &mut Vec<u8>, postings: &[Posting]) {
    let Some(first) = postings.first() else { return };
    let (mut body, mut next) = (Vec::with_capacity(postings.len() * 6), 0);
    for posting in postings {
        let offset = posting.row as u64 & ROW_MASK;
        put_number(&mut body, offset - next);
        next = offset + 1;
        if posting.removed {
            body.push(REMOVED);
            continue;
        }
        let mut flags = if posting.memory { MEMORY } else { 0 };
        let held = || posting.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        held().for_each(|(column, _)| flags |= 1 << column);
        let once = held().all(|(_, &count)| count == 1);
        body.push(if once { flags | ONCE } else { flags });
        if !once {
            held().for_each(|(_, &count)| put_number(&mut body, u64::from(count)));
        }
        put_number(&mut body, u64::from(posting.tokens));
    }
    put_number(to, span_of(first.row) as u64);
    put_bytes(to, &body);
}

/// Postings with later ones put over them, both ascending by row.
fn over(before: &[Posting], later: &[Posting]) -> Vec<Posting> {
    let mut merged = Vec::with_capacity(before.len() + later.len());
    let mut rest = before;
    for &posting in later {
        let kept = rest.partition_point(|one| one.row < posting.row);
        merged.extend_from_slice(&rest[..kept]);
        rest = &rest[kept..];
        if rest.first().is_some_and(|one| one.row == posting.row) {
            rest = &rest[1..];
        }
        merged.push(posting);
    }
    merged.extend_from_slice(rest);
    merged
}

/// The postings of a block with changes of it, in their order; removals stay.
fn together(blocks: &[Block<'_>]) -> Result<Vec<Posting>> {
    let mut merged = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let postings = block.postings().collect::<Result<Vec<_>>>()?;
        merged = if at == 0 { postings } else { over(&merged, &postings) };
    }
    Ok(merged)
}

/// Blocks of one span, the older first, as one, which is written to `bytes` where they are several; removals may stay.
fn united<'b>(blocks: &[Block<'b>], bytes: &'b mut Vec<u8>) -> Result<Option<Block<'b>>> {
    if let [] | [_] = blocks {
        return Ok(blocks.first().copied());
    }
    bytes.clear();
    put_block(bytes, &together(blocks)?);
    Blocks::of(bytes).next().transpose()
}

/// Return a block with a change of it, both of one span; empty bytes where nothing is left.
///
/// # Errors
/// [`Error::Damaged`] for bytes that are no block, or of another span.
pub fn merge(block: &[u8], change: &[u8]) -> Result<Vec<u8>> {
    let blocks = Blocks::of(block).chain(Blocks::of(change)).collect::<Result<Vec<_>>>()?;
    if blocks.windows(2).any(|pair| pair[0].span != pair[1].span) {
        return Err(DAMAGED);
    }
    let mut left = together(&blocks)?;
    left.retain(|posting| !posting.removed);
    let mut merged = Vec::new();
    put_block(&mut merged, &left);
    Ok(merged)
}

/// Return the number of the postings of a term in blocks, and the sum of their hashes: equal for the same postings in
/// whatever blocks.
///
/// # Errors
/// [`Error::Damaged`] for bytes that are no blocks.
pub fn checksum(part: u8, term: &str, blocks: &[u8]) -> Result<(u64, u64)> {
    let (mut number, mut sum) = (0, 0_u64);
    for block in Blocks::of(blocks) {
        for posting in block?.postings() {
            let posting = posting?;
            let mut hasher = FxHasher::default();
            hasher.write(term.as_bytes());
            hasher.write_u8(part);
            hasher.write_i64(posting.row);
            hasher.write_u8(u8::from(posting.memory));
            posting.counts.iter().for_each(|&count| hasher.write_u32(count));
            hasher.write_u32(posting.tokens);
            // The hash has its best bits above: they are mixed into all of a sum.
            sum = sum.wrapping_add(hasher.finish().rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            number += 1;
        }
    }
    Ok((number, sum))
}
