//! Characters that are replaced by none, one or several others.

use crate::error::{Error, Result};

const FAULT: Error = Error::Damaged { what: "the map of characters" };

/// Characters in ascending order, and where the replacements of each end.
#[derive(Debug)]
pub(super) struct Normaliser {
    from: Vec<char>,
    ends: Vec<u32>,
    to: Vec<char>,
}

impl Normaliser {
    pub(super) fn new(mut map: &[u8]) -> Result<Self> {
        let (mut from, mut ends, mut to) = (Vec::new(), Vec::new(), Vec::new());
        while !map.is_empty() {
            let c = character(&mut map)?;
            if from.last().is_some_and(|&last| last >= c) {
                return Err(FAULT);
            }
            let (&count, rest) = map.split_first().ok_or(FAULT)?;
            map = rest;
            for _ in 0..count {
                to.push(character(&mut map)?);
            }
            from.push(c);
            ends.push(u32::try_from(to.len()).map_err(|_| FAULT)?);
        }
        Ok(Self { from, ends, to })
    }

    /// Return the replacements of a character; `None` if it stays.
    pub(super) fn of(&self, c: char) -> Option<&[char]> {
        let at = self.from.binary_search(&c).ok()?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        Some(&self.to[start..self.ends[at] as usize])
    }
}

fn character(map: &mut &[u8]) -> Result<char> {
    let (number, rest) = map.split_first_chunk::<4>().ok_or(FAULT)?;
    *map = rest;
    char::from_u32(u32::from_le_bytes(*number)).ok_or(FAULT)
}
