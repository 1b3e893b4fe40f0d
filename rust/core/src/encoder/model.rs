//! A whole model, and the texts of a call shared out among threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::layer::{Common, Layer, LayerWeights, NormWeights, Scratch};
use super::map::Kernels;
use super::matrix::View;
use super::pointwise::{Activation, Norm};
use super::pooling::Pooling;
use crate::error::{Error, Result};
use crate::vectors::{Level, Rows};

/// Tokens that are worth reading all weights for; texts are encoded in groups of about this number.
const GROUP: usize = 128;

/// The configuration of a model without its weights.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Parts that each vector is cut into for the attention.
    pub heads: usize,
    /// Added to the variance in every normalisation.
    pub epsilon: f32,
    /// Between the two halves of a layer.
    pub activation: Activation,
    /// From tokens to a text.
    pub pooling: Pooling,
    /// The instructions to use.
    pub level: Level,
}

/// A BERT-type model without its table of words.
pub struct Encoder {
    common: Common,
    pooling: Pooling,
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

/// The result of the forward pass for each text.
#[derive(Clone, Copy)]
enum Output {
    /// One unit vector, pooled.
    Text,
    /// The vectors of its tokens after the last layer.
    Tokens,
    /// That of its first token.
    First,
}

impl Output {
    /// The number of vectors for texts of these lengths.
    fn rows(self, lengths: &[usize]) -> usize {
        match self {
            Self::Text | Self::First => lengths.len(),
            Self::Tokens => lengths.iter().sum(),
        }
    }
}

/// Some texts of a call: their tokens' vectors, their lengths, and where their vectors go.
struct Group<'a> {
    words: &'a [f32],
    lengths: &'a [usize],
    out: &'a mut [f32],
}

impl Encoder {
    /// Copy the weights of a model: the vectors `(p, d)` added at each position, the normalisation `(2, d)` after it,
    /// the layers.
    ///
    /// # Errors
    /// [`Error::Length`] for weights whose shapes do not fit; [`Error::Parameter`] for `heads` that do not divide `d`.
    pub fn new(
        positions: Rows<'_>,
        norm: NormWeights<'_>,
        layers: &[LayerWeights<'_>],
        settings: Settings,
    ) -> Result<Self> {
        let (d, heads) = (positions.d(), settings.heads);
        if heads == 0 || d == 0 || d % heads != 0 {
            return Err(Error::Parameter { what: "heads", wanted: "a divisor of the dimensions", got: heads as f64 });
        }
        let kernels = Kernels::of(settings.level);
        Ok(Self {
            common: Common { kernel: kernels.singles, activation: settings.activation, heads, d },
            pooling: settings.pooling,
            positions: positions.data().to_vec(),
            norm: Norm::new("the first norm", norm, d, settings.epsilon)?,
            layers: layers
                .iter()
                .map(|layer| Layer::new(kernels, layer, d, settings.epsilon))
                .collect::<Result<_>>()?,
        })
    }

    /// The number of components of a vector.
    pub fn d(&self) -> usize {
        self.common.d
    }

    /// Return the unit vectors `(n, d)` of texts, whose words' vectors `(t, d)` lie one text behind the other.
    ///
    /// `lengths` are the texts' numbers of tokens; up to `threads` work at once. A text whose vector has no direction,
    /// or a component that is no number, gets zeros.
    ///
    /// # Errors
    /// [`Error::Length`] when the lengths do not sum to `t`, or the words' vectors have another `d`;
    /// [`Error::OutOfRange`] for a text without tokens or with more than there are positions.
    pub fn encode(&self, words: Rows<'_>, lengths: &[usize], threads: usize) -> Result<Vec<f32>> {
        self.forward(words, lengths, threads, Output::Text)
    }

    /// Return the vectors `(t, d)` of all tokens after the last layer, neither pooled nor scaled, as a head reads them.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn hidden(&self, words: Rows<'_>, lengths: &[usize], threads: usize) -> Result<Vec<f32>> {
        self.forward(words, lengths, threads, Output::Tokens)
    }

