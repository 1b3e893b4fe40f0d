//! TF-IDF of whole corpora, numerically equal to scikit-learn's `TfidfVectorizer`.

use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::index::Batch;
use super::tokens::{for_each_pattern_word, for_each_token};
use crate::error::{Error, Result};

/// How texts are cut into terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// Runs of at least two word characters, lower-cased: scikit-learn's default pattern.
    Words,
    /// [`super::tokenize`].
    Signals,
}

impl Tokens {
    /// `words` or `signals`.
    ///
    /// # Errors
    /// [`Error::Name`] for another name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "words" => Ok(Self::Words),
            "signals" => Ok(Self::Signals),
            _ => Err(Error::Name { what: "tokens", wanted: "words, signals".to_owned(), got: name.to_owned() }),
        }
    }

    fn each(self, text: &str, buffer: &mut String, emit: &mut dyn FnMut(&str)) {
        match self {
            Self::Words => for_each_pattern_word(text, emit),
            Self::Signals => for_each_token(text, buffer, emit),
        }
    }
}

/// Sparse rows: row `i` has `data[offsets[i]..offsets[i + 1]]` in the columns at the same places, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csr {
    /// The values that are not 0.
    pub data: Vec<f64>,
    /// Their columns.
    pub columns: Vec<i32>,
    /// Where each row begins, and the end of the last.
    pub offsets: Vec<i64>,
}

/// What a fit learned.
#[derive(Debug)]
struct Model {
    terms: Vec<Arc<str>>,
    columns: FxHashMap<Arc<str>, u32>,
    idf: Vec<f64>,
}

/// TF-IDF with smoothed idf and rows of Euclidean length 1. Columns are numbered by the terms' code point order.
#[derive(Debug)]
pub struct TfidfVectorizer {
    tokens: Tokens,
    model: RwLock<Option<Arc<Model>>>,
}

impl TfidfVectorizer {
    /// A vectorizer that has learned nothing.
    pub fn new(tokens: Tokens) -> Self {
        Self { tokens, model: RwLock::new(None) }
    }

    /// Learn vocabulary and document frequencies; replaces what was learned before.
    pub fn fit<T: AsRef<str>>(&self, texts: &[T]) {
        self.learn(texts);
    }

    /// Return [`Self::transform`] of the same texts after [`Self::fit`], tokenising them once.
    pub fn fit_transform<T: AsRef<str>>(&self, texts: &[T]) -> Csr {
        let (model, mut terms, ends) = self.learn(texts);
        rows(&model, &mut terms, &ends)
    }

    /// Return rows of length 1, `(n, columns)`; terms that were not learned are left out.
    ///
    /// # Errors
    /// [`Error::NotFitted`].
    pub fn transform<T: AsRef<str>>(&self, texts: &[T]) -> Result<Csr> {
        let model = self.model()?;
        let (mut terms, mut ends) = (Vec::new(), Vec::with_capacity(texts.len()));
        let mut buffer = String::new();
        for text in texts {
            self.tokens.each(text.as_ref(), &mut buffer, &mut |token| {
                terms.extend(model.columns.get(token).copied());
            });
            ends.push(terms.len());
        }
        Ok(rows(&model, &mut terms, &ends))
    }

    /// The terms, by column.
    ///
    /// # Errors
    /// [`Error::NotFitted`].
    pub fn vocabulary(&self) -> Result<Vec<String>> {
        Ok(self.model()?.terms.iter().map(|term| term.to_string()).collect())
    }

    /// `ln((1 + n) / (1 + df)) + 1` by column.
    ///
    /// # Errors
    /// [`Error::NotFitted`].
    pub fn idf(&self) -> Result<Vec<f64>> {
        Ok(self.model()?.idf.clone())
    }

