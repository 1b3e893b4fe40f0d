//! Index terms beyond SQLite's `unicode61`: pairs for scripts without blanks, folded words, words with their accents, parts
//! of identifiers, and names that signs join (see [`super::names`]).

use rustc_hash::FxHashSet;

use super::fold::fold;
use super::forms::{accented, spell_umlauts, unicode61};
use super::names::{for_each_name, has_signs};
use super::scripts::{Spacing, is_mark, is_word_alone, joins_by_case, stretches};
use super::words::{Run, lower, split};

/// Which side the terms are for.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Index,
    /// A pair finds what its characters would: single characters are only for a search for one.
    Query,
}

/// The sink of a run's terms: forms of the whole word, any of which stands for it, and pieces, which do so together.
trait Sink {
    fn form(&mut self, term: String);
    fn piece(&mut self, term: String);
}

impl Sink for Vec<String> {
    fn form(&mut self, term: String) {
        self.push(term);
    }

    fn piece(&mut self, term: String) {
        self.push(term);
    }
}

/// A word of a query, as an entry may hold it: in one of its forms, or in all of its pieces, if it has any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Needed {
    /// The word in lower case, then spellings of it that are terms of their own.
    pub forms: Vec<String>,
    /// Parts of an identifier, and pairs of characters of scripts without blanks.
    pub pieces: Vec<String>,
}

impl Sink for Needed {
    fn form(&mut self, term: String) {
        self.forms.push(term);
    }

    fn piece(&mut self, term: String) {
        self.pieces.push(term);
    }
}

/// Return the words of a query in their order, each with its other forms and its pieces if `grams` are searched.
pub fn needed(text: &str, grams: bool) -> Vec<Needed> {
    let mut terms = Vec::new();
    split(text, false, |run| {
        let mut word = Needed { forms: vec![lower(run)], pieces: Vec::new() };
        if grams {
            of_run(run, Side::Query, &mut word);
        }
        terms.push(word);
    });
    terms
}

/// Return the extra index terms of a text, repeated as often as they occur: those of its words in text order, then those
/// of its names; empty for plain text.
pub fn grams(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    if may_have_grams(text) {
        split(text, false, |run| of_run(run, Side::Index, &mut terms));
        for_each_name(text, |name| name.terms(|term| terms.push(term)));
    }
    terms
}

/// Call `each` with the place of every word and name of a text that has grams, what stands there, and its grams.
pub fn places_with_grams(text: &str, mut each: impl FnMut(usize, &str, &[String])) {
    let mut terms = Vec::new();
    split(text, false, |run| {
        terms.clear();
        of_run(run, Side::Index, &mut terms);
        if !terms.is_empty() {
            // A run is a part of the text.
            each(run.raw().as_ptr() as usize - text.as_ptr() as usize, run.raw(), &terms);
        }
    });
    for_each_name(text, |name| {
        terms.clear();
        name.terms(|term| terms.push(term));
        if !terms.is_empty() {
            each(name.start(), name.raw(), &terms);
        }
    });
}

/// True if a text holds anything but ASCII words with blanks between them, and without capitals or digits inside.
fn may_have_grams(text: &str) -> bool {
    // Without branches, so that many bytes are looked at at once.
    let inside = |(&before, &now): (&u8, &u8)| {
        (before.is_ascii_alphanumeric() && !now.is_ascii_lowercase() && now.is_ascii_alphanumeric())
            | (before.is_ascii_digit() & now.is_ascii_alphabetic())
    };
    let bytes = text.as_bytes();
    !text.is_ascii()
        || has_signs(bytes)
        || bytes.iter().zip(&bytes[bytes.len().min(1)..]).fold(false, |any, pair| any | inside(pair))
}

/// Return the extra query terms of a text, each once: as [`grams`] without the single characters that a pair covers,
/// without the folded forms of words whose accents are asked for; of names only with `names`, and of none that may be an
/// English compound.
pub fn query_grams(text: &str, names: bool) -> Vec<String> {
    let mut terms = Vec::new();
    split(text, false, |run| of_run(run, Side::Query, &mut terms));
    if names {
        for_each_name(text, |name| {
            if !name.is_compound() {
                name.terms(|term| terms.push(term));
            }
        });
    }
    let mut seen = FxHashSet::default();
    terms.retain(|term| seen.insert(term.clone()));
    terms
}

/// Return the words of a query's names, in lower case.
pub fn words_of_names(text: &str) -> FxHashSet<String> {
    let mut terms = FxHashSet::default();
    for_each_name(text, |name| {
        if !name.is_compound() {
            terms.extend(name.words().map(lower));
        }
    });
    terms
}

