//! The problems of a walk: unreadable paths, and the reasons.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ignore::Error;

use crate::system::slashed;

/// Why something below a folder is not among what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It cannot be read: what is below it is unknown, not gone.
    Unreadable,
    /// It went away while it was looked at.
    Vanished,
    /// It has the name of a file that is wanted, but is a pipe, a socket or a device.
    NotAFile,
    /// It has a rule that is no glob; its other rules hold.
    BadRule,
}

impl Reason {
    /// The reason in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Vanished => "vanished",
            Self::NotAFile => "not_a_file",
            Self::BadRule => "bad_rule",
        }
    }
}

/// Something below a folder that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its path below the folder; the empty one for the folder itself.
    pub path: PathBuf,
    /// Why.
    pub reason: Reason,
    /// The message of the system.
    pub detail: String,
}

/// The problems that a fault of the walk stands for.
pub(crate) fn of(folder: &Path, fault: &Error) -> Vec<Problem> {
    let mut results = Vec::new();
    collect(folder, fault, folder, &mut results);
    results
}

fn collect(folder: &Path, fault: &Error, at: &Path, results: &mut Vec<Problem>) {
    let (reason, detail) = match fault {
        Error::Partial(faults) => {
            faults.iter().for_each(|fault| collect(folder, fault, at, results));
            return;
        }
        Error::WithPath { path, err } => return collect(folder, err, path, results),
        Error::WithDepth { err, .. } => return collect(folder, err, at, results),
        Error::Io(fault) if fault.kind() == ErrorKind::NotFound => (Reason::Vanished, said(fault, at)),
        Error::Io(fault) => (Reason::Unreadable, said(fault, at)),
        other => (Reason::BadRule, other.to_string()),
    };
    let path = slashed(at.strip_prefix(folder).unwrap_or(at)).into_owned();
    results.push(Problem { path, reason, detail });
}

/// The message of the system, without the path, which the walk puts before it.
fn said(fault: &std::io::Error, at: &Path) -> String {
    let text = fault.to_string();
    match text.rsplit_once(&format!("{}: ", at.display())) {
        Some((_, said)) => said.to_owned(),
        None => text,
    }
}
