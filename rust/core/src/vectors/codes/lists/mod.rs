//! Lists: runs of rows that lie near each other, for searches that read the lists near the query alone.
//!
//! A list knows its mean `c`, the mean square `R^2` of its rows' distances from it, and the largest of them, `m`. For a
//! query `q` the scores of its rows lie about `q . c` and at most `|q| m` above it, which rules lists out for certain.
//! Far fewer can hold a row that reaches a score `t` by chance: their rows' scores are taken as normal, with deviation
//! `s |q| R`, where `s` is measured when the lists are built ([`calibration`]). So a list of `n` rows is expected to hold
//! `n Q((t - q . c) / (s |q| R))` better ones, and a search ends when all lists left are expected to hold few ([`probe`]).
//!
//! By distance the scores are `|q|^2 - |q - x|^2` over 2, which lie about `(|q|^2 - |q - c|^2 - R^2) / 2`, and `|q - c|`
//! stands for `|q|`.
//!
//! Lists near each other are neighbours in one segment, so that a search that reads all of them reads long runs. Where
//! there are very many, the lists of a segment are a group with an extent of its own, about the segment's centre, and a
//! search looks at the lists of those groups alone that are expected to hold better rows ([`estimate`]).

mod arrange;
mod assign;
mod calibration;
mod cluster;
mod estimate;
mod file;
mod probe;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use super::Codes;
use super::quantise::CodedQuery;
use super::scan::Chunk;
use super::segment::Segment;
use crate::arrays::Array;
use crate::error::Result;
use crate::simd::Level;
use crate::vectors::Rows;
use calibration::Calibration;
use estimate::{Estimator, Extent, Group, groups};

pub(super) use probe::{Budget, candidate_runs, probe};

/// The lists of the first segments of some codes.
#[derive(Debug)]
pub(super) struct Lists {
    /// The rows that were there when the lists were made, dead ones too.
    pub(super) rows: usize,
    /// The segments that are lists.
    pub(super) segments: usize,
    /// The lists' means, one behind the other.
    means: Array<f32>,
    /// Their codes, by distance.
    centres: Codes,
    /// In the order of their rows.
    lists: Vec<List>,
    /// In their order; empty where lists are too few.
    groups: Vec<Group>,
    /// Set once, by searches of these lists.
    calibration: OnceLock<Calibration>,
}

/// A list: a run of a segment's rows, and their extent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct List {
    segment: u32,
    from: u32,
    to: u32,
    /// About its mean.
    extent: Extent,
}

impl Lists {
    /// The number of lists.
    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.means.owned_bytes()
            + self.centres.size_bytes()
            + self.lists.capacity() * size_of::<List>()
            + self.groups.capacity() * size_of::<Group>()
    }

    /// Lists with their means, one behind the other.
    fn new(
        rows: usize,
        segments: &[Arc<Segment>],
        lists: Vec<List>,
        means: Vec<f32>,
        d: usize,
        calibration: OnceLock<Calibration>,
    ) -> Result<Self> {
        let centres = Codes::of_distances(d)?;
        centres.append(Rows::new(&means, lists.len(), d)?)?;
        let groups = groups(&lists, &means, segments);
        Ok(Self { rows, segments: segments.len(), means: means.into(), centres, lists, groups, calibration })
    }

    /// The budget of a search that is to find this share of the best rows.
    pub(super) fn budget(&self, recall: f64) -> Budget {
        Budget { misses: self.calibration().misses(recall), scale: self.calibration().scale }
    }

    fn calibration(&self) -> &Calibration {
        static NONE: Calibration = Calibration::NONE;
        self.calibration.get().unwrap_or(&NONE)
    }

    /// The lists whose rows' mean score is highest, best first.
    fn nearest(&self, query: &[f32], count: usize, distances: bool, level: Level) -> Vec<List> {
        let (coded, mut all) = (CodedQuery::new(query, level), Vec::new());
        Estimator::new(self, (query, &coded), distances, level, 0.0).lists(0..self.len(), &mut all);
        all.sort_unstable_by(|a, b| b.mean.total_cmp(&a.mean));
        all.iter().take(count).map(|estimate| self.lists[estimate.of as usize]).collect()
    }
}

impl List {
    fn len(&self) -> usize {
        (self.to - self.from) as usize
    }

    fn chunk(&self) -> Chunk {
        Chunk { segment: self.segment as usize, rows: self.from as usize..self.to as usize }
    }
}
