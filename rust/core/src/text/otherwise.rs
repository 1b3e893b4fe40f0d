//! A text as JSON or Markdown mean it: what hides where a word begins is taken out of the way.

use std::borrow::Cow;

/// Invisible characters: soft hyphen, spaces and joiners without width, marks of byte order and of direction.
const INVISIBLE: [char; 8] =
    ['\u{ad}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{2060}', '\u{feff}'];
/// Minimum letters, digits and dashes of a possible token.
const TOKEN: usize = 16;

/// Return a text as JSON or Markdown mean it, and the places of its pieces in both; `None` if it is the same.
///
/// Invisible characters are removed; blanks replace `\n` and `\t` of two letters, the backslash of a quoted
/// quote, and underscores around a possible token: these hide the beginning of a word.
pub(super) fn otherwise(text: &str) -> Option<(String, Vec<(usize, usize)>)> {
    let mut bytes = Cow::Borrowed(text.as_bytes());
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|&byte| byte == b'\\' || byte == b'_') {
        let start = at + next;
        let byte = bytes[start];
        let run = bytes[start..].iter().take_while(|&&other| other == byte).count();
        at = start + run;
        let behind = bytes.get(at).copied().unwrap_or(b' ');
        let end = match (byte, behind) {
            (b'\\', b'n' | b'r' | b't' | b'b' | b'f' | b'v') => at + 1,
            (b'\\', b'"' | b'\'') => at,
            (b'_', _) if run <= 2 && (start == 0 || !is_word(bytes[start - 1])) && is_token(&bytes[at..]) => at,
            _ => continue,
        };
        bytes.to_mut()[start..end].fill(b' ');
        at = end;
    }
    let is_hidden = !text.is_ascii() && text.contains(INVISIBLE);
    let Cow::Owned(bytes) = bytes else {
        return is_hidden.then(|| without_invisible(text));
    };
    let other = String::from_utf8(bytes).ok()?;
    Some(if is_hidden { without_invisible(&other) } else { (other, vec![(0, 0)]) })
}

fn without_invisible(text: &str) -> (String, Vec<(usize, usize)>) {
    let mut bare = String::with_capacity(text.len());
    let (mut places, mut at) = (vec![(0, 0)], 0);
    for (next, results) in text.match_indices(INVISIBLE) {
        bare.push_str(&text[at..next]);
        at = next + results.len();
        places.push((bare.len(), at));
    }
    bare.push_str(&text[at..]);
    // The last of several in a row is the place where the text goes on.
    places.reverse();
    places.dedup_by_key(|place| place.0);
    places.reverse();
    (bare, places)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// True if a text begins with 16 letters, digits and dashes, a digit among them.
fn is_token(bytes: &[u8]) -> bool {
    let run = &bytes[..bytes.len().min(TOKEN)];
    run.len() == TOKEN
        && run.iter().all(|&byte| is_word(byte) || byte == b'-')
        && bytes.iter().take(4 * TOKEN).any(u8::is_ascii_digit)
}
