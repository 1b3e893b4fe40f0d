//! The files below a folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use septet_core::Error;
use septet_core::walk::{self, Globs, Wanted, shown};

use super::errors::Result;

/// A path as text, and as the system has it where that is something else.
type Shown = (String, Option<OsString>);
type File = (String, Option<OsString>, u64, i64, bool);
type Walked = (Vec<File>, Vec<Shown>, Vec<Shown>, Vec<(String, &'static str, String)>, BTreeMap<String, u64>);

/// Look at everything below a folder.
#[pyfunction]
#[pyo3(signature = (folder, *, prefix="", within=Vec::new(), endings=Vec::new(), any_case=false, sessions=false, hidden=false, ignore_files=Vec::new(), include=Vec::new(), exclude=Vec::new(), pattern=None))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of the caller's")]
pub(super) fn walk_folder(
    py: Python<'_>,
    folder: PathBuf,
    prefix: &str,
    within: Vec<PathBuf>,
    endings: Vec<String>,
    any_case: bool,
    sessions: bool,
    hidden: bool,
    ignore_files: Vec<String>,
    include: Vec<String>,
    exclude: Vec<String>,
    pattern: Option<&str>,
) -> Result<Walked> {
    let wanted = Wanted {
        prefix: PathBuf::from(prefix),
        within,
        endings,
        any_case,
        sessions,
        hidden,
        ignore_files,
        include: globs(&include)?,
        exclude: globs(&exclude)?,
        pattern: globs(pattern.as_slice())?,
    };
    Ok(py.detach(|| {
        let results = walk::walk(&folder, wanted);
        let files = results.files.into_iter().map(|file| {
            let (path, raw) = shown(&file.path);
            (path, raw, file.size, file.mtime_ns, file.session)
        });
        let problems = results.problems.into_iter().map(|one| (shown(&one.path).0, one.reason.name(), one.detail));
        (
            files.collect(),
            results.links.iter().map(|path| shown(path)).collect(),
            results.folders.iter().map(|path| shown(path)).collect(),
            problems.collect(),
            results.others,
        )
    }))
}

/// Raise unless all of these are globs in the syntax of gitignore.
#[pyfunction]
pub(super) fn check_globs(globs: Vec<String>) -> Result<()> {
    self::globs(&globs).map(drop)
}

/// The text that stands for a path, as `walk_folder` makes it, and the path where that is something else.
#[pyfunction]
pub(super) fn shown_path(path: PathBuf) -> Shown {
    shown(&path)
}

fn globs(globs: &[impl AsRef<str>]) -> Result<Globs> {
    Globs::new(globs.iter().map(AsRef::as_ref))
        .map_err(|(at, fault)| Error::Glob { glob: globs[at].as_ref().to_owned(), reason: fault }.into())
}
