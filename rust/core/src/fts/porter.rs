//! FTS5's `porter`: the stemmer of Porter (1980) as FTS5 computes it, on bytes.
//!
//! It is not the textbook's in every point: a rule needs at least one byte before its ending, `logi` and `bli` have
//! rules, and every byte that is no ASCII vowel counts as a consonant. So a doubled last byte may be taken from a letter
//! of another script, and a stem need not be UTF-8.

/// Longer tokens are left as they are.
const LONGEST: usize = 64;
/// Shorter ones too.
const SHORTEST: usize = 3;

/// An ending and what takes its place.
type Rule = (&'static [u8], &'static [u8]);

/// Replace a token by its stem.
pub(super) fn stem(token: &mut Vec<u8>) {
    if !(SHORTEST..=LONGEST).contains(&token.len()) {
        return;
    }
    plural(token);
    past(token);
    if token.last() == Some(&b'y') && holds_vowel(&token[..token.len() - 1]) {
        replace(token, 1, b"i");
    }
    replace_first(token, double_endings, is_measured);
    replace_first(token, single_endings, is_measured);
    last_endings(token);
    final_e(token);
    if token.ends_with(b"ll") && measure(&token[..token.len() - 1]) > 1 {
        token.pop();
    }
}

/// Step 1a: `sses`, `ies`, `s`.
fn plural(token: &mut Vec<u8>) {
    let n = token.len();
    if token[n - 1] != b's' || token[n - 2] == b's' {
        return;
    }
    let two = (n > 4 && token.ends_with(b"sses")) || (n > 3 && token.ends_with(b"ies"));
    token.truncate(if two { n - 2 } else { n - 1 });
}

/// Step 1b: `eed`, `ed`, `ing`, and what their removal leaves to repair.
fn past(token: &mut Vec<u8>) {
    let n = token.len();
    if ends(token, b"eed") {
        if is_measured(&token[..n - 3]) {
            replace(token, 3, b"ee");
        }
        return;
    }
    let cut = if ends(token, b"ed") { 2 } else { 3 };
    if (cut == 3 && !ends(token, b"ing")) || !holds_vowel(&token[..n - cut]) {
        return;
    }
    token.truncate(n - cut);
    if [b"at", b"bl", b"iz"].iter().any(|ending| ends(token, *ending)) {
        token.push(b'e');
    } else if doubled(token) {
        token.pop();
    } else if measure(token) == 1 && is_short(token) {
        token.push(b'e');
    }
}

/// True if the last two bytes are the same consonant, other than l, s, z.
fn doubled(token: &[u8]) -> bool {
    match token {
        [.., a, b] => a == b && !is_vowel(*b, false) && !matches!(b, b'l' | b's' | b'z'),
        _ => false,
    }
}

/// Step 2.
fn double_endings(penultimate: u8) -> &'static [Rule] {
    match penultimate {
        b'a' => &[(b"ational", b"ate"), (b"tional", b"tion")],
        b'c' => &[(b"enci", b"ence"), (b"anci", b"ance")],
        b'e' => &[(b"izer", b"ize")],
        b'g' => &[(b"logi", b"log")],
        b'l' => &[(b"bli", b"ble"), (b"alli", b"al"), (b"entli", b"ent"), (b"eli", b"e"), (b"ousli", b"ous")],
        b'o' => &[(b"ization", b"ize"), (b"ation", b"ate"), (b"ator", b"ate")],
        b's' => &[(b"alism", b"al"), (b"iveness", b"ive"), (b"fulness", b"ful"), (b"ousness", b"ous")],
        b't' => &[(b"aliti", b"al"), (b"iviti", b"ive"), (b"biliti", b"ble")],
        _ => &[],
    }
}

/// Step 3.
fn single_endings(penultimate: u8) -> &'static [Rule] {
    match penultimate {
        b'a' => &[(b"ical", b"ic")],
        b's' => &[(b"ness", b"")],
        b't' => &[(b"icate", b"ic"), (b"iciti", b"ic")],
        b'u' => &[(b"ful", b"")],
        b'v' => &[(b"ative", b"")],
        b'z' => &[(b"alize", b"al")],
        _ => &[],
    }
}

