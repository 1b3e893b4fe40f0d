//! How much of a query's spelling a text shares: misspelt, inflected and compound words meet here.

use super::fold::fold;
use super::stop_words::is_stop_word;
use super::words::split;

/// Bits of a code point; a trigram is three of them in one number, never 0.
const BITS: u32 = 21;
const MASK: u64 = (1 << (3 * BITS)) - 1;
const PAD: u64 = b' ' as u64;

/// Return the cosine of character-trigram weights of the query with each text `(m,)`, 0..1; 0 when either is empty.
///
/// Words are folded; stop words and single ASCII characters are left out; each word is padded with one blank on both
/// sides, so that no trigram spans two words; a trigram's weight is `1 + ln(count)`.
pub fn trigrams<T: AsRef<str>>(query: &str, texts: &[T]) -> Vec<f64> {
    let mut counts = Counts::default();
    counts.fill(query);
    // One order of summation, whatever the order of the table: equal input gives equal doubles.
    let mut asked: Vec<(u64, f64)> = counts.iter().map(|(trigram, count)| (trigram, weight(count))).collect();
    asked.sort_unstable_by_key(|&(trigram, _)| trigram);
    let square = counts.square();
    texts
        .iter()
        .map(|text| {
            counts.fill(text.as_ref());
            let shared: f64 = asked.iter().map(|&(trigram, w)| w * weight(counts.get(trigram))).sum();
            // One root of the product, so that equal profiles give 1.
            if shared > 0.0 { (shared / (square * counts.square()).sqrt()).min(1.0) } else { 0.0 }
        })
        .collect()
}

fn weight(count: u32) -> f64 {
    match count {
        0 => 0.0,
        1 => 1.0,
        _ => 1.0 + f64::from(count).ln(),
    }
}

/// How often each trigram of a text occurs: an open-addressed table, used again from text to text.
#[derive(Default)]
struct Counts {
    table: Vec<(u64, u32)>,
    trigrams: Vec<u64>,
    word: String,
    /// By count, how many trigrams have it.
    tally: Vec<u32>,
}

impl Counts {
    fn fill(&mut self, text: &str) {
        self.trigrams.clear();
        split(text, false, |run| {
            self.word.clear();
            if run.ascii {
                self.word.push_str(&run.text());
                self.word.make_ascii_lowercase();
            } else {
                self.word.push_str(&fold(&run.text()));
            }
            if self.word.len() > 1 && !is_stop_word(&self.word) {
                push(&self.word, &mut self.trigrams);
            }
        });
        self.table.clear();
        self.table.resize((2 * self.trigrams.len()).next_power_of_two().max(2), (0, 0));
        self.tally.clear();
        self.tally.push(0);
        for i in 0..self.trigrams.len() {
            let place = self.place(self.trigrams[i]);
            let (trigram, count) = &mut self.table[place];
            *trigram = self.trigrams[i];
            *count += 1;
            let count = *count as usize;
            if count == self.tally.len() {
                self.tally.push(0);
            }
            self.tally[count] += 1;
            self.tally[count - 1] = self.tally[count - 1].saturating_sub(1);
        }
    }

    /// Where a trigram is, or would be: the table is at most half full.
    fn place(&self, trigram: u64) -> usize {
        let last = self.table.len() - 1;
        // The topmost bits of the product, for only they depend on all three characters.
        let mut place = (trigram.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - last.count_ones())) as usize;
        while self.table[place].0 != trigram && self.table[place].0 != 0 {
            place = (place + 1) & last;
        }
        place
    }

    fn get(&self, trigram: u64) -> u32 {
        self.table[self.place(trigram)].1
    }

    fn iter(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.table.iter().copied().filter(|&(trigram, _)| trigram != 0)
    }

    /// The sum of the squared weights, in ascending order of the counts.
    fn square(&self) -> f64 {
        self.tally.iter().zip(0..).skip(1).map(|(&times, count)| f64::from(times) * weight(count).powi(2)).sum()
    }
}

/// Push the trigrams of a word with a blank before and after it.
fn push(word: &str, trigrams: &mut Vec<u64>) {
    let mut window = PAD;
    for (at, c) in word.chars().map(u64::from).chain([PAD]).enumerate() {
        window = ((window << BITS) | c) & MASK;
        if at > 0 {
            trigrams.push(window);
        }
    }
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
    fn one_trigram_of_five_is_shared() {
        // " ni" "nig" "igh" "ght" "ht " against " na" "nac" "ach" "cht" "ht ".
        assert!((trigrams("night", &["nacht"])[0] - 0.2).abs() < 1e-15);
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
    fn a_query_of_stop_words_or_single_letters_shares_nothing() {
        assert_eq!(trigrams("what is the", &["what is the matter"]), [0.0]);
        assert_eq!(trigrams("x", &["x"]), [0.0]);
        assert_eq!(trigrams("水", &["水", "水道"]), [1.0, 0.0]);
    }
}
