//! Reads: connections that are lent, and the transactions on them.

use std::mem;
use std::process;
use std::sync::{Arc, Mutex};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::gate::Pass;
use super::lock::{Hold, Lock};
use super::shared::{Shared, Takers, locked, me, seconds};
use super::{ignored, undisturbed};

#[derive(Default)]
struct Lending {
    idle: Vec<Py<PyAny>>,
    out: Takers,
    closed: bool,
}

/// The connections of a store that reads borrow, one each.
#[pyclass(frozen)]
pub struct Readers {
    state: Arc<Shared<Lending>>,
    most_idle: usize,
}

#[pymethods]
impl Readers {
    #[new]
    fn new(most_idle: usize) -> Self {
        Self { state: Shared::new(), most_idle }
    }

    /// Begin a read on an idle connection, or on one that `connect` makes; None after `close`.
    fn begin(
        &self,
        py: Python<'_>,
        connect: &Bound<'_, PyAny>,
        question: &str,
        make: &Bound<'_, PyAny>,
        faults: Py<PyAny>,
    ) -> PyResult<Option<ReadTransaction>> {
        let pass = Pass::enter(py)?;
        let thread = me();
        let idle = {
            let mut state = locked(&self.state.inner);
            if state.closed {
                return Ok(None);
            }
            state.out.take(thread);
            state.idle.pop()
        };
        let mut loan =
            Loan { from: Arc::clone(&self.state), most_idle: self.most_idle, thread, out: Out::new(pass, false) };
        let connection = idle.map_or_else(|| Ok(connect.call0()?.unbind()), PyResult::Ok)?;
        let reading = loan.out.ask(connection.into_bound(py), question, make)?;
        Ok(Some(ReadTransaction { source: Mutex::new(Some(Source::Loan(loan))), reading, faults }))
    }

    /// The number of threads that read.
    #[getter]
    fn out(&self) -> usize {
        locked(&self.state.inner).out.0.len()
    }

    /// The number of idle connections.
    #[getter]
    fn idle(&self) -> usize {
        locked(&self.state.inner).idle.len()
    }

    /// Let no read begin any more, wait until other threads have ended theirs, and close idle connections.
    fn close(&self, py: Python<'_>, wait_s: f64) -> PyResult<()> {
        locked(&self.state.inner).closed = true;
        let thread = me();
        self.state.wait(py, Some(seconds(wait_s)?), |state, _| (!state.out.any_but(thread)).then_some(()))?;
        self.close_idle(py)
    }

    /// Close the idle connections.
    fn close_idle(&self, py: Python<'_>) -> PyResult<()> {
        loop {
            let Some(connection) = locked(&self.state.inner).idle.pop() else { return Ok(()) };
            connection.call_method0(py, intern!(py, "close"))?;
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        if !self.state.is_ours() {
            // Neither the lock, which a thread that is not here may hold, nor the connections may be touched.
            mem::forget(Arc::clone(&self.state));
        }
    }
}

/// A connection with the statement that keeps its read transaction open; a forked child has a copy of one in memory.
struct Out {
    process: u32,
    copied: bool,
    connection: Option<Py<PyAny>>,
    lasting: Option<Py<PyAny>>,
    pass: Option<Pass>,
}

impl Out {
    fn new(pass: Pass, copied: bool) -> Self {
        Self { process: process::id(), copied, connection: None, lasting: None, pass: Some(pass) }
    }

    /// Begin a read: ask a question whose answer has more rows than the one that is taken, so that it lasts.
    fn ask(&mut self, connection: Bound<'_, PyAny>, question: &str, make: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = connection.py();
        self.connection = Some(connection.clone().unbind());
        let cursor = connection.call_method1(intern!(py, "execute"), (question,))?;
        self.lasting = Some(cursor.clone().unbind());
        let row = cursor.call_method0(intern!(py, "fetchone"))?;
        let Ok(row) = row.cast_into::<PyTuple>() else {
            let error = py.import("sqlite3")?.getattr("DatabaseError")?;
            return Err(PyErr::from_value(error.call1(("malformed: the file does not say its generation",))?));
        };
        let values = [connection].into_iter().chain(row.iter());
        Ok(make.call1(PyTuple::new(py, values.collect::<Vec<_>>())?)?.unbind())
    }

