//! Long texts cut into windows: where a text may be cut, and which of these places are taken.
//!
//! `breaks` lists every place with how good it is, `pack` chooses among them. A caller that knows the structure of a
//! text, such as its headings, may raise the strength of breaks between the two steps. `redact` masks secrets.

mod breaks;
mod pack;
mod redact;
#[cfg(test)]
mod tests;

pub use breaks::{Break, Strength, WORD, breaks};
pub use pack::{Window, pack};
pub use redact::{Check, MASKED, Mask, Redactor};

/// Cut a text into windows of at most so many words (at least 1) that cover it.
pub fn windows(text: &str, words: usize) -> Vec<Window> {
    pack(text, breaks(text), words)
}
