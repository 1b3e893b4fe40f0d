//! The TF-IDF terms of texts, for those who keep them elsewhere.

use super::index::TermIndex;
use super::stored::TermLists;
use crate::error::Result;

impl TermIndex {
    /// The terms of all slots.
    ///
    /// # Errors
    /// None of an index that grew in memory.
    pub fn listed(&self) -> Result<TermLists> {
        let contents = self.shared.read();
        let mut lists = TermLists::of(contents.names());
        for slot in 0..contents.len() as i64 {
            contents.get(slot)?.for_each(|term, _| lists.push(term));
            lists.end();
        }
        Ok(lists)
    }
}
