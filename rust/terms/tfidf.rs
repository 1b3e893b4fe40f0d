//! TF-IDF of whole corpora, numerically equal to scikit-learn's `TfidfVectorizer`.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::counting::{Piece, Tally, Units, count};
use super::sparse_accumulator::SparseAccumulator;
use super::tokens::{Cutter, Tokens};
use crate::collections::{Lexicon, united};
use crate::error::{Error, Result};
use crate::pool;

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

/// Where one unit's rows are to be written.
type Place<'a> = Mutex<(&'a mut [f64], &'a mut [i32])>;

impl Csr {
    /// Rows that end, unit by unit, at these places of the unit.
    fn empty<'a>(units: impl Iterator<Item = &'a [usize]>) -> Self {
        let (mut offsets, mut start) = (vec![0], 0);
        for ends in units {
            offsets.extend(ends.iter().map(|end| (start + end) as i64));
            start += ends.last().copied().unwrap_or(0);
        }
        Self { data: vec![0.0; start], columns: vec![0; start], offsets }
    }

    /// Cut into the places of units that have so many values.
    fn places(&mut self, lengths: impl Iterator<Item = usize>) -> Vec<Place<'_>> {
        let (mut data, mut columns) = (&mut self.data[..], &mut self.columns[..]);
        let place = |n: usize| {
            let here = (data.split_off_mut(..n), columns.split_off_mut(..n));
            Mutex::new((here.0.unwrap_or_default(), here.1.unwrap_or_default()))
        };
        lengths.map(place).collect()
    }
}

/// What a fit learned. The numbers of the lexicon's terms are their columns.
#[derive(Debug)]
struct Model {
    lexicon: Lexicon,
    idf: Vec<f64>,
}

/// TF-IDF with smoothed idf and rows of Euclidean length 1. Columns are numbered by the terms' code point order. No
/// result depends on the number of threads: at least 1, `None` for as many as there are cores, or one where there is
/// little to do.
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
    pub fn fit<T: AsRef<str> + Sync>(&self, texts: &[T], threads: Option<usize>) {
        self.learn(texts, threads);
    }

    /// Return [`Self::transform`] of the same texts after [`Self::fit`], tokenising them once.
    pub fn fit_transform<T: AsRef<str> + Sync>(&self, texts: &[T], threads: Option<usize>) -> Csr {
        let (model, pieces, threads) = self.learn(texts, threads);
        let mut csr = Csr::empty(pieces.iter().map(|(piece, _)| &piece.ends[..]));
        let places = csr.places(pieces.iter().map(|(piece, _)| piece.terms.len()));
        let each = |row: &mut SparseAccumulator, unit: usize| {
            let mut place = places[unit].lock().unwrap_or_else(PoisonError::into_inner);
            let ((piece, columns), (data, numbers)) = (&pieces[unit], &mut *place);
            let mut start = 0;
            for &end in &piece.ends {
                piece.terms[start..end].iter().for_each(|term| row.add(columns[term.term as usize], term.count));
                row.drain(&model.idf, &mut data[start..end], &mut numbers[start..end]);
                start = end;
            }
        };
        pool::fold(pieces.len(), threads, || SparseAccumulator::new(model.idf.len()), each);
        drop(places);
        csr
    }

    /// Return rows of length 1, `(n, columns)`; terms that were not learned are left out.
    ///
    /// # Errors
    /// [`Error::NotFitted`].
    pub fn transform<T: AsRef<str> + Sync>(&self, texts: &[T], threads: Option<usize>) -> Result<Csr> {
        let model = self.model()?;
        let units = Units::new(texts, threads);
        let start = || Writer::new(self.tokens, &model);
        let each = |writer: &mut Writer<'_>, unit: usize| writer.write(&texts[units.ranges[unit].clone()], unit);
        let writers = pool::fold(units.ranges.len(), units.threads, start, each);
        let mut written: Vec<Written> = writers.into_iter().flat_map(|writer| writer.written).collect();
        written.sort_unstable_by_key(|written| written.unit);
        let mut csr = Csr::empty(written.iter().map(|written| &written.ends[..]));
        let places = csr.places(written.iter().map(|written| written.data.len()));
        let copy = |_: &mut (), unit: usize| {
            let mut place = places[unit].lock().unwrap_or_else(PoisonError::into_inner);
            place.0.copy_from_slice(&written[unit].data);
            place.1.copy_from_slice(&written[unit].columns);
        };
        pool::fold(written.len(), units.threads, || (), copy);
        drop(places);
        Ok(csr)
    }

    /// The terms, by column.
    ///
    /// # Errors
    /// [`Error::NotFitted`].
    pub fn vocabulary(&self) -> Result<Vec<String>> {
        Ok(self.model()?.lexicon.texts().collect())
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

    /// Fit, and return the model, the texts' counted terms with the columns of their numbers, and how many threads it
    /// took.
    fn learn<T: AsRef<str> + Sync>(&self, texts: &[T], threads: Option<usize>) -> (Arc<Model>, Vec<Counts>, usize) {
        let units = Units::new(texts, threads);
        let tallies = count(self.tokens, texts, &units);
        let lexicons: Vec<&Lexicon> = tallies.iter().map(|tally| &tally.lexicon).collect();
        let (lexicon, columns) = united(&lexicons);
        let columns: Vec<Arc<[u32]>> = columns.into_iter().map(Arc::from).collect();
        let idf = idf(&tallies, &columns, texts.len(), lexicon.len());
        let each = tallies.into_iter().zip(columns);
        let mut pieces: Vec<Counts> = each
            .flat_map(|(tally, columns)| tally.pieces.into_iter().map(move |piece| (piece, columns.clone())))
            .collect();
        pieces.sort_unstable_by_key(|(piece, _)| piece.unit);
        let model = Arc::new(Model { lexicon, idf });
        *self.model.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&model));
        (model, pieces, units.threads)
    }
}

