//! From a query to the k best rows.

use std::sync::Arc;

use super::Codes;
use super::keep::{Kept, prune};
use super::kernel::Kernel;
use super::line::{LINE, lines};
use super::lists::{Lean, narrowed, probe};
use super::published::Published;
use super::quantise::{CodedQuery, Shift, relative};
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
/// Rows to prefetch ahead of the one being scored.
const AHEAD: usize = 4;

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
        let (hits, certain) = leant(codes, query, rows, request, lists.lean(recall))?;
        if hits.rows.len() >= request.k.min(allowed) {
            return Ok((hits, certain));
        }
    }
    Ok((top_k_coded(codes, query, rows, request)?, true))
}

/// As [`probe_coded`], with the leaning of a search.
pub(super) fn leant(
    codes: &Codes,
    query: &[f32],
    rows: Pieces<'_>,
    request: Request<'_>,
    lean: Lean,
) -> Result<(Hits, bool)> {
    let queries = Rows::new(query, 1, query.len())?;
    let Some((task, mut best)) = begin(codes, queries, rows, request)? else { return Ok((Hits::default(), true)) };
    if let (Some(lists), Some(mut best), true) = (task.rows.lists.clone(), best.pop(), task.queries[0].unit > 0.0) {
        let learns = task.k <= MOST_LEARNT && rows.are_in_memory();
        let probed = if lean.doubt > 0.0 { probe(&task, &lists, &mut best, lean, learns)? } else { None };
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
    let best = |(query, coded): (_, &CodedQuery)| Best {
        query,
        rows,
        k,
        level,
        measure: Measure::of(query, codes.distances()),
        unit: coded.unit,
        within,
        scored: Vec::new(),
        known: Vec::new(),
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
        (Some(lists), [best]) if best.unit > 0.0 => {
            let (floor, runs) = narrowed(&task, &lists, best, learns);
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

/// The exact end of a search.
pub(super) struct Best<'a> {
    query: &'a [f32],
    rows: Pieces<'a>,
    k: usize,
    level: Level,
    measure: Measure,
    unit: f64,
    /// The score that a row must have.
    within: f64,
    /// The best scores known so far, of rows that are all known.
    scored: Vec<(f64, usize)>,
    known: Vec<usize>,
}

impl Best<'_> {
    /// Score the most promising rows that a part of the scan left, and return the floor that they prove.
    ///
    /// The k-th best score is the highest floor there is: by bounds of whole codes it would lie an error lower, and half
    /// as many rows again would be left over by their upper four bits.
    pub(super) fn learn(&mut self, fresh: &[Kept]) -> f32 {
        let least = self.least(&self.scored);
        let mut fresh: Vec<Kept> = fresh.iter().copied().filter(|kept| self.reaches(kept, least)).collect();
        if fresh.len() > self.k {
            fresh.select_nth_unstable_by(self.k - 1, |a, b| b.upper.total_cmp(&a.upper));
            fresh.truncate(self.k);
        }
        let mut scored = self.scored.clone();
        if self.score(&mut fresh, least, &mut scored).is_err() {
            // Rows that cannot be read are met again at the end, where an error can be reported.
            return f32::NEG_INFINITY;
        }
        self.cut(&mut scored);
        self.scored = scored;
        self.known.extend(fresh.iter().map(|kept| kept.row));
        self.floor()
    }

    /// Score what the scan left in float64 and keep the k best.
    ///
    /// The k rows with the highest upper bounds come first: their exact scores set a floor one error margin higher than
    /// the scan could, and most of the others never have to be read.
    pub(super) fn find(&mut self, mut kept: Vec<Kept>, floor: f32) -> Result<()> {
        prune(&mut kept, self.k, floor);
        self.known.sort_unstable();
        kept.retain(|kept| self.known.binary_search(&kept.row).is_err());
        let mut scored = std::mem::take(&mut self.scored);
        let first = self.k.saturating_sub(scored.len()).min(kept.len());
        if first > 0 && first < kept.len() {
            kept.select_nth_unstable_by(first - 1, |a, b| b.upper.total_cmp(&a.upper));
        }
        let mut rest = kept.split_off(first);
        self.score(&mut kept, self.within, &mut scored)?;
        let mut least = self.least(&scored);
        rest.retain(|kept| self.reaches(kept, least));
        rest.sort_unstable_by(|a, b| b.upper.total_cmp(&a.upper));
        // In ever larger parts, so that a better floor found on the way spares the later ones.
        let mut part = self.k.max(32);
        while !rest.is_empty() {
            let mut now: Vec<Kept> = rest.drain(..part.min(rest.len())).collect();
            self.score(&mut now, least, &mut scored)?;
            self.cut(&mut scored);
            least = self.least(&scored);
            rest.retain(|kept| self.reaches(kept, least));
            part *= 2;
        }
        self.cut(&mut scored);
        self.scored = scored;
        Ok(())
    }

    /// As [`Best::find`], where more rows than can be held may be among the best: they are scored as they are found.
    fn find_in_crowd(&mut self, work: &Work, query: usize) -> Result<()> {
        self.scored.clear();
        work.again(query, |fresh| {
            let mut scored = std::mem::take(&mut self.scored);
            let least = self.least(&scored);
            let mut fresh: Vec<Kept> = fresh.iter().copied().filter(|kept| self.reaches(kept, least)).collect();
            self.score(&mut fresh, least, &mut scored)?;
            self.cut(&mut scored);
            self.scored = scored;
            Ok(self.floor())
        })
    }

    /// Forget the rows that were scored.
    pub(super) fn forget(&mut self) {
        self.scored.clear();
        self.known.clear();
    }

    pub(super) fn query(&self) -> &[f32] {
        self.query
    }

    pub(super) fn is_by_distance(&self) -> bool {
        matches!(self.measure, Measure::Distance { .. })
    }

    /// The score that a row needs to be among the best, as lists estimate scores; once they were found.
    pub(super) fn reached(&self) -> f32 {
        (self.product(self.least(&self.scored)) as f32).next_down()
    }

    /// The k best, once they were found.
    fn hits(self) -> Hits {
        let (scores, rows) = self.scored.into_iter().unzip();
        Hits { rows, scores }
    }

    /// The floor that the known scores prove, in units of the query: a row under it is not among the best.
    fn floor(&self) -> f32 {
        let floor = (self.product(self.least(&self.scored)) / self.unit) as f32;
        if floor.is_finite() { floor.next_down() } else { f32::NEG_INFINITY }
    }

    /// True if a row can have this score. Not a number: it can.
    fn reaches(&self, kept: &Kept, least: f64) -> bool {
        let upper = f64::from(kept.upper) * self.unit;
        upper >= self.product(least) || upper.is_nan()
    }

    /// The lower bound of the scanned product that a row needs to reach this score.
    fn product(&self, least: f64) -> f64 {
        self.measure.least(least, relative(self.query.len()))
    }

    /// Add the float64 scores of rows that can reach the least, in the order in which they lie in memory.
    fn score(&self, kept: &mut [Kept], least: f64, scored: &mut Vec<(f64, usize)>) -> Result<()> {
        kept.sort_unstable_by_key(|kept| kept.row);
        let kernel = Kernel::of(self.level);
        let fetch = |kept: &Kept| self.rows.in_memory(kept.row).into_iter().for_each(|row| kernel.fetch(row));
        let mut buffer = Vec::new();
        kept.iter().take(AHEAD).for_each(fetch);
        for (j, here) in kept.iter().enumerate() {
            if let Some(next) = kept.get(j + AHEAD) {
                fetch(next);
            }
            let score = self.measure.score(self.level, self.query, self.rows.row(here.row, &mut buffer)?);
            // Rows that changed after they were coded must not upset the order of the others.
            if score >= least || (least == f64::NEG_INFINITY && !score.is_nan()) {
                scored.push((score, here.row));
            }
        }
        Ok(())
    }

    /// The k-th best score, once there are k; before, the one that a row must have.
    fn least(&self, scored: &[(f64, usize)]) -> f64 {
        if scored.len() < self.k {
            return self.within;
        }
        scored.iter().take(self.k).map(|&(score, _)| score).fold(f64::INFINITY, f64::min)
    }

    /// Keep the k best, in order.
    fn cut(&self, scored: &mut Vec<(f64, usize)>) {
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored.truncate(self.k);
    }
}