    /// Return the vector `(n, d)` of each text's first token after the last layer, which computes no other.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn hidden_first(&self, words: Rows<'_>, lengths: &[usize], threads: usize) -> Result<Vec<f32>> {
        self.forward(words, lengths, threads, Output::First)
    }

    fn forward(&self, words: Rows<'_>, lengths: &[usize], threads: usize, output: Output) -> Result<Vec<f32>> {
        self.check(words, lengths)?;
        let mut out = vec![0.0; output.rows(lengths) * self.d()];
        let groups = self.groups(words, lengths, &mut out, output);
        let helpers = threads.min(groups.len()).saturating_sub(1);
        let groups: Vec<_> = groups.into_iter().map(|group| Mutex::new(Some(group))).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut scratch = Scratch::default();
            while let Some(slot) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Some(group) = slot.lock().ok().and_then(|mut group| group.take()) {
                    self.run(group, output, &mut scratch);
                }
            }
        };
        thread::scope(|scope| {
            // A system that gives no thread leaves the work to this one.
            (0..helpers).for_each(|_| drop(thread::Builder::new().spawn_scoped(scope, work)));
            work();
        });
        Ok(out)
    }

    fn check(&self, words: Rows<'_>, lengths: &[usize]) -> Result<()> {
        if words.d() != self.d() {
            return Err(Error::Length { what: "a word's vector", got: words.d(), wanted: self.d() });
        }
        let most = self.positions.len() / self.d();
        if let Some(&length) = lengths.iter().find(|&&length| length == 0 || length > most) {
            return Err(Error::OutOfRange { what: "a text of length", index: length as i64, len: most });
        }
        let sum = lengths.iter().sum();
        if sum != words.n() {
            return Err(Error::Length { what: "words", got: words.n(), wanted: sum });
        }
        Ok(())
    }

    /// Cut a call's texts into groups of about [`GROUP`] tokens.
    fn groups<'a>(&self, words: Rows<'a>, lengths: &'a [usize], out: &'a mut [f32], output: Output) -> Vec<Group<'a>> {
        let d = self.d();
        let (mut words, mut lengths, mut out) = (words.data(), lengths, out);
        let mut groups = Vec::new();
        while !lengths.is_empty() {
            let mut tokens = 0;
            let full = lengths.iter().position(|length| {
                tokens += length;
                tokens > GROUP
            });
            let texts = full.unwrap_or(lengths.len()).max(1);
            let (own, later) = lengths.split_at(texts);
            let (own_words, later_words) = words.split_at(own.iter().sum::<usize>() * d);
            let (own_out, later_out) = out.split_at_mut(output.rows(own) * d);
            groups.push(Group { words: own_words, lengths: own, out: own_out });
            (words, lengths, out) = (later_words, later, later_out);
        }
        groups
    }

    fn run(&self, group: Group<'_>, output: Output, scratch: &mut Scratch) {
        let d = self.d();
        let mut x = group.words.to_vec();
        let mut rows = x.chunks_exact_mut(d);
        for &length in group.lengths {
            for (row, position) in rows.by_ref().take(length).zip(self.positions.chunks_exact(d)) {
                row.iter_mut().zip(position).for_each(|(x, p)| *x += p);
                self.common.kernel.normalise(row, &self.norm);
            }
        }
        // The last layer leaves out tokens that no caller reads.
        let alone = match output {
            Output::First => true,
            Output::Text => self.pooling == Pooling::First,
            Output::Tokens => false,
        } && !self.layers.is_empty();
        for (i, layer) in (1..).zip(&self.layers) {
            layer.run(self.common, &mut x, group.lengths, alone && i == self.layers.len(), scratch);
        }
        if matches!(output, Output::Tokens) {
            group.out.copy_from_slice(&x);
            return;
        }
        let mut first = 0;
        for (&length, out) in group.lengths.iter().zip(group.out.chunks_exact_mut(d)) {
            let m = if alone { 1 } else { length };
            let tokens = View { data: &x[first * d..], stride: d, m, k: d };
            match output {
                Output::First => out.copy_from_slice(tokens.row(0)),
                _ => self.pooling.pool(tokens, out),
            }
            first += m;
        }
    }
}
