//! The head and the table of contents of an array file, all numbers little-endian.
//!
//! ```text
//! head      64 bytes: magic, format, byte order, table's place and length, file's length, checksum of the table,
//!           when the file says it was written last (seconds), checksum of the head up to here
//! columns   each at a multiple of 64 bytes
//! table     length of the stamp, stamp; for each column: length of its name, name, item size, place, length, checksum
//! ```

use xxhash_rust::xxh3::xxh3_64;

use super::FORMAT;
use crate::error::{Error, Result};

pub(super) const HEAD_BYTES: usize = 64;
const MAGIC: [u8; 8] = *b"\x89SPTARR\n";
/// As it is written by the machine that wrote the columns: a machine of the other order reads another number.
const BYTE_ORDER: u32 = 0x0102_0304;
/// A table that says it is longer is none of ours, and is not read.
const MOST_TABLE_BYTES: u64 = 1 << 20;

/// Where the table lies, and how long the file is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Head {
    pub(super) table_at: u64,
    pub(super) table_bytes: u64,
    pub(super) file_bytes: u64,
    pub(super) table_checksum: u64,
    /// When the file says it was written last, in seconds: the writer's last act, so any later one shows.
    pub(super) sealed: u64,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) item_bytes: u64,
    pub(super) at: u64,
    pub(super) bytes: u64,
    pub(super) checksum: u64,
}

/// The head of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) stamp: Vec<u8>,
    pub(super) columns: Vec<Column>,
}

impl Head {
    pub(super) fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[12..16].copy_from_slice(&BYTE_ORDER.to_ne_bytes());
        let Self { table_at, table_bytes, file_bytes, table_checksum, sealed } = self;
        for (i, number) in [table_at, table_bytes, file_bytes, table_checksum, sealed].into_iter().enumerate() {
            bytes[16 + 8 * i..24 + 8 * i].copy_from_slice(&number.to_le_bytes());
        }
        let checksum = xxh3_64(&bytes[..56]);
        bytes[56..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// # Errors
    /// [`Error::Foreign`] for another format or byte order; [`Error::Damaged`] for another kind of file, or a head that
    /// was changed.
    pub(super) fn from_bytes(bytes: &[u8; HEAD_BYTES]) -> Result<Self> {
        let damaged = |what| Err(Error::Damaged { what });
        if bytes[..8] != MAGIC {
            return damaged("the magic number");
        }
        if bytes[8..12] != FORMAT.to_le_bytes() || bytes[12..16] != BYTE_ORDER.to_ne_bytes() {
            return Err(Error::Foreign);
        }
        let mut numbers = bytes[16..].as_chunks::<8>().0.iter().map(|&number| u64::from_le_bytes(number));
        let mut next = || numbers.next().unwrap_or_default();
        let head =
            Self { table_at: next(), table_bytes: next(), file_bytes: next(), table_checksum: next(), sealed: next() };
        if head.to_bytes() != *bytes {
            return damaged("the head");
        }
        if head.table_bytes > MOST_TABLE_BYTES || head.table_at.checked_add(head.table_bytes) != Some(head.file_bytes) {
            return damaged("the place of the table");
        }
        Ok(head)
    }
}

impl Table {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let text = |bytes: &mut Vec<u8>, text: &[u8]| {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text);
        };
        text(&mut bytes, &self.stamp);
        for column in &self.columns {
            text(&mut bytes, column.name.as_bytes());
            for number in [column.item_bytes, column.at, column.bytes, column.checksum] {
                bytes.extend(number.to_le_bytes());
            }
        }
        bytes
    }

    /// # Errors
    /// [`Error::Damaged`] for bytes that are no table.
    pub(super) fn from_bytes(mut bytes: &[u8]) -> Result<Self> {
        read(&mut bytes).ok_or(Error::Damaged { what: "the table of contents" })
    }
}

fn read(rest: &mut &[u8]) -> Option<Table> {
    let stamp = text(rest)?.to_vec();
    let mut columns = Vec::new();
    while !rest.is_empty() {
        let name = String::from_utf8(text(rest)?.to_vec()).ok()?;
        let [item_bytes, at, bytes, checksum] = [number(rest)?, number(rest)?, number(rest)?, number(rest)?];
        columns.push(Column { name, item_bytes, at, bytes, checksum });
    }
    Some(Table { stamp, columns })
}

fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = u32::from_le_bytes(rest.split_off(..4)?.try_into().ok()?);
    rest.split_off(..len as usize)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(rest.split_off(..8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(table_bytes: u64) -> Head {
        Head { table_at: 128, table_bytes, file_bytes: 128 + table_bytes, table_checksum: 7, sealed: 8 }
    }

    /// The head with a right checksum, whatever its bytes.
    fn sealed(mut bytes: [u8; HEAD_BYTES]) -> [u8; HEAD_BYTES] {
        let checksum = xxh3_64(&bytes[..56]);
        bytes[56..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    #[test]
    fn a_file_of_the_other_byte_order_is_named_as_another_format() {
        let mut bytes = head(10).to_bytes();
        assert_eq!(Head::from_bytes(&bytes), Ok(head(10)));
        bytes[12..16].reverse();
        assert_eq!(Head::from_bytes(&sealed(bytes)), Err(Error::Foreign));
    }

    #[test]
    fn a_table_may_have_as_many_bytes_as_are_read_and_no_more() {
        let most = head(MOST_TABLE_BYTES);
        assert_eq!(Head::from_bytes(&most.to_bytes()), Ok(most));
        let more = head(MOST_TABLE_BYTES + 1).to_bytes();
        assert_eq!(Head::from_bytes(&more), Err(Error::Damaged { what: "the place of the table" }));
    }

    #[test]
    fn a_table_ends_where_the_file_ends() {
        for file_bytes in [137, 139, 0, u64::MAX] {
            let bytes = Head { file_bytes, ..head(10) }.to_bytes();
            assert_eq!(Head::from_bytes(&bytes), Err(Error::Damaged { what: "the place of the table" }));
        }
        let bytes = Head { table_at: u64::MAX, ..head(10) }.to_bytes();
        assert_eq!(Head::from_bytes(&bytes), Err(Error::Damaged { what: "the place of the table" }));
    }
}
