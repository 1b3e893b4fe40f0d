//! The one error type of the crate: faults in arguments, and in files.

use std::fmt;
use std::path::Path;

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The fault of an argument: the actual and the expected value.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// A component is NaN or infinite where finite input is required.
    NotFinite {
        /// The argument.
        what: &'static str,
        /// Its position: the row of a matrix, the element of a vector.
        at: usize,
    },
    /// A row of length 0 cannot be scaled to length 1.
    ZeroRow {
        /// The row.
        row: usize,
    },
    /// An index or slot lies outside `0 <= i < len`.
    OutOfRange {
        /// The argument.
        what: &'static str,
        /// The index seen.
        index: i64,
        /// The number of rows or slots.
        len: usize,
    },
    /// Two lengths that must be equal are not.
    Length {
        /// The argument.
        what: &'static str,
        /// The length seen.
        got: usize,
        /// The length wanted.
        wanted: usize,
    },
    /// A number lies outside its range.
    Parameter {
        /// The argument.
        what: &'static str,
        /// The range, in words.
        wanted: &'static str,
        /// The number seen.
        got: f64,
    },
    /// A name is not one of those known.
    Name {
        /// The argument.
        what: &'static str,
        /// The names known, in words.
        wanted: String,
        /// The name seen.
        got: String,
    },
    /// A slot is listed twice.
    Repeated {
        /// The slot.
        slot: i64,
    },
    /// A slot is to be removed that was not counted.
    NotCounted {
        /// The slot.
        slot: i64,
    },
    /// Frequencies were used with an index they were not made from.
    ForeignIndex,
    /// Statistics were used with an index they were not made from.
    ForeignStatistics,
    /// Statistics that were given, and an index of some terms, cannot do what needs the rows they are of.
    Given,
    /// A query term is cut into several index terms.
    Phrase {
        /// The query term.
        term: String,
    },
    /// Something that a call needs was not given.
    Missing {
        /// The name of the thing.
        what: &'static str,
    },
    /// A vectorizer was used before it was fitted.
    NotFitted,
    /// A pattern is malformed, or too large.
    Pattern {
        /// The message of the parser.
        reason: String,
    },
    /// The system does not read or write a file.
    File {
        /// The file.
        path: String,
        /// The system's number for the reason, if it has one.
        code: Option<i32>,
        /// The reason, in words.
        reason: String,
    },
    /// A text is no glob.
    Glob {
        /// The text seen.
        glob: String,
        /// The fault.
        reason: String,
    },
    /// A file of arrays is of another format.
    Foreign,
    /// A file of arrays is not what it should be.
    Damaged {
        /// The part at fault.
        what: &'static str,
    },
}

impl Error {
    /// The error of the system for a file.
    pub(crate) fn file(path: &Path, fault: &std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), code: fault.raw_os_error(), reason: fault.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite { what, at } => write!(f, "{what} {at} is NaN or infinite; give finite numbers"),
            Self::ZeroRow { row } => {
                write!(f, "row {row} has length 0, so it cannot be scaled to length 1; leave it out")
            }
            Self::OutOfRange { what, index, len } => {
                write!(f, "{what} {index} is out of range: there are {len}")
            }
            Self::Length { what, got, wanted } => write!(f, "{what} has length {got}, expected {wanted}"),
            Self::Parameter { what, wanted, got } => write!(f, "{what} is {got}, expected {wanted}"),
            Self::Name { what, wanted, got } => write!(f, "{what} is {got:?}, expected one of {wanted}"),
            Self::Repeated { slot } => write!(f, "slot {slot} is listed twice; list each slot once"),
            Self::NotCounted { slot } => {
                write!(f, "slot {slot} cannot be removed: these frequencies do not count it")
            }
            Self::ForeignIndex => write!(f, "the frequencies were made from another TermIndex"),
            Self::ForeignStatistics => write!(f, "the statistics were made from another TextIndex"),
            Self::Given => {
                write!(f, "statistics that were given, and an index of some terms, can neither be moved nor written")
            }
            Self::Phrase { term } => {
                write!(f, "the query term {term:?} is cut into several index terms; only SQLite answers phrases")
            }
            Self::File { path, reason, .. } => write!(f, "{path}: {reason}"),
            Self::Glob { glob, reason } => write!(f, "{glob:?} is no glob as in .gitignore: {reason}"),
            Self::Foreign => write!(f, "a file of arrays is of another format"),
            Self::Damaged { what } => write!(f, "a file of arrays is damaged or not one: {what} is wrong"),
            Self::Missing { what } => write!(f, "{what} are missing"),
            Self::Pattern { reason } => write!(f, "a pattern cannot be used: {reason}"),
            Self::NotFitted => write!(f, "the vectorizer is not fitted; call fit first"),
        }
    }
}

impl std::error::Error for Error {}