    fn model(&self) -> Result<Arc<Model>> {
        self.model.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Error::NotFitted)
    }

    /// Fit, and return the model with the texts' terms as columns.
    fn learn<T: AsRef<str>>(&self, texts: &[T]) -> (Arc<Model>, Vec<u32>, Vec<usize>) {
        let mut batch = Batch::default();
        let mut buffer = String::new();
        for text in texts {
            batch.push(|emit| self.tokens.each(text.as_ref(), &mut buffer, emit));
        }
        let (names, mut terms, ends) = batch.finish();
        let column = columns(&names);
        terms.iter_mut().for_each(|term| *term = column[*term as usize]);
        let idf = idf(&terms, &ends, names.len());
        let mut named: Vec<Arc<str>> = names.into_iter().map(Arc::from).collect();
        named.sort_unstable();
        let columns = named.iter().cloned().zip(0..).collect();
        let model = Arc::new(Model { terms: named, columns, idf });
        *self.model.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&model));
        (model, terms, ends)
    }
}

/// The column of each term: its place among the sorted names.
fn columns(names: &[Box<str>]) -> Vec<u32> {
    let mut sorted: Vec<u32> = (0..names.len() as u32).collect();
    // The byte order of UTF-8 is the order of code points.
    sorted.sort_unstable_by_key(|&term| &names[term as usize]);
    let mut column = vec![0; names.len()];
    for (place, term) in (0..).zip(sorted) {
        column[term as usize] = place;
    }
    column
}

fn idf(terms: &[u32], ends: &[usize], columns: usize) -> Vec<f64> {
    let mut frequencies = vec![0_u32; columns];
    let mut last_seen = vec![usize::MAX; columns];
    let mut start = 0;
    for (document, &end) in ends.iter().enumerate() {
        for &term in &terms[start..end] {
            if last_seen[term as usize] != document {
                last_seen[term as usize] = document;
                frequencies[term as usize] += 1;
            }
        }
        start = end;
    }
    let documents = ends.len() as f64 + 1.0;
    frequencies.into_iter().map(|frequency| (documents / (1.0 + f64::from(frequency))).ln() + 1.0).collect()
}

/// Weigh and scale the texts whose terms these are; sorts each text's terms.
fn rows(model: &Model, terms: &mut [u32], ends: &[usize]) -> Csr {
    let mut csr = Csr { offsets: vec![0], ..Csr::default() };
    let mut start = 0;
    for &end in ends {
        let text = &mut terms[start..end];
        text.sort_unstable();
        let row = csr.data.len();
        for run in text.chunk_by(|a, b| a == b) {
            csr.data.push(run.len() as f64 * model.idf[run[0] as usize]);
            csr.columns.push(run[0] as i32);
        }
        let length = csr.data[row..].iter().map(|x| x * x).sum::<f64>().sqrt();
        csr.data[row..].iter_mut().for_each(|x| *x /= length);
        csr.offsets.push(csr.data.len() as i64);
        start = end;
    }
    csr
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_texts() {
        let vectorizer = TfidfVectorizer::new(Tokens::Words);
        assert_eq!(vectorizer.transform(&["a"]), Err(Error::NotFitted));
        let csr = vectorizer.fit_transform(&["to be to", "be"]);
        assert_eq!(vectorizer.vocabulary().unwrap(), ["be", "to"]);
        let (be, to) = (1.0, 1.5_f64.ln() + 1.0);
        assert_eq!(vectorizer.idf().unwrap(), [be, to]);
        let length = (4.0 * to * to + be * be).sqrt();
        assert_eq!(csr.data, [be / length, 2.0 * to / length, 1.0]);
        assert_eq!((csr.columns, csr.offsets), (vec![0, 1, 0], vec![0, 2, 3]));
        let csr = vectorizer.transform(&["new be", "", "x"]).unwrap();
        assert_eq!((csr.data, csr.offsets), (vec![1.0], vec![0, 1, 1, 1]));
    }

    #[test]
    fn a_fit_replaces_what_was_learned() {
        let vectorizer = TfidfVectorizer::new(Tokens::Signals);
        vectorizer.fit(&["alpha beta"]);
        vectorizer.fit(&["gamma the"]);
        assert_eq!(vectorizer.vocabulary().unwrap(), ["gamma"]);
        vectorizer.fit::<&str>(&[]);
        assert!(vectorizer.vocabulary().unwrap().is_empty());
        assert!(Tokens::named("chars").is_err());
    }
}
