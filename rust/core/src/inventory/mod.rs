//! The paths below a folder as one bounded walk found them, and which of them hold words.
//!
//! An inventory never changes: `is_current` looks whether another walk would find others, by the times of the folders and
//! of the files with rules. So asking costs a look at each folder, not at each file.

#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ignore::WalkBuilder;

use crate::system::{keeps_folder_times, to_walk};
use crate::walk::{Problem, Reason, RulesRead, nanoseconds, problems_of, shown};

/// The coarsest resolution of file times. A file that changed less than this before a walk may change again and look
/// the same.
const TICK: Duration = Duration::from_secs(2);
/// Files between two looks at the clock.
const A_LOOK: usize = 64;
/// A word that a path ends with, or that begins a part of it, counts more than one that stands elsewhere.
const FOUND: f64 = 1.0;
const PROMINENT: f64 = 1.3;

/// The options of a walk.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// Names of folders that are passed over.
    pub skip: Vec<OsString>,
    /// Names of files with rules in the syntax of gitignore; rules of a later one override those of an earlier.
    pub ignore_files: Vec<String>,
    /// Maximum files, the first by name in each folder.
    pub most: usize,
}

/// Why a walk ended before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// There are more files.
    Files,
    /// The time was over.
    Time,
}

/// A file that was found.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path below the folder.
    pub path: PathBuf,
    /// The same as text, with forward slashes.
    pub shown: Arc<str>,
}

/// The files below a folder.
#[derive(Debug, Default)]
pub struct Inventory {
    root: PathBuf,
    /// In the order of `shown`.
    files: Vec<File>,
    /// The paths in lower case, a line each.
    lines: String,
    /// Where each line begins, and where the last one ends.
    starts: Vec<usize>,
    /// The folders that were read for names, with the time of their last change.
    seen: Vec<(PathBuf, Option<i64>)>,
    /// All of it was at rest when the walk began.
    steady: bool,
    cut: Option<Cut>,
    problems: Vec<Problem>,
}

impl Inventory {
    /// Walk everything below a folder, in the order of names, until there are enough files or the time is up.
    ///
    /// No link is followed. An unreadable path becomes a problem, and the walk goes on.
    pub fn walk(root: &Path, bounds: &Bounds, deadline: Option<Instant>) -> Self {
        let began = SystemTime::now().checked_sub(TICK).map_or(i64::MIN, nanoseconds);
        let root = &*to_walk(root);
        let mut results = Self { root: root.to_owned(), steady: keeps_folder_times(root), ..Self::default() };
        let rules = RulesRead::new(root, &bounds.ignore_files);
        if let Some(problem) = refused_root(root, &rules) {
            results.problems.push(problem);
            results.steady = false;
            results.write_lines();
            return results;
        }
        let refused = Arc::new(Mutex::new(Vec::new()));
        for (at, entry) in entries(root, bounds, rules, &refused).enumerate() {
            if at % A_LOOK == 0 && deadline.is_some_and(|end| Instant::now() >= end) {
                results.cut = Some(Cut::Time);
                break;
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(fault) => {
                    results.problems.extend(problems_of(root, &fault));
                    continue;
                }
            };
            if let Some(fault) = entry.error() {
                results.problems.extend(problems_of(root, fault));
            }
            let (Ok(path), Some(kind)) = (entry.path().strip_prefix(root), entry.file_type()) else { continue };
            if kind.is_dir() {
                results.look_at(path, bounds, began);
            } else if kind.is_file() {
                if results.files.len() >= bounds.most {
                    results.cut = Some(Cut::Files);
                    break;
                }
                results.files.push(File { path: path.to_owned(), shown: shown(path).0.into() });
            }
        }
        results.problems.append(&mut refused.lock().unwrap_or_else(PoisonError::into_inner));
        results.problems.sort_by(|one, other| one.path.cmp(&other.path));
        // An unreadable folder may be readable next time.
        results.steady &=
            results.cut != Some(Cut::Time) && results.problems.iter().all(|one| one.reason == Reason::BadRule);
        results.files.sort_by(|one, other| one.shown.cmp(&other.shown));
        results.write_lines();
        results
    }

