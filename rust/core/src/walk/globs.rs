//! Globs in the syntax of gitignore: `*.md` anywhere, `/a/*.md` below the root, `a/` a folder, `!` takes back.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// A list of globs, of which the last that matches a path decides.
#[derive(Clone, Debug)]
pub struct Globs(Gitignore);

impl Default for Globs {
    fn default() -> Self {
        Self(Gitignore::empty())
    }
}

impl Globs {
    /// Read globs.
    ///
    /// # Errors
    ///
    /// One that is no glob: its place, and what is wrong with it.
    pub fn new<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<Self, (usize, String)> {
        let mut builder = GitignoreBuilder::new("");
        for (at, glob) in globs.into_iter().enumerate() {
            if glob.trim().is_empty() || glob.starts_with('#') {
                return Err((at, "it is empty, or begins with #; write \\# for the sign itself".to_owned()));
            }
            builder.add_line(None, glob).map_err(|fault| (at, fault.to_string()))?;
        }
        Ok(Self(builder.build().map_err(|fault| (0, fault.to_string()))?))
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if a path matches; the folders above it do not count.
    pub(super) fn matches(&self, path: &Path, is_folder: bool) -> bool {
        self.0.matched(path, is_folder).is_ignore()
    }

    /// True if a file matches, or a folder above it.
    pub(super) fn matches_below(&self, path: &Path) -> bool {
        !path.has_root() && self.0.matched_path_or_any_parents(path, false).is_ignore()
    }

    /// True if a folder matches, or one above it.
    pub(super) fn matches_folder_or_above(&self, path: &Path) -> bool {
        !path.has_root() && self.0.matched_path_or_any_parents(path, true).is_ignore()
    }
}
