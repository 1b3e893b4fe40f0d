//! How much of a query's spelling a text shares: misspelt, inflected and compound words meet here.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::fold::fold;
use super::stop_words::is_stop_word;
use super::words::split;

/// Three characters in one word: Unicode needs 21 bits for each.
type Trigram = u64;

const BITS: u32 = 21;
const MASK: u64 = (1 << (3 * BITS)) - 1;
const PAD: char = ' ';

/// Return the cosine of character-trigram counts of the query with each text `(m,)`, 0..1; 0 when either is empty.
///
/// Words are folded; stop words and single ASCII characters are left out; each word is padded with one blank on both
/// sides, so that no trigram spans two words; a trigram's weight is `1 + ln(count)`.
pub fn trigrams<T: AsRef<str>>(query: &str, texts: &[T]) -> Vec<f64> {
    let mut counts = FxHashMap::default();
    count(query, &mut counts);
    let mut asked: Vec<(Trigram, f64)> = counts.iter().map(|(&t, &n)| (t, weight(n))).collect();
    // One order of summation, whatever the order of the map: equal input gives equal doubles.
    asked.sort_unstable_by_key(|&(t, _)| t);
    let length = norm(&counts);
    texts
        .iter()
        .map(|text| {
            counts.clear();
            count(text.as_ref(), &mut counts);
            let shared: f64 = asked.iter().filter_map(|(t, w)| Some(w * weight(*counts.get(t)?))).sum();
            if shared > 0.0 { shared / (length * norm(&counts)) } else { 0.0 }
        })
        .collect()
}

fn weight(count: u32) -> f64 {
    1.0 + f64::from(count).ln()
}

fn norm(counts: &FxHashMap<Trigram, u32>) -> f64 {
    let mut by_count: BTreeMap<u32, u32> = BTreeMap::new();
    for &n in counts.values() {
        *by_count.entry(n).or_default() += 1;
    }
    by_count.iter().map(|(&n, &times)| f64::from(times) * weight(n).powi(2)).sum::<f64>().sqrt()
}

fn count(text: &str, counts: &mut FxHashMap<Trigram, u32>) {
    split(text, false, |run| {
        let word = fold(&run.text());
        if word.len() < 2 || is_stop_word(&word) {
            return;
        }
        let mut window = PAD as u64;
        for (at, c) in word.chars().chain([PAD]).enumerate() {
            window = ((window << BITS) | c as u64) & MASK;
            if at > 0 {
                *counts.entry(window).or_default() += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::trigrams;

    #[test]
    fn equal_spelling_gives_one_and_nothing_shared_gives_zero() {
        let found = trigrams("vector index", &["Vector INDEX", "vectors", "quokka", "", "the of"]);
        assert!((found[0] - 1.0).abs() < 1e-12, "{found:?}");
        assert!(found[1] > 0.3 && found[1] < 1.0, "{found:?}");
        assert_eq!(found[2..], [0.0, 0.0, 0.0]);
    }

    #[test]
    fn weights_grow_with_the_logarithm_of_the_count() {
        // " ab" and "ab " once in the query, twice in the text, next to " cd" and "cd " once.
        let two = 1.0 + 2f64.ln();
        let expected = 2.0 * two / (2f64.sqrt() * (2.0 * two * two + 2.0).sqrt());
        assert!((trigrams("ab", &["ab ab cd"])[0] - expected).abs() < 1e-12);
    }

    #[test]
    fn accents_case_and_stop_words_make_no_difference() {
        assert!((trigrams("Café", &["the cafe of"])[0] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_query_of_stop_words_shares_nothing() {
        assert_eq!(trigrams("what is the", &["what is the matter"]), [0.0]);
    }
}
