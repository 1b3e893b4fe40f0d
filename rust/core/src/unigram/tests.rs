use super::*;
use crate::seeded;
use proptest::prelude::*;

const UNKNOWN: usize = 3;

fn made(pieces: &[(&str, f32)], map: &[(char, &str)]) -> Unigram {
    let mut offsets = vec![0];
    let mut text = String::new();
    for (piece, _) in pieces {
        text.push_str(piece);
        offsets.push(text.len() as u32);
    }
    let scores: Vec<f32> = pieces.iter().map(|&(_, score)| score).collect();
    let mut bytes = Vec::new();
    for (from, to) in map {
        bytes.extend((*from as u32).to_le_bytes());
        bytes.push(to.chars().count() as u8);
        to.chars().for_each(|c| bytes.extend((c as u32).to_le_bytes()));
    }
    Unigram::new(&offsets, &scores, text.as_bytes(), &bytes, UNKNOWN).unwrap()
}

fn tiny() -> Unigram {
    let specials = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)];
    let pieces = [("▁", -3.0), ("a", -4.0), ("b", -4.5), ("ab", -5.0), ("▁ab", -6.0), ("▁a", -6.5), ("猫", -7.0)];
    made(&[&specials[..], &pieces].concat(), &[('\t', " "), ('\u{200b}', ""), ('㍱', "ab"), ('Ａ', "a")])
}

fn ids(text: &str) -> Vec<u32> {
    tiny().encode(text).iter().map(|token| token.id).collect()
}

fn ends(text: &str) -> Vec<usize> {
    tiny().encode(text).iter().map(|token| token.end).collect()
}

#[test]
fn a_word_is_cut_into_the_pieces_of_the_largest_sum() {
    assert_eq!(ids("ab"), [8]);
    assert_eq!(ids("aab"), [9, 7]);
    assert_eq!(ids("ab b"), [8, 4, 6]);
}

#[test]
fn blanks_in_a_row_are_one_and_each_word_begins_with_one() {
    assert_eq!(ids("  ab \t ab"), [8, 8]);
    assert_eq!(ids("ab "), [8, 4]);
    assert_eq!(ids("a▁b"), [9, 4, 6]);
    for empty in ["", " ", "   ", "\u{200b}"] {
        assert_eq!(ids(empty), [4], "{empty:?}");
    }
}

#[test]
fn characters_are_replaced_by_none_one_or_several() {
    assert_eq!(ids("a\u{200b}b"), [8]);
    assert_eq!((ids("㍱"), ids("Ａb")), (vec![8], vec![8]));
}

#[test]
fn unknown_characters_in_a_row_are_one_token() {
    assert_eq!(ids("xyz"), [4, 3]);
    assert_eq!(ids("xaz y"), [4, 3, 5, 3, 4, 3]);
    assert_eq!(ids("猫x"), [4, 10, 3]);
    assert_eq!(ids("<unk>"), [4, 3]);
}

#[test]
fn ends_count_the_characters_of_the_text_as_it_was_given() {
    assert_eq!(ends("aab"), [1, 3]);
    assert_eq!(ends("  ab  猫xy"), [4, 5, 7, 9]);
    assert_eq!(ends("a\u{200b}b㍱"), [3, 4]);
    assert_eq!(ends(""), [0]);
}

#[test]
fn of_equal_pieces_the_first_counts_and_an_empty_one_never() {
    let specials = [("", 0.0), ("a", -1.0), ("a", 0.0), ("<unk>", 0.0), ("▁", -1.0)];
    let tokens = made(&specials, &[]).encode("aa");
    assert_eq!(tokens.iter().map(|token| token.id).collect::<Vec<_>>(), [4, 1, 1]);
}

#[test]
fn what_is_no_tokenizer_is_refused() {
    let long = [b'a'; MOST_PIECE_BYTES + 1];
    let refused = |offsets: &[u32], scores: &[f32], text: &[u8], map: &[u8], unknown| {
        Unigram::new(offsets, scores, text, map, unknown).err().map(|error| error.to_string()).unwrap_or_default()
    };
    for (offsets, scores, text, wanted) in [
        (&[0, 1][..], &[0.0, 0.0][..], &b"a"[..], "has length 2, expected 3"),
        (&[0, 1], &[f32::NAN], b"a", "score of piece 0 is NaN"),
        (&[1, 1], &[0.0], b"a", "offsets of pieces is wrong"),
        (&[0, 2], &[0.0], b"a", "offsets of pieces is wrong"),
        (&[0, 2, 1], &[0.0, 0.0], b"a", "offsets of pieces is wrong"),
        (&[0, 257], &[0.0], &long, "offsets of pieces is wrong"),
        (&[0], &[], b"", "unknown piece 0 is out of range"),
    ] {
        let message = refused(offsets, scores, text, &[], 0);
        assert!(message.contains(wanted), "{message}");
    }
    let surrogate = [0x00, 0xd8, 0, 0, 0];
    let out_of_order = [b'b', 0, 0, 0, 0, b'a', 0, 0, 0, 0];
    for map in [&[b'a'][..], &[b'a', 0, 0, 0], &[b'a', 0, 0, 0, 1], &surrogate, &out_of_order] {
        assert!(refused(&[0, 1], &[0.0], b"a", map, 0).contains("map of characters"));
    }
    assert_eq!(refused(&[0, 1], &[0.0], b"a", &[b'a', 0, 0, 0, 0, b'b', 0, 0, 0, 0], 0), "");
}

/// Every way to cut a word, the best of them by trying all.
fn tried(word: &str, pieces: &[(&str, f32)]) -> f64 {
    if word.is_empty() {
        return 0.0;
    }
    let known = pieces.iter().filter_map(|&(piece, score)| Some((word.strip_prefix(piece)?, f64::from(score))));
    let first = word.chars().next().map_or(0, char::len_utf8);
    let unknown = std::iter::once((&word[first..], -17.0));
    known.chain(unknown).map(|(rest, score)| score + tried(rest, pieces)).fold(f64::NEG_INFINITY, f64::max)
}

proptest! {
    #![proptest_config(seeded(300))]

    #[test]
    fn no_other_way_has_a_larger_sum(word in "[ab猫x]{1,9}") {
        let pieces = [("▁", -3.0), ("a", -4.0), ("b", -4.5), ("ab", -5.0), ("▁ab", -6.0), ("▁a", -6.5), ("猫", -7.0)];
        // Each unknown character costs, though those in a row are one token.
        let unknowns = word.chars().filter(|&c| c == 'x').count() as f64;
        let known: f64 = ids(&word).iter().filter(|&&id| id != 3).map(|&id| f64::from(pieces[id as usize - 4].1)).sum();
        let wanted = tried(&format!("▁{word}"), &pieces);
        prop_assert!((known - 17.0 * unknowns - wanted).abs() < 1e-9);
    }

    #[test]
    fn any_text_has_tokens_whose_ends_rise_to_its_length(text in any::<String>()) {
        let ends = ends(&text);
        prop_assert!(ends.is_sorted());
        prop_assert!(*ends.last().unwrap() <= text.chars().count());
    }

    #[test]
    fn any_bytes_are_a_tokenizer_or_refused(
        offsets in proptest::collection::vec(0_u32..9, 0..5),
        scores in proptest::collection::vec(-9.0_f32..0.0, 0..5),
        text in proptest::collection::vec(any::<u8>(), 0..9),
        map in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        if let Ok(tokenizer) = Unigram::new(&offsets, &scores, &text, &map, 0) {
            tokenizer.encode("ab ▁猫");
        }
    }
}