fn of_run(run: Run<'_>, side: Side, sink: &mut impl Sink) {
    let text = run.text();
    if run.ascii && !run.joined {
        parts(&text, sink);
        return;
    }
    let folded = fold(&text);
    if folded.is_empty() {
        return; // nothing but Arabic tatweel
    }
    let cut = stretches(&folded);
    if cut.iter().all(|&(class, _)| class == Spacing::Spaced) {
        of_word(&text, folded, run.joined, side, sink);
        return;
    }
    if let [(Spacing::Hangul, word)] = cut[..] {
        // Up to two syllables the word is its own pair, unless SQLite saw it spelled otherwise.
        if word != text {
            sink.form(word.to_owned());
        }
        match (word.chars().count(), side) {
            (2, Side::Query) => {}
            (2, Side::Index) => word.chars().for_each(|c| sink.piece(c.to_string())),
            _ => pairs(word, side, sink),
        }
        return;
    }
    for (class, part) in cut {
        match class {
            Spacing::Spaced => sink.piece(part.to_owned()),
            // A particle behind a word of another script need not be there.
            Spacing::Hangul if side == Side::Query && part.chars().count() == 1 => {}
            Spacing::Hangul | Spacing::Unspaced => pairs(part, side, sink),
        }
    }
}

/// Push every two adjacent characters of a stretch, marks left out as SQLite leaves them out. A lone character stands for
/// itself and, in an index, every Han character, kana and Hangul syllable does.
fn pairs(stretch: &str, side: Side, sink: &mut impl Sink) {
    let letters: Vec<char> = stretch.chars().filter(|&c| !is_mark(c)).collect();
    if let [lone] = &letters[..] {
        sink.piece(lone.to_string());
        return;
    }
    for (i, &c) in letters.iter().enumerate() {
        if side == Side::Index && is_word_alone(c) {
            sink.piece(c.to_string());
        }
        if let Some(&next) = letters.get(i + 1) {
            sink.piece(String::from_iter([c, next]));
        }
    }
}

/// The terms of a word of a script with blanks: its folded form, its form with accents, its German spelling, its parts.
///
/// In Vietnamese da, đa and đã are three words, and SQLite makes two of them one. A query with accents means its own:
/// the form with accents is another term, and đ is not folded once more.
fn of_word(text: &str, folded: String, joined: bool, side: Side, sink: &mut impl Sink) {
    let (spelled, accented, plain) = (spell_umlauts(text), accented(text), unicode61(text));
    let asked_as_it_is = side == Side::Query && accented.is_some() && plain.replace('đ', "d") == folded;
    if (joined || folded != plain) && !asked_as_it_is {
        sink.form(folded);
    }
    accented.into_iter().chain(spelled).for_each(|form| sink.form(form));
    parts(text, sink);
}

/// The class of a character in an identifier.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Upper,
    Lower,
    Other,
    Digit,
}

fn kind(c: char) -> Kind {
    if c.is_lowercase() {
        Kind::Lower
    } else if c.is_uppercase() {
        Kind::Upper
    } else if c.is_numeric() {
        Kind::Digit
    } else {
        Kind::Other
    }
}

/// Push the parts of an identifier, folded, those of at least two characters: `getUserName`, `HTTPServer`, `sha256`.
fn parts(run: &str, sink: &mut impl Sink) {
    let mut letters = run.char_indices().filter(|&(_, c)| !is_mark(c)).peekable();
    let mut before: Option<Kind> = None;
    let mut cuts = Vec::new();
    while let Some((i, c)) = letters.next() {
        let now = kind(c);
        if now != Kind::Digit && !joins_by_case(c) {
            return;
        }
        let next = letters.peek().map(|&(_, c)| kind(c));
        if before.is_some_and(|before| is_boundary(before, now, next)) {
            cuts.push(i);
        }
        before = Some(now);
    }
    if cuts.is_empty() {
        return;
    }
    let mut start = 0;
    for end in cuts.into_iter().chain([run.len()]) {
        let part = &run[start..end];
        if part.chars().filter(|&c| !is_mark(c)).count() >= 2 {
            sink.piece(fold(part));
        }
        start = end;
    }
}

