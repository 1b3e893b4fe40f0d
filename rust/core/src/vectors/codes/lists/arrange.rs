//! Making lists, and taking in the rows that were added since.

use std::sync::{Arc, Mutex, OnceLock};

use rustc_hash::FxHashMap;

use super::super::Codes;
use super::super::centre::Centre;
use super::super::kernel::Kernel;
use super::super::line::lines;
use super::super::published::Published;
use super::super::segment::Segment;
use super::calibration::Calibration;
use super::cluster::{MAX_ROWS, MIN_ROWS, Means, PER_GROUP, TARGET_ROWS, gathered, mean, split};
use super::estimate::Extent;
use super::{List, Lists};
use crate::error::{Error, Result};
use crate::simd::Level;
use crate::vectors::{Mask, Pieces, Rows, dot, square_distance};

/// Lists whose rows are compared with the parts of a split list, as some of them may be nearer to one of these.
const NEIGHBOURS: usize = 4;

/// A list in the making.
#[derive(Clone, Default)]
struct Draft {
    rows: Vec<u32>,
    /// About their mean.
    centre: Vec<f32>,
    /// The segment that it lies in.
    home: usize,
    /// The list that it is, if no row left it, for the first of its rows.
    kept: Option<List>,
}

impl Codes {
    /// The number of lists; 0 if there are none.
    pub fn lists(&self) -> usize {
        self.published().lists.as_ref().map_or(0, |lists| lists.len())
    }

    /// The number of rows that no list has, as they were added since.
    pub fn unlisted(&self) -> usize {
        let published = self.published();
        published.len() - published.lists.as_ref().map_or(0, |lists| lists.rows)
    }

    /// Arrange the codes of the same rows in lists, for searches that do not read all of them; dead rows are left out.
    ///
    /// With `absorb`, lists that exist take in the rows that were added since.
    ///
    /// # Errors
    /// [`Error::Length`] for rows or a mask that do not fit; [`Error::File`] when a row cannot be read.
    pub fn arranged(
        &self,
        rows: Pieces<'_>,
        alive: Option<Mask<'_>>,
        absorb: bool,
        threads: Option<usize>,
    ) -> Result<Self> {
        let (published, n) = (self.published(), rows.n());
        let listed = published.lists.as_ref().map_or(0, |lists| lists.rows);
        for (what, got, wanted) in [
            ("a row", rows.d(), self.d()),
            ("rows", n, n.clamp(listed, published.len().max(listed))),
            ("mask", alive.map_or(n, <[u8]>::len), n),
        ] {
            if got != wanted {
                return Err(Error::Length { what, got, wanted });
            }
        }
        let lives = |row: &u32| alive.is_none_or(|alive| alive[*row as usize] != 0);
        let all =
            u32::try_from(n).map_err(|_| Error::Parameter { what: "rows", wanted: "below 2^32", got: n as f64 })?;
        let living: Vec<u32> = (0..all).filter(lives).collect();
        let lists = match published.lists.as_ref().filter(|_| absorb) {
            Some(lists) => {
                let drafts = drafts(&published, lists, lives);
                let more = &living[living.partition_point(|&row| (row as usize) < lists.rows)..];
                let calibration = lists.calibration.clone();
                let (drafts, old) = (updated(rows, drafts, more, threads)?, &published.segments[..lists.segments]);
                assembled(rows, drafts, old, self.distances())?.lists(n, self.d(), calibration)?
            }
            None => {
                let drafts = clustered(rows, &living, threads)?;
                assembled(rows, drafts, &[], self.distances())?.lists(n, self.d(), OnceLock::new())?
            }
        };
        let codes = Self {
            d: self.d(),
            distances: self.distances(),
            appending: Mutex::default(),
            published: Mutex::new(Arc::new(lists)),
        };
        if absorb && published.lists.is_some() { Ok(codes) } else { codes.calibrated(rows, &living, threads) }
    }

    /// These new codes with the calibration of their lists.
    pub(super) fn calibrated(self, rows: Pieces<'_>, living: &[u32], threads: Option<usize>) -> Result<Self> {
        let calibration = Calibration::of(&self, rows, living, threads)?;
        // A thread of the pool may still hold the lists, so they are not replaced.
        if let Some(lists) = &self.published().lists {
            let _ = lists.calibration.set(calibration);
        }
        Ok(self)
    }
}

/// Lists of rows in segments, with their codes.
struct Assembly {
    segments: Vec<Arc<Segment>>,
    lists: Vec<List>,
    means: Vec<f32>,
}

