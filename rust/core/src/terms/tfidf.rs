//! TF-IDF of whole corpora, numerically equal to scikit-learn's `TfidfVectorizer`.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::counting::{Piece, Tally, Units, count};
use super::sparse_accumulator::{Norm, SparseAccumulator, Weighting};
use super::tokens::{Cutter, Cutting, Tokens};
use crate::collections::{Lexicon, Term, united};
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

    /// Cut into the places of units with these numbers of values.
    fn places(&mut self, lengths: impl Iterator<Item = usize>) -> Vec<Place<'_>> {
        let (mut data, mut columns) = (&mut self.data[..], &mut self.columns[..]);
        let place = |n: usize| {
            let here = (data.split_off_mut(..n), columns.split_off_mut(..n));
            Mutex::new((here.0.unwrap_or_default(), here.1.unwrap_or_default()))
        };
        lengths.map(place).collect()
    }
}

/// The result of a fit. The numbers of the lexicon's terms are their columns.
#[derive(Debug)]
struct Model {
    lexicon: Lexicon,
    idf: Vec<f64>,
}

/// The parameters of a fit and of the weighting of rows.
#[derive(Clone, Debug)]
pub struct Options {
    /// The cutting of texts into terms.
    pub cutting: Cutting,
    /// The weighting that turns counts into values.
    pub weighting: Weighting,
    /// True if counts are multiplied with inverse document frequencies.
    pub idf: bool,
    /// True if these are `ln((1 + n) / (1 + df)) + 1`, and not `ln(n / df) + 1`.
    pub smooth: bool,
    /// In how many texts a term must be, at least and at most.
    pub frequencies: (f64, f64),
    /// Maximum terms, the most frequent ones; ties in code point order.
    pub most: Option<usize>,
}

impl From<Tokens> for Options {
    fn from(tokens: Tokens) -> Self {
        Self {
            cutting: tokens.into(),
            weighting: Weighting { norm: Norm::L2, sublinear: false },
            idf: true,
            smooth: true,
            frequencies: (1.0, f64::INFINITY),
            most: None,
        }
    }
}

/// TF-IDF, by default with smoothed idf and rows of Euclidean length 1. Columns are numbered by the terms' code point order. No
/// result depends on the number of threads: at least 1, `None` for as many as there are cores, or one where there is
/// little to do.
#[derive(Debug)]
pub struct TfidfVectorizer {
    options: Options,
    model: RwLock<Option<Arc<Model>>>,
}

impl TfidfVectorizer {
    /// A vectorizer that has learned nothing.
    pub fn new(options: impl Into<Options>) -> Self {
        Self { options: options.into(), model: RwLock::new(None) }
    }

