//! Secrets in a text, found by rules and masked. The patterns run in linear time, whatever the text.

use std::borrow::Cow;

use regex::{Captures, Regex, RegexBuilder, RegexSet, RegexSetBuilder, SetMatches, escape};

use super::edits::{Edit, Masked, edited, joined};
use super::needles::needles;
use super::otherwise::otherwise;
use crate::{Error, Result};

/// The text that replaces a secret.
pub const MASKED: &str = "***";
/// Minimum letters and digits in a row that are no word of a language.
const RUN: usize = 16;
const LONG_RUN: usize = 20;
/// Bytes that something must have in which digits stand among letters.
const MIXED: usize = 6;
/// Units of UTF-16 from which on the documented mask shows a beginning of 6 and an end of 4.
const SHORT: usize = 18;
const START: usize = 6;
const END: usize = 4;

/// Placeholders that stand in documentation for a secret. Lower case; compared without regard to case.
const NO_SECRETS: &[&str] = &[
    "a",
    "an",
    "and",
    "any",
    "are",
    "argument",
    "arguments",
    "as",
    "at",
    "auto",
    "base64",
    "be",
    "bool",
    "but",
    "by",
    "bytes",
    "can",
    "default",
    "empty",
    "env",
    "false",
    "field",
    "file",
    "flag",
    "for",
    "from",
    "has",
    "if",
    "in",
    "instead",
    "int",
    "is",
    "it",
    "may",
    "must",
    "name",
    "nil",
    "no",
    "none",
    "not",
    "null",
    "object",
    "of",
    "off",
    "on",
    "option",
    "optional",
    "options",
    "or",
    "parameter",
    "password",
    "redacted",
    "required",
    "secret",
    "self",
    "set",
    "should",
    "stdin",
    "str",
    "string",
    "text",
    "that",
    "the",
    "then",
    "this",
    "to",
    "token",
    "true",
    "type",
    "undefined",
    "unset",
    "value",
    "values",
    "was",
    "when",
    "will",
    "with",
    "without",
    "yes",
    "your",
];

/// The masking of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// Nothing of it stays but its line breaks.
    Hidden,
    /// Six characters of its beginning and four of its end stay, if it has 18 or more.
    Documented,
    /// The first and the last line of a block stay.
    Block,
}

/// The conditions for a match to be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Whatever the pattern finds.
    Any,
    /// No placeholder, and no word that explains.
    Value,
    /// That, and it looks drawn by lot: a digit among letters, letters of both cases, or a long run.
    Random,
    /// No placeholder, and digits among letters, or a very long run: names of types and of variables have neither.
    Mixed,
}

/// A rule, ready to run.
struct Rule {
    pattern: Regex,
    mask: Mask,
    check: Check,
    /// The place of its needles in `Redactor::needles`; None if it has none.
    needles: Option<usize>,
}

/// Rules, which run one after the other, each on what the one before left.
pub struct Redactor {
    rules: Vec<Rule>,
    /// Says in one pass which rules a text needs: most rules match nothing in most texts.
    needles: RegexSet,
}

