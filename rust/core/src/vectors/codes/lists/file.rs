//! Lists in an array file, beside the codes of their rows.

use std::sync::Arc;

use super::super::Codes;
use super::super::file::damaged;
use super::super::segment::Segment;
use super::calibration::Calibration;
use super::estimate::{Extent, groups};
use super::{List, Lists};
use crate::arrays::{Array, ArrayFile, ArrayWriter};
use crate::error::Result;

impl Lists {
    /// Write lists as columns of a file, their names behind a prefix; `segments` begin with theirs.
    pub(in super::super) fn write(&self, to: &mut ArrayWriter, prefix: &str, segments: &[Arc<Segment>]) -> Result<()> {
        let name = |name: &str| format!("{prefix}{name}");
        to.column::<u64>(&name("rows"), &[self.rows as u64, self.segments as u64, self.calibration().rows as u64])?;
        to.begin::<u32>(&name("order"))?;
        segments[..self.segments].iter().try_for_each(|list| list.rows().map_or(Ok(()), |rows| to.put(rows)))?;
        let run = |list: &List| [list.segment, list.from, list.to];
        to.column::<u32>(&name("runs"), &self.lists.iter().flat_map(run).collect::<Vec<_>>())?;
        let extent = |&List { extent: Extent { square, spread, reach }, .. }: &List| [square, spread, reach];
        to.column::<f32>(&name("extents"), &self.lists.iter().flat_map(extent).collect::<Vec<_>>())?;
        to.column::<f32>(
            &name("calibration"),
            &[&[self.calibration().scale], self.calibration().recalls.as_flattened()].concat(),
        )?;
        to.column::<f32>(&name("means"), &self.means)?;
        self.centres.write(to, &name("centres/"), self.len())
    }

    /// The lists in a file and their rows in order; None if it has none. [`Lists::placed`] tells if they are runs of segments.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] when columns are missing or do not fit each other.
    pub(in super::super) fn open(file: &ArrayFile, prefix: &str, d: usize) -> Result<Option<(Self, Array<u32>)>> {
        let name = |name: &str| format!("{prefix}{name}");
        if !file.names().any(|known| known == name("rows")) {
            return Ok(None);
        }
        let counts: Array<u64> = file.column(&name("rows"))?;
        let order: Array<u32> = file.column(&name("order"))?;
        let runs: Array<u32> = file.column(&name("runs"))?;
        let extents: Array<f32> = file.column(&name("extents"))?;
        let calibration: Array<f32> = file.column(&name("calibration"))?;
        let means: Array<f32> = file.column(&name("means"))?;
        let centres = Codes::open(file, &name("centres/"))?;
        let small = |count: u64| u32::try_from(count).map(|count| count as usize).map_err(|_| damaged());
        let [rows, segments, calibrated] = *counts else { return Err(damaged()) };
        let (rows, segments, calibrated) = (small(rows)?, small(segments)?, small(calibrated)?);
        let ((runs, rest), (extents, others)) = (runs.as_chunks::<3>(), extents.as_chunks::<3>());
        let Some((&scale, recalls)) = calibration.split_first() else { return Err(damaged()) };
        let (recalls, odd) = recalls.as_chunks::<2>();
        let n = runs.len();
        let fit = rest.is_empty() && others.is_empty() && odd.is_empty() && extents.len() == n && centres.len() == n;
        let wide = centres.d() == d && centres.distances() && means.len() == n.saturating_mul(d);
        let finite = calibration.iter().chain(&*means).all(|x| x.is_finite());
        // The squares of long rows are beyond float32.
        let known = extents.as_flattened().iter().all(|x| !x.is_nan());
        if !fit || !wide || !finite || !known || scale < 0.0 || order.iter().any(|&row| row as usize >= rows) {
            return Err(damaged());
        }
        let list = |(&[segment, from, to], &[square, spread, reach]): (&[u32; 3], &[f32; 3])| List {
            segment,
            from,
            to,
            extent: Extent { square, spread, reach },
        };
        let lists = runs.iter().zip(extents).map(list).collect();
        let calibration = Calibration { rows: calibrated, scale, recalls: recalls.to_vec() }.into();
        let groups = Vec::new();
        Ok(Some((Self { rows, segments, means, centres, lists, groups, calibration }, order)))
    }

    /// The lists of these segments; None if they are not the segments' rows, one behind the other.
    pub(in super::super) fn placed(self, segments: &[Arc<Segment>]) -> Option<Self> {
        let mut lists = self.lists.iter().peekable();
        let all = segments.iter().enumerate().all(|(segment, of)| {
            let mut end = 0;
            while let Some(list) = lists.next_if(|list| list.segment as usize == segment && list.from == end) {
                if list.to < list.from {
                    return false;
                }
                end = list.to;
            }
            end as usize == of.len()
        });
        let fit = all && lists.next().is_none();
        fit.then(|| Self { groups: groups(&self.lists, &self.means, segments), ..self })
    }
}