/// A unit's counted terms, and by term its column.
type Counts = (Piece, Arc<[u32]>);

fn idf(tallies: &[Tally], columns: &[Arc<[u32]>], texts: usize, terms: usize) -> Vec<f64> {
    let mut frequencies = vec![0_u32; terms];
    for (tally, columns) in tallies.iter().zip(columns) {
        for (frequency, &column) in tally.frequencies().zip(&**columns) {
            frequencies[column as usize] += frequency;
        }
    }
    let texts = texts as f64 + 1.0;
    frequencies.into_iter().map(|frequency| (texts / (1.0 + f64::from(frequency))).ln() + 1.0).collect()
}

/// The rows of one unit's texts.
struct Written {
    unit: usize,
    data: Vec<f64>,
    columns: Vec<i32>,
    ends: Vec<usize>,
}

/// What one thread needs to write rows of a model.
struct Writer<'a> {
    model: &'a Model,
    cutter: Cutter,
    row: SparseAccumulator,
    written: Vec<Written>,
}

impl<'a> Writer<'a> {
    fn new(tokens: Tokens, model: &'a Model) -> Self {
        Self { model, cutter: Cutter::new(tokens), row: SparseAccumulator::new(model.idf.len()), written: Vec::new() }
    }

    fn write<T: AsRef<str>>(&mut self, texts: &[T], unit: usize) {
        let (mut data, mut columns, mut ends) = (Vec::new(), Vec::new(), Vec::with_capacity(texts.len()));
        let Self { model, row, .. } = self;
        for text in texts {
            let (start, mut known) = (data.len(), 0);
            self.cutter.each(text.as_ref(), |term| {
                if let Some(column) = model.lexicon.find(term) {
                    row.add(column, 1);
                    known += 1;
                }
            });
            data.resize(start + known, 0.0);
            columns.resize(start + known, 0);
            let end = start + row.drain(&model.idf, &mut data[start..], &mut columns[start..]);
            data.truncate(end);
            columns.truncate(end);
            ends.push(end);
        }
        self.written.push(Written { unit, data, columns, ends });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_texts() {
        let vectorizer = TfidfVectorizer::new(Tokens::Words);
        assert_eq!(vectorizer.transform(&["a"], None), Err(Error::NotFitted));
        let csr = vectorizer.fit_transform(&["to be to", "be"], None);
        assert_eq!(vectorizer.vocabulary().unwrap(), ["be", "to"]);
        let (be, to) = (1.0, 1.5_f64.ln() + 1.0);
        assert_eq!(vectorizer.idf().unwrap(), [be, to]);
        let length = (4.0 * to * to + be * be).sqrt();
        assert_eq!(csr.data, [be / length, 2.0 * to / length, 1.0]);
        assert_eq!((csr.columns, csr.offsets), (vec![0, 1, 0], vec![0, 2, 3]));
        let csr = vectorizer.transform(&["new be", "", "x"], None).unwrap();
        assert_eq!((csr.data, csr.offsets), (vec![1.0], vec![0, 1, 1, 1]));
    }

    #[test]
    fn a_fit_replaces_what_was_learned() {
        let vectorizer = TfidfVectorizer::new(Tokens::Signals);
        vectorizer.fit(&["alpha beta"], None);
        vectorizer.fit(&["gamma the"], None);
        assert_eq!(vectorizer.vocabulary().unwrap(), ["gamma"]);
        vectorizer.fit::<&str>(&[], None);
        assert!(vectorizer.vocabulary().unwrap().is_empty());
        assert!(Tokens::named("chars").is_err());
    }
    /// Texts enough for many units, with words long and short, in several scripts, and rare ones.
    fn corpus() -> Vec<String> {
        let word = |i: usize| match i % 7 {
            0 => format!("w{}", i % 101),
            1 => "the".to_owned(),
            2 => format!("Größe{}", i % 13),
            3 => format!("a-very-long-compound-word-{}", i % 57),
            4 => format!("unmistakable_identifier_{}", i % 211),
            5 => format!("漢字{}", i % 5),
            _ => format!("Rare{i}"),
        };
        (0..1_800).map(|t| (0..t % 90).map(|j| word(t * t + 31 * j) + " ").collect()).collect()
    }

    #[test]
    fn threads_do_not_show() {
        let texts = corpus();
        assert!(Units::new(&texts, None).ranges.len() > 8);
        for tokens in [Tokens::Words, Tokens::Signals] {
            let one = TfidfVectorizer::new(tokens);
            let csr = one.fit_transform(&texts, Some(1));
            assert_eq!(one.transform(&texts, Some(1)).unwrap(), csr);
            for threads in 2..=4 {
                let many = TfidfVectorizer::new(tokens);
                assert_eq!(many.fit_transform(&texts, Some(threads)), csr);
                assert_eq!((many.vocabulary(), many.idf()), (one.vocabulary(), one.idf()));
                assert_eq!(many.transform(&texts, Some(threads)).unwrap(), csr);
            }
        }
    }
}