    /// True if a walk of now would find the same paths.
    pub fn is_current(&self) -> bool {
        self.steady && self.seen.iter().all(|(path, time)| changed_at(&self.root.join(path)) == *time)
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files, in the order of their paths.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// Why the walk ended before the end, if it did.
    pub fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// The unreadable paths.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// True if there is a file of this path.
    pub fn holds(&self, path: &str) -> bool {
        self.files.binary_search_by(|file| (*file.shown).cmp(path)).is_ok()
    }

    /// The files whose path holds words, the best first; equal ones in the order of paths.
    ///
    /// Each word counts 1.0 where the path holds it, 1.3 where the path ends with it or a part of it begins so.
    ///
    /// `words` are in lower case and hold no line end.
    pub fn rank(&self, words: &[String], limit: usize) -> Vec<(usize, f64)> {
        let mut scores = vec![0.0; self.files.len()];
        for word in words.iter().filter(|word| !word.is_empty()) {
            let below = format!("/{word}");
            let (mut file, mut next) = (0, 0);
            for (at, _) in self.lines.match_indices(word.as_str()) {
                if at < next {
                    continue;
                }
                file += self.starts[file + 1..].partition_point(|&start| start <= at);
                next = self.starts[file + 1];
                let line = &self.lines[self.starts[file]..next - 1];
                let prominent = line.ends_with(word.as_str()) || line.contains(&below);
                scores[file] += if prominent { PROMINENT } else { FOUND };
            }
        }
        let mut best: Vec<_> = scores.into_iter().enumerate().filter(|&(_, score)| score > 0.0).collect();
        best.sort_by(|one, other| other.1.total_cmp(&one.1));
        best.truncate(limit);
        best
    }

    /// Remember a folder and the files with rules in it, by their times.
    fn look_at(&mut self, folder: &Path, bounds: &Bounds, began: i64) {
        let rules = bounds.ignore_files.iter().map(|name| folder.join(name));
        for path in std::iter::once(folder.to_owned()).chain(rules) {
            let time = changed_at(&self.root.join(&path));
            if time.is_none() && path != folder {
                // Rules that come into being change their folder.
                continue;
            }
            // A folder that is not there any more was there a moment ago.
            self.steady &= time.is_some_and(|time| time < began);
            self.seen.push((path, time));
        }
    }

    fn write_lines(&mut self) {
        for file in &self.files {
            self.starts.push(self.lines.len());
            // No name of a file breaks a line, so that each has one.
            self.lines.extend(file.shown.to_lowercase().chars().map(|c| if c == '\n' { ' ' } else { c }));
            self.lines.push('\n');
        }
        self.starts.push(self.lines.len());
    }
}

/// Why a folder is not walked at all: the filter of a walk is not asked about where it begins.
fn refused_root(root: &Path, rules: &RulesRead) -> Option<Problem> {
    if std::fs::metadata(root).is_ok_and(|about| !about.is_dir()) {
        let detail = "not a folder".to_owned();
        return Some(Problem { path: PathBuf::new(), reason: Reason::Unreadable, detail });
    }
    rules.fault_in(Path::new(""))
}

fn entries(
    root: &Path,
    bounds: &Bounds,
    rules: RulesRead,
    refused: &Arc<Mutex<Vec<Problem>>>,
) -> impl Iterator<Item = Result<ignore::DirEntry, ignore::Error>> + use<> {
    let mut builder = WalkBuilder::new(root);
    // Rules above the folder do not count: who names a folder means it.
    builder.standard_filters(false).follow_links(false).sort_by_file_name(Ord::cmp);
    for name in &bounds.ignore_files {
        builder.add_custom_ignore_filename(name);
    }
    let skip: HashSet<OsString> = bounds.skip.iter().cloned().collect();
    let (root, refused) = (root.to_owned(), Arc::clone(refused));
    builder.filter_entry(move |entry| {
        if !entry.file_type().is_some_and(|kind| kind.is_dir()) {
            return true;
        }
        let Ok(path) = entry.path().strip_prefix(&root) else { return true };
        if entry.depth() > 0 && skip.contains(entry.file_name()) {
            return false;
        }
        match rules.fault_in(path) {
            None => true,
            Some(problem) => {
                refused.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
                false
            }
        }
    });
    builder.build()
}

/// When something was changed last, in nanoseconds since 1970; none if it is not there.
pub(crate) fn changed_at(path: &Path) -> Option<i64> {
    std::fs::metadata(path).and_then(|about| modified(&about)).ok()
}

pub(crate) fn modified(about: &Metadata) -> std::io::Result<i64> {
    about.modified().map(nanoseconds)
}
