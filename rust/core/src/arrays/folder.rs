//! A folder that goes with a test.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

static MADE: AtomicUsize = AtomicUsize::new(0);

/// An empty folder, removed with all that is in it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("septet-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where a file may lie in it that no other takes the place of: what is mapped can be neither written nor removed
    /// on Windows.
    pub(crate) fn another(&self) -> PathBuf {
        self.file(&MADE.fetch_add(1, Ordering::Relaxed).to_string())
    }

    /// Where a file of that name lies in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}
