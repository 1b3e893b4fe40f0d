//! Symbols: definitions in the files below a folder, and their ranking for a query, by words of names and by similar
//! names.
//!
//! Symbols never change: `Symbols::scan` makes new ones from them, and reads only files whose size or time changed.

mod languages;
mod near;
mod rank;
mod scan;
#[cfg(test)]
mod tests;

use std::fs::Metadata;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::inventory::{Inventory, modified};
use crate::system::open_no_link;
use crate::walk::nanoseconds;

pub use near::{proximity, similarity};
pub use rank::{Asked, Found};
pub use scan::{Symbol, parts};

/// A file that changed less than this before it was read may change again and look the same; see `inventory`.
const TICK: Duration = Duration::from_secs(2);
/// Leading bytes in which a zero byte shows that a file is no text.
const HEAD: usize = 8192;
const MOST_THREADS: usize = 4;

/// A file, as it was when it was read.
#[derive(Debug)]
struct Scanned {
    path: Arc<str>,
    size: u64,
    mtime_ns: i64,
    /// It was at rest when it was read.
    steady: bool,
    symbols: Vec<Symbol>,
    /// For each symbol a line with the stems of its name, each between low lines.
    stems: String,
    /// For each symbol a line with its name in lower case.
    names: String,
}

/// The definitions in the files below a folder.
#[derive(Clone, Debug, Default)]
pub struct Symbols(Arc<Table>);

#[derive(Debug, Default)]
struct Table {
    /// In the order of their paths.
    files: Vec<Arc<Scanned>>,
    /// The number of the first symbol of each file, and how many there are.
    firsts: Vec<usize>,
    stems: String,
    /// Where the line of each symbol begins in `stems`, and where the last one ends.
    stem_starts: Vec<usize>,
    names: String,
    name_starts: Vec<usize>,
    /// The letters of each name, as bits.
    letters: Vec<u64>,
    unreadable: usize,
    left: usize,
}

