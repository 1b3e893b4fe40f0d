//! How much of a query's spelling a text shares: misspelt, inflected and compound words meet here.

use super::spelling::{Counts, QueryProfile, Speller};

/// Return the cosine of character-trigram weights of the query with each text `(m,)`, 0..1; 0 when either is empty.
///
/// Words are folded; stop words and single ASCII characters are left out; each word is padded with one blank on both
/// sides, so that no trigram spans two words; a trigram's weight is `1 + ln(count)`.
pub fn trigrams<T: AsRef<str>>(query: &str, texts: &[T]) -> Vec<f64> {
    let (mut counts, mut speller) = (Counts::dense(), Speller::default());
    let profile = QueryProfile::new(query, &mut counts, &mut speller);
    let mut cosine = |text: &T| {
        counts.fill(text.as_ref(), &mut speller, |_| {});
        profile.cosine_with(&counts)
    };
    texts.iter().map(&mut cosine).collect()
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