    /// Take over terms and their weights, by column, that were learned before.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is a weight for each term, and every term is another one.
    pub fn restore<T: AsRef<str>>(&self, terms: &[T], idf: Vec<f64>) -> Result<()> {
        let mut lexicon = Lexicon::default();
        for term in terms.iter().filter_map(|term| Term::of_bytes(term.as_ref().as_bytes())) {
            lexicon.number(term);
        }
        if lexicon.len() != terms.len() || idf.len() != terms.len() {
            return Err(Error::Length { what: "terms", got: lexicon.len(), wanted: idf.len() });
        }
        *self.model.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(Model { lexicon, idf }));
        Ok(())
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
                row.drain((self.options.weighting, &model.idf), &mut data[start..end], &mut numbers[start..end]);
                start = end;
            }
        };
        pool::fold(pieces.len(), threads, || SparseAccumulator::new(model.idf.len()), each);
        drop(places);
        csr
    }

    /// Return weighted rows, `(n, columns)`; terms that were not learned are left out.
    ///
    /// # Errors
    /// [`Error::NotFitted`].
    pub fn transform<T: AsRef<str> + Sync>(&self, texts: &[T], threads: Option<usize>) -> Result<Csr> {
        let model = self.model()?;
        let units = Units::new(texts, threads);
        let start = || Writer::new(&self.options, &model);
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

    /// The inverse document frequencies by column; 1 where none are wanted.
    ///
    /// # Errors
    /// [`Error::NotFitted`].
    pub fn idf(&self) -> Result<Vec<f64>> {
        Ok(self.model()?.idf.clone())
    }

    fn model(&self) -> Result<Arc<Model>> {
        self.model.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Error::NotFitted)
    }

    /// Which terms are kept; None for all.
    fn kept(&self, tallies: &[Tally], columns: &[Arc<[u32]>], frequencies: &[u32]) -> Option<Vec<bool>> {
        let ((least, most), limit) = (self.options.frequencies, self.options.most.unwrap_or(usize::MAX));
        let mut kept: Vec<bool> = frequencies.iter().map(|&n| (least..=most).contains(&f64::from(n))).collect();
        let left = kept.iter().filter(|kept| **kept).count();
        if left > limit {
            let mut totals = vec![0_u64; frequencies.len()];
            for (tally, columns) in tallies.iter().zip(columns) {
                for counted in tally.pieces.iter().flat_map(|piece| &piece.terms) {
                    totals[columns[counted.term as usize] as usize] += u64::from(counted.count);
                }
            }
            let mut order: Vec<usize> = (0..kept.len()).filter(|&column| kept[column]).collect();
            order.sort_by_key(|&column| std::cmp::Reverse(totals[column]));
            order[limit..].iter().for_each(|&column| kept[column] = false);
        }
        (left.min(limit) < frequencies.len()).then_some(kept)
    }

    fn idf_of(&self, texts: usize, frequencies: &[u32]) -> Vec<f64> {
        let smooth = f64::from(u8::from(self.options.smooth));
        let one = |&n: &u32| ((texts as f64 + smooth) / (f64::from(n) + smooth)).ln() + 1.0;
        if self.options.idf { frequencies.iter().map(one).collect() } else { vec![1.0; frequencies.len()] }
    }

    /// Fit, and return the model, the texts' counted terms with the columns of their numbers, and how many threads it
    /// took.
    fn learn<T: AsRef<str> + Sync>(&self, texts: &[T], threads: Option<usize>) -> (Arc<Model>, Vec<Counts>, usize) {
        let units = Units::new(texts, threads);
        let tallies = count(&self.options.cutting, texts, &units);
        let lexicons: Vec<&Lexicon> = tallies.iter().map(|tally| &tally.lexicon).collect();
        let (lexicon, columns) = united(&lexicons);
        let columns: Vec<Arc<[u32]>> = columns.into_iter().map(Arc::from).collect();
        let frequencies = frequencies(&tallies, &columns, lexicon.len());
        let kept = self.kept(&tallies, &columns, &frequencies);
        let (lexicon, frequencies, columns) = match &kept {
            None => (lexicon, frequencies, columns),
            Some(kept) => narrowed(&lexicon, &frequencies, &columns, kept),
        };
        let idf = self.idf_of(texts.len(), &frequencies);
        let each = tallies.into_iter().zip(columns);
        let mut pieces: Vec<Counts> = each
            .flat_map(|(tally, columns)| tally.pieces.into_iter().map(move |piece| (piece, columns.clone())))
            .collect();
        if kept.is_some() {
            let narrowed = |(piece, columns): &mut Counts| *piece = piece.kept(|term| columns[term as usize] != NONE);
            pieces.iter_mut().for_each(narrowed);
        }
        pieces.sort_unstable_by_key(|(piece, _)| piece.unit);
        let model = Arc::new(Model { lexicon, idf });
        *self.model.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&model));
        (model, pieces, units.threads)
    }
}

/// A unit's counted terms, and by term its column.
type Counts = (Piece, Arc<[u32]>);

/// The column of a term that is left out.
const NONE: u32 = u32::MAX;

/// The terms that are kept, their frequencies, and the columns of each tally's terms among them.
fn narrowed(
    lexicon: &Lexicon,
    frequencies: &[u32],
    columns: &[Arc<[u32]>],
    kept: &[bool],
) -> (Lexicon, Vec<u32>, Vec<Arc<[u32]>>) {
    let mut narrow = Lexicon::default();
    let number = |(term, &kept): (Term<'_>, &bool)| if kept { narrow.number(term) } else { NONE };
    let numbers: Vec<u32> = lexicon.terms().zip(kept).map(number).collect();
    let frequencies = frequencies.iter().zip(kept).filter(|(_, kept)| **kept).map(|(&frequency, _)| frequency);
    let columns = columns.iter().map(|columns| columns.iter().map(|&column| numbers[column as usize]).collect());
    (narrow, frequencies.collect(), columns.collect())
}

/// By term in how many texts it is.
fn frequencies(tallies: &[Tally], columns: &[Arc<[u32]>], terms: usize) -> Vec<u32> {
    let mut frequencies = vec![0_u32; terms];
    for (tally, columns) in tallies.iter().zip(columns) {
        for (frequency, &column) in tally.frequencies().zip(&**columns) {
            frequencies[column as usize] += frequency;
        }
    }
    frequencies
}

/// The rows of one unit's texts.
struct Written {
    unit: usize,
    data: Vec<f64>,
    columns: Vec<i32>,
    ends: Vec<usize>,
}

/// The scratch of one thread that writes rows of a model.
struct Writer<'a> {
    model: &'a Model,
    weighting: Weighting,
    cutter: Cutter,
    row: SparseAccumulator,
    written: Vec<Written>,
}

impl<'a> Writer<'a> {
    fn new(options: &Options, model: &'a Model) -> Self {
        let (cutter, row) = (Cutter::new(options.cutting.clone()), SparseAccumulator::new(model.idf.len()));
        Self { model, weighting: options.weighting, cutter, row, written: Vec::new() }
    }

    fn write<T: AsRef<str>>(&mut self, texts: &[T], unit: usize) {
        let (mut data, mut columns, mut ends) = (Vec::new(), Vec::new(), Vec::with_capacity(texts.len()));
        let Self { model, weighting, row, .. } = self;
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
            let end = start + row.drain((*weighting, &model.idf), &mut data[start..], &mut columns[start..]);
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