impl Symbols {
    /// Scan the files of an inventory, and read those that changed.
    ///
    /// Files in no known language, of more than `most_bytes`, and those that are no text define nothing. When the time
    /// is up, the symbols known before stay for the files that are left.
    pub fn scan(inventory: &Inventory, before: Option<&Self>, most_bytes: u64, deadline: Option<Instant>) -> Self {
        let wanted: Vec<_> = inventory.files().iter().filter(|file| languages::of(&file.shown).is_some()).collect();
        let known = before.map_or(&[][..], |before| &before.0.files);
        let known = |path: &str| known.binary_search_by(|file| (*file.path).cmp(path)).ok().map(|at| &known[at]);
        let (next, late, unreadable, left) =
            (AtomicUsize::new(0), AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let mut result = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = wanted.get(at) else { return result };
                let before = known(&file.shown);
                if late.load(Ordering::Relaxed) || deadline.is_some_and(|end| Instant::now() >= end) {
                    late.store(true, Ordering::Relaxed);
                    left.fetch_add(1, Ordering::Relaxed);
                    result.extend(before.map(|before| (at, Arc::clone(before))));
                    continue;
                }
                let real = inventory.root().join(&file.path);
                match read(&real, &file.shown, before, most_bytes) {
                    Ok(scanned) => result.push((at, scanned)),
                    Err(_) => _ = unreadable.fetch_add(1, Ordering::Relaxed),
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let mut result = if wanted.len() < A_THREAD * 2 || threads == 1 {
            work()
        } else {
            std::thread::scope(|scope| {
                let running: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
                let mut result = work();
                for thread in running {
                    match thread.join() {
                        Ok(more) => result.extend(more),
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
                result
            })
        };
        result.sort_by_key(|&(at, _)| at);
        let files: Vec<_> = result.into_iter().map(|(_, file)| file).collect();
        let (unreadable, left) = (unreadable.into_inner(), left.into_inner());
        match before {
            Some(before) if before.is_of(&files) && before.0.unreadable == unreadable && before.0.left == left => {
                before.clone()
            }
            _ => Self(Arc::new(Table::new(files, unreadable, left))),
        }
    }

    /// The number of symbols.
    pub fn len(&self) -> usize {
        self.0.letters.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of files read.
    pub fn files(&self) -> usize {
        self.0.files.len()
    }

    /// The number of unreadable files.
    pub fn unreadable(&self) -> usize {
        self.0.unreadable
    }

    /// The number of files left out because the time was up.
    pub fn left(&self) -> usize {
        self.0.left
    }

    /// The file of a symbol, by its number, and the symbol.
    pub fn at(&self, number: usize) -> (&str, &Symbol) {
        let file = self.0.firsts.partition_point(|&first| first <= number) - 1;
        let scanned = &self.0.files[file];
        (&scanned.path, &scanned.symbols[number - self.0.firsts[file]])
    }

    fn is_of(&self, files: &[Arc<Scanned>]) -> bool {
        let known = &self.0.files;
        known.len() == files.len() && known.iter().zip(files).all(|(one, other)| Arc::ptr_eq(one, other))
    }
}

/// Fewer files than twice this are no work for another thread.
const A_THREAD: usize = 32;

impl Table {
    fn new(files: Vec<Arc<Scanned>>, unreadable: usize, left: usize) -> Self {
        let mut result = Self { unreadable, left, ..Self::default() };
        for file in &files {
            result.firsts.push(result.letters.len());
            result.letters.extend(file.names.lines().map(letters));
            result.stems.push_str(&file.stems);
            result.names.push_str(&file.names);
        }
        result.stem_starts = starts(&result.stems);
        result.name_starts = starts(&result.names);
        result.files = files;
        result
    }
}

/// Where each line begins, and where the last one ends.
fn starts(lines: &str) -> Vec<usize> {
    std::iter::once(0)
        .chain(lines.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at + 1))
        .collect()
}

/// The letters of a name as bits: names that share few cannot be alike.
fn letters(name: &str) -> u64 {
    name.chars().fold(0, |bits, c| bits | 1 << (u32::from(c) & 63))
}

/// Return what a file defines: what was known of it if it is as it was.
fn read(path: &Path, shown: &Arc<str>, before: Option<&Arc<Scanned>>, most: u64) -> std::io::Result<Arc<Scanned>> {
    let about = std::fs::symlink_metadata(path)?;
    let mtime_ns = modified(&about)?;
    if let Some(before) = before.filter(|one| one.steady && one.size == about.len() && one.mtime_ns == mtime_ns) {
        return Ok(Arc::clone(before));
    }
    let mut result = Scanned {
        path: Arc::clone(shown),
        size: about.len(),
        mtime_ns,
        steady: SystemTime::now().checked_sub(TICK).is_some_and(|then| mtime_ns < nanoseconds(then)),
        symbols: Vec::new(),
        stems: String::new(),
        names: String::new(),
    };
    if let (Some(text), Some(language)) = (text_of(path, &about, most)?, languages::of(shown)) {
        result.symbols = scan::definitions(&text, language);
        for symbol in &result.symbols {
            result.stems.push('_');
            for part in parts(&symbol.name) {
                result.stems.push_str(&String::from_utf8_lossy(&part));
                result.stems.push('_');
            }
            result.stems.push('\n');
            result.names.push_str(&symbol.name.to_lowercase());
            result.names.push('\n');
        }
    }
    // A file that is still being written is read again, but what was found is not thrown away for nothing.
    match before {
        Some(before)
            if before.steady == result.steady
                && before.size == result.size
                && before.mtime_ns == result.mtime_ns
                && before.symbols == result.symbols =>
        {
            Ok(Arc::clone(before))
        }
        _ => Ok(Arc::new(result)),
    }
}

/// The text of a file; none if it is too large, no text, or no file any more.
fn text_of(path: &Path, about: &Metadata, most: u64) -> std::io::Result<Option<String>> {
    if !about.is_file() || about.len() > most {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(about.len() as usize + 1);
    // It may have grown since, and a link or a pipe may have taken its name.
    open_no_link(path)?.take(most).read_to_end(&mut bytes)?;
    if bytes[..bytes.len().min(HEAD)].contains(&0) {
        return Ok(None);
    }
    Ok(Some(String::from_utf8(bytes).unwrap_or_else(|fault| String::from_utf8_lossy(fault.as_bytes()).into_owned())))
}
