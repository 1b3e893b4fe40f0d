//! Which symbols a query means.
//!
//! By words: with `q` the share of the query's information (its words by how few names hold them) that a name holds, and
//! `n` the share of the name that the query holds, the score is `0.9 * 2 q n / (q + n)`, and up to 0.1 more for words that
//! the path holds. By name: 1 for the very name, 0.97 for the same words written in another way, and 0.9 of the
//! similarity of names that are alike. The better of the two counts.

use super::near::similarity_above;
use super::{Symbols, letters, parts};

/// A word that begins a part of a name counts this part of one that is it.
const BEGINS: f64 = 0.6;
const LEAST_BEGINNING: usize = 3;
const BY_WORDS: f64 = 0.9;
const BY_PATH: f64 = 0.1;
const SAME_WORDS: f64 = 0.97;
const ALIKE: f64 = 0.9;
/// As documented: what is less alike is no hit.
const LEAST_ALIKE: f64 = 0.65;

/// The query for symbols.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Words that names may be made of.
    pub words: &'a [String],
    /// The parts of the query that may be a whole name.
    pub names: &'a [String],
}

/// A symbol that was found: its number and its score, 0 to 1.
pub type Found = (usize, f64);

impl Symbols {
    /// The symbols that a query means, the best first; equal ones by their words, then in the order of paths and lines.
    pub fn rank(&self, wanted: Asked<'_>, limit: usize) -> Vec<Found> {
        let by_words = self.by_words(wanted.words);
        let mut scores = by_words.clone();
        for name in wanted.names {
            self.by_name(name, &mut scores);
        }
        let mut best: Vec<Found> = scores.into_iter().enumerate().filter(|&(_, score)| score > 0.0).collect();
        // `Vault.search` means the `search` in `vault.py`, of several.
        best.sort_by(|one, other| other.1.total_cmp(&one.1).then(by_words[other.0].total_cmp(&by_words[one.0])));
        best.truncate(limit);
        best
    }

    fn by_words(&self, words: &[String]) -> Vec<f64> {
        let mut stems: Vec<String> = Vec::new();
        for part in words.iter().flat_map(|word| parts(word)) {
            let stem = String::from_utf8_lossy(&part).into_owned();
            if !stems.contains(&stem) {
                stems.push(stem);
            }
        }
        let count = self.len();
        let (mut outcome, mut held, mut all) = (vec![0.0; count], vec![0.0; count], 0.0);
        let mut informations = Vec::new();
        for stem in &stems {
            let holding = self.holding(stem);
            let information = (1.0 + (count as f64 + 0.5) / (holding.len() as f64 + 0.5)).ln();
            informations.push(information);
            all += information;
            for (symbol, share) in holding {
                outcome[symbol] += information * share;
                held[symbol] += share;
            }
        }
        let mut paths = Paths { of: usize::MAX, share: 0.0 };
        for symbol in (0..count).filter(|&symbol| held[symbol] > 0.0) {
            let line = &self.0.stems[self.0.stem_starts[symbol]..self.0.stem_starts[symbol + 1] - 1];
            let of_name = line.bytes().filter(|&byte| byte == b'_').count().saturating_sub(1).max(1);
            let (q, n) = (outcome[symbol] / all, (held[symbol] / of_name as f64).min(1.0));
            let in_path = paths.share(self, symbol, &stems, &informations) / all;
            outcome[symbol] = BY_WORDS * 2.0 * q * n / (q + n) + BY_PATH * in_path;
        }
        outcome
    }

    /// The symbols whose name holds a stem, and whether it is a part of it (1) or begins one.
    fn holding(&self, stem: &str) -> Vec<(usize, f64)> {
        let (lines, starts) = (&self.0.stems, &self.0.stem_starts);
        let sought = format!("_{stem}");
        let mut results: Vec<(usize, f64)> = Vec::new();
        let mut symbol = 0;
        for (at, _) in lines.match_indices(&sought) {
            symbol += starts[symbol + 1..].partition_point(|&start| start <= at);
            let share = match lines.as_bytes()[at + sought.len()] {
                b'_' => 1.0,
                _ if stem.len() >= LEAST_BEGINNING => BEGINS,
                _ => continue,
            };
            match results.last_mut() {
                Some(last) if last.0 == symbol => last.1 = last.1.max(share),
                _ => results.push((symbol, share)),
            }
        }
        results
    }

    fn by_name(&self, name: &str, scores: &mut [f64]) {
        let lower = name.to_lowercase();
        let stems: String =
            parts(name).iter().fold("_".to_owned(), |line, part| line + &String::from_utf8_lossy(part) + "_");
        let (chars, bits): (Vec<char>, _) = (lower.chars().collect(), letters(&lower));
        let same_words = stems.len() > 1;
        for (symbol, score) in scores.iter_mut().enumerate() {
            let line = |lines, starts: &[usize]| -> &str { Self::line(lines, starts, symbol) };
            let known = line(&self.0.names, &self.0.name_starts);
            let likeness = if known == lower {
                1.0
            } else if same_words && line(&self.0.stems, &self.0.stem_starts) == stems {
                SAME_WORDS
            } else {
                // Each letter that one name has and the other has not takes an edit.
                let letters = self.0.letters[symbol];
                let edits = (letters & !bits).count_ones().max((bits & !letters).count_ones()) as usize;
                let longest = known.len().max(lower.len());
                if edits as f64 >= (1.0 - LEAST_ALIKE) * longest as f64 {
                    continue;
                }
                let known: Vec<char> = known.chars().collect();
                match similarity_above(&chars, &known, LEAST_ALIKE) {
                    Some(results) => ALIKE * results,
                    None => continue,
                }
            };
            *score = score.max(likeness);
        }
    }

    fn line<'a>(lines: &'a str, starts: &[usize], symbol: usize) -> &'a str {
        &lines[starts[symbol]..starts[symbol + 1] - 1]
    }
}

/// The words of the path that was looked up last.
struct Paths {
    of: usize,
    share: f64,
}

impl Paths {
    /// The information of the words that the path of a symbol's file holds.
    fn share(&mut self, symbols: &Symbols, symbol: usize, stems: &[String], informations: &[f64]) -> f64 {
        let file = symbols.0.firsts.partition_point(|&first| first <= symbol) - 1;
        if file != self.of {
            let lower = symbols.0.files[file].path.to_lowercase();
            let held = stems.iter().zip(informations).filter(|(stem, _)| lower.contains(stem.as_str()));
            *self = Self { of: file, share: held.map(|(_, information)| information).sum() };
        }
        self.share
    }
}
