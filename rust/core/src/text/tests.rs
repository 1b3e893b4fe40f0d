use proptest::prelude::*;

use super::*;

const MEGABYTE: usize = 1 << 20;

fn parts(text: &str, words: usize) -> Vec<&str> {
    windows(text, words).iter().map(|window| &text[window.start..window.end]).collect()
}

fn words_of(text: &str) -> u64 {
    breaks(text).last().map_or(0, |last| last.points).div_ceil(WORD)
}

/// Texts with what decides about cuts: blanks, lines, full stops, scripts without blanks, marks, emoji, long words.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-zA-Zäж]{1,9} ",
        2 => "[a-z]{1,5}[.!?,;:] ",
        1 => "[a-z]{1,5}\\.\n",
        1 => Just("\n".to_owned()),
        1 => Just("\r\n\r\n  ".to_owned()),
        1 => "[a-z]{20,80}",
        1 => "[漢字かなカナ。、「」กขไม한국]{1,30}",
        1 => Just("👩‍👩‍👧‍👦🇩🇪e\u{301}\u{302}".to_owned()),
        1 => "\\PC{0,5}",
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::seeded(400))]

    #[test]
    fn windows_cover_the_text_in_order(text in texts(), words in 1usize..40) {
        prop_assert_eq!(parts(&text, words).concat(), text.as_str());
        for window in windows(&text, words) {
            prop_assert!(window.start < window.end);
        }
    }

    #[test]
    fn no_window_has_more_words_than_wanted_and_few_have_much_less(text in texts(), words in 1usize..40) {
        let most = words as u64 * WORD;
        let places = breaks(&text);
        let points = |end: usize| places.iter().find(|place| place.end == end).map_or(0, |place| place.points);
        let results = windows(&text, words);
        for window in &results {
            let own = points(window.end) - if window.start == 0 { 0 } else { points(window.start) };
            prop_assert!(own <= most);
            // A break is at most a word from the next.
            prop_assert!(results.len() == 1 || own + WORD >= most / 4, "{} of {}", own, most);
        }
    }

    #[test]
    fn breaks_ascend_and_are_at_most_a_word_apart(text in texts()) {
        let places = breaks(&text);
        prop_assert_eq!(places.last().map_or(0, |last| last.end), text.len());
        let mut before = (0, 0);
        for place in places {
            prop_assert!(before.0 < place.end && before.1 <= place.points && place.points <= before.1 + WORD);
            before = (place.end, place.points);
        }
    }

    #[test]
    fn what_is_appended_leaves_all_windows_but_the_last_two(text in texts(), more in texts(), words in 2usize..40) {
        let before = windows(&text, words);
        let after = windows(&(text + &more), words);
        let kept = before.len().saturating_sub(2);
        prop_assert_eq!(&before[..kept], &after[..kept]);
    }

    #[test]
    fn lines_are_those_of_the_first_and_the_last_word(text in texts(), words in 1usize..40) {
        for Window { start, end, first_line, last_line } in windows(&text, words) {
            let line = |at: usize| 1 + text[..at].bytes().filter(|&byte| byte == b'\n').count();
            let own = &text[start..end];
            let first = start + own.len() - own.trim_start().len();
            let last = start + own.trim_end().len();
            if own.trim().is_empty() {
                prop_assert_eq!((first_line, last_line), (line(start), line(start)));
            } else {
                prop_assert_eq!((first_line, last_line), (line(first), line(last)));
            }
        }
    }

    #[test]
    fn characters_stay_whole_as_readers_see_them(text in texts(), words in 1usize..40) {
        use unicode_segmentation::UnicodeSegmentation;
        let whole: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
        for window in windows(&text, words) {
            // A mark after a blank belongs to it, and blanks may be parted from what follows.
            let behind_blank = text[..window.start].ends_with(char::is_whitespace);
            prop_assert!(behind_blank || whole.contains(&window.start), "{:?}", &text[window.start..]);
        }
    }
}

#[test]
fn a_text_is_cut_at_paragraphs_before_lines_before_sentences_before_words() {
    let four = "one two three four";
    let at =
        |blanks: &str| parts(&format!("{four}{blanks}five six seven eight nine ten eleven twelve"), 8).remove(0).len();
    for (blanks, cut) in [
        ("\n\n", four.len() + 2),
        (".\nThen ", four.len() + 2),
        (".\n- ", four.len() + 2),
        (":\n", four.len() + 2),
        (". Then ", four.len() + 2),
        ("\n", four.len() + 1),
        (", ", four.len() + 2),
    ] {
        assert_eq!(at(blanks), cut, "{blanks:?}");
    }
    // Nothing but words: as many as are wanted.
    assert_eq!(parts(&"word ".repeat(20), 8)[0], "word ".repeat(8));
    let ranked = "a b c d\n\nE f. G h\nI, j k l m n o p q r s t u v w x y z";
    assert_eq!(parts(ranked, 8)[0], "a b c d\n\n");
}

#[test]
fn full_stops_of_abbreviations_and_initials_end_no_sentence() {
    for text in ["see Dr. Smith now", "by J. Smith now", "or e.g. Smith now", "in no. five now", "see Fig. 5 now"] {
        assert!(breaks(text).iter().all(|place| place.strength != Strength::Sentence), "{text}");
    }
    for text in
        ["It rains. Then stop", "so \"it rains.\" Then", "why? Then", "it rains . then it stops", "(It rains.) Then"]
    {
        assert_eq!(breaks(text).iter().filter(|place| place.strength == Strength::Sentence).count(), 1, "{text}");
    }
}

