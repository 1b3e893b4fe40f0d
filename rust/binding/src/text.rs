//! Long texts cut into windows; secrets masked.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use septet_core::Error;
use septet_core::text;
use septet_core::text::{Check, Mask};

use super::count;
use super::errors::{Raised, Result};

/// Cut a text into windows of about `words` words.
#[pyfunction]
pub(super) fn windows(py: Python<'_>, text: &str, words: i64) -> Result<Vec<(usize, usize, usize, usize)>> {
    let words = count("words", words)?;
    py.detach(|| {
        let mut at = 0;
        let results = text::windows(text, words).into_iter().map(|window| {
            // Python counts characters.
            let start = at;
            at += text[window.start..window.end].chars().count();
            (start, at, window.first_line, window.last_line)
        });
        Ok(results.collect())
    })
}

/// Rules that mask secrets, ready to run.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Redactions(text::Redactor);

#[pymethods]
impl Redactions {
    #[new]
    fn new(rules: Vec<(String, String, String)>) -> Result<Self> {
        let named = rules.iter().map(|(pattern, mask, check)| Ok((pattern.as_str(), a_mask(mask)?, a_check(check)?)));
        Ok(Self(text::Redactor::new(named.collect::<Result<Vec<_>>>()?)?))
    }

    /// Return the text with its secrets masked, and how many each rule found.
    fn redact(&self, py: Python<'_>, text: PyBackedStr) -> (String, Vec<usize>) {
        py.detach(|| {
            let mut counts = vec![0; self.0.len()];
            let result = self.0.redact(&text, &mut counts).into_owned();
            (result, counts)
        })
    }

    /// Return where in a text secrets are (characters, ascending, apart) with the rule of each, and the counts by rule.
    fn spans(&self, py: Python<'_>, text: PyBackedStr) -> (Vec<(usize, usize, usize)>, Vec<usize>) {
        py.detach(|| {
            let mut counts = vec![0; self.0.len()];
            let (mut at, mut chars) = (0, 0);
            let mut place = |byte: usize| {
                // Python counts characters.
                chars += text[at..byte].chars().count();
                at = byte;
                chars
            };
            let results = self.0.spans(&text, &mut counts);
            (results.iter().map(|one| (place(one.start), place(one.end), one.rule)).collect(), counts)
        })
    }

    /// Return of those texts that hold secrets the position, the masked text, and how many each rule found.
    fn redact_all(&self, py: Python<'_>, texts: Vec<PyBackedStr>) -> Vec<(usize, String, Vec<usize>)> {
        py.detach(|| {
            let results = texts.iter().enumerate().filter_map(|(i, text)| {
                let mut counts = vec![0; self.0.len()];
                match self.0.redact(text, &mut counts) {
                    Cow::Owned(result) => Some((i, result, counts)),
                    Cow::Borrowed(_) => None,
                }
            });
            results.collect()
        })
    }
}

fn a_mask(name: &str) -> Result<Mask> {
    match name {
        "hidden" => Ok(Mask::Hidden),
        "documented" => Ok(Mask::Documented),
        "block" => Ok(Mask::Block),
        _ => Err(unknown("mask", "hidden, documented, block", name)),
    }
}

fn a_check(name: &str) -> Result<Check> {
    match name {
        "any" => Ok(Check::Any),
        "value" => Ok(Check::Value),
        "random" => Ok(Check::Random),
        "mixed" => Ok(Check::Mixed),
        _ => Err(unknown("check", "any, value, random, mixed", name)),
    }
}

fn unknown(what: &'static str, wanted: &str, got: &str) -> Raised {
    Error::Name { what, wanted: wanted.to_owned(), got: got.to_owned() }.into()
}
