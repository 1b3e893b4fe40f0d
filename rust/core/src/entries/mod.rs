//! The preparation of entries for the store: the digest of the text, an id, tags as JSON.

mod digest;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::fts::index_terms;
use crate::terms::{grams, words};

/// Characters of an id that are made of the title.
const SLUG_CHARS: usize = 48;
const MARK_CHARS: usize = 10;

/// Return the digest of some texts, as 32 hexadecimal digits.
///
/// A length before each text keeps ("a", "bc") and ("ab", "c") apart.
pub fn text_hash(texts: &[&str]) -> String {
    let mut raw = Vec::with_capacity(texts.iter().map(|text| text.len() + 8).sum());
    for text in texts {
        raw.extend_from_slice(&(text.len() as u64).to_le_bytes());
        raw.extend_from_slice(text.as_bytes());
    }
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    digest::digest(&raw).into_iter().flat_map(digits).map(char::from).collect()
}

/// Return a readable id that the same kind, title and content always give again.
pub fn made_id(kind: &str, title: &str, text_hash: &str) -> String {
    let mut id = String::new();
    let mut chars = 0;
    for word in words(title) {
        let more = word.chars().count() + 1;
        if chars + more > SLUG_CHARS {
            break;
        }
        // The first word has no hyphen before it.
        chars += if id.is_empty() { more - 1 } else { more };
        if !id.is_empty() {
            id.push('-');
        }
        id.push_str(&word);
    }
    let mark = self::text_hash(&[kind, text_hash]);
    if !id.is_empty() {
        id.push('-');
    }
    id.push_str(&mark[..MARK_CHARS]);
    id
}

/// The weight of a term in the title, as the table of grams has one column for all texts.
const TITLE_TIMES: usize = 3;

/// Return the extra index terms of an entry, with blanks between them: the grams of its texts but for terms that are words
/// of it. So a term of a row is a word or a gram and never both, and the rows that hold it are those of both tables.
pub fn gram_text(id: &str, title: &str, texts: &[&str]) -> String {
    let of_title = grams(title);
    let mut results: Vec<String> = of_title.iter().cycle().take(TITLE_TIMES * of_title.len()).cloned().collect();
    texts.iter().for_each(|text| results.extend(grams(text)));
    if results.is_empty() {
        return String::new();
    }
    let own: FxHashSet<Vec<u8>> = [id, title].iter().chain(texts).flat_map(|text| index_terms(text)).collect();
    let mut known: FxHashMap<String, bool> = FxHashMap::default();
    results.retain(|gram| {
        // A gram is one term.
        let is_new = |gram: &String| index_terms(gram).first().is_some_and(|term| !own.contains(term));
        *known.entry(gram.clone()).or_insert_with_key(is_new)
    });
    results.join(" ")
}

/// Leave of equal tags the first one.
pub fn keep_first(tags: &mut Vec<&str>) {
    let mut seen = FxHashSet::default();
    tags.retain(|&tag| seen.insert(tag));
}

/// Return tags as a JSON list. They must hold no control characters.
pub fn tags_json(tags: &[&str]) -> String {
    let mut json = String::with_capacity(2 + tags.iter().map(|tag| tag.len() + 3).sum::<usize>());
    for tag in tags {
        json.push_str(if json.is_empty() { "[\"" } else { ",\"" });
        for c in tag.chars() {
            if matches!(c, '"' | '\\') {
                json.push('\\');
            }
            json.push(c);
        }
        json.push('"');
    }
    json.push_str(if json.is_empty() { "[]" } else { "]" });
    json
}

/// Append a text as JSON, with the escapes of Python's `json`.
pub fn push_json(json: &mut String, text: &str) {
    json.push('"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate().filter(|&(_, byte)| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        json.push_str(&text[from..at]);
        match byte {
            b'"' | b'\\' => json.extend(['\\', char::from(byte)]),
            b'\n' => json.push_str("\\n"),
            b'\r' => json.push_str("\\r"),
            b'\t' => json.push_str("\\t"),
            0x08 => json.push_str("\\b"),
            0x0c => json.push_str("\\f"),
            _ => json.push_str(&format!("\\u{byte:04x}")),
        }
        from = at + 1;
    }
    json.push_str(&text[from..]);
    json.push('"');
}