impl Redactor {
    /// Make ready rules: patterns with how to mask and what to check. The last group of a pattern that took part in a
    /// match is the secret; without one, all of the match.
    ///
    /// # Errors
    /// A pattern is malformed, or too large.
    pub fn new<'a>(rules: impl IntoIterator<Item = (&'a str, Mask, Check)>) -> Result<Self> {
        let mut sets = Vec::new();
        let result = rules.into_iter().map(|(text, mask, check)| {
            let built = RegexBuilder::new(text).size_limit(1 << 22).dfa_size_limit(1 << 22).build();
            let pattern = built.map_err(|fault| Error::Pattern { reason: fault.to_string() })?;
            let needles = needles(text).map(|needles| {
                let alternatives: Vec<String> = needles.iter().map(|needle| escape(needle)).collect();
                sets.push(format!("(?i){}", alternatives.join("|")));
                sets.len() - 1
            });
            Ok(Rule { pattern, mask, check, needles })
        });
        let mut rules: Vec<Rule> = result.collect::<Result<_>>()?;
        let needles = RegexSetBuilder::new(sets).size_limit(1 << 26).dfa_size_limit(1 << 22).build();
        let needles = needles.unwrap_or_else(|_| {
            // Together they are too large: each rule reads every text.
            rules.iter_mut().for_each(|rule| rule.needles = None);
            RegexSet::empty()
        });
        Ok(Self { rules, needles })
    }

    /// Return the number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Say whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Mask the secrets in a text; count those of each rule in `counts`, which has a place for each.
    pub fn redact<'t>(&self, text: &'t str, counts: &mut [usize]) -> Cow<'t, str> {
        let mut held = Cow::Borrowed(text);
        let hidden = self.seen(text, counts);
        if !hidden.is_empty() {
            held = Cow::Owned(edited(text, &hidden));
        }
        let mut present = self.needles.matches(&held);
        for (rule, count) in self.rules.iter().zip(counts) {
            let edits = rule.edits(&held, &present);
            if !edits.is_empty() {
                *count += edits.len();
                held = Cow::Owned(edited(&held, &edits));
                present = self.needles.matches(&held);
            }
        }
        held
    }

    /// Return where in a text (bytes, ascending, apart) `redact` puts something else, and the rule that did so last.
    pub fn spans(&self, text: &str, counts: &mut [usize]) -> Vec<Masked> {
        let hidden = self.seen(text, counts);
        if hidden.is_empty() {
            return self.found(text, counts);
        }
        let before = joined(&[], &hidden, 0);
        self.found_in(before, Cow::Owned(edited(text, &hidden)), counts)
    }

    fn found(&self, text: &str, counts: &mut [usize]) -> Vec<Masked> {
        self.found_in(Vec::new(), Cow::Borrowed(text), counts)
    }

    /// Return what is masked in a text of which something was masked before.
    fn found_in(&self, mut found: Vec<Masked>, mut held: Cow<'_, str>, counts: &mut [usize]) -> Vec<Masked> {
        let mut present = self.needles.matches(&held);
        for ((number, rule), count) in self.rules.iter().enumerate().zip(counts) {
            let edits = rule.edits(&held, &present);
            if edits.is_empty() {
                continue;
            }
            *count += edits.len();
            found = joined(&found, &edits, number);
            held = Cow::Owned(edited(&held, &edits));
            present = self.needles.matches(&held);
        }
        found
    }

    /// Return what masks the secrets that are seen in a text only when it is read otherwise (`otherwise`).
    fn seen(&self, text: &str, counts: &mut [usize]) -> Vec<Edit> {
        if self.rules.iter().any(|rule| rule.mask != Mask::Hidden) {
            return Vec::new();
        }
        let Some((other, places)) = otherwise(text) else { return Vec::new() };
        let spans = self.found(&other, counts);
        let edits = spans.into_iter().map(|span| {
            // The excluded text stands after a secret, if not in it.
            let first = places[places.partition_point(|place| place.0 <= span.start) - 1];
            let last = places[places.partition_point(|place| place.0 < span.end) - 1];
            let (start, end) = (first.1 + span.start - first.0, last.1 + span.end - last.0);
            let breaks = text[start..end].chars().filter(|&c| c == '\n');
            Edit { start, end, put: MASKED.chars().chain(breaks).collect() }
        });
        edits.collect()
    }
}

impl Rule {
    /// Return what is to be put in place of the secrets of a text, of which these needles are present.
    fn edits(&self, text: &str, present: &SetMatches) -> Vec<Edit> {
        let mut edits = Vec::new();
        if self.needles.is_some_and(|needles| !present.matched(needles)) {
            return edits;
        }
        for found in self.pattern.captures_iter(text) {
            let Some(whole) = found.get(0) else { continue };
            let (start, end) = secret(&found).unwrap_or((whole.start(), whole.end()));
            let value = &text[start..end];
            if !self.is_secret(value) {
                continue;
            }
            edits.push(match self.mask {
                Mask::Hidden => {
                    let breaks = value.chars().filter(|&c| c == '\n');
                    Edit { start, end, put: MASKED.chars().chain(breaks).collect() }
                }
                Mask::Block => Edit { start: whole.start(), end: whole.end(), put: block(whole.as_str()) },
                Mask::Documented => {
                    // As documented, where the secret's text is first in the match, which may be in front of it.
                    let put = whole.as_str().replacen(value, &documented(value), 1);
                    Edit { start: whole.start(), end: whole.end(), put }
                }
            });
        }
        edits
    }

