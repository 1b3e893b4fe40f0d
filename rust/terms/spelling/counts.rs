//! How often each trigram of a text occurs.

use std::sync::LazyLock;

use super::spell::Speller;
use super::trigram::{Trigram, for_each_trigram, of_ascii, to_ascii, windows};

/// The letters of most words.
const ALPHABET: [u8; LETTERS] = *b" 0123456789abcdefghijklmnopqrstuvwxyz";
const LETTERS: usize = 37;
/// No letter of a text folds to more than 18, in 3 bytes, so no trigram of a text up to here overflows its 16 bits.
const LONG_BYTES: usize = u16::MAX as usize / 8;

/// The weight of a trigram that occurs so often.
pub(super) fn weight(count: u32) -> f64 {
    static SMALL: LazyLock<[f64; 64]> = LazyLock::new(|| std::array::from_fn(|count| formula(count as u32)));
    SMALL.get(count as usize).copied().unwrap_or_else(|| formula(count))
}

fn formula(count: u32) -> f64 {
    match count {
        0 => 0.0,
        1 => 1.0,
        _ => 1.0 + f64::from(count).ln(),
    }
}

/// The number of a letter in the [`ALPHABET`]; 255 for any other.
const CODES: [u8; 256] = {
    let mut codes = [255; 256];
    let mut i = 0;
    while i < LETTERS {
        codes[ALPHABET[i] as usize] = i as u8;
        i += 1;
    }
    codes
};

/// The place of a trigram of three such letters, lower than `LETTERS` to the third.
fn plain(letters: [u8; 3]) -> Option<u16> {
    let [a, b, c] = letters.map(|letter| CODES[letter as usize] as usize);
    (a.max(b).max(c) < LETTERS).then_some(((a * LETTERS + b) * LETTERS + c) as u16)
}

/// A trigram, and its place if it is one of plain letters.
#[derive(Clone, Copy)]
pub(super) struct Place {
    trigram: Trigram,
    plain: Option<u16>,
}

impl Place {
    pub(super) fn of(trigram: Trigram) -> Self {
        Self { trigram, plain: to_ascii(trigram).and_then(plain) }
    }
}

/// Counts of one text after the other, in the same memory.
pub(in crate::terms) struct Counts {
    /// By place, for trigrams of plain letters; all 0 but those listed.
    plain: Vec<u16>,
    /// The places of a text's trigrams, each as often as it occurs.
    listed: Vec<u16>,
    /// All other trigrams.
    others: Table,
    /// Whether all of them are there.
    is_sparse: bool,
    /// By count, how many trigrams occur at least so often.
    at_least: Vec<u32>,
}

impl Counts {
    /// For texts: quick, and 100 KB.
    pub(in crate::terms) fn dense() -> Self {
        Self { plain: vec![0; LETTERS * LETTERS * LETTERS], ..Self::sparse() }
    }

    /// For a query: small.
    pub(super) fn sparse() -> Self {
        let (plain, listed, others, at_least) = (Vec::new(), Vec::new(), Table::default(), Vec::new());
        Self { plain, listed, others, is_sparse: true, at_least }
    }

    /// Count the trigrams of a text, passing on its words.
    pub(in crate::terms) fn fill(&mut self, text: &str, speller: &mut Speller, mut each: impl FnMut(&[u8])) {
        for place in self.listed.drain(..) {
            self.plain[place as usize] = 0;
        }
        self.others.clear();
        self.is_sparse = self.plain.is_empty() || text.len() > LONG_BYTES;
        speller.for_each(text, |word| {
            each(word);
            self.list(word);
        });
        self.count();
    }

    fn list(&mut self, word: &[u8]) {
        if !self.is_sparse && word.is_ascii() {
            self.listed.extend(windows(word).map(|letters| plain(letters).unwrap_or_default()));
        } else if let Ok(word) = str::from_utf8(word) {
            for_each_trigram(word, |trigram| match Place::of(trigram).plain {
                Some(plain) if !self.is_sparse => self.listed.push(plain),
                _ => self.others.listed.push(trigram),
            });
        }
    }

    fn count(&mut self) {
        self.at_least.clear();
        self.at_least.resize(2, 0);
        let mut tally = |count: usize| {
            if count == self.at_least.len() {
                self.at_least.push(0);
            }
            self.at_least[count] += 1;
        };
        for &place in &self.listed {
            let count = &mut self.plain[place as usize];
            *count += 1;
            tally(*count as usize);
        }
        self.others.count(&mut tally);
    }

    /// How often a trigram occurs.
    pub(super) fn at(&self, place: Place) -> u32 {
        match place.plain {
            Some(plain) if !self.is_sparse => u32::from(self.plain[usize::from(plain)]),
            _ => self.others.get(place.trigram),
        }
    }

    /// Every trigram, in no particular order.
    pub(super) fn trigrams(&self) -> impl Iterator<Item = Trigram> {
        let letters = |place: usize| [place / (LETTERS * LETTERS), place / LETTERS % LETTERS, place % LETTERS];
        let trigram = move |&place: &u16| of_ascii(letters(place.into()).map(|code| ALPHABET[code]));
        self.listed.iter().map(trigram).chain(self.others.listed.iter().copied())
    }

    /// The sum of the squared weights, in ascending order of the counts.
    pub(in crate::terms) fn square(&self) -> f64 {
        let next = self.at_least[1..].iter().skip(1).chain([&0]);
        let times = self.at_least.iter().skip(1).zip(next).map(|(this, next)| this - next);
        times.zip(1..).map(|(times, count)| f64::from(times) * weight(count).powi(2)).sum()
    }
}

/// Open-addressed counts.
#[derive(Default)]
struct Table {
    /// The trigrams, each as often as it occurs.
    listed: Vec<Trigram>,
    places: Vec<(Trigram, u32)>,
}

impl Table {
    fn clear(&mut self) {
        self.listed.clear();
        self.places.clear();
    }

    fn count(&mut self, mut tally: impl FnMut(usize)) {
        if self.listed.is_empty() {
            return;
        }
        self.places.resize((2 * self.listed.len()).next_power_of_two(), (0, 0));
        for i in 0..self.listed.len() {
            let place = self.place(self.listed[i]);
            let (trigram, count) = &mut self.places[place];
            *trigram = self.listed[i];
            *count += 1;
            tally(*count as usize);
        }
    }

    fn get(&self, trigram: Trigram) -> u32 {
        if self.places.is_empty() { 0 } else { self.places[self.place(trigram)].1 }
    }

    /// Where a trigram is, or would be: the table is at most half full.
    fn place(&self, trigram: Trigram) -> usize {
        let last = self.places.len() - 1;
        // The topmost bits of the product, for only they depend on all three letters.
        let mut place = (trigram.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - last.count_ones())) as usize;
        while self.places[place].0 != trigram && self.places[place].0 != 0 {
            place = (place + 1) & last;
        }
        place
    }
}
