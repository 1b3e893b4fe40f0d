//! The files below a folder: which there are, how large they are and when they were changed.
//!
//! One walk looks at one folder and follows no link. It lists links for the caller, who may walk where they lead.
//! Nothing that is found wrong ends it: whatever cannot be read is listed with the reason.

mod globs;
mod problem;
mod rules;
#[cfg(test)]
mod tests;
#[cfg(all(test, windows))]
mod windows_tests;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{FileType, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ignore::{DirEntry, WalkBuilder};

use crate::system::{slashed, to_walk};

pub use globs::Globs;
pub(crate) use problem::of as problems_of;
pub use problem::{Problem, Reason};
pub(crate) use rules::RulesRead;

/// Maximum bytes of an ending, the part after the last dot of a name.
const ENDING_BYTES: usize = 16;

/// The files wanted below a folder.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The prefix of paths for globs: the folder, seen from the anchor of the globs.
    pub prefix: PathBuf,
    /// Look only at these paths below the folder and at what is below them; none for all.
    pub within: Vec<PathBuf>,
    /// Endings of texts with their dot; none for every file.
    pub endings: Vec<String>,
    /// Endings count whatever their case.
    pub any_case: bool,
    /// Look for session logs too: `*.jsonl`, and those set aside as `*.jsonl.reset.*`.
    pub sessions: bool,
    /// Look also at files and folders whose name begins with a dot, and at those that Windows has as hidden.
    pub hidden: bool,
    /// Names of files with rules in the syntax of gitignore; rules of a later one override those of an earlier.
    pub ignore_files: Vec<String>,
    /// Only files that match one of these, unless there are none.
    pub include: Globs,
    /// No file and no folder that matches one of these.
    pub exclude: Globs,
    /// Only files that match one of these as seen from the folder itself, unless there are none.
    pub pattern: Globs,
}

/// A file that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path below the folder.
    pub path: PathBuf,
    /// Its length in bytes.
    pub size: u64,
    /// When it was last changed, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// True if it is a session log.
    pub session: bool,
}

/// The contents of a folder; each list in the order of paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Walked {
    /// The files wanted.
    pub files: Vec<Found>,
    /// Links that lead to a folder, or to a file that would be wanted under the link's name.
    pub links: Vec<PathBuf>,
    /// Every folder that was read, the first one, the empty path, among them.
    pub folders: Vec<PathBuf>,
    /// The unreadable paths.
    pub problems: Vec<Problem>,
    /// The number of files that only their name leaves out, by ending.
    pub others: BTreeMap<String, u64>,
}

impl Wanted {
    /// True if a file of this name is wanted, and if so whether it is a session log.
    fn kind(&self, name: &OsStr) -> Option<bool> {
        // A name that is no UTF-8 keeps an ending that is.
        let name = name.to_string_lossy();
        if self.sessions && is_session(&name) {
            return Some(true);
        }
        let folded = if self.any_case { name.to_lowercase() } else { name.into_owned() };
        let wanted = self.endings.is_empty() || self.endings.iter().any(|ending| folded.ends_with(ending.as_str()));
        wanted.then_some(false)
    }

    /// True if the walk should look at a path at all.
    fn reaches(&self, path: &Path) -> bool {
        self.within.is_empty() || self.within.iter().any(|within| path.starts_with(within) || within.starts_with(path))
    }

    /// True if a file is below a path that is wanted, and no globs leave it out.
    fn takes(&self, path: &Path) -> bool {
        (self.within.is_empty() || self.within.iter().any(|within| path.starts_with(within)))
            && (self.include.is_empty() || self.include.matches_below(&self.prefix.join(path)))
            && (self.pattern.is_empty() || self.pattern.matches_below(path))
    }
}

/// True if a name is that of a session log.
pub fn is_session(name: &str) -> bool {
    name.ends_with(".jsonl") || name.split_once(".jsonl.reset.").is_some_and(|(_, when)| !when.is_empty())
}

/// The ending of a name in lower case, without its dot; empty for a name that has none.
fn ending(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    match name.rsplit_once('.') {
        Some((stem, ending))
            if !stem.is_empty() && ending.len() <= ENDING_BYTES && ending.chars().all(char::is_alphanumeric) =>
        {
            ending.to_lowercase()
        }
        _ => String::new(),
    }
}