impl Assembly {
    fn lists(self, rows: usize, d: usize, calibration: OnceLock<Calibration>) -> Result<Published> {
        let Self { segments, lists, means } = self;
        let lists = Lists::new(rows, &segments, lists, means, d, calibration)?;
        Ok(Published { lists: Some(Arc::new(lists)), segments })
    }
}

/// Put lists into their segments, with the codes that exist.
fn assembled(rows: Pieces<'_>, mut drafts: Vec<Draft>, old: &[Arc<Segment>], distances: bool) -> Result<Assembly> {
    let (d, form) = (rows.d(), (Kernel::of(Level::best()), distances));
    drafts.sort_by_key(|draft| draft.home);
    let mut all = Assembly { segments: Vec::new(), lists: Vec::new(), means: Vec::new() };
    for group in drafts.chunk_by(|a, b| a.home == b.home) {
        let segment = all.segments.len() as u32;
        let (order, mut from) = (group.iter().flat_map(|draft| draft.rows.iter().copied()).collect::<Vec<u32>>(), 0);
        for draft in group {
            let to = from + draft.rows.len() as u32;
            all.lists.push(draft.list(rows, (segment, from, to))?);
            all.means.extend_from_slice(&draft.centre);
            from = to;
        }
        all.segments.push(match old.get(group[0].home) {
            Some(old) if old.rows().is_some_and(|rows| **rows == *order) => Arc::clone(old),
            Some(old) => Arc::new(rebuilt(rows, order, old, form)?),
            None => {
                let data = gathered(rows, &order)?;
                let centre = Arc::new(Centre::at(mean(&data, d)));
                let (n, rows) = (order.len(), Rows::new(&data, order.len(), d)?);
                Arc::new(Segment::coded(0, centre, rows, (0, n), form).listed(order))
            }
        });
    }
    Ok(all)
}

/// The segment with other rows: codes of those that it has are copied.
fn rebuilt(rows: Pieces<'_>, order: Vec<u32>, old: &Segment, form: (Kernel, bool)) -> Result<Segment> {
    let known: FxHashMap<u32, u32> = old.rows().into_iter().flat_map(|rows| rows.iter().copied()).zip(0..).collect();
    let fresh: Vec<u32> = order.iter().copied().filter(|row| !known.contains_key(row)).collect();
    let data = gathered(rows, &fresh)?;
    let gathered = Rows::new(&data, fresh.len(), rows.d())?;
    let fresh = Segment::coded(0, Arc::clone(old.centre()), gathered, (0, gathered.n()), form);
    let mut next = 0..;
    let place = |row: &u32| known.get(row).map_or_else(|| (true, next.next().unwrap_or(0)), |&at| (false, at));
    let places: Vec<(bool, u32)> = order.iter().map(place).collect();
    Ok(Segment::gathered(order, [old, &fresh], &places, lines(rows.d())))
}

impl Draft {
    /// A list of rows that none had before, or that others left.
    fn of(rows: Pieces<'_>, list: Vec<u32>, home: usize) -> Result<Self> {
        let centre = mean(&gathered(rows, &list)?, rows.d());
        Ok(Self { rows: list, centre, home, kept: None })
    }

    /// The list at a place, with the extent of its rows.
    fn list(&self, rows: Pieces<'_>, (segment, from, to): (u32, u32, u32)) -> Result<List> {
        let known = self.kept.map_or(0, |kept| kept.len());
        let mut sum = self.kept.map_or(0.0, |kept| f64::from(kept.extent.spread) * known as f64);
        let mut reach = self.kept.map_or(0.0, |kept| f64::from(kept.extent.reach));
        let mut buffer = Vec::new();
        for &row in &self.rows[known..] {
            let away = square_distance(rows.row(row as usize, &mut buffer)?, &self.centre);
            sum += away;
            // Sums of squares are rounded.
            reach = reach.max(away.sqrt() * (1.0 + 1e-6));
        }
        let square = dot(&self.centre, &self.centre) as f32;
        let spread = (sum / self.rows.len().max(1) as f64) as f32;
        Ok(List { segment, from, to, extent: Extent { square, spread, reach: (reach as f32).next_up() } })
    }
}

/// The lists that exist, less their dead rows.
fn drafts(published: &Published, lists: &Lists, lives: impl Fn(&u32) -> bool) -> Vec<Draft> {
    let d = lists.centres.d().max(1);
    let draft = |(list, centre): (&List, &[f32])| {
        let all = published.segments[list.segment as usize].rows().map_or(&[][..], |rows| &rows[list.chunk().rows]);
        let rows: Vec<u32> = all.iter().copied().filter(&lives).collect();
        let kept = (rows.len() == all.len()).then_some(*list);
        Draft { rows, centre: centre.to_vec(), home: list.segment as usize, kept }
    };
    lists.lists.iter().zip(lists.means.chunks_exact(d)).map(draft).collect()
}

