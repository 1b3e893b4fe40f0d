use proptest::prelude::*;

use super::costs::cost;
use super::*;

fn cut(text: &str, tokens: usize, overlap: usize, variant: Variant) -> Vec<Chunk> {
    chunks(text, Budget::of_tokens(tokens, overlap), variant, usize::MAX).expect("there is no bound")
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,9} ",
        2 => "\\PC{0,8}",
        2 => Just("\n".to_owned()),
        1 => Just("\r\n- ".to_owned()),
        1 => Just("\n## ".to_owned()),
        1 => "[漢字かㄱ한㐀𠀀😀]{1,30}",
        1 => "[a-z]{20,200}",
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn variants() -> impl Strategy<Value = Variant> {
    prop_oneof![Just(Variant::Capped), Just(Variant::Literal), Just(Variant::Entries)]
}

proptest! {
    #![proptest_config(crate::seeded(400))]

    #[test]
    fn no_chunk_costs_more_than_the_budget(text in texts(), tokens in 1usize..30, overlap in 0usize..40) {
        for variant in [Variant::Capped, Variant::Entries] {
            for chunk in cut(&text, tokens, overlap, variant) {
                prop_assert!(chunk.text.chars().map(cost).sum::<usize>() <= (4 * tokens).max(32));
            }
        }
    }

    #[test]
    fn what_is_new_in_each_chunk_is_the_text_in_order(
        text in texts(), tokens in 1usize..30, overlap in 0usize..40, variant in variants()
    ) {
        let results = cut(&text, tokens, overlap, variant);
        let mut end = 0;
        for chunk in &results {
            // Between two chunks is nothing, a line end, or a character that was cut in two.
            let between = &text[end..chunk.own_start];
            prop_assert!(between.chars().count() <= 1);
            prop_assert!(between.is_empty() || between == "\n" || variant == Variant::Literal);
            end = chunk.end;
        }
        prop_assert_eq!(end, text.len());
    }

    #[test]
    fn lines_are_those_of_the_text(text in texts(), tokens in 1usize..30, overlap in 0usize..40, variant in variants()) {
        let line_at = |place: usize| 1 + text[..place].matches('\n').count();
        for chunk in cut(&text, tokens, overlap, variant) {
            prop_assert!(chunk.first_line <= line_at(chunk.own_start));
            prop_assert_eq!(chunk.last_line, line_at(chunk.end));
        }
    }

    #[test]
    fn a_bound_is_kept_or_nothing_is_made(text in texts(), most in 0usize..4_000) {
        let budget = Budget::of_tokens(8, 7);
        match chunks(&text, budget, Variant::Literal, most) {
            Some(results) => prop_assert!(results.iter().map(|chunk| chunk.text.len()).sum::<usize>() <= most),
            None => prop_assert!(cut(&text, 8, 7, Variant::Literal).iter().map(|c| c.text.len() + 1).sum::<usize>() > most),
        }
    }

    #[test]
    fn outlines_are_in_order_and_never_fail(text in texts(), marks in "[-=#\\[\\]()|>` \n*]{0,80}") {
        for outline in [markdown(&format!("{text}\n{marks}\n{text}")), restructured(&format!("{marks}\n{text}"))] {
            prop_assert!(outline.headings.is_sorted_by_key(|heading| heading.at));
            prop_assert!(outline.mentions.is_sorted_by_key(|mention| mention.at));
            for (i, heading) in outline.headings.iter().enumerate() {
                let path = outline.path(i);
                prop_assert!(!path.is_empty() && path.len() <= heading.level);
                prop_assert!(!heading.text.trim().is_empty() && heading.text.chars().count() <= 200);
                prop_assert_eq!(outline.heading_at(heading.at), Some(i));
            }
        }
    }
}

#[test]
fn characters_cost_what_their_scripts_do() {
    let costs: Vec<usize> = "a é·漢한かㄱ㐀ﾊ\u{305}😀𠀀𛀀𝍠\u{10ffff}".chars().map(cost).collect();
    assert_eq!(costs, [1, 1, 1, 4, 4, 4, 4, 4, 12, 8, 8, 2, 16, 16, 12, 2]);
}
