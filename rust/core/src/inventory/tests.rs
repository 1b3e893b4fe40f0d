use std::ffi::OsString;
use std::fs::{create_dir_all, remove_file, rename, write};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use proptest::prelude::*;

use super::{Bounds, Cut, Inventory};
use crate::system::set_modified;
use crate::walk::Reason;

/// A folder of its own for each test, removed with it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = Self(std::env::temp_dir().join(format!("septet-inventory-{}-{name}", std::process::id())));
        let _ = std::fs::remove_dir_all(&folder.0);
        create_dir_all(&folder.0).unwrap();
        for (path, text) in files {
            folder.write(path, text);
        }
        folder.rest();
        folder
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        create_dir_all(path.parent().unwrap()).unwrap();
        write(path, text).unwrap();
    }

    /// Let everything have been changed a while ago.
    pub(crate) fn rest(&self) {
        let long_ago = SystemTime::now() - Duration::from_secs(100);
        for entry in ignore::WalkBuilder::new(&self.0).standard_filters(false).build().flatten() {
            if entry.file_type().is_some_and(|kind| !kind.is_symlink()) {
                set_modified(entry.path(), long_ago).unwrap();
            }
        }
    }

    pub(crate) fn inventory(&self) -> Inventory {
        Inventory::walk(&self.0, &bounds(1000), None)
    }

    fn paths(&self, most: usize) -> (Vec<String>, Option<Cut>) {
        let results = Inventory::walk(&self.0, &bounds(most), None);
        (results.files().iter().map(|file| file.shown.to_string()).collect(), results.cut())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn bounds(most: usize) -> Bounds {
    Bounds {
        skip: vec![OsString::from("target"), OsString::from(".git")],
        ignore_files: vec![".gitignore".into()],
        most,
    }
}

#[test]
fn lists_what_no_rule_and_no_name_leaves_out_in_order() {
    let files = [
        ("b.rs", ""),
        ("a/b/c.md", ""),
        ("a.txt", ""),
        ("target/out.rs", ""),
        ("a/target/x", ""),
        (".git/config", ""),
        (".github/ci.yml", ""),
        ("a/secret.key", ""),
        ("a/.gitignore", "*.key\n"),
    ];
    let folder = Folder::new("list", &files);
    let wanted = [".github/ci.yml", "a.txt", "a/.gitignore", "a/b/c.md", "b.rs"].map(str::to_owned).to_vec();
    assert_eq!(folder.paths(100), (wanted.clone(), None));
    assert_eq!(folder.paths(5), (wanted, None));
    for most in 0..5 {
        let (paths, cut) = folder.paths(most);
        assert_eq!((paths.len(), cut), (most, Some(Cut::Files)));
    }
}

#[test]
fn a_folder_that_is_skipped_may_be_the_one_that_is_named() {
    let folder = Folder::new("named", &[("target/a.rs", "")]);
    let results = Inventory::walk(&folder.0.join("target"), &bounds(10), None);
    assert_eq!(results.files().len(), 1);
}

#[test]
fn what_changes_names_makes_another_walk_needed_and_nothing_else() {
    let folder = Folder::new("current", &[("a/b.rs", "one"), ("c.rs", ""), (".gitignore", "x\n")]);
    assert!(folder.inventory().is_current());
    type Change = (&'static str, fn(&Folder));
    let changes: [Change; 5] = [
        ("a new file", |folder| folder.write("a/new.rs", "")),
        ("a file removed", |folder| remove_file(folder.0.join("a/new.rs")).unwrap()),
        ("a file renamed", |folder| rename(folder.0.join("c.rs"), folder.0.join("d.rs")).unwrap()),
        ("rules in place", |folder| folder.write(".gitignore", "y\n")),
        ("rules that were not there", |folder| folder.write("a/.gitignore", "b.rs\n")),
    ];
    for (what, change) in changes {
        folder.rest();
        let before = folder.inventory();
        assert!(before.is_current(), "before {what}");
        change(&folder);
        assert!(!before.is_current(), "{what}");
        // A file that was just changed may change again within a tick.
        assert!(!folder.inventory().is_current(), "at once after {what}");
    }
    folder.rest();
    let before = folder.inventory();
    folder.write("a/b.rs", "other");
    assert!(before.is_current());
    std::fs::remove_dir_all(folder.0.join("a")).unwrap();
    assert!(!before.is_current());
}

#[test]
fn a_folder_that_is_not_there_is_a_problem_and_looked_for_again() {
    let folder = Folder::new("gone", &[]);
    let results = Inventory::walk(&folder.0.join("no"), &bounds(10), None);
    assert_eq!(results.problems()[0].reason, Reason::Vanished);
    assert!(results.files().is_empty() && !results.is_current());
    assert!(results.rank(&["a".into()], 10).is_empty());
}

#[test]
fn a_folder_whose_place_a_file_takes_is_looked_for_again() {
    let folder = Folder::new("taken", &[("a", "")]);
    let results = Inventory::walk(&folder.0.join("a"), &bounds(10), None);
    assert_eq!((results.problems()[0].reason, results.files().len()), (Reason::Unreadable, 0));
    assert!(!results.is_current());
    assert!(results.rank(&["a".into()], 10).is_empty());
}

/// No folder of Windows holds a pipe, and a link there needs a privilege.
#[cfg(unix)]
#[test]
fn nobody_waits_for_rules_that_are_a_pipe() {
    let folder = Folder::new("pipe", &[("b.rs", ""), ("a/c.rs", "")]);
    for place in [".gitignore", "a/.gitignore"] {
        assert!(std::process::Command::new("mkfifo").arg(folder.0.join(place)).status().unwrap().success());
        let results = folder.inventory();
        assert_eq!(results.problems()[0].reason, Reason::Unreadable);
        // Without its rules a folder would show what it is told to hide.
        assert_eq!(results.files().len(), usize::from(place.starts_with('a')));
        remove_file(folder.0.join(place)).unwrap();
    }
}

#[test]
fn a_walk_ends_with_its_time() {
    let folder = Folder::new("time", &[("a", ""), ("b", "")]);
    let results = Inventory::walk(&folder.0, &bounds(10), Some(Instant::now()));
    assert_eq!((results.cut(), results.is_current()), (Some(Cut::Time), false));
}

/// As above.
#[cfg(unix)]
#[test]
fn no_link_is_followed_and_no_pipe_listed() {
    let folder = Folder::new("links", &[("a/b.rs", "")]);
    std::os::unix::fs::symlink(&folder.0, folder.0.join("a/up")).unwrap();
    std::os::unix::fs::symlink(folder.0.join("a/b.rs"), folder.0.join("link.rs")).unwrap();
    assert_eq!(folder.paths(100).0, ["a/b.rs"]);
}

/// The same, path by path.
fn score(path: &str, words: &[String]) -> f64 {
    let lower = path.to_lowercase();
    let held = words.iter().filter(|word| !word.is_empty() && lower.contains(word.as_str()));
    held.map(|word| if lower.ends_with(word.as_str()) || lower.contains(&format!("/{word}")) { 1.3 } else { 1.0 }).sum()
}

proptest! {
    #![proptest_config(crate::seeded(200))]

    #[test]
    fn ranks_as_each_path_alone_scores(
        paths in prop::collection::btree_set("[abA.]{1,3}(/[abA]{1,3}){0,2}", 0..30),
        words in prop::collection::vec("[ab./]{0,3}", 0..4),
        limit in 0..40usize,
    ) {
        let mut inventory = Inventory::default();
        for path in &paths {
            inventory.files.push(super::File { path: path.into(), shown: path.as_str().into() });
        }
        inventory.write_lines();
        let mut wanted: Vec<_> =
            paths.iter().enumerate().map(|(at, path)| (at, score(path, &words))).filter(|one| one.1 > 0.0).collect();
        wanted.sort_by(|one, other| other.1.total_cmp(&one.1));
        wanted.truncate(limit);
        prop_assert_eq!(inventory.rank(&words, limit), wanted);
        for path in &paths {
            prop_assert!(inventory.holds(path));
        }
        prop_assert!(!inventory.holds("c"));
    }
}
