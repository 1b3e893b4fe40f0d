//! Files with rules in the syntax of gitignore, which a walk reads within bounds.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::problem::{Problem, Reason};
use crate::system::slashed;

/// Maximum bytes of a file with rules; those of large repositories have a few thousand.
const MOST_BYTES: usize = 256 << 10;
/// Maximum rules of a file: 5,000 with many stars take a fifth of a second.
const MOST_RULES: usize = 5_000;
/// Maximum bytes of a rule.
const MOST_RULE_BYTES: usize = 4_096;
/// Maximum rules of all files below one folder.
const MOST_RULES_BELOW: usize = 50_000;

/// The rules that a walk has read.
pub struct RulesRead {
    root: PathBuf,
    names: Vec<String>,
    rules: AtomicUsize,
}

impl RulesRead {
    pub fn new(root: &Path, names: &[String]) -> Self {
        Self { root: root.to_owned(), names: names.to_vec(), rules: AtomicUsize::new(0) }
    }

    /// The fault of a folder's rules: without them it would show hidden files.
    pub fn fault_in(&self, folder: &Path) -> Option<Problem> {
        self.names.iter().find_map(|name| {
            let fault = self.fault_of(&self.root.join(folder).join(name))?;
            Some(Problem {
                path: slashed(folder).into_owned(),
                reason: Reason::Unreadable,
                detail: format!("{name}: {fault}"),
            })
        })
    }

    fn fault_of(&self, path: &Path) -> Option<String> {
        let there = std::fs::metadata(path).ok()?;
        if there.is_dir() {
            return None;
        }
        if !there.is_file() {
            return Some("not a regular file".to_owned());
        }
        let mut content = Vec::new();
        let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
        if let Err(fault) = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut content)) {
            return Some(fault.to_string());
        }
        if content.len() > MOST_BYTES {
            return Some(format!("more than {MOST_BYTES} bytes, the most that is read"));
        }
        let is_rule = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
        let rules = || content.split(|&byte| byte == b'\n').filter(is_rule);
        if rules().any(|rule| rule.len() > MOST_RULE_BYTES) {
            return Some(format!("a rule of more than {MOST_RULE_BYTES} bytes"));
        }
        let count = rules().count();
        if count > MOST_RULES {
            return Some(format!("more than {MOST_RULES} rules"));
        }
        let before = self.rules.fetch_add(count, Ordering::Relaxed);
        (before + count > MOST_RULES_BELOW).then(|| format!("more than {MOST_RULES_BELOW} rules below one folder"))
    }
}
