//! `Encoder`: the forward pass of a sentence model; `code_weights`.

use numpy::PyArray2;
use numpy::prelude::*;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use septet_core::Error;
use septet_core::encoder::{self, Activation, CodedWeights, LayerWeights, Linear, Pooling, Settings, Weight};
use septet_core::vectors::{Level, Rows};

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
type LayerArrays<'py> =
    (LinearArrays<'py>, LinearArrays<'py>, Matrix<'py, f32>, LinearArrays<'py>, LinearArrays<'py>, Matrix<'py, f32>);

/// Weight and bias of a map, or codes, scales and bias.
enum LinearArrays<'py> {
    Singles(Matrix<'py, f32>, Vector<'py, f32>),
    Codes(Matrix<'py, i8>, Matrix<'py, f32>, Vector<'py, f32>),
}

impl<'py> FromPyObject<'_, 'py> for LinearArrays<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.cast::<PyTuple>().is_ok_and(|parts| parts.len() == 3) {
            let (codes, scales, bias) = object.extract()?;
            return Ok(Self::Codes(codes, scales, bias));
        }
        let (weight, bias) = object.extract()?;
        Ok(Self::Singles(weight, bias))
    }
}

impl LinearArrays<'_> {
    fn linear(&self) -> Result<Linear<'_>> {
        Ok(match self {
            Self::Singles(weight, bias) => Linear { weight: Weight::Singles(weight.rows()?), bias: bias.slice()? },
            Self::Codes(codes, scales, bias) => {
                let weight = CodedWeights { codes: codes.slice()?, scales: scales.rows()? };
                Linear { weight: Weight::Codes(weight), bias: bias.slice()? }
            }
        })
    }
}

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
        self.forward(encoder::Encoder::encode, &words, &lengths, threads)
    }

    /// Return the vectors `(t, d)` of all tokens after the last layer.
    #[pyo3(signature = (words, lengths, *, threads=1))]
    fn hidden<'py>(
        &self,
        words: Matrix<'py, f32>,
        lengths: Vector<'py, i64>,
        threads: i64,
    ) -> Result<Bound<'py, PyArray2<f32>>> {
        self.forward(encoder::Encoder::hidden, &words, &lengths, threads)
    }

    /// Return the vector `(n, d)` of each text's first token after the last layer.
    #[pyo3(signature = (words, lengths, *, threads=1))]
    fn hidden_first<'py>(
        &self,
        words: Matrix<'py, f32>,
        lengths: Vector<'py, i64>,
        threads: i64,
    ) -> Result<Bound<'py, PyArray2<f32>>> {
        self.forward(encoder::Encoder::hidden_first, &words, &lengths, threads)
    }
}

/// A method of the core's encoder that takes words' vectors, lengths of texts and a number of threads.
type Pass = fn(&encoder::Encoder, Rows<'_>, &[usize], usize) -> septet_core::Result<Vec<f32>>;

impl Encoder {
    /// Return the vectors of a pass as an array, without the lock of Python while they are computed.
    fn forward<'py>(
        &self,
        pass: Pass,
        words: &Matrix<'py, f32>,
        lengths: &Vector<'py, i64>,
        threads: i64,
    ) -> Result<Bound<'py, PyArray2<f32>>> {
        let (threads, lengths) = (count("threads", threads)?, lengths_of(lengths)?);
        let (py, words) = (words.py(), words.rows()?);
        let rows = py.detach(|| pass(&self.0, words, &lengths, threads))?;
        let n = rows.len() / self.0.d();
        Ok(array(py, rows).reshape([n, self.0.d()])?)
    }
}

fn lengths_of(lengths: &Vector<'_, i64>) -> Result<Vec<usize>> {
    let negative = || PyValueError::new_err("a length is negative");
    let lengths = lengths.slice()?.iter().map(|&length| usize::try_from(length).map_err(|_| negative()));
    Ok(lengths.collect::<PyResult<_>>()?)
}

fn weights_of<'a>(layer: &'a LayerArrays<'_>) -> Result<LayerWeights<'a>> {
    let (attention, output, attention_norm, up, down, norm) = layer;
    Ok(LayerWeights {
        attention: attention.linear()?,
        output: output.linear()?,
        attention_norm: attention_norm.rows()?,
        up: up.linear()?,
        down: down.linear()?,
        norm: norm.rows()?,
    })
}

/// Codes `(n, k)` and scales `(n, k / 32)` of a weight.
type Coded<'py> = (Bound<'py, PyArray2<i8>>, Bound<'py, PyArray2<f32>>);

/// Return the codes and scales of a weight `(n, k)` in blocks of 32.
#[pyfunction]
pub(super) fn code_weights(weight: Matrix<'_, f32>) -> Result<Coded<'_>> {
    let (py, rows) = (weight.py(), weight.rows()?);
    let (codes, scales) = py.detach(|| encoder::code_weights(rows))?;
    let (shape, blocks) = ([rows.n(), rows.d()], scales.len() / rows.n().max(1));
    Ok((array(py, codes).reshape(shape)?, array(py, scales).reshape([rows.n(), blocks])?))
}
