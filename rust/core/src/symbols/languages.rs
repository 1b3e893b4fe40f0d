//! The definitions of common languages: one pattern a language, for the beginning of a line.
//!
//! A light scanner, not a parser: it reads a line at a time, knows no strings and no comments of several lines, and
//! passes over what is written in an unusual way.

use std::sync::LazyLock;

use regex::Regex;

/// A language, by the endings of its files.
pub(super) struct Language {
    endings: &'static [&'static str],
    /// The name is in the group `name`, `constant`, `method`, `plain` or `alias`; the keyword of its kind in `kind` or
    /// `kind2`. After a reserved word in `before` nothing is defined.
    compiled: LazyLock<Option<Regex>>,
    /// The kind of what has no word for it.
    pub(super) otherwise: &'static str,
}

impl Language {
    pub(super) fn regex(&self) -> Option<&Regex> {
        self.compiled.as_ref()
    }
}

macro_rules! languages {
    ($($otherwise:literal [$($ending:literal)+] $pattern:expr;)+) => {
        [$(Language {
            endings: &[$($ending),+],
            compiled: LazyLock::new(|| compiled($pattern)),
            otherwise: $otherwise,
        }),+]
    };
}

fn compiled(pattern: &str) -> Option<Regex> {
    Regex::new(&format!("(?mx){pattern}")).ok()
}

/// Words that stand before parentheses and define nothing.
const RESERVED: &[&str] = &[
    "_",
    "alignof",
    "and",
    "assert",
    "await",
    "case",
    "catch",
    "constructor",
    "delete",
    "do",
    "elif",
    "else",
    "for",
    "foreach",
    "fixed",
    "function",
    "goto",
    "if",
    "in",
    "lock",
    "match",
    "new",
    "not",
    "of",
    "or",
    "return",
    "sizeof",
    "super",
    "switch",
    "synchronized",
    "this",
    "throw",
    "typeof",
    "until",
    "using",
    "when",
    "while",
    "with",
    "yield",
];

