//! Which slots of a snapshot a search may return, and which vectors belong to them.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};

/// A mask over the slots of one snapshot, with the masks over its spaces' vectors that follow from it.
#[derive(Debug)]
pub struct Selection {
    slots: Vec<u8>,
    /// By space; made when a search first asks.
    vectors: Mutex<Vec<(i64, Arc<[u8]>)>>,
}

impl Selection {
    /// Slots are allowed where the mask is not 0.
    pub fn new(slots: Vec<u8>) -> Self {
        Self { slots, vectors: Mutex::default() }
    }

    /// By slot, not 0 where it may be returned `(s,)`.
    pub fn slots(&self) -> &[u8] {
        &self.slots
    }

    /// By vector of a space, not 0 where its slot may be returned, given the slot of each `(v,)`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a slot outside of the mask.
    pub fn vectors(&self, space: i64, slots: &[i64]) -> Result<Arc<[u8]>> {
        let mut held = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, mask)) = held.iter().find(|(number, mask)| *number == space && mask.len() == slots.len()) {
            return Ok(Arc::clone(mask));
        }
        let mask: Arc<[u8]> = slots.iter().map(|&slot| self.at(slot)).collect::<Result<_>>()?;
        held.retain(|(number, _)| *number != space);
        held.push((space, Arc::clone(&mask)));
        Ok(mask)
    }

    fn at(&self, slot: i64) -> Result<u8> {
        let results = usize::try_from(slot).ok().and_then(|slot| self.slots.get(slot)).copied();
        results.ok_or(Error::OutOfRange { what: "slot", index: slot, len: self.slots.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_follow_their_slots_and_a_space_that_grew_is_read_anew() {
        let selection = Selection::new(vec![1, 0, 1]);
        assert_eq!(*selection.vectors(7, &[2, 1]).unwrap(), [1, 0]);
        assert_eq!(*selection.vectors(7, &[2, 1, 0]).unwrap(), [1, 0, 1]);
        assert_eq!(*selection.vectors(8, &[1]).unwrap(), [0]);
        assert!(selection.vectors(9, &[3]).is_err() && selection.vectors(9, &[-1]).is_err());
    }
}