#[test]
fn an_indented_line_keeps_its_indentation() {
    assert_eq!(
        parts("one two three four:\n    five six seven eight nine ten", 8)[1],
        "    five six seven eight nine ten"
    );
}

#[test]
fn scripts_without_blanks_are_cut_at_their_own_signs() {
    let sentence = "天気がいいから散歩しましょう。";
    let text = sentence.repeat(20);
    let results = parts(&text, 20);
    assert!(results.len() > 5 && results.iter().all(|part| part.ends_with('。') && part.starts_with('天')));
    // A closing sign stays with what it closes.
    let quoted = "「今日はいい天気ですね。」".repeat(20);
    assert!(parts(&quoted, 20).iter().all(|part| part.starts_with('「') && part.ends_with('」')));
    let thai = "ภาษาไทยไม่มีช่องว่างระหว่างคำ".repeat(20);
    assert!(parts(&thai, 20).len() > 5);
    assert_eq!((words_of("漢字漢字"), words_of("one two"), words_of("กขกข"), words_of("한국 사람")), (2, 2, 1, 2));
}

#[test]
fn emoji_and_marks_are_never_cut_unless_a_character_is_endless() {
    let family = "👩‍👩‍👧‍👦";
    assert!(parts(&family.repeat(500), 4).iter().all(|part| part.len() % family.len() == 0));
    let flags = "🇩🇪".repeat(500);
    assert!(parts(&flags, 4).iter().all(|part| part.len() % "🇩🇪".len() == 0));
    let endless = format!("e{}", "\u{301}".repeat(100_000));
    assert!(parts(&endless, 4).len() > 40);
}

#[test]
fn a_megabyte_of_anything_is_cut() {
    for (piece, most) in [("a", 100), ("é", 100), ("漢", 100), ("。", 100), ("」", 100), ("\u{301}", 100), ("👩‍👧", 100)]
    {
        let text = piece.repeat(MEGABYTE / piece.len());
        let results = windows(&text, most);
        assert!(results.len() > 10, "{piece}: {}", results.len());
        assert!(results.iter().all(|window| window.end - window.start <= most * 16 * 64), "{piece}");
    }
    for piece in ["\n", " ", "\u{3000}"] {
        let text = piece.repeat(MEGABYTE / piece.len());
        assert_eq!(windows(&text, 100).len(), 1, "blanks are no words");
        let long = format!("a {text} b {text} c");
        assert_eq!(parts(&long, 1).concat(), long);
    }
    for piece in ["a ", ". ", "a\n", "🇩🇪 ", "(. "] {
        let text = piece.repeat(MEGABYTE / piece.len());
        assert_eq!(windows(&text, 100).len(), (MEGABYTE / piece.len()).div_ceil(100), "{piece:?}");
    }
}

#[test]
fn blanks_alone_and_nothing() {
    assert!(windows("", 10).is_empty());
    let blank = Window { start: 0, end: 3, first_line: 1, last_line: 1 };
    assert_eq!(windows(" \n ", 10), [blank]);
    assert_eq!(windows("\n\na\nb\n", 10), [Window { start: 0, end: 6, first_line: 3, last_line: 4 }]);
    assert_eq!(windows("a b", 0).len(), 2);
}

#[test]
fn a_caller_that_knows_headings_has_them_taken_first() {
    let text = "one two three four five.\n\nsix # seven eight nine ten eleven twelve";
    let cut_at = |raised: Option<usize>| {
        let mut places = breaks(text);
        for place in &mut places {
            if Some(place.end) == raised {
                place.strength = Strength::Section;
            }
        }
        pack(text, places, 8)[0].end
    };
    assert_eq!(cut_at(None), text.find("six").unwrap_or(0));
    assert_eq!(cut_at(text.find('#')), text.find('#').unwrap_or(0));
}

/// Texts in which rules find things, also in what others put there.
fn secrets() -> impl Strategy<Value = String> {
    let piece =
        prop_oneof!["[ab*]{0,4}", Just("k=".to_owned()), "[é ]{1,2}", Just("xx".to_owned()), Just("\n".to_owned())];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::seeded(2000))]

    #[test]
    fn spans_are_where_something_else_stands(text in secrets(), masks in proptest::collection::vec(0usize..3, 5)) {
        let patterns = ["xx", "k=([ab]+)", r"b(\*+a?)", r"[a*]\*", "(?:k=)(.+)"];
        let masks = masks.iter().map(|&one| [Mask::Hidden, Mask::Documented, Mask::Block][one]);
        let redactor = Redactor::new(patterns.into_iter().zip(masks).map(|(p, m)| (p, m, Check::Any))).unwrap();
        let (mut counts, mut others) = (vec![0; 5], vec![0; 5]);
        let result = redactor.redact(&text, &mut counts).into_owned();
        let spans = redactor.spans(&text, &mut others);
        prop_assert_eq!(&counts, &others);
        let (mut at, mut there) = (0, 0);
        for span in &spans {
            prop_assert!(at <= span.start && span.start < span.end);
            let kept = &text[at..span.start];
            prop_assert_eq!(&result[there..there + kept.len()], kept);
            (at, there) = (span.end, there + kept.len() + span.now);
        }
        prop_assert_eq!(&result[there..], &text[at..]);
        prop_assert_eq!(spans.is_empty(), counts.iter().all(|&count| count == 0));
    }
}
