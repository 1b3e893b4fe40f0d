//! Recall: the candidates of queries, with every column that needs the corpus, whichever leg found them.

use std::borrow::Cow;

use super::cascade::Cascade;
use super::corpus::{Corpus, Space};
use super::labels::Labels;
use super::pool::{Pool, Vectors};
use super::request::{Query, Request};
use super::selection::Selection;
use crate::error::{Error, Result};
use crate::formula::Candidates;
use crate::fts::{self, Matched, Wanted};
use crate::fuse;
use crate::pool;
use crate::terms::SpellingIndex;
use crate::vectors::{self, Hits, Level, ReadRows, Rows};

/// Share of the query in a title that turns word feedback off: it lost on technical questions and gained on prose.
const MOST_TITLE: f64 = 0.3;
/// Rows to prefetch ahead of the one that is copied.
const AHEAD: usize = 4;
/// Vector queries that pass over the codes together.
const BATCH: usize = 128;

/// The result of one query.
#[derive(Clone, Debug)]
pub struct Recalled {
    /// The candidates: by full text, best first, then what vectors added.
    pub pool: Pool,
    /// The number of slots that match the full text and may be returned; with FTS5 the number that it returned.
    pub matches: usize,
    /// The number of candidates by full text.
    pub by_text: usize,
    /// True if no row holds some term; not known of a query that FTS5 answered.
    pub unknown: bool,
    /// The number of matches that hold every needed word; 0 if none is needed, or FTS5 answered.
    pub whole: usize,
    /// The step of the query that has an answer.
    pub step: Option<usize>,
    /// True if no vector is nearer than those of the candidates for certain.
    pub certain: bool,
}

/// The slots of the nearest vectors, and true if no other one is nearer for certain.
#[derive(Clone, Debug)]
struct Nearest {
    slots: Vec<i64>,
    certain: bool,
}