/// Look at everything below a folder.
pub fn walk(folder: &Path, wanted: Wanted) -> Walked {
    let folder = &*to_walk(folder);
    let mut walked = Walked::default();
    if !wanted.prefix.as_os_str().is_empty() && wanted.exclude.matches_folder_or_above(&wanted.prefix) {
        return walked;
    }
    let rules = RulesRead::new(folder, &wanted.ignore_files);
    if let Some(problem) = rules.fault_in(Path::new("")) {
        walked.problems.push(problem);
        return walked;
    }
    let wanted = Arc::new(wanted);
    let refused = Arc::new(Mutex::new(Vec::new()));
    for entry in entries(folder, &wanted, rules, &refused) {
        match entry {
            Err(fault) => walked.problems.extend(problem::of(folder, &fault)),
            Ok(entry) => visit(folder, &wanted, &entry, &mut walked),
        }
    }
    walked.problems.append(&mut refused.lock().unwrap_or_else(PoisonError::into_inner));
    walked.files.sort_unstable_by(|one, other| one.path.as_os_str().cmp(other.path.as_os_str()));
    walked.problems.sort_by(|one, other| one.path.cmp(&other.path));
    walked.links.sort_unstable();
    walked.folders.sort_unstable();
    walked
}

fn entries(
    folder: &Path,
    wanted: &Arc<Wanted>,
    rules: RulesRead,
    refused: &Arc<Mutex<Vec<Problem>>>,
) -> impl Iterator<Item = Result<DirEntry, ignore::Error>> + use<> {
    let mut builder = WalkBuilder::new(folder);
    // Rules above the folder do not count: who names a folder means it.
    builder.standard_filters(false).hidden(!wanted.hidden).follow_links(false);
    for name in &wanted.ignore_files {
        builder.add_custom_ignore_filename(name);
    }
    let (root, wanted, refused) = (folder.to_owned(), Arc::clone(wanted), Arc::clone(refused));
    builder.filter_entry(move |entry| {
        let Ok(path) = entry.path().strip_prefix(&root) else { return true };
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        if !wanted.reaches(path) || wanted.exclude.matches(&wanted.prefix.join(path), is_folder) {
            return false;
        }
        match is_folder.then(|| rules.fault_in(path)).flatten() {
            None => true,
            Some(problem) => {
                refused.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
                false
            }
        }
    });
    builder.build()
}

fn visit(folder: &Path, wanted: &Wanted, entry: &DirEntry, walked: &mut Walked) {
    if let Some(fault) = entry.error() {
        walked.problems.extend(problem::of(folder, fault));
    }
    let Ok(path) = entry.path().strip_prefix(folder) else { return };
    let path = &*slashed(path);
    let Some(kind) = entry.file_type() else { return };
    if kind.is_dir() {
        walked.folders.push(path.to_owned());
        return;
    }
    let named = wanted.kind(entry.file_name());
    if kind.is_symlink() {
        // The part after it decides, and it may be empty.
        let folder_behind = std::fs::metadata(entry.path()).is_ok_and(|behind| behind.is_dir());
        if folder_behind || (named.is_some() && wanted.takes(path)) {
            walked.links.push(path.to_owned());
        }
        return;
    }
    if !wanted.takes(path) {
        return;
    }
    match named {
        None if kind.is_file() => *walked.others.entry(ending(entry.file_name())).or_default() += 1,
        None => {}
        // Of the file: a list of the folder may hold an older state of it on Windows.
        Some(session) => match std::fs::symlink_metadata(entry.path()) {
            Ok(about) => match found(path, kind, &about, session) {
                Ok(file) => walked.files.push(file),
                Err(problem) => walked.problems.push(problem),
            },
            Err(fault) => walked.problems.extend(problem::of(folder, &at(entry.path(), fault))),
        },
    }
}

fn at(path: &Path, fault: std::io::Error) -> ignore::Error {
    ignore::Error::WithPath { path: path.to_owned(), err: Box::new(ignore::Error::Io(fault)) }
}

fn found(path: &Path, kind: FileType, about: &Metadata, session: bool) -> Result<Found, Problem> {
    if !kind.is_file() {
        return Err(Problem { path: path.to_owned(), reason: Reason::NotAFile, detail: String::new() });
    }
    let mtime_ns = about.modified().map_or(0, nanoseconds);
    Ok(Found { path: path.to_owned(), size: about.len(), mtime_ns, session })
}

/// A time as nanoseconds since 1970; those past year 2262 are the last there is.
pub(crate) fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |before| -before),
    }
}

/// A path as text with forward slashes, and as the system has it where that is something else.
pub fn shown(path: &Path) -> (String, Option<OsString>) {
    let path = &*slashed(path);
    match path.to_str() {
        Some(text) => (text.to_owned(), None),
        None => (escaped(path.as_os_str()), Some(path.as_os_str().to_owned())),
    }
}

/// A name that is no text: bytes that are no UTF-8 become `\xHH`, and on Windows half a surrogate pair three of them.
fn escaped(name: &OsStr) -> String {
    let mut text = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}
