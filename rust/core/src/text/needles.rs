//! Texts of which every match of a pattern contains one: a text without them needs no search.

use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition};

/// Maximum needles of a pattern.
const MOST: usize = 1_000;
/// Minimum rarity; see `rarity`.
const RARE: usize = 2;

/// Return the needles of a pattern, to be searched for without regard to case; `None` if it has none.
pub(super) fn needles(pattern: &str) -> Option<Vec<String>> {
    let (_, mut needles) = rarest(&folded(&regex_syntax::parse(pattern).ok()?))?;
    needles.sort_by_key(String::len);
    let mut shortest: Vec<String> = Vec::new();
    for needle in needles {
        if !shortest.iter().any(|other| needle.contains(other)) {
            shortest.push(needle);
        }
    }
    Some(shortest)
}

/// Return an expression with a letter in place of each class of its upper and lower case.
fn folded(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Class(class) => {
            letter(class).map_or_else(|| hir.clone(), |c| Hir::literal(c.to_string().into_bytes()))
        }
        HirKind::Repetition(repetition) => {
            Hir::repetition(Repetition { sub: Box::new(folded(&repetition.sub)), ..repetition.clone() })
        }
        HirKind::Capture(capture) => folded(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(folded).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(folded).collect()),
        _ => hir.clone(),
    }
}

/// The first character of a class, if all others differ from it in case alone.
fn letter(class: &Class) -> Option<char> {
    let class = match class {
        Class::Unicode(class) => class.clone(),
        Class::Bytes(class) => class.to_unicode_class()?,
    };
    let first = class.ranges().first()?.start();
    let mut cases = ClassUnicode::new([ClassUnicodeRange::new(first, first)]);
    cases.try_case_fold_simple().ok()?;
    let mut both = cases.clone();
    both.union(&class);
    (both == cases).then_some(first)
}

/// Return the rarest needles of an expression, with their rarity.
fn rarest(hir: &Hir) -> Option<(usize, Vec<String>)> {
    let inner = match hir.kind() {
        HirKind::Repetition(repetition) if repetition.min > 0 => rarest(&repetition.sub),
        HirKind::Alternation(parts) => {
            let parts = parts.iter().map(rarest).collect::<Option<Vec<_>>>()?;
            let rarity = parts.iter().map(|part| part.0).min()?;
            Some((rarity, parts.into_iter().flat_map(|part| part.1).collect()))
        }
        HirKind::Concat(parts) => {
            let rests = (1..parts.len()).filter_map(|start| beginnings(&Hir::concat(parts[start..].to_vec())));
            rests.chain(parts.iter().filter_map(rarest)).max_by_key(|part| part.0)
        }
        _ => None,
    };
    inner.into_iter().chain(beginnings(hir)).max_by_key(|part| part.0)
}

/// Return the texts with one of which every match of an expression begins, with their rarity.
fn beginnings(hir: &Hir) -> Option<(usize, Vec<String>)> {
    let prefixes = Extractor::new().limit_total(MOST).extract(hir);
    let texts = prefixes.literals()?.iter().map(|literal| String::from_utf8(literal.as_bytes().to_vec()).ok());
    let texts = texts.collect::<Option<Vec<_>>>()?;
    let rarity = texts.iter().map(|text| rarity(text)).min()?;
    (rarity >= RARE).then_some((rarity, texts))
}

/// An estimate: a letter counts 1, a blank 0, anything else 2.
fn rarity(text: &str) -> usize {
    text.chars()
        .map(|c| {
            if c.is_whitespace() {
                0
            } else if c.is_alphanumeric() {
                1
            } else {
                2
            }
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::{Regex, escape};

    use super::*;

    fn sorted(pattern: &str) -> Option<Vec<String>> {
        let mut needles = needles(pattern)?;
        needles.sort();
        Some(needles)
    }

    #[test]
    fn a_needle_is_the_rarest_part_of_a_pattern() {
        assert_eq!(needles("AKIA[A-Z]{16}").unwrap(), ["AKIA"]);
        assert_eq!(needles(r"[a-z]+://\w+").unwrap(), ["://"]);
        assert_eq!(needles(r"(?:^|\s)(?:[a-z]+_)*(key)\s*=").unwrap(), ["key"]);
        assert_eq!(sorted("(?:mysql|mysqldump|psql) -p").unwrap(), ["mysql -p", "mysqldump -p", "psql -p"]);
    }

    #[test]
    fn a_needle_that_contains_another_one_is_left_out() {
        assert_eq!(sorted("(?:token|tokens|pwd)[^a]").unwrap(), ["pwd", "token"]);
    }

    #[test]
    fn letters_of_any_case_are_one_letter_of_a_needle() {
        assert_eq!(needles("(?i)secret-[a-z]+").unwrap(), ["SECRET-"]);
        assert_eq!(needles("(?i-u)secret-[a-z]+").unwrap(), ["SECRET-"]);
    }

    #[test]
    fn a_pattern_without_a_rare_part_has_no_needles() {
        for pattern in ["", r"\d+", "[ab]", "a", "(?:secret)?", "secret|", "(?:secret){0,3}x", "("] {
            assert_eq!(needles(pattern), None, "{pattern}");
        }
    }

    fn patterns() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            "[a-cKſ:=]{1,3}",
            Just("[ab]".to_owned()),
            Just("[Kk]".to_owned()),
            Just(r"\b".to_owned()),
            Just(r"\s".to_owned()),
            Just("[^a]".to_owned()),
        ];
        leaf.prop_recursive(4, 24, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
                proptest::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
                (inner.clone(), prop_oneof![Just("?"), Just("*"), Just("+"), Just("{2}"), Just("{1,2}?")])
                    .prop_map(|(part, times)| format!("(?:{part}){times}")),
                inner.clone().prop_map(|part| format!("(?i:{part})")),
                inner.prop_map(|part| format!("({part})")),
            ]
        })
    }

    proptest! {
        #![proptest_config(crate::seeded(2_000))]

        #[test]
        fn every_match_contains_a_needle(pattern in patterns(), text in "[a-cA-CkKKsSſ:= ]{0,12}") {
            let Some(needles) = needles(&pattern) else { return Ok(()) };
            let is_match = Regex::new(&pattern).unwrap().is_match(&text);
            let has = needles.iter().any(|needle| Regex::new(&format!("(?i){}", escape(needle))).unwrap().is_match(&text));
            prop_assert!(has || !is_match, "{} of {:?}", pattern, needles);
        }
    }
}