    /// End the transaction; None in a forked child, where nothing is touched, and after the first time.
    fn end(&mut self, py: Python<'_>) -> Option<Py<PyAny>> {
        let (connection, lasting) = (self.connection.take(), self.lasting.take());
        if !self.copied && self.process != process::id() {
            mem::forget((connection, lasting));
            return None;
        }
        if let Some(lasting) = lasting {
            ignored(py, lasting.call_method0(py, intern!(py, "close")));
        }
        connection
    }
}

/// A connection that was lent.
struct Loan {
    from: Arc<Shared<Lending>>,
    most_idle: usize,
    thread: u64,
    out: Out,
}

impl Loan {
    /// Take the connection back; close it, if a statement may be left open in a frame that an error keeps.
    fn end(&mut self, py: Python<'_>, clean: bool) {
        let connection = self.out.end(py);
        if self.out.pass.is_none() || !self.from.is_ours() {
            return;
        }
        let late = self.out.pass.as_ref().is_some_and(Pass::is_late);
        let over = {
            let mut state = locked(&self.from.inner);
            state.out.leave(self.thread);
            self.from.changed.notify_all();
            if clean && !late && !state.closed && state.idle.len() < self.most_idle {
                state.idle.extend(connection);
                None
            } else {
                connection
            }
        };
        if let Some(connection) = over {
            ignored(py, connection.call_method0(py, intern!(py, "close")));
        }
        if let Some(mut pass) = self.out.pass.take() {
            pass.leaves_nothing();
        }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        undisturbed(|py| self.end(py, false));
    }
}

/// A read of a store in memory: its connection is the writer's, so readers and the writer take turns.
struct Turn {
    out: Out,
    hold: Option<Hold>,
}

impl Turn {
    fn end(&mut self, py: Python<'_>) {
        if self.out.end(py).is_some() {
            self.out.pass = None;
            self.hold = None;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        undisturbed(|py| self.end(py));
    }
}

enum Source {
    Loan(Loan),
    Turn(Turn),
}

/// A read transaction until it is ended, at the latest when nothing refers to it any more.
#[pyclass(frozen)]
pub struct ReadTransaction {
    source: Mutex<Option<Source>>,
    #[pyo3(get)]
    reading: Py<PyAny>,
    faults: Py<PyAny>,
}

impl ReadTransaction {
    fn finish(&self, py: Python<'_>, clean: bool) {
        let source = locked(&self.source).take();
        match source {
            Some(Source::Loan(mut loan)) => loan.end(py, clean),
            Some(Source::Turn(mut turn)) => turn.end(py),
            None => {}
        }
    }
}

#[pymethods]
impl ReadTransaction {
    /// Begin a read on the connection of a writer, whose turn it then is.
    #[staticmethod]
    fn of_writer(
        lock: &Lock,
        opened: &Bound<'_, PyAny>,
        question: &str,
        make: &Bound<'_, PyAny>,
        faults: Py<PyAny>,
    ) -> PyResult<Self> {
        let py = opened.py();
        let hold = lock.held(py, None)?;
        let mut turn = Turn { out: Out::new(Pass::enter(py)?, true), hold };
        let reading = turn.out.ask(opened.call0()?, question, make)?;
        Ok(Self { source: Mutex::new(Some(Source::Turn(turn))), reading, faults })
    }

    /// Give the connection back.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        // While an error is on its way, frames that it keeps may hold statements that are not at their end.
        let handled = py.import(intern!(py, "sys"))?.call_method0(intern!(py, "exc_info"))?;
        self.finish(py, handled.get_item(1)?.is_none());
        Ok(())
    }

    fn __enter__(&self, py: Python<'_>) -> Py<PyAny> {
        self.reading.clone_ref(py)
    }

    #[pyo3(signature = (*fault))]
    fn __exit__(&self, py: Python<'_>, fault: &Bound<'_, PyTuple>) -> PyResult<()> {
        let clean = fault.iter().all(|one| one.is_none());
        self.finish(py, clean);
        if !clean {
            self.faults.call1(py, fault)?;
        }
        Ok(())
    }
}
