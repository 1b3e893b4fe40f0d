use proptest::prelude::*;

use super::near::similarity_above;
use super::{Asked, Symbols, parts, proximity, scan, similarity};
use crate::inventory::tests::Folder;

fn defined(path: &str, text: &str) -> Vec<(String, String, u32)> {
    let language = super::languages::of(path).unwrap();
    let found = scan::definitions(text, language);
    found.into_iter().map(|one| (one.kind.into(), one.name.into(), one.line)).collect()
}

fn names(path: &str, text: &str) -> Vec<String> {
    defined(path, text).into_iter().map(|(_, name, _)| name).collect()
}

#[test]
fn definitions_have_kinds_names_and_lines() {
    let text = "import os\n\nMAX_SIZE: int = 3\nclass Policy(Base):\n    async def from_env(self):\n        x = 1\n\ndef plain(): pass\n";
    let wanted = [("constant", "MAX_SIZE", 3), ("class", "Policy", 4), ("def", "from_env", 5), ("def", "plain", 8)];
    assert_eq!(defined("a.py", text), wanted.map(|(kind, name, line)| (kind.into(), name.into(), line)));
}

#[test]
fn definitions_are_found_whatever_ends_the_lines() {
    for (path, text) in [
        ("a.py", "import os\n\nMAX = 3\nclass Policy(Base):\n    def one(self):\n        pass\n"),
        ("a.c", "struct two {\nstatic inline int three(int a)\n{\n    return four(a);\n}\n"),
        ("a.ts", "class One {\n  two(a: string): void {\n  }\n}\nexport const three = (a) => a;\n"),
        ("a.sh", "one() {\n  two\n}\n"),
    ] {
        assert!(!defined(path, text).is_empty());
        assert_eq!(defined(path, &text.replace('\n', "\r\n")), defined(path, text), "{path}");
    }
}

#[test]
fn the_common_languages_are_read() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "a.rs",
            "pub(crate) const fn one() {}\nimpl X {\n    pub async uns\x61fe fn two(&self) {}\n}\npub struct Three;\nconst _: () = ();\nmacro_rules! four { }\nstatic FIVE: u8 = 1;\n// fn no\nlet x = 1;\npub extern \"C\" fn six() {}\n",
            &["one", "two", "Three", "four", "FIVE", "six"],
        ),
        (
            "a.ts",
            "export default class One extends B {\n  private async two(a: string): Promise<void> {\n    if (a) {\n    for (;;) {\n  }\n  constructor(x) {\n}\nexport const three = (a) => a;\ninterface Four {}\nexport async function* five() {}\ntype Six = string;\nconst enum Seven {}\nreturn foo();\n",
            &["One", "two", "three", "Four", "five", "Six", "Seven"],
        ),
        (
            "a.go",
            "func One(a int) {}\nfunc (r *Repo) Two() error {\ntype Three struct {\nvar Four = 1\n\tx := 1\n",
            &["One", "Two", "Three", "Four"],
        ),
        (
            "A.java",
            "public final class One {\n  @Override public String two(int x) {\n    return three(x);\n    new Four(x);\n  }\n  int five(int y) throws IOException {\n    else if (x) {\n  }\n  public One(int z) {\n}\nenum Six { A }\n",
            &["One", "two", "five", "One", "Six"],
        ),
        (
            "a.kt",
            "data class One(val a: Int)\nsuspend fun <T> String.two(): Int {\nenum class Three\nobject Four\n",
            &["One", "two", "Three", "Four"],
        ),
        (
            "a.cs",
            "namespace One.Two {\npublic record struct Three(int A);\n  public static async Task<int> Four(int a)\n  {\n",
            &["Two", "Three", "Four"],
        ),
        ("a.swift", "struct One {\n  func two(a: Int) -> Int {\nprotocol Three {\n", &["One", "two", "Three"]),
        (
            "a.c",
            "#define ONE(x) (x)\nstruct two {\nstruct forward;\nstatic inline int three(int a)\n{\n    call(a);\n    return four(a);\n}\ntypedef struct {\n} five;\nint six(void);\nObject *\nseven(Object *self,\n      int b)\n{\n",
            &["ONE", "two", "three", "five", "seven"],
        ),
        (
            "a.cpp",
            "class One : public B {\nnamespace two {\nint Three::four(int a) const {\nenum class Five {\nThree::~Three() {\n",
            &["One", "two", "four", "Five", "~Three"],
        ),
        (
            "a.rb",
            "module One\n  class Two < B\n    def self.three?(a)\n    LIMIT = 4\n",
            &["One", "Two", "three?", "LIMIT"],
        ),
        (
            "a.php",
            "<?php\nfinal class One {\n  public static function two() {}\n  const THREE = 1;\n}\nfunction &four() {}\n",
            &["One", "two", "THREE", "four"],
        ),
        ("a.sh", "function one {\ntwo() {\n  three\n", &["one", "two"]),
        ("a.lua", "local function one()\nfunction M.a:two()\n", &["one", "two"]),
        ("A.pm", "package One::Two;\nsub three {\n", &["Two", "three"]),
        ("a.ex", "defmodule One.Two do\n  defp three?(a) do\n", &["Two", "three?"]),
        ("a.zig", "pub fn one() void {\nconst Two = struct {\n", &["one", "Two"]),
        ("a.R", "one.two <- function(x) {\n", &["one.two"]),
        ("a.jl", "mutable struct One\nfunction two!(x)\n", &["One", "two!"]),
        ("a.proto", "message One {\n  rpc Two(A) returns (B);\n", &["One", "Two"]),
        ("a.sql", "CREATE TABLE IF NOT EXISTS main.one (\ncreate unique index \"two\" on one\n", &["one", "two"]),
    ];
    for (path, text, wanted) in cases {
        assert_eq!(names(path, text), *wanted, "{path}");
        assert_eq!(names(path, &text.replace('\n', "\r\n")), *wanted, "{path} with CRLF");
    }
}

