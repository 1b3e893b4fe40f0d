//! Names by number, and numbers by name.

use xxhash_rust::xxh3::xxh3_64;

use super::array::Array;
use super::file::ArrayFile;
use super::parts::{Ends, part, part_of};
use super::write::ArrayWriter;
use crate::error::{Error, Result};

/// Stands in the buckets for an empty one.
const EMPTY: u32 = u32::MAX;
/// A search in a table that is half empty takes a few steps.
const MOST_STEPS: usize = 4_096;

/// Names as they lie in a file, numbered from 0 on.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Numbers by the hash of their names, linear probing.
    buckets: Array<u32>,
    bytes: Array<u8>,
    ends: Array<u64>,
}

impl Names {
    /// The names in a file that [`Self::write`] wrote.
    ///
    /// # Errors
    /// [`Error::Damaged`] where columns are missing or do not fit each other.
    pub fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        let names = Self {
            buckets: file.column(&format!("{prefix}buckets"))?,
            bytes: file.column(&format!("{prefix}names"))?,
            ends: file.column(&format!("{prefix}name_ends"))?,
        };
        let fits = (names.buckets.len().is_power_of_two() || names.is_empty()) && u32::try_from(names.len()).is_ok();
        if fits { Ok(names) } else { Err(Error::Damaged { what: "the number of names" }) }
    }

    /// Write names by number as columns of a file; no two may be the same.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(names: &[&[u8]], to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        let mut buckets = vec![EMPTY; (names.len() * 2).next_power_of_two()];
        let mask = buckets.len() - 1;
        to.begin::<u8>(&format!("{prefix}names"))?;
        let mut ends = Ends::default();
        for (name, number) in names.iter().zip(0..) {
            to.put(name)?;
            ends.grow(name.len());
            ends.end();
            let mut at = bucket(name) & mask;
            while buckets[at] != EMPTY {
                at = (at + 1) & mask;
            }
            buckets[at] = number;
        }
        to.column(&format!("{prefix}name_ends"), ends.as_slice())?;
        to.column(&format!("{prefix}buckets"), &buckets)
    }

    /// The number of them.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a name.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        let (buckets, bytes, ends) = (&*self.buckets, &*self.bytes, &*self.ends);
        let mask = buckets.len().checked_sub(1)?;
        let first = bucket(name);
        // Ends before the last bucket but for a table without an empty one, which is none of ours.
        for step in 0..buckets.len() {
            let number = buckets[first.wrapping_add(step) & mask];
            if number == EMPTY {
                return None;
            }
            if part(bytes, ends, number) == name && (number as usize) < ends.len() {
                return Some(number);
            }
            if step >= MOST_STEPS || number as usize >= ends.len() {
                self.buckets.spoil();
                return None;
            }
        }
        None
    }

    /// The name of a number; empty for one that has none.
    pub fn get(&self, number: u32) -> &[u8] {
        part_of(&self.bytes, &self.ends, number)
    }

    /// All names, by number.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len() as u32).map(|number| self.get(number))
    }
}

/// Where to look for a name first; the mask of the table is applied to it.
fn bucket(name: &[u8]) -> usize {
    xxh3_64(name) as usize
}

#[cfg(test)]
mod tests {
    use super::super::folder::Folder;
    use super::*;

    fn written(folder: &Folder, name: &str, names: &[&[u8]]) -> ArrayFile {
        let path = folder.file(name);
        let mut writer = ArrayWriter::create(&path, b"").unwrap();
        Names::write(names, &mut writer, "x_").unwrap();
        writer.finish().unwrap();
        ArrayFile::open(&path).unwrap()
    }

    #[test]
    fn names_are_found_by_number_and_by_name() {
        let folder = Folder::new("names");
        for count in [0_usize, 1, 2, 3, 4, 100, 1_000] {
            let texts: Vec<String> = (0..count).map(|i| format!("name {i}")).collect();
            let input: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            let file = written(&folder, &count.to_string(), &input);
            let names = Names::open(&file, "x_").unwrap();
            assert_eq!((names.len(), names.is_empty()), (count, count == 0));
            assert_eq!(names.iter().collect::<Vec<_>>(), input);
            for (number, name) in (0..).zip(&input) {
                assert_eq!((names.find(name), names.get(number)), (Some(number), *name));
            }
            assert_eq!((names.find(b"another"), names.get(count as u32)), (None, &[][..]));
            // Half of the buckets at least are empty, so that a search that finds nothing is short.
            assert!(names.buckets.len() >= 2 * count && names.buckets.iter().filter(|&&b| b != EMPTY).count() == count);
        }
    }

    #[test]
    fn a_table_of_buckets_that_no_mask_fits_is_damaged() {
        let folder = Folder::new("buckets");
        let open = |name: &str, buckets: &[u32]| {
            let path = folder.file(name);
            let mut writer = ArrayWriter::create(&path, b"").unwrap();
            writer.column::<u32>("x_buckets", buckets).unwrap();
            writer.column::<u8>("x_names", b"a").unwrap();
            writer.column::<u64>("x_name_ends", &[1]).unwrap();
            writer.finish().unwrap();
            Names::open(&ArrayFile::open(&path).unwrap(), "x_").map(|names| names.find(b"a"))
        };
        let damaged = Err(Error::Damaged { what: "the number of names" });
        assert_eq!((open("three", &[0, EMPTY, EMPTY]), open("none", &[])), (damaged.clone(), damaged));
        assert_eq!(open("full", &[0, 0]), Ok(Some(0)));
        // A number that no name has is passed over, and a table without an empty bucket ends the search.
        assert_eq!(open("foreign", &[9, 9]), Ok(None));
    }
}