/// Recall the candidates of each query; several queries with vectors pass over the codes together.
///
/// # Errors
/// Those of [`fts::bm25_top_k`], [`vectors::top_k_coded`], [`vectors::probe_coded`] and [`vectors::Cosine::new`];
/// [`Error::OutOfRange`] for a slot that the corpus does not have.
pub fn recall(
    corpus: &Corpus<'_>,
    space: Option<&Space<'_>>,
    request: &Request<'_>,
    queries: &[Query<'_>],
) -> Result<Vec<Recalled>> {
    let read = ReadRows::default();
    // The rows of many queries would be too many to keep.
    let once = space.filter(|_| queries.len() == 1);
    let once = once.map(|&space| Space { rows: space.rows.reading_once(&read), ..space });
    let space = once.as_ref().or(space);
    let turn = pool::turn();
    let threads = if queries.len() > 1 { Some(1) } else { turn.threads() };
    let nearest = nearest(corpus, space, request, queries, threads)?;
    queries.iter().zip(&nearest).map(|(query, nearest)| one(corpus, space, request, query, nearest)).collect()
}

/// Return given slots `(m,)` as candidates of a query, with every column filled as [`recall`] fills it.
///
/// # Errors
/// As [`recall`].
pub fn candidates_at(
    corpus: &Corpus<'_>,
    space: Option<&Space<'_>>,
    request: &Request<'_>,
    query: &Query<'_>,
    slots: &[i64],
) -> Result<Pool> {
    let cascade = Cascade::begin(corpus, request, query)?;
    candidates(corpus, space, request, (query, cascade.as_ref()), slots, &[])
}

fn one(
    corpus: &Corpus<'_>,
    space: Option<&Space<'_>>,
    request: &Request<'_>,
    query: &Query<'_>,
    nearest: &Nearest,
) -> Result<Recalled> {
    let mut cascade = Cascade::begin(corpus, request, query)?;
    let by_cascade = cascade.as_mut().map(|cascade| cascade.matches(corpus, request, query)).transpose()?;
    let Matches { mut slots, mut scores, matches, whole } =
        by_cascade.map_or_else(|| by_text(corpus, request, query), Ok)?;
    if !request.guard.is_some_and(|guard| guard.fires(matches)) {
        slots.truncate(request.k(query));
        scores.truncate(request.k(query));
    }
    let united = fuse::unite(&slots, &nearest.slots);
    let pool = candidates(corpus, space, request, (query, cascade.as_ref()), &united, &scores)?;
    let lacks_any =
        || corpus.text.filter(|_| query.found.is_none()).is_some_and(|text| text.lacks_any(query.terms, query.grams));
    let unknown = cascade.as_ref().map_or_else(lacks_any, Cascade::lacks_any);
    let (step, certain) = (cascade.and_then(|c| c.answered), nearest.certain);
    Ok(Recalled { pool, matches, by_text: slots.len(), unknown, whole, step, certain })
}

/// The best slots by full text, their scores, how many match, and how many of these hold every needed word.
#[derive(Default)]
pub(super) struct Matches {
    pub(super) slots: Vec<i64>,
    pub(super) scores: Vec<f64>,
    pub(super) matches: usize,
    pub(super) whole: usize,
}

fn by_text(corpus: &Corpus<'_>, request: &Request<'_>, query: &Query<'_>) -> Result<Matches> {
    if let Some((slots, scores)) = query.found {
        let wanted = slots.len();
        return match scores.len() {
            got if got != wanted => Err(Error::Length { what: "scores", got, wanted }),
            _ => Ok(Matches { slots: slots.to_vec(), scores: scores.to_vec(), matches: wanted, whole: 0 }),
        };
    }
    let Some(text) = corpus.text.filter(|_| !query.terms.is_empty()) else {
        return Ok(Matches::default());
    };
    let mask = request.selection.map(Selection::slots);
    let wanted = Wanted { k: request.look(query), mask, ties: Some(corpus.rows) };
    let parts = text.parts(request.weights, request.constants, query.grams);
    let (hits, whole) = match query.needed {
        Some(needed) => fts::bm25_top_k_first(&parts, query.terms, needed, wanted)?,
        None => (fts::bm25_top_k(&parts, query.terms, wanted)?, 0),
    };
    let slots = hits.slots.into_iter().map(|slot| slot as i64).collect();
    Ok(Matches { slots, scores: hits.scores, matches: hits.matches, whole })
}

/// By query the nearest vectors, equally near ones by their rows; nothing for a query without a vector.
fn nearest(
    corpus: &Corpus<'_>,
    space: Option<&Space<'_>>,
    request: &Request<'_>,
    queries: &[Query<'_>],
    threads: Option<usize>,
) -> Result<Vec<Nearest>> {
    let mut nearest = vec![Nearest { slots: Vec::new(), certain: true }; queries.len()];
    let Some(space) = space else { return Ok(nearest) };
    let mask = request.selection.map(|selection| selection.vectors(space.number, space.slots)).transpose()?;
    let (mask, level) = (mask.as_deref(), Level::best());
    let requested: Vec<(usize, &[f32])> =
        queries.iter().enumerate().filter_map(|(i, query)| Some((i, query.vector?.1))).collect();
    let k = request.k.1;
    let how = vectors::Request { k, mask, level, threads, within: None, front: None };
    for batch in requested.chunks(BATCH) {
        let d = batch[0].1.len();
        if let Some((_, other)) = batch.iter().find(|(_, scan)| scan.len() != d) {
            return Err(Error::Length { what: "query", got: other.len(), wanted: d });
        }
        let exactly = |hits: Hits| (hits, true);
        let hits: Vec<(Hits, bool)> = match (space.codes, batch) {
            (None, _) => {
                let each = |(_, scan): &(usize, &[f32])| vectors::top_k_of_few(scan, space.rows, k, mask).map(exactly);
                batch.iter().map(each).collect::<Result<_>>()?
            }
            (Some(codes), _) if request.recall < 1.0 && codes.lists() > 0 => {
                let each =
                    |(_, scan): &(usize, &[f32])| vectors::probe_coded(codes, scan, space.rows, how, request.recall);
                batch.iter().map(each).collect::<Result<_>>()?
            }
            (Some(codes), [(_, scan)]) => vec![exactly(vectors::top_k_coded(codes, scan, space.rows, how)?)],
            (Some(codes), _) => {
                let all: Vec<f32> = batch.iter().flat_map(|(_, scan)| scan.iter().copied()).collect();
                let hits = vectors::top_k_batch_coded(codes, Rows::new(&all, batch.len(), d)?, space.rows, how)?;
                hits.into_iter().map(exactly).collect()
            }
        };
        for ((i, _), (hits, certain)) in batch.iter().zip(hits) {
            let slots = corpus.slots_of(&hits.rows, &hits.scores, space.slots)?;
            nearest[*i] = Nearest { slots, certain };
        }
    }
    Ok(nearest)
}

/// Slots as candidates; `scores` are those by full text of the first ones.
fn candidates(
    corpus: &Corpus<'_>,
    space: Option<&Space<'_>>,
    request: &Request<'_>,
    (query, cascade): (&Query<'_>, Option<&Cascade<'_>>),
    slots: &[i64],
    scores: &[f64],
) -> Result<Pool> {
    corpus.check(slots)?;
    let mut pool = facts(corpus, request.tier, slots)?;
    if !query.terms.is_empty() {
        pool = pool.with_column(Cow::Borrowed("bm25"), bm25(corpus, request, (query, cascade), slots, scores)?)?;
        if request.columns.grams {
            pool = pool.with_column(Cow::Borrowed("bm25_grams"), bm25_of_grams(corpus, request, query, slots)?)?;
        }
        if request.columns.tfidf {
            pool = pool.with_column(Cow::Borrowed("tfidf"), tfidf(corpus, query, slots)?)?;
        }
        if request.columns.trigram {
            let unknown = || Ok(vec![f64::NAN; slots.len()]);
            let spelt = |(index, of): (&SpellingIndex, _)| index.bm25(of, query.text, slots);
            let found = corpus.text.map_or_else(unknown, |text| spelt(text.spelling))?;
            pool = pool.with_column(Cow::Borrowed("trigram"), found)?;
        }
        if let Some(text) = corpus.text.filter(|_| query.found.is_none()) {
            let parts = text.parts(request.weights, request.constants, query.grams);
            let of_terms = || fts::matched_at(&parts, query.terms, query.words, slots);
            let found = cascade.map_or_else(of_terms, |cascade| cascade.matched(slots))?;
            pool = with_matched(pool, request.constants.most(), &found)?;
            if let Some(needed) = query.needed {
                let whole = fts::holds_all_at(&parts, needed, slots)?;
                let values = whole.into_iter().map(|whole| f64::from(u8::from(whole))).collect();
                pool = pool.with_column(Cow::Borrowed("all_words"), values)?;
            }
        }
        if let (Some(text), Some((how, covered))) =
            (corpus.text.filter(|_| query.found.is_none()), request.columns.feedback)
        {
            // A query that is matched whole, or mostly by a title, needs no similar entries.
            let all_below = |name, most| pool.column(name).is_some_and(|held| held.iter().all(|&share| share < most));
            if all_below("matched", covered) && all_below("matched_title", MOST_TITLE) {
                let (entries, best) = (text.entries(request.weights, request.constants), &slots[..scores.len()]);
                let found = fts::feedback_at(entries, query.terms, best, slots, how)?;
                // Where the best have nothing in common there is no feedback, rather than one of 0.
                if found.iter().any(|&score| score > 0.0) {
                    pool = pool.with_column(Cow::Borrowed("feedback"), found)?;
                }
            }
        }
    }
    match (space, query.vector) {
        (Some(space), Some(vector)) if request.columns.cosine => with_cosines(pool, space, request, vector, slots),
        _ => Ok(pool),
    }
}

fn with_matched(pool: Pool, most: f64, found: &[Matched]) -> Result<Pool> {
    let scores = pool.column("bm25").unwrap_or_default().iter();
    let reach = scores.zip(found).map(|(score, found)| found.reached(score / most)).collect();
    let column = |of: fn(&Matched) -> f64| found.iter().map(of).collect();
    pool.with_column(Cow::Borrowed("information"), column(|found| found.information))?
        .with_column(Cow::Borrowed("matched"), column(|found| found.share))?
        .with_column(Cow::Borrowed("matched_title"), column(|found| found.title))?
        .with_column(Cow::Borrowed("title"), column(Matched::titled))?
        .with_column(Cow::Borrowed("reach"), reach)
}

/// Add cosines, what they are compared with, and the vectors.
fn with_cosines(
    pool: Pool,
    space: &Space<'_>,
    request: &Request<'_>,
    (exact, unit): (&[f64], &[f32]),
    slots: &[i64],
) -> Result<Pool> {
    let (at, d) = (positions(space, slots)?, space.rows.d());
    let (cosine, mut cosines) = (vectors::Cosine::new(exact, d)?, vec![f64::NAN; slots.len()]);
    let wanted = if request.columns.vectors { slots.len() } else { 0 };
    let mut places = vec![None; slots.len()];
    let (mut vectors, mut buffer) = (Vectors { d, data: Vec::with_capacity(wanted * d) }, Vec::new());
    for (i, &here) in at.iter().enumerate() {
        // Rows of candidates lie anywhere, so the processor cannot guess them.
        at.get(i + AHEAD).into_iter().for_each(|&later| space.rows.fetch(later));
        if here < 0 {
            continue;
        }
        let row = space.rows.checked_row(here, &mut buffer)?;
        cosines[i] = cosine.of(row);
        if request.columns.vectors {
            places[i] = Some((vectors.data.len() / d.max(1)) as u32);
            vectors.data.extend_from_slice(row);
        }
    }
    let mut pool = pool.with_column(Cow::Borrowed("cosine"), cosines)?;
    if let Some(found) = space.sample.cosines(unit)? {
        let (pairs, agreement) = (space.sample.pairs(), space.sample.agreement());
        let known = [
            ("cosine_mean", found.mean),
            ("cosine_deviation", found.deviation),
            ("cosine_rows", space.sample.population() as f64),
            ("pair_mean", pairs.mean),
            ("pair_deviation", pairs.deviation),
        ];
        for (name, value) in known.into_iter().chain(agreement.map(|found| ("agreement", found))) {
            pool = pool.with_column(Cow::Borrowed(name), vec![value; slots.len()])?;
        }
    }
    if request.columns.vectors { pool.with_vectors(vectors, &places) } else { Ok(pool) }
}

/// The facts of candidates that signals read.
fn facts(corpus: &Corpus<'_>, tier: u32, slots: &[i64]) -> Result<Pool> {
    let names = corpus.names.read();
    let labels = |column: &[i32]| Labels::of_numbers(slots.iter().map(|&slot| column[slot as usize]), &names);
    let pick = |column: &[f64]| -> Vec<f64> { slots.iter().map(|&slot| column[slot as usize]).collect() };
    let known = |column: &[f64]| -> Vec<f64> {
        slots.iter().map(|&slot| column[slot as usize]).map(|t| if t.is_infinite() { f64::NAN } else { t }).collect()
    };
    let rows = slots.iter().map(|&slot| corpus.rows[slot as usize]).collect();
    let (kind, severity, domain) = (labels(corpus.kind)?, labels(corpus.severity)?, labels(corpus.domain)?);
    Pool::new(rows, vec![tier; slots.len()], kind, severity, domain)?
        .with_column(Cow::Borrowed("created_at"), pick(corpus.created_at))?
        .with_column(Cow::Borrowed("updated_at"), pick(corpus.updated_at))?
        .with_column(Cow::Borrowed("valid_from"), known(corpus.valid_from))?
        .with_column(Cow::Borrowed("valid_until"), known(corpus.valid_until))
}

fn bm25(
    corpus: &Corpus<'_>,
    request: &Request<'_>,
    (query, cascade): (&Query<'_>, Option<&Cascade<'_>>),
    slots: &[i64],
    scores: &[f64],
) -> Result<Vec<f64>> {
    let others = &slots[scores.len()..];
    let mut values = scores.to_vec();
    match corpus.text {
        Some(text) if query.found.is_none() && !others.is_empty() => {
            let of_terms =
                || fts::bm25_at(&text.parts(request.weights, request.constants, query.grams), query.terms, others);
            let found = cascade.map_or_else(of_terms, |cascade| cascade.bm25(others))?;
            values.extend(found.into_iter().map(|score| if score.is_nan() { 0.0 } else { score }));
        }
        _ => values.resize(slots.len(), f64::NAN),
    }
    Ok(values)
}

pub(super) fn bm25_of_grams(
    corpus: &Corpus<'_>,
    request: &Request<'_>,
    query: &Query<'_>,
    slots: &[i64],
) -> Result<Vec<f64>> {
    let parts = corpus.text.map(|text| text.parts(request.weights, request.constants, query.grams));
    match parts.filter(|parts| parts.len() > 1 && query.found.is_none()) {
        Some(parts) => {
            let found = fts::bm25_of_part_at(&parts, 1, query.terms, slots)?;
            Ok(found.into_iter().map(|score| if score.is_nan() { 0.0 } else { score }).collect())
        }
        None => Ok(vec![0.0; slots.len()]),
    }
}

fn tfidf(corpus: &Corpus<'_>, query: &Query<'_>, slots: &[i64]) -> Result<Vec<f64>> {
    match corpus.terms {
        Some((index, frequencies)) => index.cosines(frequencies, query.text, slots),
        None => Ok(vec![f64::NAN; slots.len()]),
    }
}

/// The rows of slots, -1 for a slot without one.
fn positions(space: &Space<'_>, slots: &[i64]) -> Result<Vec<i64>> {
    let position = |&slot: &i64| {
        let found = usize::try_from(slot).ok().and_then(|slot| space.positions.get(slot));
        found.map(|&at| i64::from(at)).ok_or(Error::OutOfRange {
            what: "slot",
            index: slot,
            len: space.positions.len(),
        })
    };
    slots.iter().map(position).collect()
}