#[test]
fn files_in_no_language_define_nothing() {
    for path in ["README.md", "Makefile", ".py", "a/.rs", "py", ""] {
        assert!(super::languages::of(path).is_none(), "{path}");
    }
    assert!(super::languages::of("A/B.PY").is_some());
}

#[test]
fn names_fall_into_words_however_they_are_written() {
    let words = |name| parts(name).into_iter().map(|part| String::from_utf8(part).unwrap()).collect::<Vec<_>>();
    for name in ["get_user_names", "getUserNames", "GetUserNames", "GET_USER_NAMES", "get-user-names"] {
        assert_eq!(words(name), ["get", "user", "name"], "{name}");
    }
    assert_eq!(words("parseJSONFile"), ["pars", "json", "file"]);
    assert_eq!(words("_"), Vec::<String>::new());
}

fn found(symbols: &Symbols, words: &[&str], named: &[&str]) -> Vec<(String, String)> {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let best = symbols.rank(Asked { words: &owned(words), names: &owned(named) }, 10);
    let each = best.into_iter().map(|(at, score)| {
        assert!((0.0..=1.0).contains(&score));
        let (path, symbol) = symbols.at(at);
        (path.to_owned(), symbol.name.to_string())
    });
    each.collect()
}

#[test]
fn what_is_read_once_is_read_again_only_when_it_changed() {
    let folder =
        Folder::new("symbols", &[("a.py", "def one(): 1\n"), ("b/c.rs", "fn two() {}\n"), ("d.md", "def no()")]);
    let first = Symbols::scan(&folder.inventory(), None, 1 << 20, None);
    assert_eq!((first.len(), first.files(), first.left(), first.unreadable()), (2, 2, 0, 0));
    let same = Symbols::scan(&folder.inventory(), Some(&first), 1 << 20, None);
    assert!(std::sync::Arc::ptr_eq(&first.0, &same.0));
    folder.write("a.py", "def three(): 1\ndef four(): 2\n");
    let next = Symbols::scan(&folder.inventory(), Some(&same), 1 << 20, None);
    assert!(std::sync::Arc::ptr_eq(&same.0.files[1], &next.0.files[1]));
    let all: Vec<_> = (0..next.len()).map(|at| next.at(at).1.name.to_string()).collect();
    assert_eq!(all, ["three", "four", "two"]);
    std::fs::remove_file(folder.0.join("a.py")).unwrap();
    assert_eq!(Symbols::scan(&folder.inventory(), Some(&next), 1 << 20, None).len(), 1);
    // Without time what was known stays.
    let late = Symbols::scan(&folder.inventory(), Some(&next), 1 << 20, Some(std::time::Instant::now()));
    assert_eq!((late.len(), late.left()), (1, 1));
}

