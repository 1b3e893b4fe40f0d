//! Exact top-k from 8-bit codes: an eighth of the bytes of the float32 rows, or a quarter, and the same answer.
//!
//! A scan of the codes bounds every row's score from both sides ([`quantise`]): first by the upper four bits of the
//! codes, which lie by themselves, then, for rows that these do not rule out, by the whole codes ([`scan`]). Rows whose
//! upper bound reaches the k-th best lower bound are scored from the float32 rows, in float64. So ids, order and scores
//! are those of [`super::top_k`].

#[cfg(target_arch = "x86_64")]
mod avxvnni;
#[cfg(target_arch = "x86_64")]
mod avxvnni_tile;
mod best;
mod centre;
mod coded_query;
#[cfg(test)]
mod crowd_tests;
#[cfg(test)]
mod distance_tests;
#[cfg(target_arch = "aarch64")]
mod dotprod;
#[cfg(target_arch = "aarch64")]
mod dotprod_tile;
mod file;
mod guess;
mod keep;
mod kernel;
mod line;
mod lists;
#[cfg(target_arch = "x86_64")]
mod maddubs;
#[cfg(target_arch = "x86_64")]
mod maddubs_tile;
mod many;
mod plain;
mod published;
mod quantise;
mod scan;
mod search;
mod segment;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vnni;
#[cfg(target_arch = "x86_64")]
mod vnni_tile;
mod work;

use std::sync::{Arc, Mutex, PoisonError};

pub use search::{Request, probe_coded, top_k_batch_coded, top_k_coded};

use super::rows::Rows;
use crate::arrays::Source;
use crate::error::{Error, Result};
use crate::simd::Level;
use centre::{Centre, ENOUGH};
use kernel::Kernel;
use published::Published;
use segment::Segment;

/// More components than this could overflow the 32-bit sum of 255 * 127 each.
pub const MOST_DIMENSIONS: usize = 1 << 16;

/// Codes of float32 rows, append-only. Searches see the rows that were there when they began and wait for no append.
#[derive(Debug)]
pub struct Codes {
    d: usize,
    /// True if searches are for the smallest distances, not for the largest products.
    distances: bool,
    /// Held while rows are coded and added, so that appends come one after the other.
    appending: Mutex<()>,
    /// Held only to take a reference or to publish new rows.
    published: Mutex<Arc<Published>>,
}

impl Codes {
    /// No rows yet, of `d` components.
    ///
    /// # Errors
    /// [`Error::Parameter`] for more than [`MOST_DIMENSIONS`].
    pub fn new(d: usize) -> Result<Self> {
        if d > MOST_DIMENSIONS {
            return Err(Error::Parameter { what: "dimensions", wanted: "at most 65536", got: d as f64 });
        }
        Ok(Self { d, distances: false, appending: Mutex::default(), published: Mutex::default() })
    }

    /// As [`Codes::new`], for searches by distance: the score is the squared Euclidean distance, negated.
    ///
    /// # Errors
    /// As [`Codes::new`].
    pub fn of_distances(d: usize) -> Result<Self> {
        Ok(Self { distances: true, ..Self::new(d)? })
    }

    /// True if searches are by distance.
    pub fn distances(&self) -> bool {
        self.distances
    }

    /// The number of components of a row.
    pub fn d(&self) -> usize {
        self.d
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.published().len()
    }

    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The file's bytes that it lies in, if any.
    pub fn source(&self) -> Option<Arc<Source>> {
        self.published().segments.first().and_then(|segment| segment.columns().high.source().cloned())
    }

    /// The memory that the codes take, mapped ones left out.
    pub fn size_bytes(&self) -> usize {
        let published = self.published();
        let lists = published.lists.as_ref().map_or(0, |lists| lists.size_bytes());
        lists + published.segments.iter().map(|segment| segment.size_bytes()).sum::<usize>()
    }

    /// Code the rows and add them at the end; return the index of the first. All are added, or on an error none.
    ///
    /// # Errors
    /// [`Error::Length`] for rows of another width, [`Error::NotFinite`] naming the first row at fault.
    pub fn append(&self, rows: Rows<'_>) -> Result<usize> {
        if rows.d() != self.d {
            return Err(Error::Length { what: "a row", got: rows.d(), wanted: self.d });
        }
        let finite = |row: usize| rows.row(row).iter().all(|x| x.is_finite());
        if let Some(at) = (0..rows.n()).find(|&row| !finite(row)) {
            return Err(Error::NotFinite { what: "row", at });
        }
        let _turn = self.appending.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = (Kernel::of(Level::best()), self.distances);
        let published = self.published();
        let (first, last) = (published.len(), published.tail().last().cloned());
        let room = last.as_ref().map_or(0, |last| last.room());
        // Everything is coded before anything is published, so the lock is held for no longer than a small copy takes.
        let filling = room.min(rows.n());
        let filler =
            last.as_ref().map(|last| Segment::coded(first, Arc::clone(last.centre()), rows, (0, filling), kernel));
        let mut fresh = Vec::new();
        let mut next = filling;
        while next < rows.n() {
            let end = rows.n().min(next + Segment::most_rows(self.d));
            let centre = Arc::new(self.centre(last.as_deref(), rows, (next, end)));
            fresh.push(Arc::new(Segment::coded(first + next, centre, rows, (next, end), kernel)));
            next = end;
        }
        // Not held any longer, so that no copy is made for it below.
        drop((last, published));
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        // Where a search still holds the old list or its last segment, `make_mut` copies it and leaves theirs alone.
        let segments = &mut Arc::make_mut(&mut published).segments;
        if let (Some(last), Some(filler)) = (segments.last_mut(), filler)
            && filling > 0
        {
            Arc::make_mut(last).extend(&filler);
        }
        segments.extend(fresh);
        Ok(first)
    }

    /// The centre of a new segment: the mean of its rows, or, of few rows, that of the segment before.
    fn centre(&self, last: Option<&Segment>, rows: Rows<'_>, (from, to): (usize, usize)) -> Centre {
        match last {
            _ if to - from >= ENOUGH => Centre::of(rows, from, to),
            Some(last) => last.next_centre(self.d),
            None => Centre::none(self.d),
        }
    }

    fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