/// True if a part ends between two characters: `rN`, the last `PS` of `HTTPSe`, `a2`, `2a`.
fn is_boundary(before: Kind, now: Kind, next: Option<Kind>) -> bool {
    match (before, now) {
        (Kind::Lower, Kind::Upper) => true,
        (Kind::Upper, Kind::Upper) => next == Some(Kind::Lower),
        (a, b) => (a == Kind::Digit) != (b == Kind::Digit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_has_none() {
        assert!(grams("Plain ASCII text (nothing else), well - and so.").is_empty());
        assert!(grams("Русский текст, हिन्दी में ـــ").is_empty());
    }

    #[test]
    fn unspaced_scripts_give_pairs() {
        assert_eq!(grams("東京都"), ["東", "東京", "京", "京都", "都"]);
        assert_eq!(query_grams("東京都 京都", true), ["東京", "京都"]);
        assert_eq!(grams("水 と"), ["水", "と"]);
        assert_eq!(query_grams("水", true), ["水"]);
        assert_eq!(grams("トークン"), ["ト", "トー", "ーク", "ク", "クン", "ン"]);
        assert_eq!(query_grams("トークン ト", true), ["トー", "ーク", "クン", "ト"]);
        assert_eq!(grams("ｶﾞｷ"), ["ガ", "ガキ", "キ"]);
        assert_eq!(grams("か\u{3099}く"), ["が", "がく", "く"]);
        assert_eq!(grams("กินข้าว"), ["กน", "นข", "ขา", "าว"]);
        assert_eq!(query_grams("第3章ABC", true), ["第", "3", "章", "abc"]);
    }

    #[test]
    fn hangul_gives_pairs_of_longer_words() {
        let whole = ["서", "서울", "울", "울특", "특", "특별", "별", "별시", "시"];
        assert_eq!(grams("서울 서울특별시"), [&["서", "울"][..], &whole].concat());
        assert_eq!(grams("API를 물"), ["api", "를", "물"]);
        assert_eq!(query_grams("서울특별시 서울 물", true), ["서울", "울특", "특별", "별시", "물"]);
        assert_eq!(grams("\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}"), ["한국", "한", "국"]);
    }

    #[test]
    fn what_nobody_sees_parts_no_words() {
        for c in ['\u{ad}', '\u{200d}', '\u{200e}', '\u{2060}', '\u{feff}', '\u{202c}', '\u{fe0f}'] {
            assert_eq!(grams(&format!("data{c}base {c}plain{c}")), ["database"], "{c:?}");
            assert_eq!(grams(&format!("get{c}UserName"))[0], "getusername");
        }
        assert!(grams("data\u{200b}base").is_empty());
    }

    #[test]
    fn words_fold_where_sqlite_does_not() {
        assert_eq!(grams("Đồng Straße"), ["dong", "z111zz1ed3zng", "strasse", "strazdfze"]);
        assert_eq!(grams("łódź ＪＷＴ ﬁne"), ["lodz", "z142zzf3zdz17az", "jwt", "fine"]);
        assert_eq!(grams("Müller"), ["mzfczller", "mueller"]);
        assert_eq!(grams("Mu\u{308}ller Größe"), ["mzfczller", "mueller", "grosse", "grzf6zzdfze", "groesse"]);
        assert_eq!(grams("مُحَمَّد"), ["محمد"]);
        assert_eq!(grams("می\u{200c}خواهم"), ["میخواهم"]);
        assert_eq!(grams("ελληνικά"), ["ελληνικα"]);
        assert_eq!(grams("и\u{306}ога"), ["йога"]);
    }

    #[test]
    fn who_asks_with_accents_asks_for_them() {
        assert_eq!(grams("café naïve"), ["cafze9z", "nazefzve"]);
        assert_eq!(grams("cafe\u{301}"), ["cafze9z"]);
        assert_eq!(query_grams("đã", true), ["z111zze3z"]);
        assert!(query_grams("da", true).is_empty());
        // SQLite folds neither ß nor ł, and texts without them must be found.
        assert_eq!(query_grams("Straße łódź", true), ["strasse", "strazdfze", "lodz", "z142zzf3zdz17az"]);
        assert!(accented("плохой").is_none() && accented("naïveй").is_none());
    }

    #[test]
    fn a_word_may_be_held_in_any_form_or_in_all_its_pieces() {
        let of = |text: &str| {
            let words = needed(text, true).into_iter();
            words.map(|word| (word.forms.join(" "), word.pieces.join(" "))).collect::<Vec<_>>()
        };
        let pair = |forms: &str, pieces: &str| (forms.to_owned(), pieces.to_owned());
        assert_eq!(of("Plain getUserName"), [pair("plain", ""), pair("getusername", "get user name")]);
        assert_eq!(of("Straße"), [pair("straße strasse strazdfze", "")]);
        assert_eq!(of("đã"), [pair("đã z111zze3z", "")]);
        assert_eq!(of("東京都 サーバー"), [pair("東京都", "東京 京都"), pair("サーバー", "サー ーバ バー")]);
        assert_eq!(of("결제를"), [pair("결제를", "결제 제를")]);
        assert_eq!(of("API를"), [pair("api를", "api")]);
        assert_eq!(needed("getUserName", false), [Needed { forms: vec!["getusername".into()], pieces: vec![] }]);
    }

    #[test]
    fn identifiers_have_parts() {
        assert_eq!(grams("getUserName"), ["get", "user", "name"]);
        assert_eq!(grams("HTTPServer parseXMLDoc"), ["http", "server", "parse", "xml", "doc"]);
        assert_eq!(grams("sha256 v2 x86 utf8Text"), ["sha", "256", "86", "utf", "text"]);
        assert_eq!(grams("приветМир"), ["привет", "мир"]);
        assert_eq!(grams("getÜberName"), ["getzfczbername", "getuebername", "get", "uber", "name"]);
        assert!(grams("HTTP Server ok x 12 A1").is_empty());
        assert_eq!(query_grams("userName getUser", true), ["user", "name", "get"]);
    }

    #[test]
    fn names_are_terms_behind_those_of_their_words() {
        assert_eq!(
            grams("snake_case, sha256.hexDigest"),
            ["sha", "256", "hex", "digest", "snakecase", "sha256hexdigest"]
        );
        assert_eq!(query_grams("long-term get_dir get_dir", true), ["getdir"]);
        assert!(query_grams("long-term get_dir", false).is_empty());
    }
}
