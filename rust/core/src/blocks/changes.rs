//! Changes: what one write does to blocks, by part and term, as bytes that are kept until they are folded.

use std::collections::BTreeMap;

use super::{Block, Blocks, COLUMNS, DAMAGED, Posting, Reader, put_block, put_bytes, span_of, together};
use crate::error::{Error, Result};

/// The changes of a term's postings in a write: blocks with removals, ascending by span.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The table: 0 for texts, 1 for grams.
    pub part: u8,
    /// The term.
    pub term: &'a str,
    /// The bytes of its blocks.
    pub blocks: &'a [u8],
}

/// The changes of a write, ascending by part and term.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a>(Reader<'a>);

impl<'a> Changes<'a> {
    /// Those of `bytes`.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self(Reader(bytes))
    }
}

impl<'a> Iterator for Changes<'a> {
    type Item = Result<Change<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.0.is_empty() {
            return None;
        }
        let mut read = || {
            let (part, term) = (self.0.byte()?, self.0.bytes()?);
            Ok(Change { part, term: std::str::from_utf8(term).map_err(|_| DAMAGED)?, blocks: self.0.bytes()? })
        };
        let change = read();
        if change.is_err() {
            self.0.0 = &[];
        }
        Some(change)
    }
}

/// The terms of some entries in one part, before and after: `p` pairs of an entry and a term.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a, T> {
    /// The table.
    pub part: u8,
    /// Terms, each once.
    pub terms: &'a [T],
    /// By pair the position of the term `(p,)`.
    pub term: &'a [i64],
    /// By pair the position of the entry `(p,)`.
    pub entry: &'a [i64],
    /// Occurrences of the term in each column `(p, columns)`: all columns, or one, which is then the second.
    pub counts: &'a [i32],
    /// By entry its tokens `(n,)`.
    pub tokens: &'a [i64],
}

/// Entries: `n` of them.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a> {
    /// Their rows `(n,)`.
    pub rows: &'a [i64],
    /// Not 0 for memories `(n,)`.
    pub memories: &'a [u8],
    /// Number of pairs, from the first, that hold the state before; the others hold the state after.
    pub gone: usize,
}

/// Return the changes of a write. For a row that is removed and added, the added state counts.
///
/// # Errors
/// [`Error::Length`] and [`Error::OutOfRange`] where the arrays do not fit each other, [`Error::Parameter`] for a row or
/// number of tokens that is negative.
pub fn written<T: AsRef<str>>(parts: &[Written<'_, T>], entries: Entries<'_>) -> Result<Vec<u8>> {
    let n = entries.rows.len();
    length("memories", entries.memories.len(), n)?;
    if let Some(&row) = entries.rows.iter().find(|&&row| row < 0) {
        return Err(Error::Parameter { what: "a row", wanted: "at least 0", got: row as f64 });
    }
    let mut bytes = Vec::new();
    for part in parts {
        let pairs = part.term.len();
        length("entry", part.entry.len(), pairs)?;
        length("tokens", part.tokens.len(), n)?;
        let columns = if part.counts.len() == pairs * COLUMNS { COLUMNS } else { 1 };
        length("counts", part.counts.len(), pairs * columns)?;
        let mut of_terms: Vec<Vec<Posting>> = vec![Vec::new(); part.terms.len()];
        for (pair, (&term, &entry)) in part.term.iter().zip(part.entry).enumerate() {
            let place = |what, index: i64, len| {
                let at = usize::try_from(index).ok().filter(|&at| at < len);
                at.ok_or(Error::OutOfRange { what, index, len })
            };
            let at = place("entry", entry, n)?;
            let mut posting = Posting { row: entries.rows[at], removed: at < entries.gone, ..Posting::default() };
            if !posting.removed {
                posting.memory = entries.memories[at] != 0;
                posting.tokens = part.tokens[at].clamp(0, i64::from(u32::MAX)) as u32;
                for (column, &count) in part.counts[pair * columns..][..columns].iter().enumerate() {
                    posting.counts[if columns == 1 { 1 } else { column }] = count.max(0) as u32;
                }
            }
            of_terms[place("term", term, part.terms.len())?].push(posting);
        }
        let mut named: Vec<_> = part.terms.iter().map(AsRef::as_ref).zip(&mut of_terms).collect();
        named.sort_unstable_by_key(|&(term, _)| term);
        for (term, postings) in named {
            // Added postings sort before removed ones, and stay.
            postings.sort_unstable_by_key(|posting| (posting.row, posting.removed));
            postings.dedup_by_key(|posting| posting.row);
            put_change(&mut bytes, part.part, term, postings);
        }
    }
    Ok(bytes)
}

fn length(what: &'static str, got: usize, wanted: usize) -> Result<()> {
    if got == wanted { Ok(()) } else { Err(Error::Length { what, got, wanted }) }
}

/// Write the postings of a term, ascending by row, as a change; none are no change.
pub(super) fn put_change(to: &mut Vec<u8>, part: u8, term: &str, postings: &[Posting]) {
    if postings.is_empty() {
        return;
    }
    let mut blocks = Vec::new();
    for of_span in postings.chunk_by(|a, b| span_of(a.row) == span_of(b.row)) {
        put_block(&mut blocks, of_span);
    }
    to.push(part);
    put_bytes(to, term.as_bytes());
    put_bytes(to, &blocks);
}

/// The change of one block: its part, its term, its span, and the bytes to merge into it.
pub type Folded = (u8, String, i64, Vec<u8>);

/// Return the changes of several writes, in their order, as one for each block.
///
/// # Errors
/// [`Error::Damaged`] for bytes that are no changes.
pub fn folded<B: AsRef<[u8]>>(writes: &[B]) -> Result<Vec<Folded>> {
    let mut by_block: BTreeMap<(u8, &str, i64), Vec<Block<'_>>> = BTreeMap::new();
    for write in writes {
        for change in Changes::of(write.as_ref()) {
            let Change { part, term, blocks } = change?;
            for block in Blocks::of(blocks) {
                let block = block?;
                by_block.entry((part, term, block.span)).or_default().push(block);
            }
        }
    }
    let fold = |((part, term, span), blocks): ((u8, &str, i64), Vec<Block<'_>>)| {
        let bytes = if let [block] = *blocks {
            block.whole.to_vec()
        } else {
            let mut bytes = Vec::new();
            put_block(&mut bytes, &together(&blocks)?);
            bytes
        };
        Ok((part, term.to_owned(), span, bytes))
    };
    by_block.into_iter().map(fold).collect()
}
