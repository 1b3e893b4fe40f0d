//! One array, owned or mapped.

use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;

use super::source::Source;

/// Plain numbers, owned or in the bytes of a file; read as a slice. A clone of a mapped one is another view of the same pages.
#[derive(Clone, Debug)]
pub struct Array<T>(Place<T>);

#[derive(Clone, Debug)]
enum Place<T> {
    Owned(Vec<T>),
    /// The range holds whole, aligned items: checked when it was made.
    Mapped {
        map: Arc<Source>,
        bytes: Range<usize>,
    },
}

impl<T: Pod> Array<T> {
    /// A view of bytes of a map; None unless they lie in it and hold whole, aligned items.
    pub(super) fn mapped(map: &Arc<Source>, bytes: Range<usize>) -> Option<Self> {
        bytemuck::try_cast_slice::<u8, T>(map.get(bytes.clone())?).ok()?;
        Some(Self(Place::Mapped { map: Arc::clone(map), bytes }))
    }

    /// The items of a range, which must lie in the array: a view of the same pages if it is mapped, else a copy.
    pub fn part(&self, items: Range<usize>) -> Option<Self> {
        let part = self.get(items.clone())?;
        Some(match &self.0 {
            Place::Owned(_) => part.to_vec().into(),
            Place::Mapped { map, bytes } => {
                let byte = |item: usize| bytes.start + item * size_of::<T>();
                Self(Place::Mapped { map: Arc::clone(map), bytes: byte(items.start)..byte(items.end) })
            }
        })
    }

    /// The items as an owned vector, copied out of the map if they lie in one.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Place::Mapped { .. } = self.0 {
            self.0 = Place::Owned(self.to_vec());
        }
        match &mut self.0 {
            Place::Owned(items) => items,
            Place::Mapped { .. } => unreachable!("made an owned one above"),
        }
    }

    /// Add items to an owned copy. It grows by an eighth where a vector would double: there is no more to come of most.
    pub fn extend(&mut self, items: &[T]) {
        let owned = self.to_mut();
        if owned.capacity() - owned.len() < items.len() {
            owned.reserve_exact(items.len().max(owned.len() / 8));
        }
        owned.extend_from_slice(items);
    }

    /// Say that the file's bytes it is a view of make no sense; see [`Source::spoil`].
    pub fn spoil(&self) {
        if let Some(source) = self.source() {
            source.spoil();
        }
    }

    /// The file's bytes that it is a view of, if any.
    pub fn source(&self) -> Option<&Arc<Source>> {
        match &self.0 {
            Place::Owned(_) => None,
            Place::Mapped { map, .. } => Some(map),
        }
    }

    /// The memory of its own that the array takes: none if it is a view.
    pub fn owned_bytes(&self) -> usize {
        match &self.0 {
            Place::Owned(items) => items.capacity() * size_of::<T>(),
            Place::Mapped { .. } => 0,
        }
    }
}

impl<T> Default for Array<T> {
    fn default() -> Self {
        Self(Place::Owned(Vec::new()))
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(items: Vec<T>) -> Self {
        Self(Place::Owned(items))
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Place::Owned(items) => items,
            Place::Mapped { map, bytes } => bytemuck::cast_slice(&map[bytes.clone()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ArrayFile, ArrayWriter, folder::Folder};
    use super::*;

    #[test]
    fn a_part_of_an_owned_array_is_a_copy_and_must_lie_in_it() {
        let array: Array<u32> = vec![1, 2, 3, 4].into();
        assert_eq!(array.part(1..3).unwrap()[..], [2, 3]);
        assert_eq!(array.part(4..4).unwrap().len(), 0);
        assert!(array.part(3..5).is_none());
    }

    #[test]
    fn a_part_of_a_mapped_array_is_a_view_of_its_items() {
        let folder = Folder::new("parts of arrays");
        let path = folder.file("a");
        let mut writer = ArrayWriter::create(&path, b"").unwrap();
        writer.column::<u32>("before", &[7; 100]).unwrap();
        writer.column::<u32>("numbers", &(0..1_000).collect::<Vec<_>>()).unwrap();
        writer.finish().unwrap();
        let numbers = ArrayFile::open(&path).unwrap().column::<u32>("numbers").unwrap();
        let part = numbers.part(10..20).unwrap();
        assert_eq!(part[..], (10..20).collect::<Vec<_>>());
        assert_eq!((&part.part(2..4).unwrap()[..], part.owned_bytes()), (&[12, 13][..], 0));
        assert!(numbers.part(999..1_001).is_none() && part.part(9..11).is_none());
    }

    #[test]
    fn an_array_that_is_full_grows_by_an_eighth_or_by_what_is_added() {
        let mut array: Array<u32> = vec![0; 800].into();
        array.extend(&[1]);
        assert_eq!((array.len(), array[800], array.owned_bytes()), (801, 1, 900 * 4));
        array.extend(&[2; 99]);
        assert_eq!((array.len(), array[899], array.owned_bytes()), (900, 2, 900 * 4));
        array.extend(&[3; 500]);
        assert_eq!((array.len(), array[1_399], array.owned_bytes()), (1_400, 3, 1_400 * 4));
    }
}