    fn is_secret(&self, value: &str) -> bool {
        match self.check {
            Check::Any => self.mask != Mask::Hidden || !is_masked(value),
            Check::Value => is_value(value),
            Check::Random => is_value(value) && is_random(value),
            Check::Mixed => is_value(value) && is_mixed(value),
        }
    }
}

/// The last group of a match that took part in it and is not empty.
fn secret(found: &Captures<'_>) -> Option<(usize, usize)> {
    let groups = (1..found.len()).rev().filter_map(|i| found.get(i));
    groups.map(|group| (group.start(), group.end())).find(|(start, end)| start < end)
}

/// True if something was masked before.
fn is_masked(value: &str) -> bool {
    value.chars().all(|c| c == '*' || c == '…' || c.is_whitespace())
}

fn is_value(value: &str) -> bool {
    if is_masked(value) || value.starts_with([':', '$', '<', '{', '[', '(', '%', '*', '.', '&', '@', '|', '`', '…']) {
        return false;
    }
    let word = value.trim_end_matches(['.', ',', ';', ':', ')', '!', '?', '`', '*']);
    if word.chars().all(|c| matches!(c, 'x' | 'X' | '.' | '-' | '_' | '*' | '…')) {
        return false;
    }
    // The name of a variable.
    if word.contains('_') && word.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
        return false;
    }
    // A call, or an item of something: code that says where the secret comes from.
    let opens = word.find(['(', '[', '{']);
    if opens.is_some_and(|at| at > 0 && word[..at].chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')) {
        return false;
    }
    !NO_SECRETS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

fn is_random(value: &str) -> bool {
    let signs = Signs::of(value);
    (signs.digits && signs.letters()) || (signs.lower && signs.upper) || signs.run >= RUN
}

fn is_mixed(value: &str) -> bool {
    let signs = Signs::of(value);
    value.len() >= MIXED && !value.contains("::") && ((signs.digits && signs.letters()) || signs.run >= LONG_RUN)
}

/// The kinds of characters in a text, and its longest run of letters and digits.
struct Signs {
    digits: bool,
    lower: bool,
    upper: bool,
    run: usize,
}

impl Signs {
    fn of(value: &str) -> Self {
        let (mut found, mut run) = (Self { digits: false, lower: false, upper: false, run: 0 }, 0);
        for c in value.bytes() {
            found.digits |= c.is_ascii_digit();
            found.lower |= c.is_ascii_lowercase();
            found.upper |= c.is_ascii_uppercase();
            run = if c.is_ascii_alphanumeric() { run + 1 } else { 0 };
            found.run = found.run.max(run);
        }
        found
    }

    fn letters(&self) -> bool {
        self.lower || self.upper
    }
}

/// The mask that shows both ends.
fn documented(value: &str) -> String {
    let units: usize = value.chars().map(char::len_utf16).sum();
    if units < SHORT {
        return MASKED.to_owned();
    }
    let start = before(value.chars(), START);
    let end = before(value.chars().rev(), END);
    format!("{}…{}", &value[..start], &value[value.len() - end..])
}

/// Bytes of the leading characters with at most `units` units of UTF-16.
fn before(chars: impl Iterator<Item = char>, units: usize) -> usize {
    let mut left = units;
    chars
        .take_while(|c| {
            let fits = c.len_utf16() <= left;
            left = left.saturating_sub(c.len_utf16());
            fits
        })
        .map(char::len_utf8)
        .sum()
}

/// A block of lines without those in between.
fn block(value: &str) -> String {
    let mut lines = value.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).filter(|l| !l.is_empty());
    match (lines.next(), lines.next_back()) {
        (Some(first), Some(last)) => format!("{first}\n…redacted…\n{last}"),
        _ => MASKED.to_owned(),
    }
}