/// Lists of all rows.
fn clustered(rows: Pieces<'_>, living: &[u32], threads: Option<usize>) -> Result<Vec<Draft>> {
    if living.is_empty() {
        return Ok(Vec::new());
    }
    let means = Means::learnt(rows, living, TARGET_ROWS, threads)?;
    let mut drafts: Vec<Draft> = means.each().map(|mean| Draft { centre: mean.to_vec(), ..Draft::default() }).collect();
    for (&row, mean) in living.iter().zip(means.nearest(rows, living, threads)?) {
        drafts[mean as usize].rows.push(row);
    }
    let mut drafts = updated(rows, drafts, &[], threads)?;
    let (d, all): (_, Vec<u32>) = (rows.d(), (0..drafts.len() as u32).collect());
    let data: Vec<f32> = drafts.iter().flat_map(|draft| &draft.centre).copied().collect();
    let means = Pieces::from(Rows::new(&data, all.len(), d)?);
    let homes = Means::learnt(means, &all, PER_GROUP, threads)?.nearest(means, &all, threads)?;
    drafts.iter_mut().zip(homes).for_each(|(draft, home)| draft.home = home as usize);
    Ok(drafts)
}

/// Lists with more rows: small ones are dissolved, each loose row goes to the nearest list, large ones are split, and
/// rows of lists nearby move to the parts where these are nearer.
fn updated(rows: Pieces<'_>, mut drafts: Vec<Draft>, more: &[u32], threads: Option<usize>) -> Result<Vec<Draft>> {
    let mut loose = more.to_vec();
    let is_large_enough = |draft: &Draft| draft.rows.len() >= MIN_ROWS;
    if drafts.iter().any(is_large_enough) {
        let (stay, small): (Vec<Draft>, Vec<Draft>) = drafts.into_iter().partition(is_large_enough);
        loose.extend(small.into_iter().flat_map(|draft| draft.rows));
        drafts = stay;
    }
    drafts.retain(|draft| !draft.rows.is_empty());
    if drafts.is_empty() && !loose.is_empty() {
        drafts.push(Draft::of(rows, std::mem::take(&mut loose), 0)?);
    }
    if !loose.is_empty() {
        let means = means(&drafts, rows.d())?;
        for (&row, home) in loose.iter().zip(means.nearest(rows, &loose, threads)?) {
            drafts[home as usize].rows.push(row);
        }
    }
    let (large, drafts): (Vec<Draft>, Vec<Draft>) = drafts.into_iter().partition(|draft| draft.rows.len() > MAX_ROWS);
    let mut parts = Vec::new();
    for Draft { rows: list, home, .. } in large {
        let mut own = Vec::new();
        split(rows, list, &mut own)?;
        own.into_iter().try_for_each(|part| Draft::of(rows, part, home).map(|part| parts.push(part)))?;
    }
    reassigned(rows, drafts, parts, threads)
}

/// Lists and new parts of others, with the rows of neighbours in the parts that are nearer than their lists.
fn reassigned(
    rows: Pieces<'_>,
    mut drafts: Vec<Draft>,
    parts: Vec<Draft>,
    threads: Option<usize>,
) -> Result<Vec<Draft>> {
    let first = drafts.len();
    let near = if parts.is_empty() || drafts.is_empty() {
        Vec::new()
    } else {
        means(&drafts, rows.d())?.neighbours(parts.iter().map(|part| &*part.centre), NEIGHBOURS)?
    };
    drafts.extend(parts);
    let moving: Vec<u32> = near.iter().flat_map(|&list| drafts[list].rows.iter().copied()).collect();
    if moving.is_empty() {
        return Ok(drafts);
    }
    let mut homes = means(&drafts, rows.d())?.nearest(rows, &moving, threads)?.into_iter().map(|home| home as usize);
    for list in near {
        let own: Vec<usize> = homes.by_ref().take(drafts[list].rows.len()).collect();
        // Rows that are nearer to other old lists stay: these were not split.
        if own.iter().any(|&home| home >= first) {
            let all = std::mem::take(&mut drafts[list].rows);
            drafts[list].kept = None;
            for (row, home) in all.into_iter().zip(own) {
                drafts[if home < first { list } else { home }].rows.push(row);
            }
        }
    }
    drafts.retain(|draft| !draft.rows.is_empty());
    Ok(drafts)
}

/// The means of lists.
fn means(drafts: &[Draft], d: usize) -> Result<Means> {
    Means::new(drafts.iter().flat_map(|draft| &draft.centre).copied().collect(), d)
}