/// Return texts as a JSON list, ascending, each once, and how many these are.
///
/// SQLite's JSON ends a text at NUL, so NUL is written as `\1\2`, and `\1` as `\1\3`.
pub fn text_set(mut texts: Vec<&str>) -> (String, usize) {
    texts.sort_unstable();
    texts.dedup();
    let mut json = String::with_capacity(2 + texts.iter().map(|text| text.len() + 3).sum::<usize>());
    for (i, text) in texts.iter().enumerate() {
        json.push_str(if i == 0 { "[\"" } else { ",\"" });
        if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
            json.push_str(text);
        } else {
            text.chars().for_each(|c| push_escaped(&mut json, c));
        }
        json.push('"');
    }
    json.push_str(if json.is_empty() { "[]" } else { "]" });
    (json, texts.len())
}

fn push_escaped(json: &mut String, c: char) {
    match c {
        '\0' => json.push_str("\\u0001\\u0002"),
        '\x01' => json.push_str("\\u0001\\u0003"),
        '"' | '\\' => json.extend(['\\', c]),
        '\x02'..='\x1f' => json.push_str(&format!("\\u{:04x}", u32::from(c))),
        _ => json.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_blake2b() {
        // The digest of no bytes, and that of "abc" with its length before it.
        let hex = |bytes: [u8; 16]| bytes.map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(hex(digest::digest(b"")), "cae66941d9efbd404e4d88758ea67670");
        assert_eq!(text_hash(&[]), "cae66941d9efbd404e4d88758ea67670");
        assert_ne!(text_hash(&["a", "bc"]), text_hash(&["ab", "c"]));
    }

    #[test]
    fn an_id_begins_with_the_words_of_the_title() {
        assert!(made_id("entry", "Rotate the JWT: keys!", "").starts_with("rotate-the-jwt-keys-"));
        assert_eq!(made_id("entry", "?", "").len(), MARK_CHARS);
        let long = made_id("entry", &"abcd ".repeat(20), "");
        assert_eq!(long.len(), 9 * 5 + MARK_CHARS);
        assert_ne!(made_id("entry", "t", "a"), made_id("memory", "t", "a"));
    }

    #[test]
    fn a_set_of_texts_is_json_in_order_and_without_nul() {
        assert_eq!(text_set(vec![]), ("[]".to_owned(), 0));
        assert_eq!(text_set(vec!["b", "é", "a", "b", ""]), (r#"["","a","b","é"]"#.to_owned(), 4));
        let odd = vec!["\n", "a\0", "q\"\\", "\x01", "\x02", "a\0"];
        let json = r#"["\u0001\u0003","\u0002","\u000a","a\u0001\u0002","q\"\\"]"#;
        assert_eq!(text_set(odd), (json.to_owned(), 5));
    }

    #[test]
    fn of_equal_tags_the_first_stays() {
        let mut tags = vec!["b", "a", "b", "", "a"];
        keep_first(&mut tags);
        assert_eq!(tags, ["b", "a", ""]);
    }

    #[test]
    fn a_text_as_json_has_the_escapes_of_python() {
        let mut json = String::new();
        push_json(&mut json, "a\"b\\c\n\r\t\u{8}\u{c}\u{1}\u{7f}é漢");
        assert_eq!(json, "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0001\u{7f}é漢\"");
    }

    #[test]
    fn tags_are_json() {
        assert_eq!(tags_json(&[]), "[]");
        assert_eq!(tags_json(&["a", "b c", "é"]), r#"["a","b c","é"]"#);
        assert_eq!(tags_json(&[r#"q"x\"#]), r#"["q\"x\\"]"#);
    }
}
