//! Writes: transactions that are committed or rolled back as a whole.

use std::mem;
use std::process;
use std::sync::Mutex;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::lock::{Hold, Lock};
use super::shared::locked;
use super::{ignored, undisturbed};

/// A write transaction that is open.
struct Open {
    process: u32,
    copied: bool,
    connection: Py<PyAny>,
    hold: Option<Hold>,
    ended: bool,
}

impl Open {
    /// True if this process may end it: a database in memory is a copy in a forked child, a file is not.
    fn is_ours(&self) -> bool {
        self.copied || self.process == process::id()
    }

    fn execute(&self, py: Python<'_>, statement: &str) -> PyResult<()> {
        self.connection.call_method1(py, intern!(py, "execute"), (statement,)).map(drop)
    }

    fn undo(&mut self, py: Python<'_>) {
        if !mem::replace(&mut self.ended, true) {
            let begun = self.connection.getattr(py, intern!(py, "in_transaction"));
            if begun.is_ok_and(|begun| begun.is_truthy(py).unwrap_or(false)) {
                ignored(py, self.execute(py, "ROLLBACK"));
            }
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        undisturbed(|py| {
            if self.is_ours() {
                self.undo(py);
            } else if !self.ended {
                mem::forget(self.connection.clone_ref(py));
            }
            self.hold = None;
        });
    }
}

/// A write transaction: committed when its block ends, rolled back when that fails, or nothing refers to it any more.
#[pyclass(frozen)]
pub struct WriteTransaction {
    open: Mutex<Option<Open>>,
    lock: Py<Lock>,
    opened: Py<PyAny>,
    begun: Py<PyAny>,
    committed: Py<PyAny>,
    faults: Py<PyAny>,
    in_memory: bool,
}

impl WriteTransaction {
    fn begin(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let hold = self.lock.get().held(py, None)?;
        let connection = self.opened.call0(py)?;
        let mut open = Open { process: process::id(), copied: self.in_memory, connection, hold, ended: true };
        open.execute(py, "BEGIN IMMEDIATE")?;
        open.ended = false;
        let value = self.begun.call1(py, (&open.connection,))?;
        *locked(&self.open) = Some(open);
        Ok(value)
    }

    fn end(&self, py: Python<'_>, commit: bool) -> PyResult<()> {
        let Some(mut open) = locked(&self.open).take() else { return Ok(()) };
        if !open.is_ours() {
            // The transaction is the parent's. Opening the file once more says what is wrong with it here.
            return if commit { self.opened.call0(py).map(drop) } else { Ok(()) };
        }
        if commit {
            open.execute(py, "COMMIT")?;
            open.ended = true;
            self.committed.call0(py)?;
        } else {
            open.undo(py);
        }
        Ok(())
    }

    /// Raise an error as the store's own, if it is one that the store knows.
    fn told<T>(&self, py: Python<'_>, result: PyResult<T>) -> PyResult<T> {
        result.or_else(|fault| {
            self.faults.call1(py, (fault.get_type(py), fault.value(py), fault.traceback(py)))?;
            Err(fault)
        })
    }
}

#[pymethods]
impl WriteTransaction {
    #[new]
    fn new(
        lock: Py<Lock>,
        opened: Py<PyAny>,
        begun: Py<PyAny>,
        committed: Py<PyAny>,
        faults: Py<PyAny>,
        in_memory: bool,
    ) -> Self {
        Self { open: Mutex::new(None), lock, opened, begun, committed, faults, in_memory }
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.told(py, self.begin(py))
    }

    #[pyo3(signature = (*fault))]
    fn __exit__(&self, py: Python<'_>, fault: &Bound<'_, PyTuple>) -> PyResult<()> {
        let clean = fault.iter().all(|one| one.is_none());
        self.told(py, self.end(py, clean))?;
        if !clean {
            self.faults.call1(py, fault)?;
        }
        Ok(())
    }
}
