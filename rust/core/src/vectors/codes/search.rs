//! From a query to the k best rows.

use std::sync::Arc;

use super::Codes;
use super::best::Best;
use super::keep::Kept;
use super::kernel::Kernel;
use super::line::{LINE, lines};
use super::lists::{Budget, candidate_runs, probe};
use super::published::Published;
use super::quantise::{CodedQuery, Shift};
use super::scan::Task;
use super::segment::Segment;
use super::work::{self, Work};
use crate::collections::BitMask;
use crate::error::{Error, Result};
use crate::pool;
use crate::vectors::measure::Measure;
use crate::vectors::{Hits, Level, Mask, Pieces, Rows, dot, top_k_of_few};

/// Queries of a batch that are searched together: what is kept of each until the end has room for as many.
const MOST_QUERIES: usize = if cfg!(test) { 300 } else { 4_096 };
/// Codes that one thread scans in about a millisecond; a second one is not woken for less.
const ALONE_BYTES: usize = 32 << 20;
/// Rows that are scored one by one rather than by lists.
const FEW: usize = 2_000;
/// More rows than this are not scored before the scan has ended: their floor would come dear.
const MOST_LEARNT: usize = 64;

/// The options of a search, besides its queries.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Maximum rows.
    pub k: usize,
    /// Which rows may be returned; `None` allows all.
    pub mask: Option<Mask<'a>>,
    /// The instructions to use.
    pub level: Level,
    /// The number of threads; `None` for as many as there are cores, or one where there is little to do.
    pub threads: Option<usize>,
    /// Only rows of at least this score.
    pub within: Option<f64>,
    /// True if the upper four bits of the codes are read first; `None` lets what they leave over decide. For tests.
    pub front: Option<bool>,
}

/// As [`crate::vectors::top_k`] of the same rows, from codes that hold them (and maybe later ones). Codes of distances
/// give the smallest distances: scores are squared distances, negated.
///
/// # Errors
/// [`Error::Length`] for a query, mask or number of rows that does not fit, [`Error::NotFinite`] for the query;
/// [`Error::File`] when a row cannot be read.
pub fn top_k_coded<'a>(
    codes: &Codes,
    query: &[f32],
    rows: impl Into<Pieces<'a>>,
    request: Request<'_>,
) -> Result<Hits> {
    Ok(top_k_batch_coded(codes, Rows::new(query, 1, query.len())?, rows, request)?.pop().unwrap_or_default())
}

/// [`top_k_coded`] of each row of `queries`, passing over the codes once for many queries.
///
/// # Errors
/// As [`top_k_coded`].
pub fn top_k_batch_coded<'a>(
    codes: &Codes,
    queries: Rows<'_>,
    rows: impl Into<Pieces<'a>>,
    request: Request<'_>,
) -> Result<Vec<Hits>> {
    let (rows, d) = (rows.into(), queries.d());
    let mut results = Vec::with_capacity(queries.n());
    // Tiles of far fewer queries share a pass over the codes, so that it is no more work in parts.
    for start in (0..queries.n().max(1)).step_by(MOST_QUERIES) {
        let n = MOST_QUERIES.min(queries.n() - start);
        let part = Rows::new(&queries.data()[start * d..(start + n) * d], n, d)?;
        results.extend(search_with_room(codes, part, rows, request, work::room(n, request.k))?);
    }
    Ok(results)
}

/// As [`top_k_batch_coded`], with room for `room` rows of each query at a time.
pub(super) fn search_with_room<'a>(
    codes: &Codes,
    queries: Rows<'_>,
    rows: impl Into<Pieces<'a>>,
    request: Request<'_>,
    room: usize,
) -> Result<Vec<Hits>> {
    let rows = rows.into();
    let guesses = queries.n() == 1 && request.within.is_none();
    match search_from(codes, queries, rows, request, (room, guesses))? {
        Some(results) => Ok(results),
        None => Ok(search_from(codes, queries, rows, request, (room, false))?.unwrap_or_default()),
    }
}

