//! The paths below a folder, and what the files define.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use septet_core::inventory::{Bounds, Cut, Inventory};
use septet_core::symbols::{self, Asked, Symbols};
use septet_core::walk::shown;

/// A symbol: path, line, name, kind, the line's text, and its score.
type Definition = (String, u32, String, String, String, f64);

/// A folder at one moment. It never changes: to look is to make another.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Repository {
    folder: Arc<PathBuf>,
    bounds: Arc<Bounds>,
    /// None before the first look.
    inventory: Option<Arc<Inventory>>,
    symbols: Symbols,
    /// There was no time to look at all of it.
    late: bool,
}

#[pymethods]
impl Repository {
    #[new]
    fn new(folder: PathBuf, skip: Vec<OsString>, rules: Vec<String>, most: usize) -> Self {
        let bounds = Bounds { skip, ignore_files: rules, most };
        let (folder, bounds) = (Arc::new(folder), Arc::new(bounds));
        Self { folder, bounds, inventory: None, symbols: Symbols::default(), late: false }
    }

    #[pyo3(signature = (timeout_s, most_bytes=0))]
    fn looked(&self, py: Python<'_>, timeout_s: Option<f64>, most_bytes: u64) -> Self {
        let deadline = end_of(timeout_s);
        py.detach(|| {
            let (inventory, mut late) = self.inventory_now(deadline);
            let symbols = if most_bytes > 0 {
                let symbols = Symbols::scan(&inventory, Some(&self.symbols), most_bytes, deadline);
                late |= symbols.left() > 0;
                symbols
            } else {
                self.symbols.clone()
            };
            let (folder, bounds) = (Arc::clone(&self.folder), Arc::clone(&self.bounds));
            Self { folder, bounds, inventory: Some(inventory), symbols, late }
        })
    }

    #[getter]
    fn cut(&self) -> Option<&'static str> {
        let cut = self.inventory.as_ref().and_then(|inventory| inventory.cut());
        match cut {
            _ if self.late => Some("time"),
            Some(Cut::Files) => Some("files"),
            Some(Cut::Time) => Some("time"),
            None => None,
        }
    }

    #[getter]
    fn problems(&self) -> Vec<(String, &'static str, String)> {
        let problems = self.inventory.iter().flat_map(|inventory| inventory.problems());
        problems.map(|one| (shown(&one.path).0, one.reason.name(), one.detail.clone())).collect()
    }

    fn paths(&self, py: Python<'_>, words: Vec<String>, limit: usize) -> Vec<(String, f64)> {
        let Some(inventory) = &self.inventory else { return Vec::new() };
        py.detach(|| {
            let named = |(at, score): (usize, f64)| (inventory.files()[at].shown.to_string(), score);
            inventory.rank(&words, limit).into_iter().map(named).collect()
        })
    }

    fn symbols(&self, py: Python<'_>, words: Vec<String>, names: Vec<String>, limit: usize) -> Vec<Definition> {
        py.detach(|| {
            let results = if words.is_empty() && names.is_empty() {
                (0..self.symbols.len().min(limit)).map(|at| (at, 0.0)).collect()
            } else {
                self.symbols.rank(Asked { words: &words, names: &names }, limit)
            };
            results.into_iter().map(|(at, score)| self.definition(at, score)).collect()
        })
    }
}

impl Repository {
    /// The paths as they are now, and whether there was too little time for that.
    fn inventory_now(&self, deadline: Option<Instant>) -> (Arc<Inventory>, bool) {
        if let Some(known) = self.inventory.as_ref().filter(|known| known.is_current()) {
            return (Arc::clone(known), false);
        }
        let result = Inventory::walk(&self.folder, &self.bounds, deadline);
        let late = result.cut() == Some(Cut::Time);
        match &self.inventory {
            // Part of it is worth less than all of a moment ago.
            Some(known) if late && known.files().len() > result.files().len() => (Arc::clone(known), true),
            _ => (Arc::new(result), late),
        }
    }

    fn definition(&self, at: usize, score: f64) -> Definition {
        let (path, symbol) = self.symbols.at(at);
        let text = |text: &str| text.to_owned();
        (text(path), symbol.line, text(&symbol.name), text(&symbol.kind), text(&symbol.text), score)
    }
}

/// The likeness of a name to each of others, in lower case.
#[pyfunction]
pub(super) fn proximities(py: Python<'_>, name: &str, others: Vec<String>) -> Vec<f64> {
    py.detach(|| others.iter().map(|other| symbols::proximity(name, other)).collect())
}

/// The instant `timeout_s` seconds from now.
fn end_of(timeout_s: Option<f64>) -> Option<Instant> {
    let within = Duration::try_from_secs_f64(timeout_s?.max(0.0)).ok()?;
    Instant::now().checked_add(within)
}
