//! Lists in an array file, beside the codes of their rows.

use std::sync::Arc;

use super::super::Codes;
use super::super::file::damaged;
use super::super::segment::Segment;
use super::trial::Trial;
use super::{Lists, Shape};
use crate::arrays::{Array, ArrayFile, ArrayWriter};
use crate::error::Result;

impl Lists {
    /// Write lists as columns of a file, their names behind a prefix; `segments` begin with theirs.
    pub(in super::super) fn write(&self, to: &mut ArrayWriter, prefix: &str, segments: &[Arc<Segment>]) -> Result<()> {
        let name = |name: &str| format!("{prefix}{name}");
        to.column::<u64>(&name("rows"), &[self.rows as u64, self.trial.rows as u64])?;
        to.begin::<u32>(&name("order"))?;
        segments[..self.len()].iter().try_for_each(|list| list.rows().map_or(Ok(()), |rows| to.put(rows)))?;
        let shape = |shape: &Shape| [shape.square, shape.spread, shape.reach];
        to.column::<f32>(&name("shapes"), &self.shapes.iter().flat_map(shape).collect::<Vec<_>>())?;
        to.column::<f32>(&name("trial"), &[&[self.trial.scale], &*self.trial.recalls].concat())?;
        self.centres.write(to, &name("centres/"), self.len())
    }

    /// The lists in a file and the rows in their order; None if it has none.
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
        let shapes: Array<f32> = file.column(&name("shapes"))?;
        let trial: Array<f32> = file.column(&name("trial"))?;
        let centres = Codes::open(file, &name("centres/"))?;
        let [rows, tried] = *counts else { return Err(damaged()) };
        let (Ok(rows), Ok(tried)) = (u32::try_from(rows), u32::try_from(tried)) else { return Err(damaged()) };
        let (shapes, rest) = shapes.as_chunks::<3>();
        let Some((&scale, recalls)) = trial.split_first() else { return Err(damaged()) };
        let fit = rest.is_empty() && shapes.len() == centres.len() && centres.d() == d && centres.distances();
        let finite = trial.iter().chain(shapes.as_flattened()).all(|x| x.is_finite());
        if !fit || !finite || scale < 0.0 || order.iter().any(|&row| row >= rows) {
            return Err(damaged());
        }
        let shapes = shapes.iter().map(|&[square, spread, reach]| Shape { square, spread, reach }).collect();
        let trial = Trial { rows: tried as usize, scale, recalls: recalls.to_vec() };
        Ok(Some((Self { rows: rows as usize, centres, shapes, trial }, order)))
    }
}
