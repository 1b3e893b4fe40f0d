//! The place of one slot in each leg of a search.

use super::cascade::Cascade;
use super::corpus::{Corpus, Space};
use super::recall::bm25_of_grams;
use super::request::{Query, Request};
use super::selection::Selection;
use crate::error::Result;
use crate::fts::{self, TextRank, Wanted};
use crate::vectors::{self, Level};

/// The place of a slot among the matches by full text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextPlace {
    /// Its rank, and the numbers of matches.
    pub rank: TextRank,
    /// By term whether the slot holds it, and whether it does as a word rather than a gram; empty without a slot.
    pub held: Vec<(bool, bool)>,
    /// The share of the grams in its score.
    pub grams: f64,
}

/// The place of a slot among the vectors that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VectorPlace {
    /// The number of vectors that may be returned.
    pub allowed: usize,
    /// The cosine with the query; None without a vector.
    pub cosine: Option<f64>,
    /// The number of vectors before its own; None if that may not be returned.
    pub before: Option<usize>,
}

/// Return the place of a slot in the full-text order of a query; None for a slot that the corpus does not have. `before`
/// is the number of matches before it, where recall found it by full text; a cascade counts them.
///
/// # Errors
/// As [`super::candidates_at`].
pub fn text_place(
    corpus: &Corpus<'_>,
    request: &Request<'_>,
    query: &Query<'_>,
    slot: Option<i64>,
    before: Option<usize>,
) -> Result<TextPlace> {
    let Some(text) = corpus.text.filter(|_| !query.terms.is_empty()) else { return Ok(TextPlace::default()) };
    corpus.check(slot.as_slice())?;
    let wanted = Wanted { k: 0, mask: request.selection.map(Selection::slots), ties: Some(corpus.rows) };
    if let Some(cascade) = Cascade::begin(corpus, request, query)? {
        let held = slot.map_or_else(Vec::new, |slot| cascade.held(slot));
        return Ok(TextPlace { rank: cascade.rank_of(wanted, slot)?, held, grams: 0.0 });
    }
    let parts = text.parts(request.weights, request.constants, query.grams);
    let rank = fts::rank_of(&parts, query.terms, query.needed, wanted, slot, before)?;
    let Some(slot) = slot else { return Ok(TextPlace { rank, ..TextPlace::default() }) };
    let grams = bm25_of_grams(corpus, request, query, &[slot])?.first().copied().unwrap_or(0.0);
    Ok(TextPlace { rank, held: fts::held_at(&parts, query.terms, slot)?, grams })
}

/// Return the place of a slot among the vectors of a space, the nearest first.
///
/// # Errors
/// As [`super::recall()`].
pub fn vector_place(
    space: &Space<'_>,
    selection: Option<&Selection>,
    (exact, scan): (&[f64], &[f32]),
    slot: Option<i64>,
) -> Result<VectorPlace> {
    let mask = selection.map(|selection| selection.vectors(space.number, space.slots)).transpose()?;
    let mask = mask.as_deref();
    let allowed = mask.map_or(space.rows.n(), |mask| mask.iter().filter(|&&byte| byte != 0).count());
    let at = slot.and_then(|slot| space.positions.get(usize::try_from(slot).ok()?)).copied().unwrap_or(-1);
    let Ok(at) = usize::try_from(at) else { return Ok(VectorPlace { allowed, ..VectorPlace::default() }) };
    let mut buffer = Vec::new();
    let row = space.rows.checked_row(at as i64, &mut buffer)?;
    let cosine = Some(vectors::Cosine::new(exact, row.len())?.of(row));
    let (k, level) = (allowed, Level::best());
    let hits = match space.codes {
        None => vectors::top_k_of_few(scan, space.rows, k, mask)?,
        Some(codes) => {
            // Only the rows before it, and itself.
            let within = Some(level.dot(scan, row));
            let request = vectors::Request { k, mask, level, threads: None, within, front: None };
            vectors::top_k_coded(codes, scan, space.rows, request)?
        }
    };
    Ok(VectorPlace { allowed, cosine, before: hits.rows.iter().position(|&other| other == at) })
}
