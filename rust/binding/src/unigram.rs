//! `Unigram`: the tokenizer of XLM-R.

use pyo3::prelude::*;
use septet_core::unigram;

use super::errors::Result;
use super::{Integers, Vector, array, count};

/// A unigram tokenizer.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Unigram(unigram::Unigram);

#[pymethods]
impl Unigram {
    #[new]
    #[pyo3(signature = (offsets, scores, text, characters, *, unknown))]
    fn new(
        offsets: Vector<'_, u32>,
        scores: Vector<'_, f32>,
        text: Vector<'_, u8>,
        characters: Vector<'_, u8>,
        unknown: i64,
    ) -> Result<Self> {
        let (py, unknown) = (scores.py(), count("unknown", unknown)?);
        let (offsets, scores, text, characters) =
            (offsets.slice()?, scores.slice()?, text.slice()?, characters.slice()?);
        Ok(Self(py.detach(|| unigram::Unigram::new(offsets, scores, text, characters, unknown))?))
    }

    /// Return the numbers of a text's pieces, and where each ends in characters of the text.
    fn encode<'py>(&self, py: Python<'py>, text: &str) -> (Integers<'py>, Integers<'py>) {
        let tokens = py.detach(|| self.0.encode(text));
        (
            array(py, tokens.iter().map(|token| i64::from(token.id)).collect()),
            array(py, tokens.iter().map(|token| token.end as i64).collect()),
        )
    }
}
