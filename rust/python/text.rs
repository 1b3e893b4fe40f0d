//! Long texts cut into windows.

use pyo3::prelude::*;

use super::count;
use crate::text;

/// Cut a text into windows of about so many words.
#[pyfunction]
pub(super) fn windows(py: Python<'_>, text: &str, words: i64) -> PyResult<Vec<(usize, usize, usize, usize)>> {
    let words = count("words", words)?;
    py.detach(|| {
        let mut at = 0;
        let found = text::windows(text, words).into_iter().map(|window| {
            // Python counts characters.
            let start = at;
            at += text[window.start..window.end].chars().count();
            (start, at, window.first_line, window.last_line)
        });
        Ok(found.collect())
    })
}