/// As [`top_k_coded`] from lists, where a row of the best may be left out so that this share of them is expected; and
/// true if none is left out for certain. All rows are read where codes have no lists.
///
/// # Errors
/// As [`top_k_coded`].
pub fn probe_coded<'a>(
    codes: &Codes,
    query: &[f32],
    rows: impl Into<Pieces<'a>>,
    request: Request<'_>,
    recall: f64,
) -> Result<(Hits, bool)> {
    let (rows, published) = (rows.into(), codes.published());
    if let (Some(lists), true) = (&published.lists, recall < 1.0) {
        let allowed = request.mask.map_or(rows.n(), |mask| mask.iter().filter(|&&byte| byte != 0).count());
        if allowed <= FEW && !codes.distances() && request.within.is_none() {
            check(codes, &published, Rows::new(query, 1, query.len())?, rows, request)?;
            return Ok((top_k_of_few(query, rows, request.k, request.mask)?, true));
        }
        let (hits, certain) = probe_within(codes, query, rows, request, lists.budget(recall))?;
        if hits.rows.len() >= request.k.min(allowed) {
            return Ok((hits, certain));
        }
    }
    Ok((top_k_coded(codes, query, rows, request)?, true))
}

/// As [`probe_coded`], with the leaning of a search.
pub(super) fn probe_within(
    codes: &Codes,
    query: &[f32],
    rows: Pieces<'_>,
    request: Request<'_>,
    budget: Budget,
) -> Result<(Hits, bool)> {
    let queries = Rows::new(query, 1, query.len())?;
    let Some((task, mut best)) = begin(codes, queries, rows, request)? else { return Ok((Hits::default(), true)) };
    if let (Some(lists), Some(mut best), true) = (task.rows.lists.clone(), best.pop(), task.queries[0].unit > 0.0) {
        let learns = task.k <= MOST_LEARNT && rows.are_in_memory();
        let probed = if budget.misses > 0.0 { probe(&task, &lists, &mut best, budget, learns)? } else { None };
        if let Some(certain) = probed {
            return Ok((best.hits(), certain));
        }
    }
    Ok((top_k_coded(codes, query, rows, request)?, true))
}

/// The task of a search and the exact ends of its queries; None if no row is wanted.
pub(super) fn begin<'a>(
    codes: &Codes,
    queries: Rows<'a>,
    rows: Pieces<'a>,
    request: Request<'_>,
) -> Result<Option<(Task, Vec<Best<'a>>)>> {
    let published = codes.published();
    check(codes, &published, queries, rows, request)?;
    let each = || (0..queries.n()).map(|query| queries.row(query));
    let mask = request.mask.map(BitMask::from_bytes);
    let allowed = mask.as_ref().map_or(rows.n(), BitMask::count);
    let k = request.k.min(allowed);
    if k == 0 {
        return Ok(None);
    }
    let level = request.level;
    let coded = |query: &[f32]| match (CodedQuery::new(query, level), codes.distances()) {
        (coded, true) => coded.for_distances(dot(query, query)),
        (coded, false) => coded,
    };
    let coded: Vec<CodedQuery> = each().map(coded).collect();
    let within = request.within.unwrap_or(f64::NEG_INFINITY);
    let best = |(query, coded): (_, &CodedQuery)| {
        Best::new(query, rows, (k, within), level, Measure::of(query, codes.distances()), coded.unit)
    };
    let best = each().zip(&coded).map(best).collect();
    let task = Task {
        kernel: Kernel::of(level),
        n: rows.n(),
        mask,
        allowed,
        shifts: shifts(&published.segments, queries, &coded, level),
        queries: coded,
        level,
        k,
        front: request.front,
        rows: published,
        runs: None,
    };
    Ok(Some((task, best)))
}

