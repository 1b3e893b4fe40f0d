use std::fs::{create_dir_all, write};
use std::path::{Path, PathBuf};

use super::{Globs, Reason, Wanted, is_session, walk};

/// A folder of its own for each test, removed with it.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("septet-walk-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        create_dir_all(&folder).unwrap();
        for (path, text) in files {
            let path = folder.join(path);
            create_dir_all(path.parent().unwrap()).unwrap();
            write(path, text).unwrap();
        }
        Self(folder)
    }

    fn paths(&self, wanted: Wanted) -> Vec<String> {
        walk(&self.0, wanted).files.iter().map(|file| file.path.display().to_string()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn texts() -> Wanted {
    let names = [".gitignore", ".septetignore"];
    Wanted {
        endings: vec![".md".to_owned()],
        ignore_files: names.map(str::to_owned).to_vec(),
        sessions: true,
        ..Wanted::default()
    }
}

#[test]
fn files_come_with_size_and_time_in_the_order_of_paths() {
    let folder = Folder::new("order", &[("b.md", "12345"), ("a/z.md", "1"), ("a/b/c.md", ""), ("x.png", "1")]);
    let walked = walk(&folder.0, texts());
    let results: Vec<_> = walked.files.iter().map(|file| (file.path.to_str().unwrap(), file.size)).collect();
    assert_eq!(results, [("a/b/c.md", 0), ("a/z.md", 1), ("b.md", 5)]);
    assert_eq!(walked.folders, ["", "a", "a/b"].map(PathBuf::from));
    let changed = std::fs::metadata(folder.0.join("b.md")).unwrap().modified().unwrap();
    let since = changed.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    assert_eq!(walked.files[2].mtime_ns as u128, since);
}

#[test]
fn rules_hold_without_a_repository_and_the_own_file_overrides_them() {
    let files = [
        (".gitignore", "build/\n*.tmp.md\n"),
        (".septetignore", "!keep.tmp.md\nsecret.md\n"),
        ("a.md", ""),
        ("x.tmp.md", ""),
        ("keep.tmp.md", ""),
        ("build/b.md", ""),
        ("deep/build/b.md", ""),
        ("deep/.gitignore", "/only-here.md\n"),
        ("deep/only-here.md", ""),
        ("deep/er/only-here.md", ""),
        ("deep/secret.md", ""),
    ];
    let folder = Folder::new("rules", &files);
    assert_eq!(folder.paths(texts()), ["a.md", "deep/er/only-here.md", "keep.tmp.md"]);
    let own = Wanted { ignore_files: vec![".septetignore".to_owned()], ..texts() };
    assert_eq!(folder.paths(own).len(), 7);
}

#[test]
fn files_that_only_their_name_leaves_out_are_counted_by_ending() {
    let files = [
        (".gitignore", "build/\n*.zip\n"),
        ("a.md", ""),
        ("b.PDF", ""),
        ("deep/c.pdf", ""),
        ("deep/d.canvas", ""),
        ("README", ""),
        ("e.not an ending", ""),
        ("build/f.pdf", ""),
        ("g.zip", ""),
        (".h.pdf", ""),
        ("old/i.pdf", ""),
    ];
    let folder = Folder::new("others", &files);
    let others = |wanted: Wanted| {
        walk(&folder.0, wanted).others.into_iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>()
    };
    let old = Globs::new(["old/"]).unwrap();
    assert_eq!(others(Wanted { exclude: old.clone(), ..texts() }), [" 2", "canvas 1", "pdf 2"]);
    assert_eq!(others(Wanted { include: old, ..texts() }), ["pdf 1"]);
    assert_eq!(others(Wanted { endings: Vec::new(), ..texts() }), [""; 0]);
}

#[test]
fn hidden_ones_are_found_only_when_wanted() {
    let folder = Folder::new("hidden", &[(".a.md", ""), (".b/c.md", ""), ("d.md", "")]);
    assert_eq!(folder.paths(texts()), ["d.md"]);
    assert_eq!(folder.paths(Wanted { hidden: true, ..texts() }), [".a.md", ".b/c.md", "d.md"]);
}

#[test]
fn globs_see_the_path_with_its_prefix() {
    let folder = Folder::new("globs", &[("a.md", ""), ("docs/b.md", ""), ("docs/old/c.md", ""), ("d.md", "")]);
    let globs = |globs: &[&str]| Globs::new(globs.iter().copied()).unwrap();
    assert_eq!(folder.paths(Wanted { include: globs(&["docs/"]), ..texts() }), ["docs/b.md", "docs/old/c.md"]);
    let both = Wanted { include: globs(&["/docs/**", "/a.md"]), exclude: globs(&["old"]), ..texts() };
    assert_eq!(folder.paths(both), ["a.md", "docs/b.md"]);
    let beside = Wanted { prefix: PathBuf::from("../beside"), include: globs(&["../beside/docs/"]), ..texts() };
    assert_eq!(folder.paths(beside), ["docs/b.md", "docs/old/c.md"]);
    let nothing = Wanted { prefix: PathBuf::from("out/in"), exclude: globs(&["/out/"]), ..texts() };
    assert!(folder.paths(nothing).is_empty());
    assert_eq!(folder.paths(Wanted { pattern: globs(&["/*/b.md"]), ..texts() }), ["docs/b.md"]);
    for wrong in ["", "  ", "# no", "{a"] {
        assert!(Globs::new(["fine", wrong]).is_err_and(|(at, _)| at == 1), "{wrong}");
    }
}

#[test]
fn one_path_is_found_by_the_rules_that_all_are_found_by() {
    let files = [(".gitignore", "no/\n"), ("a/b.md", ""), ("a/c.md", ""), ("a/b/d.md", ""), ("no/e.md", "")];
    let folder = Folder::new("one", &files);
    let within = |path: &str| folder.paths(Wanted { within: vec![PathBuf::from(path)], ..texts() });
    for path in folder.paths(texts()) {
        assert_eq!(within(&path), [path]);
    }
    assert!(within("no/e.md").is_empty());
    assert_eq!(within("a/b"), ["a/b/d.md"]);
    assert_eq!(within("a"), ["a/b.md", "a/b/d.md", "a/c.md"]);
}

#[test]
fn names_of_session_logs_are_known() {
    for name in ["a.jsonl", ".jsonl", "a.jsonl.reset.2026-01-01T00-00-00.000Z"] {
        assert!(is_session(name), "{name}");
    }
    for name in ["a.json", "a.jsonl.bak", "a.jsonl.reset.", "jsonl", "a.JSONL"] {
        assert!(!is_session(name), "{name}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_a_problem_and_no_panic() {
    let none = Path::new("/no/such/folder");
    let walked = walk(none, texts());
    assert_eq!(walked.problems.len(), 1);
    assert_eq!(walked.problems[0].reason, Reason::Vanished);
    assert_eq!(walked.problems[0].detail, std::fs::metadata(none).unwrap_err().to_string());
    assert!(walked.files.is_empty());
}

/// No folder of Windows holds a pipe, and a link there needs a privilege.
#[cfg(unix)]
#[test]
fn links_and_pipes_are_listed_and_not_read() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("links", &[("a/b.md", ""), ("c.md", ""), ("n.png", "")]);
    for (to, name) in
        [("a", "dir"), ("c.md", "l.md"), ("gone", "broken.md"), ("gone", "gone"), (".", "a/up"), ("n.png", "p")]
    {
        symlink(to, folder.0.join(name)).unwrap();
    }
    assert!(std::process::Command::new("mkfifo").arg(folder.0.join("pipe.md")).status().unwrap().success());
    let walked = walk(&folder.0, texts());
    assert_eq!(walked.links, ["a/up", "broken.md", "dir", "l.md"].map(PathBuf::from));
    assert_eq!(walked.files.len(), 2);
    assert_eq!(walked.problems.len(), 1);
    assert_eq!(
        (walked.problems[0].reason, walked.problems[0].path.as_path()),
        (Reason::NotAFile, Path::new("pipe.md"))
    );
}

/// As above.
#[cfg(unix)]
#[test]
fn a_folder_whose_rules_cannot_be_read_is_left_out() {
    let folder = Folder::new("pipe", &[("a/b.md", ""), ("c/d.md", "")]);
    assert!(std::process::Command::new("mkfifo").arg(folder.0.join("a/.gitignore")).status().unwrap().success());
    let walked = walk(&folder.0, texts());
    assert_eq!(walked.problems.len(), 1);
    assert_eq!((walked.problems[0].reason, walked.problems[0].path.as_path()), (Reason::Unreadable, Path::new("a")));
    assert_eq!(walked.files[0].path, Path::new("c/d.md"));
    let root = walk(&folder.0.join("a"), texts());
    assert_eq!((root.files.len(), root.problems.len()), (0, 1));
}

#[test]
fn a_rule_that_is_no_glob_is_told_and_the_others_hold() {
    let folder = Folder::new("bad", &[(".gitignore", "{a\nb.md\n"), ("b.md", ""), ("c.md", "")]);
    let walked = walk(&folder.0, texts());
    assert_eq!(walked.files.len(), 1);
    assert_eq!(walked.problems.iter().map(|one| one.reason).collect::<Vec<_>>(), [Reason::BadRule]);
    assert_eq!(walked.problems[0].path, Path::new(".gitignore"));
}

#[test]
fn rules_beyond_a_bound_leave_their_folder_out_at_once() {
    let many = "a*b?\n".repeat(5_001);
    for (rules, outcome) in [
        ("x".repeat(5_000), "a rule of more than 4096 bytes"),
        ("x".repeat(300_000), "more than 262144 bytes"),
        ("\n".repeat(300_000), "more than 262144 bytes"),
        (many, "more than 5000 rules"),
    ] {
        let folder = Folder::new("bounds", &[("a/.gitignore", &rules), ("a/b.md", ""), ("c/d.md", "")]);
        let walked = walk(&folder.0, texts());
        assert_eq!(walked.files.iter().map(|file| file.path.as_path()).collect::<Vec<_>>(), [Path::new("c/d.md")]);
        assert_eq!(
            (walked.problems[0].reason, walked.problems[0].path.as_path()),
            (Reason::Unreadable, Path::new("a"))
        );
        assert!(walked.problems[0].detail.contains(outcome), "{}", walked.problems[0].detail);
        assert_eq!(walk(&folder.0.join("a"), texts()).problems.len(), 1);
    }
}

#[test]
fn the_rules_of_all_folders_together_have_a_bound() {
    let rules = "name\n".repeat(5_000);
    let names: Vec<_> = (10..22).map(|at| (format!("f{at}/.gitignore"), format!("f{at}/a.md"))).collect();
    let mut files = Vec::new();
    for (rule, text) in &names {
        files.extend([(rule.as_str(), rules.as_str()), (text.as_str(), "")]);
    }
    let walked = walk(&Folder::new("all", &files).0, texts());
    assert_eq!((walked.files.len(), walked.problems.len()), (10, 2));
    assert!(walked.problems[0].detail.contains("50000 rules below one folder"));
}

#[test]
fn comments_and_empty_lines_are_no_rules() {
    let rules = format!("{}\n#{}\nb.md\n", "# a comment\n\n".repeat(6_000), "x".repeat(9_000));
    let folder = Folder::new("comments", &[(".gitignore", &rules), ("b.md", ""), ("c.md", "")]);
    let walked = walk(&folder.0, texts());
    assert_eq!((walked.files.len(), walked.problems.len()), (1, 0));
}

#[test]
fn rules_hold_whatever_ends_their_lines() {
    let folder = Folder::new(
        "ends",
        &[(".gitignore", "# all\r\n\r\nno/\r\nb.md\r\n"), ("no/a.md", ""), ("b.md", ""), ("c.md", "")],
    );
    assert_eq!(folder.paths(texts()), ["c.md"]);
}
