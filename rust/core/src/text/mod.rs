//! Long texts cut: into windows for a model, and files into chunks with their lines, headings and links.
//!
//! `breaks` lists every place with how good it is, `pack` chooses among them. A caller that knows the structure of a
//! text, such as its headings, may raise the strength of breaks between the two steps. `redact` masks secrets.

mod breaks;
#[cfg(test)]
mod chunk_tests;
mod chunks;
mod costs;
mod edits;
mod needles;
mod otherwise;
mod outline;
mod pack;
mod redact;
#[cfg(test)]
mod tests;
mod underlined;

pub use breaks::{Break, Strength, WORD, breaks};
pub use chunks::{Budget, Chunk, Variant, chunks, split_bytes};
pub use edits::Masked;
pub use outline::{Heading, Mention, Outline, markdown};
pub use pack::{Window, pack};
pub use redact::{Check, MASKED, Mask, Redactor};
pub use underlined::restructured;

/// Cut a text into windows of at most `words` words (at least 1) that cover it.
pub fn windows(text: &str, words: usize) -> Vec<Window> {
    pack(text, breaks(text), words)
}