static LANGUAGES: [Language; 17] = languages! {
    "constant" ["py" "pyi" "pyw"]
        r"^[\ \t]*(?:async[\ \t]+)?(?P<kind>def|class)[\ \t]+(?P<name>\w+)
        | ^(?P<constant>[A-Z][A-Z0-9_]{2,})[\ \t]*(?::[^=\n]+)?=";
    "function" ["rs"]
        r#"^[\ \t]*(?:pub(?:\([^)\n]*\))?[\ \t]+)?(?:(?:default|const|async|un[s]afe|extern(?:[\ \t]+"[^"\n]*")?)[\ \t]+)*
        (?P<kind>fn|struct|enum|union|trait|type|mod|macro_rules!|const|static)[\ \t]+(?:mut[\ \t]+)?(?:r\#)?(?P<name>[A-Za-z_]\w*)"#;
    "method" ["js" "jsx" "mjs" "cjs" "ts" "tsx" "mts" "cts" "vue" "svelte"]
        r"^[\ \t]*(?:export[\ \t]+)?(?:default[\ \t]+)?(?:declare[\ \t]+)?(?:abstract[\ \t]+)?(?:async[\ \t]+)?(?:const[\ \t]+)?
        (?P<kind>function|class|interface|enum|namespace|type)[\ \t]*\*?[\ \t]+(?P<name>[A-Za-z_$][\w$]*)
        | ^(?:export[\ \t]+)?(?P<kind2>const|let|var)[\ \t]+(?P<constant>[A-Za-z_$][\w$]*)[\ \t]*(?::[^=\n]+)?=
        | ^[\ \t]+(?:(?:public|private|protected|static|async|readonly|override|abstract|get|set)[\ \t]+)*\*?
        (?P<method>\#?[A-Za-z_$][\w$]*)[\ \t]*(?:<[^>\n]*>)?\([^;{}\n]*\)[\ \t]*(?::[^;=\n]+)?\{[\ \t]*\r?$";
    "constant" ["go"]
        r"^(?P<kind>func|type)[\ \t]+(?:\([^)\n]*\)[\ \t]*)?(?P<name>[A-Za-z_]\w*)
        | ^(?P<kind2>const|var)[\ \t]+(?P<constant>[A-Za-z_]\w*)";
    "method" ["java" "cs" "kt" "kts" "scala" "sc" "swift" "dart" "groovy"]
        r"^[\ \t]*(?:@\w+(?:\([^)\n]*\))?[\ \t]+)*
        (?:(?:public|private|protected|internal|abstract|final|static|sealed|partial|open|data|inner|readonly|un[s]afe|strictfp|fileprivate|non-sealed|override|value|implicit|lazy|case|async|suspend|inline|operator|mutating|indirect|external|tailrec|companion)[\ \t]+)*
        (?P<kind>enum[\ \t]+class|record[\ \t]+struct|record[\ \t]+class|class|interface|@interface|enum|record|struct|object|trait|protocol|extension|namespace|delegate|actor|mixin|typealias|func|fun|def)[\ \t]+
        (?:<[^>\n]*>[\ \t]*)?(?:[\w<>?]+\.)*(?P<name>[A-Za-z_]\w*)
        | ^[\ \t]+(?:@\w+(?:\([^)\n]*\))?[\ \t]+)*(?:(?:public|private|protected|internal|static|final|abstract|synchronized|native|default|virtual|override|async|sealed|extern|un[s]afe|partial|readonly)[\ \t]+)+
        (?:<[^>\n]+>[\ \t]+)?(?:[\w.<>\[\],?]+[\ \t]+)?(?P<method>[A-Za-z_]\w*)[\ \t]*\(
        | ^[\ \t]+(?P<before>[\w.<>\[\],?]+)[\ \t]+(?P<plain>[A-Za-z_]\w*)[\ \t]*\([^;{}\n]*\)[\ \t]*(?:throws[^;{\n]+)?\{";
    "function" ["c" "h" "cc" "cpp" "cxx" "hpp" "hh" "hxx" "inl" "ipp" "m" "mm" "cu" "cuh" "ino"]
        r"^[\ \t]*(?:typedef[\ \t]+)?(?P<kind>enum[\ \t]+class|struct|class|enum|union|namespace)[\ \t]+(?:[A-Z_]+[\ \t]+)?(?P<name>[A-Za-z_]\w*)[^;=()\n]*(?:\{[^\n]*)?$
        | ^\#[\ \t]*(?P<kind2>define)[\ \t]+(?P<constant>[A-Za-z_]\w*)
        | ^\}[\ \t]*(?P<alias>[A-Za-z_]\w*)[\ \t]*;
        | ^(?:(?P<before>[A-Za-z_]\w*)[\w:<>,*&\ \t~\[\]]*[\ \t*&])?(?:\w+::)*(?P<method>~?[A-Za-z_]\w*)[\ \t]*\([^;{}\n]*\)?[^;{}\n]*(?:\{[^\n]*)?\r?$";
    "method" ["rb" "rake" "gemspec"]
        r"^[\ \t]*(?P<kind>def|class|module)[\ \t]+(?:self\.)?(?:\w+::)*(?P<name>[A-Za-z_]\w*[?!=]?)
        | ^[\ \t]*(?P<constant>[A-Z][A-Z0-9_]{2,})[\ \t]*=";
    "constant" ["php" "phtml"]
        r"^[\ \t]*(?:(?:public|private|protected|static|abstract|final|readonly)[\ \t]+)*(?P<kind>function|class|interface|trait|enum|const)[\ \t]+&?[\ \t]*(?P<name>[A-Za-z_]\w*)";
    "function" ["sh" "bash" "zsh" "ksh"]
        r"^[\ \t]*(?P<kind>function)[\ \t]+(?P<name>[A-Za-z_][\w-]*) | ^[\ \t]*(?P<method>[A-Za-z_][\w-]*)[\ \t]*\(\)";
    "function" ["lua"]
        r"^[\ \t]*(?:local[\ \t]+)?(?P<kind>function)[\ \t]+(?:\w+[.:])*(?P<name>[A-Za-z_]\w*)";
    "function" ["pl" "pm"] r"^[\ \t]*(?P<kind>sub|package)[\ \t]+(?:\w+::)*(?P<name>[A-Za-z_]\w*)";
    "function" ["ex" "exs"]
        r"^[\ \t]*(?P<kind>defmodule|defprotocol|defmacro|defp|def)[\ \t]+(?:\w+\.)*(?P<name>[A-Za-z_]\w*[?!]?)";
    "function" ["zig"]
        r"^[\ \t]*(?:pub[\ \t]+)?(?:(?:export|extern|inline)[\ \t]+)*(?P<kind>fn|const)[\ \t]+(?P<name>[A-Za-z_]\w*)";
    "function" ["r" "R"] r"^[\ \t]*(?P<method>[A-Za-z.][\w.]*)[\ \t]*(?:<-|=)[\ \t]*function\b";
    "function" ["jl"] r"^[\ \t]*(?P<kind>function|macro|struct|mutable[\ \t]+struct|module)[\ \t]+(?P<name>[A-Za-z_]\w*!?)";
    "message" ["proto"] r"^[\ \t]*(?P<kind>message|service|rpc|enum)[\ \t]+(?P<name>[A-Za-z_]\w*)";
    "table" ["sql"]
        r#"(?i:^[\ \t]*create[\ \t]+(?:(?:or[\ \t]+replace|temp|temporary|virtual|unique|materialized)[\ \t]+)*(?P<kind>table|view|index|function|procedure|trigger|type)[\ \t]+(?:if[\ \t]+not[\ \t]+exists[\ \t]+)?["`\[]?(?:\w+["`\]]?\.["`\[]?)?(?P<name>[a-z_]\w*))"#;
};

/// The language of a file, by the ending of its name.
pub(super) fn of(path: &str) -> Option<&'static Language> {
    let name = path.rsplit('/').next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    let results = |ending: &str| LANGUAGES.iter().find(|language| language.endings.contains(&ending));
    if stem.is_empty() { None } else { results(ending).or_else(|| results(&ending.to_lowercase())) }
}

/// True if a word defines nothing, whatever stands beside it.
pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::LANGUAGES;

    #[test]
    fn every_pattern_compiles() {
        for language in &LANGUAGES {
            assert!(language.regex().is_some(), "{:?}", language.endings);
        }
    }
}