/// Search with a guessed floor or none; None where too few rows reach the guess, so that others may be missing.
fn search_from(
    codes: &Codes,
    queries: Rows<'_>,
    rows: Pieces<'_>,
    request: Request<'_>,
    (room, guesses): (usize, bool),
) -> Result<Option<Vec<Hits>>> {
    let Some((mut task, mut best)) = begin(codes, queries, rows, request)? else {
        return Ok(Some(vec![Hits::default(); queries.n()]));
    };
    let k = task.k;
    // To read a row from a file takes longer than what its score spares the scan.
    let learns = queries.n() == 1 && k <= MOST_LEARNT && rows.are_in_memory();
    let (floor, guess) = match (task.rows.lists.clone(), &mut *best) {
        (Some(lists), [best]) if best.unit() > 0.0 => {
            let (floor, runs) = candidate_runs(&task, &lists, best, learns);
            task.runs = Some(runs);
            (floor, f32::NEG_INFINITY)
        }
        _ if guesses => (f32::NEG_INFINITY, task.guess()),
        _ => (f32::NEG_INFINITY, f32::NEG_INFINITY),
    };
    let floors: Vec<f32> = best.iter().map(|best| best.floor().max(floor).max(guess)).collect();
    let bytes = task.allowed * lines(rows.d()) * LINE;
    let work = Arc::new(Work::new(task, &floors, room));
    let threads = request.threads.map_or_else(|| threads(bytes, queries.n()), |threads| threads.max(1));
    let learn = &mut |query: usize, fresh: &[Kept]| if learns { best[query].learn(fresh) } else { f32::NEG_INFINITY };
    pool::run_with(&work, threads.min(work.units()) - 1, || work.take(learn));
    let results = work.finish(learn);
    for (query, (best, (kept, floor))) in best.iter_mut().zip(results).enumerate() {
        match kept {
            Some(kept) => best.find(kept, floor)?,
            None => best.find_in_crowd(&work, query)?,
        }
    }
    if best.iter().any(|best| best.floor() < guess) {
        return Ok(None);
    }
    let results: Vec<Hits> = best.into_iter().map(Best::hits).collect();
    // There are k rows, and bounds that hold lose none of the best.
    if codes.source().is_some() && request.within.is_none() && results.iter().any(|hits| hits.rows.len() < k) {
        return Err(Error::Damaged { what: "the codes, which are not those of the rows: delete their file" });
    }
    Ok(Some(results))
}

fn check(
    codes: &Codes,
    published: &Published,
    queries: Rows<'_>,
    rows: Pieces<'_>,
    request: Request<'_>,
) -> Result<()> {
    let (coded, listed) = (published.len(), published.lists.as_ref().map_or(0, |lists| lists.rows));
    if rows.d() != codes.d() {
        return Err(Error::Length { what: "a row", got: rows.d(), wanted: codes.d() });
    }
    if rows.n() > coded || rows.n() < listed {
        return Err(Error::Length { what: "rows", got: rows.n(), wanted: coded });
    }
    match request.mask {
        Some(mask) if mask.len() != rows.n() => {
            return Err(Error::Length { what: "mask", got: mask.len(), wanted: rows.n() });
        }
        _ => {}
    }
    if queries.d() != rows.d() {
        return Err(Error::Length { what: "query", got: queries.d(), wanted: rows.d() });
    }
    (0..queries.n()).try_for_each(|query| rows.check_query(queries.row(query)))
}

/// The addend of each segment's centre to the scores of each query; segments often share a centre.
fn shifts(segments: &[Arc<Segment>], queries: Rows<'_>, coded: &[CodedQuery], level: Level) -> Vec<Arc<[Shift]>> {
    let mut shifts: Vec<Arc<[Shift]>> = Vec::with_capacity(segments.len());
    for (i, segment) in segments.iter().enumerate() {
        let shared = i > 0 && Arc::ptr_eq(segments[i - 1].centre(), segment.centre());
        let same = shifts.last().filter(|_| shared).cloned();
        let own = |query: usize| segment.centre().shift(queries.row(query), &coded[query], level);
        shifts.push(same.unwrap_or_else(|| (0..queries.n()).map(own).collect()));
    }
    shifts
}

/// Every core, unless the work takes one thread less than about a millisecond. From the second query of a batch on the
/// codes come from a cache, so a query costs about a third.
fn threads(bytes: usize, queries: usize) -> usize {
    if bytes.saturating_mul(queries.div_ceil(3)) < ALONE_BYTES { 1 } else { pool::cores() }
}
