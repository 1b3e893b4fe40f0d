//! Making lists, and taking in the rows that were added since.

use std::sync::{Arc, Mutex};

use super::super::Codes;
use super::super::centre::Centre;
use super::super::kernel::Kernel;
use super::super::published::Published;
use super::super::segment::Segment;
use super::Lists;
use super::cluster::{LEAST, MOST, Means, gathered, mean, split};
use super::trial::Trial;
use crate::error::{Error, Result};
use crate::simd::Level;
use crate::vectors::{Mask, Pieces, Rows};

/// Lists whose rows are compared with the parts of a split list, as some of them may be nearer to one of these.
const NEIGHBOURS: usize = 4;

/// A list in the making.
#[derive(Default)]
struct Draft {
    rows: Vec<u32>,
    /// About their mean.
    centre: Vec<f32>,
    /// The segment of the first of them, if it stays.
    kept: Option<Arc<Segment>>,
}

impl Codes {
    /// The number of lists; 0 if there are none.
    pub fn lists(&self) -> usize {
        self.published().listed()
    }

    /// The number of rows that no list has, as they were added since.
    pub fn unlisted(&self) -> usize {
        let published = self.published();
        published.len() - published.lists.as_ref().map_or(0, |lists| lists.rows)
    }

    /// The codes of the same rows in lists, for searches that do not read all of them; dead rows are left out.
    ///
    /// # Errors
    /// [`Error::Length`] for rows or a mask that do not fit; [`Error::File`] when a row cannot be read.
    pub fn arranged(&self, rows: Pieces<'_>, alive: Option<Mask<'_>>, threads: Option<usize>) -> Result<Self> {
        self.listing(rows, alive, threads, false)
    }

    /// As [`Codes::arranged`], where lists that are there take in the rows that were added since.
    ///
    /// # Errors
    /// As [`Codes::arranged`].
    pub fn absorbed(&self, rows: Pieces<'_>, alive: Option<Mask<'_>>, threads: Option<usize>) -> Result<Self> {
        self.listing(rows, alive, threads, true)
    }

    fn listing(&self, rows: Pieces<'_>, alive: Option<Mask<'_>>, threads: Option<usize>, keeps: bool) -> Result<Self> {
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
        let form = (Kernel::of(Level::best()), self.distances());
        let kept = published.lists.as_ref().filter(|_| keeps);
        let (lists, trial) = match kept {
            Some(lists) => {
                let more = &living[living.partition_point(|&row| (row as usize) < lists.rows)..];
                (grown(rows, drafts(&published, lives), more, threads)?, Some(lists.trial.clone()))
            }
            None => (made(rows, &living, threads)?, None),
        };
        let segments = lists.into_iter().map(|draft| draft.segment(rows, form)).collect::<Result<Vec<_>>>()?;
        let lists = Lists::of(n, &segments, self.d(), trial.clone().unwrap_or_default())?;
        let published = Published { lists: Some(Arc::new(lists)), segments };
        let codes = Self {
            d: self.d(),
            distances: self.distances(),
            appending: Mutex::default(),
            published: Mutex::new(Arc::new(published)),
        };
        if trial.is_none() { codes.tried(rows, &living, threads) } else { Ok(codes) }
    }

    /// These new codes with the trial of their lists.
    fn tried(self, rows: Pieces<'_>, living: &[u32], threads: Option<usize>) -> Result<Self> {
        let trial = Trial::of(&self, rows, living, threads)?;
        {
            let mut published = self.published.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let published = Arc::make_mut(&mut published);
            let lists = Lists::of(rows.n(), &published.segments, self.d, trial)?;
            published.lists = Some(Arc::new(lists));
        }
        Ok(self)
    }
}

impl Draft {
    /// A list of rows that none had before, or that others left.
    fn of(rows: Pieces<'_>, list: Vec<u32>) -> Result<Self> {
        let centre = mean(&gathered(rows, &list)?, rows.d());
        Ok(Self { rows: list, centre, kept: None })
    }

    /// The codes of the list: those that exist, with new rows behind them, or all of them made.
    fn segment(self, rows: Pieces<'_>, form: (Kernel, bool)) -> Result<Arc<Segment>> {
        let d = rows.d();
        let old = self.kept.as_ref().map_or(0, |kept| kept.len());
        let data = gathered(rows, &self.rows[old..])?;
        let fresh = Rows::new(&data, self.rows.len() - old, d)?;
        let Some(kept) = self.kept else {
            let centre = Arc::new(Centre::at(mean(&data, d)));
            return Ok(Arc::new(Segment::listed(self.rows, centre, fresh, form)));
        };
        if fresh.n() == 0 {
            return Ok(kept);
        }
        let more = Segment::listed(self.rows[old..].to_vec(), Arc::clone(kept.centre()), fresh, form);
        let mut segment = (*kept).clone();
        segment.extend(&more);
        Ok(Arc::new(segment))
    }
}

/// The lists that exist, less their dead rows.
fn drafts(published: &Published, lives: impl Fn(&u32) -> bool) -> Vec<Draft> {
    let draft = |segment: &Arc<Segment>| {
        let all = segment.rows().map_or(&[][..], |rows| rows);
        let rows: Vec<u32> = all.iter().copied().filter(&lives).collect();
        let kept = (rows.len() == all.len()).then(|| Arc::clone(segment));
        Draft { rows, centre: segment.centre().components().to_vec(), kept }
    };
    published.segments[..published.listed()].iter().map(draft).collect()
}

/// Lists of all rows.
fn made(rows: Pieces<'_>, living: &[u32], threads: Option<usize>) -> Result<Vec<Draft>> {
    if living.is_empty() {
        return Ok(Vec::new());
    }
    let means = Means::learnt(rows, living, threads)?;
    let mut drafts: Vec<Draft> = means.each().map(|mean| Draft { centre: mean.to_vec(), ..Draft::default() }).collect();
    for (&row, mean) in living.iter().zip(means.nearest(rows, living, threads)?) {
        drafts[mean as usize].rows.push(row);
    }
    grown(rows, drafts, &[], threads)
}

/// Lists with more rows: small ones are dissolved, each loose row goes to the nearest list, large ones are split, and
/// rows of lists nearby move to the parts where these are nearer.
fn grown(rows: Pieces<'_>, mut drafts: Vec<Draft>, more: &[u32], threads: Option<usize>) -> Result<Vec<Draft>> {
    let mut loose = more.to_vec();
    let is_large_enough = |draft: &Draft| draft.rows.len() >= LEAST;
    if drafts.iter().any(is_large_enough) {
        let (stay, small): (Vec<Draft>, Vec<Draft>) = drafts.into_iter().partition(is_large_enough);
        loose.extend(small.into_iter().flat_map(|draft| draft.rows));
        drafts = stay;
    }
    drafts.retain(|draft| !draft.rows.is_empty());
    if drafts.is_empty() && !loose.is_empty() {
        drafts.push(Draft::of(rows, std::mem::take(&mut loose))?);
    }
    if !loose.is_empty() {
        let means = means(&drafts, rows.d())?;
        for (&row, home) in loose.iter().zip(means.nearest(rows, &loose, threads)?) {
            drafts[home as usize].rows.push(row);
        }
    }
    let (large, drafts): (Vec<Draft>, Vec<Draft>) = drafts.into_iter().partition(|draft| draft.rows.len() > MOST);
    let mut parts = Vec::new();
    large.into_iter().try_for_each(|draft| split(rows, draft.rows, &mut parts))?;
    let parts = parts.into_iter().map(|part| Draft::of(rows, part)).collect::<Result<Vec<_>>>()?;
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