/// Step 4.
fn last_endings(token: &mut Vec<u8>) {
    if ends(token, b"ion") {
        let stem = &token[..token.len() - 3];
        if matches!(stem.last(), Some(b's' | b't')) && measure(stem) > 1 {
            replace(token, 3, b"");
        }
        return;
    }
    let rules = |penultimate| -> &'static [Rule] {
        match penultimate {
            b'a' => &[(b"al", b"")],
            b'c' => &[(b"ance", b""), (b"ence", b"")],
            b'e' => &[(b"er", b"")],
            b'i' => &[(b"ic", b"")],
            b'l' => &[(b"able", b""), (b"ible", b"")],
            b'n' => &[(b"ant", b""), (b"ement", b""), (b"ment", b""), (b"ent", b"")],
            b'o' => &[(b"ou", b"")],
            b's' => &[(b"ism", b"")],
            b't' => &[(b"ate", b""), (b"iti", b"")],
            b'u' => &[(b"ous", b"")],
            b'v' => &[(b"ive", b"")],
            b'z' => &[(b"ize", b"")],
            _ => &[],
        }
    };
    replace_first(token, rules, |stem| measure(stem) > 1);
}

/// Step 5a.
fn final_e(token: &mut Vec<u8>) {
    if let [stem @ .., b'e'] = token.as_slice() {
        let measure = measure(stem);
        if measure > 1 || (measure == 1 && !is_short(stem)) {
            token.pop();
        }
    }
}

/// Apply the first rule whose ending fits; if the stem fails the condition, no other is tried.
fn replace_first(token: &mut Vec<u8>, rules: impl Fn(u8) -> &'static [Rule], condition: impl Fn(&[u8]) -> bool) {
    let [.., penultimate, _] = token.as_slice() else { return };
    if let Some((ending, output)) = rules(*penultimate).iter().find(|(ending, _)| ends(token, ending))
        && condition(&token[..token.len() - ending.len()])
    {
        replace(token, ending.len(), output);
    }
}

fn replace(token: &mut Vec<u8>, cut: usize, output: &[u8]) {
    token.truncate(token.len() - cut);
    token.extend_from_slice(output);
}

/// True if the ending fits and leaves a stem.
fn ends(token: &[u8], ending: &[u8]) -> bool {
    token.len() > ending.len() && token.ends_with(ending)
}

/// True if a byte is a vowel; `y` is one after a consonant.
fn is_vowel(byte: u8, after_consonant: bool) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u') || (after_consonant && byte == b'y')
}

/// Porter's m, the number of times a vowel is followed by a consonant; counted to 2.
fn measure(stem: &[u8]) -> usize {
    let (mut consonant, mut changes) = (false, 0);
    let mut seen_vowel = false;
    for &byte in stem {
        consonant = !is_vowel(byte, consonant);
        if !consonant {
            seen_vowel = true;
        } else if seen_vowel {
            (changes, seen_vowel) = (changes + 1, false);
            if changes == 2 {
                break;
            }
        }
    }
    changes
}

fn is_measured(stem: &[u8]) -> bool {
    measure(stem) > 0
}

fn holds_vowel(stem: &[u8]) -> bool {
    stem.iter().enumerate().any(|(i, &byte)| is_vowel(byte, i > 0))
}

/// Porter's *o: it ends consonant, vowel, consonant, the last not w, x or y.
fn is_short(stem: &[u8]) -> bool {
    if matches!(stem.last(), None | Some(b'w' | b'x' | b'y')) {
        return false;
    }
    let (mut consonant, mut kinds) = (false, 0_u8);
    for &byte in stem {
        consonant = !is_vowel(byte, consonant);
        kinds = (kinds << 1) | u8::from(consonant);
    }
    kinds & 0b111 == 0b101
}

#[cfg(test)]
mod tests {
    fn stem(token: &str) -> Vec<u8> {
        let mut token = token.as_bytes().to_vec();
        super::stem(&mut token);
        token
    }

    #[test]
    fn stems() {
        let pairs = [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("ties", "ti"),
            ("ies", "ie"),
            ("cats", "cat"),
            ("agreed", "agre"),
            ("feed", "feed"),
            ("plastered", "plaster"),
            ("hopping", "hop"),
            ("filing", "file"),
            ("conflated", "conflat"),
            ("sky", "sky"),
            ("happy", "happi"),
            ("relational", "relat"),
            ("analogi", "analog"),
            ("adoption", "adopt"),
            ("controll", "control"),
            ("be", "be"),
            ("s", "s"),
        ];
        for (word, wanted) in pairs {
            assert_eq!(String::from_utf8_lossy(&stem(word)), wanted, "{word}");
        }
    }

    #[test]
    fn bytes_of_other_scripts_are_consonants() {
        assert_eq!(stem("aッed"), [b'a', 0xe3, 0x83]);
        assert_eq!(stem("привет"), "привет".as_bytes());
    }

    #[test]
    fn long_tokens_stay() {
        let long = "a".repeat(62) + "ing";
        assert_eq!(stem(&long), long.as_bytes());
        assert_eq!(stem(&long[1..]), &long.as_bytes()[1..62]);
    }
}
