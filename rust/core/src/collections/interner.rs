//! Names numbered from 0: those of a file, then those added since, in order of first sight.
//!
//! The spelling index has a table of its own: its words lie in records of 16 bytes, one load from one line of the cache,
//! of which a query reads thousands.

use super::lexicon::{Lexicon, Term};
use crate::arrays::{ArrayFile, ArrayWriter, Names};
use crate::error::Result;

/// Numbers by name and names by number, append-only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interner {
    base: Names,
    /// Its numbers follow those of the base.
    tail: Lexicon,
}

impl Interner {
    /// The names of a file that [`Self::write`] wrote.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) where columns are missing or do not fit each other.
    pub(crate) fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        Ok(Self { base: Names::open(file, prefix)?, tail: Lexicon::default() })
    }

    /// Write all names as columns of a file.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File).
    pub(crate) fn write(&self, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
        Names::write(&self.names().collect::<Vec<_>>(), to, prefix)
    }

    /// The number of names.
    pub(crate) fn len(&self) -> usize {
        self.base.len() + self.tail.len()
    }

    /// The number of names in the file.
    pub(crate) fn base_len(&self) -> usize {
        self.base.len()
    }

    /// The names, by number.
    pub(crate) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.base.iter().chain(self.tail.names())
    }

    /// The name of a number; empty for one that has none.
    pub(crate) fn name(&self, number: u32) -> &[u8] {
        match (number as usize).checked_sub(self.base.len()) {
            None => self.base.get(number),
            Some(at) if at < self.tail.len() => self.tail.name(at as u32),
            Some(_) => &[],
        }
    }

    /// The number of a name, if it has one.
    pub(crate) fn find(&self, name: Term<'_>) -> Option<u32> {
        let in_tail = || Some(self.base.len() as u32 + self.tail.find(name)?);
        self.base.find(name.name()).or_else(in_tail)
    }

    /// The number of a name; a new one gets the next.
    pub(crate) fn number(&mut self, name: Term<'_>) -> u32 {
        let first = self.base.len() as u32;
        self.base.find(name.name()).unwrap_or_else(|| first + self.tail.number(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::folder::Folder;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::seeded(64))]
        #[test]
        fn names_have_the_same_numbers_from_a_file_as_from_memory(
            names in prop::collection::vec("[ab]{1,3}|[a-c]{15,18}|\\PC{1,12}", 0..80),
            cut in 0_usize..80,
        ) {
            let folder = Folder::new("interner");
            let (before, after) = names.split_at(cut.min(names.len()));
            let mut whole = Interner::default();
            before.iter().for_each(|name| { whole.number(Term::new(name)); });
            let mut writer = ArrayWriter::create(&folder.file("a"), b"").unwrap();
            whole.write(&mut writer, "x.").unwrap();
            writer.finish().unwrap();
            let mut opened = Interner::open(&ArrayFile::open(&folder.file("a")).unwrap(), "x.").unwrap();
            prop_assert_eq!(opened.base_len(), whole.len());
            for name in after {
                prop_assert_eq!(opened.find(Term::new(name)), whole.find(Term::new(name)));
                prop_assert_eq!(opened.number(Term::new(name)), whole.number(Term::new(name)));
            }
            prop_assert!(opened.names().eq(whole.names()));
            for (name, number) in whole.names().zip(0..) {
                prop_assert_eq!(Term::of_bytes(name).and_then(|name| opened.find(name)), Some(number));
            }
        }
    }

    #[test]
    fn what_is_empty_or_has_a_nul_is_no_name() {
        assert!(Term::of_bytes(b"").is_none() && Term::of_bytes(b"a\0").is_none() && Term::of_bytes(b"a").is_some());
    }
}
