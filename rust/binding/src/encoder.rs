//! `Encoder`: the forward pass of a sentence model.

use numpy::PyArray2;
use numpy::prelude::*;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use septet_core::Error;
use septet_core::encoder::{self, Activation, LayerWeights, Linear, Pooling, Settings};
use septet_core::vectors::Level;

use super::errors::Result;
use super::{Matrix, Vector, array, count};

/// Return the rows `(n, 32b)` that are stored in blocks of four bits, `(n, 18b)` bytes.
#[pyfunction]
pub(super) fn four_bit_rows(blocks: Matrix<'_, u8>) -> Result<Bound<'_, PyArray2<f32>>> {
    let &[n, bytes] = blocks.0.shape() else { unreachable!("a matrix has two lengths") };
    if bytes % encoder::BLOCK_BYTES != 0 {
        let what = "the bytes of a row";
        return Err(Error::Parameter { what, wanted: "a multiple of 18", got: bytes as f64 }.into());
    }
    let (py, content) = (blocks.py(), blocks.slice()?);
    let rows = py.detach(|| encoder::four_bit_numbers(content));
    Ok(array(py, rows).reshape([n, bytes / encoder::BLOCK_BYTES * encoder::BLOCK])?)
}

/// One layer's weights, in the order that `_core.pyi` names.
type LayerArrays<'py> = (
    (Matrix<'py, f32>, Vector<'py, f32>),
    (Matrix<'py, f32>, Vector<'py, f32>),
    Matrix<'py, f32>,
    (Matrix<'py, f32>, Vector<'py, f32>),
    (Matrix<'py, f32>, Vector<'py, f32>),
    Matrix<'py, f32>,
);

/// A BERT-type sentence model without its table of words.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Encoder(encoder::Encoder);

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (positions, norm, layers, *, heads, epsilon, activation, pooling, kernel=None))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn new(
        positions: Matrix<'_, f32>,
        norm: Matrix<'_, f32>,
        layers: Vec<LayerArrays<'_>>,
        heads: i64,
        epsilon: f32,
        activation: &str,
        pooling: &str,
        kernel: Option<&str>,
    ) -> Result<Self> {
        let settings = Settings {
            heads: count("heads", heads)?,
            epsilon,
            activation: Activation::named(activation)?,
            pooling: Pooling::named(pooling)?,
            level: kernel.map_or(Ok(Level::best()), Level::named)?,
        };
        let py = positions.py();
        let (positions, norm) = (positions.rows()?, norm.rows()?);
        let layers = layers.iter().map(weights_of).collect::<Result<Vec<_>>>()?;
        Ok(Self(py.detach(|| encoder::Encoder::new(positions, norm, &layers, settings))?))
    }

    /// The number of components of a vector.
    #[getter]
    fn dimensions(&self) -> usize {
        self.0.d()
    }

    /// Return the unit vectors `(n, d)` of texts whose words' vectors `(t, d)` lie one text behind the other.
    #[pyo3(signature = (words, lengths, *, threads=1))]
    fn encode<'py>(
        &self,
        words: Matrix<'py, f32>,
        lengths: Vector<'py, i64>,
        threads: i64,
    ) -> Result<Bound<'py, PyArray2<f32>>> {
        let threads = count("threads", threads)?;
        let (py, words) = (words.py(), words.rows()?);
        let lengths = lengths
            .slice()?
            .iter()
            .map(|&length| usize::try_from(length).map_err(|_| PyValueError::new_err("a length is negative")))
            .collect::<PyResult<Vec<_>>>()?;
        let rows = py.detach(|| self.0.encode(words, &lengths, threads))?;
        Ok(array(py, rows).reshape([lengths.len(), self.0.d()])?)
    }
}

fn weights_of<'a>(layer: &'a LayerArrays<'_>) -> Result<LayerWeights<'a>> {
    let (attention, output, attention_norm, up, down, norm) = layer;
    Ok(LayerWeights {
        attention: linear_of(attention)?,
        output: linear_of(output)?,
        attention_norm: attention_norm.rows()?,
        up: linear_of(up)?,
        down: linear_of(down)?,
        norm: norm.rows()?,
    })
}

fn linear_of<'a>((weight, bias): &'a (Matrix<'_, f32>, Vector<'_, f32>)) -> Result<Linear<'a>> {
    Ok(Linear { weight: weight.rows()?, bias: bias.slice()? })
}
