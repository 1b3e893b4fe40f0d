//! Files cut into chunks.

use std::fmt::Write;

use pyo3::prelude::*;
use septet_core::Error;
use septet_core::text::{self, Budget, Chunk, Mention, Outline, Variant};
use sha2::{Digest, Sha256};

use super::count;
use super::errors::{Raised, Result};

/// Maximum bytes of all chunks together, unless `MOST_TIMES` their text is more.
const MOST_BYTES: usize = 64 << 20;
const MOST_TIMES: usize = 16;

/// Text, first line, last line, SHA-256.
type Cut = (String, usize, usize, String);
/// A chunk of a document, which of the heading paths it is under (-1: none), and its mentions.
type Part = (String, usize, usize, i64, Vec<(String, String, &'static str)>);

/// Cut a text into chunks of whole lines.
#[pyfunction]
#[pyo3(signature = (text, tokens, overlap, variant, most_bytes=0))]
pub(super) fn chunk_markdown(
    py: Python<'_>,
    text: &str,
    tokens: i64,
    overlap: i64,
    variant: &str,
    most_bytes: i64,
) -> Result<Vec<Cut>> {
    let most_bytes = count("most_bytes", most_bytes)?;
    let (budget, variant) = settings(tokens, overlap, variant)?;
    py.detach(|| {
        let mut results = Vec::new();
        for chunk in chunks(text, budget, variant)? {
            let Chunk { text, first_line, last_line, .. } = chunk;
            if most_bytes == 0 || text.len() <= most_bytes {
                let hash = sha256(&text);
                results.push((text, first_line, last_line, hash));
                continue;
            }
            let pieces = text::split_bytes(&text, most_bytes).into_iter();
            results.extend(pieces.map(|piece| (piece.to_owned(), first_line, last_line, sha256(piece))));
        }
        Ok(results)
    })
}

/// Cut a document into chunks, with the headings that lead to each and what each mentions; blank ones are left out.
#[pyfunction]
pub(super) fn document_chunks(
    py: Python<'_>,
    text: &str,
    tokens: i64,
    overlap: i64,
    variant: &str,
    markup: &str,
) -> Result<(Vec<Vec<String>>, Vec<Part>)> {
    let (budget, variant) = settings(tokens, overlap, variant)?;
    let outline: fn(&str) -> Outline = match markup {
        "markdown" => text::markdown,
        "rst" => text::restructured,
        "plain" => |_| Outline::default(),
        _ => return Err(unknown("markup", "markdown, rst, plain", markup)),
    };
    py.detach(|| {
        let outline = outline(text);
        let mut paths: Vec<Vec<String>> = Vec::new();
        let mut last = None;
        let mut parts = Vec::new();
        for chunk in chunks(text, budget, variant)? {
            let own = &text[chunk.own_start..chunk.end];
            let Some(word) = own.find(is_ink).or_else(|| chunk.text.find(is_ink).map(|_| 0)) else { continue };
            let heading = outline.heading_at(chunk.own_start + word);
            if heading.is_some() && heading != last {
                let path = heading.map(|heading| outline.path(heading)).unwrap_or_default();
                paths.push(path.into_iter().map(str::to_owned).collect());
                last = heading;
            }
            let path = if heading.is_some() { paths.len() as i64 - 1 } else { -1 };
            let mentions = outline.mentions_between(chunk.own_start, chunk.end).iter().map(|mention| {
                let Mention { target, anchor, wiki, .. } = mention.clone();
                (target, anchor, if wiki { "wiki" } else { "link" })
            });
            let mentions = mentions.collect();
            parts.push((chunk.text, chunk.first_line, chunk.last_line, path, mentions));
        }
        Ok((paths, parts))
    })
}

/// Cut a text into pieces of at most `most` bytes of UTF-8.
#[pyfunction]
pub(super) fn split_utf8(py: Python<'_>, text: &str, most_bytes: i64) -> Result<Vec<String>> {
    let most_bytes = count("most_bytes", most_bytes)?;
    Ok(py.detach(|| text::split_bytes(text, most_bytes).into_iter().map(str::to_owned).collect()))
}

fn settings(tokens: i64, overlap: i64, variant: &str) -> Result<(Budget, Variant)> {
    let variant = match variant {
        "capped" => Variant::Capped,
        "literal" => Variant::Literal,
        "entries" => Variant::Entries,
        _ => return Err(unknown("variant", "capped, literal, entries", variant)),
    };
    Ok((Budget::of_tokens(count("tokens", tokens)?, count("overlap", overlap)?), variant))
}

fn chunks(text: &str, budget: Budget, variant: Variant) -> Result<Vec<Chunk>> {
    let most = MOST_BYTES.max(text.len().saturating_mul(MOST_TIMES));
    text::chunks(text, budget, variant, most).ok_or_else(|| {
        let wanted = "so small beside tokens that chunks together have at most 16 times the text";
        Error::Parameter { what: "overlap", wanted, got: most as f64 }.into()
    })
}

fn unknown(what: &'static str, wanted: &str, got: &str) -> Raised {
    Error::Name { what, wanted: wanted.to_owned(), got: got.to_owned() }.into()
}

fn is_ink(c: char) -> bool {
    !c.is_whitespace() && c != '\u{feff}'
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a String does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