#[test]
fn what_is_no_text_or_too_large_defines_nothing() {
    let large = "def large(): 1\n".repeat(100);
    let folder = Folder::new("binary", &[("a.py", "def one(): 1\0\n"), ("b.py", &large), ("c.py", "def two(): 1\n")]);
    std::fs::write(folder.0.join("d.py"), b"def caf\xe9(): 1\ndef three(): 1\n").unwrap();
    let symbols = Symbols::scan(&folder.inventory(), None, 1000, None);
    assert_eq!(found(&symbols, &[], &["two"])[0].1, "two");
    assert_eq!(found(&symbols, &[], &["three"])[0].1, "three");
    assert!(found(&symbols, &["large", "one"], &[]).is_empty());
}

#[test]
fn a_name_is_found_by_itself_by_its_words_and_by_names_alike() {
    let text = "def parse_config(): 1\ndef parse(): 1\nclass ConfigParser: 1\ndef unrelated(): 1\ndef parse_other_things_config(): 1\n";
    let folder = Folder::new(
        "rank",
        &[("src/a.py", text), ("src/vault.py", "def search(): 1\n"), ("src/b.py", "def search(): 1\n")],
    );
    let symbols = Symbols::scan(&folder.inventory(), None, 1 << 20, None);
    let best = |words: &[&str], named: &[&str]| found(&symbols, words, named).into_iter().map(|one| one.1).next();
    assert_eq!(best(&[], &["parse_config"]).as_deref(), Some("parse_config"));
    assert_eq!(best(&[], &["ParseConfig"]).as_deref(), Some("parse_config"));
    assert_eq!(best(&[], &["parse_confg"]).as_deref(), Some("parse_config"));
    assert_eq!(best(&["parses", "config"], &[]).as_deref(), Some("parse_config"));
    assert_eq!(best(&["nothing"], &["zzz"]), None);
    // The path decides between equal names.
    assert_eq!(found(&symbols, &["vault", "search"], &[])[0].0, "src/vault.py");
    assert_eq!(found(&symbols, &["vault.search"], &["search"])[0].0, "src/vault.py");
    assert!(found(&Symbols::default(), &["a"], &["b"]).is_empty());
}

#[test]
fn the_documented_proximity() {
    assert_eq!(proximity("vox-dei", "vox-dei crate"), 1.0);
    assert_eq!(proximity("größe", "grosse"), 0.5);
    assert_eq!(proximity("", "anything"), 0.0);
    assert_eq!(proximity("a", "anything"), 0.125);
}

/// The whole table, as textbooks have it.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let same = table[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
                same.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1)
            };
        }
    }
    table[one.len()][other.len()]
}

proptest! {
    #![proptest_config(crate::seeded(300))]

    #[test]
    fn similarity_is_that_of_the_whole_table(one in "[abö]{0,9}", other in "[abö]{0,9}") {
        let (one, other): (Vec<_>, Vec<_>) = (one.chars().collect(), other.chars().collect());
        let longest = one.len().max(other.len());
        let wanted = if longest == 0 { 1.0 } else { 1.0 - distance(&one, &other) as f64 / longest as f64 };
        prop_assert_eq!(similarity(&one, &other), wanted);
        prop_assert_eq!(similarity_above(&one, &other, 0.65), Some(wanted).filter(|&found| found > 0.65 && longest > 0));
    }

    #[test]
    fn letters_pass_over_no_name_that_is_alike(one in "[a-eö]{1,9}", other in "[a-eö]{1,9}") {
        let folder = [(one.to_lowercase(), other.to_lowercase())];
        for (one, other) in folder {
            let (bits, letters) = (super::letters(&one), super::letters(&other));
            let edits = (letters & !bits).count_ones().max((bits & !letters).count_ones()) as usize;
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            if similarity_above(&chars(&one), &chars(&other), 0.65).is_some() {
                prop_assert!((edits as f64) < (1.0 - 0.65) * one.len().max(other.len()) as f64);
            }
        }
    }
}

/// Elsewhere it is a name like others.
#[cfg(windows)]
#[test]
fn a_file_with_the_name_of_a_device_is_read() {
    let folder = Folder::new("device", &[("a.py", "")]);
    std::fs::write(crate::system::to_walk(&folder.0).join("con.py"), "def one(): 1\r\n").unwrap();
    let symbols = Symbols::scan(&folder.inventory(), None, 1_000, None);
    assert_eq!((symbols.files(), symbols.len(), symbols.unreadable()), (2, 1, 0));
}
