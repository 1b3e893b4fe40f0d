//! The rows that a search sees.

use std::sync::Arc;

use super::lists::Lists;
use super::segment::Segment;

/// Lists of rows that lie near each other, then segments of the rows that were added since.
#[derive(Clone, Debug, Default)]
pub(super) struct Published {
    pub(super) lists: Option<Arc<Lists>>,
    /// The lists' segments first.
    pub(super) segments: Vec<Arc<Segment>>,
}

impl Published {
    /// The number of segments that are lists.
    pub(super) fn listed(&self) -> usize {
        self.lists.as_ref().map_or(0, |lists| lists.segments)
    }

    /// The segments that are no lists.
    pub(super) fn tail(&self) -> &[Arc<Segment>] {
        &self.segments[self.listed()..]
    }

    /// The number of rows, including those that no list has since they were removed.
    pub(super) fn len(&self) -> usize {
        let listed = self.lists.as_ref().map_or(0, |lists| lists.rows);
        self.tail().last().map_or(listed, |last| last.end())
    }
}
