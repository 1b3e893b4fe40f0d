//! Locks that are free again when their holder dies.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::gate::Pass;
use super::shared::{Shared, locked, me, seconds};

#[derive(Default)]
struct Owner {
    thread: u64,
    depth: usize,
}

/// A lock that is free again when what `hold` returned is released, or dies.
#[pyclass(frozen)]
pub struct Lock {
    state: Mutex<Arc<Shared<Owner>>>,
    gated: bool,
    again: bool,
    handed_on: bool,
}

impl Lock {
    pub fn held(&self, py: Python<'_>, timeout: Option<Duration>) -> PyResult<Option<Hold>> {
        let (state, thread) = (Shared::of_this_process(&mut locked(&self.state)), me());
        let taken = state.wait(py, timeout, |owner, _| {
            let own = !self.handed_on && owner.depth > 0 && owner.thread == thread;
            if own && !self.again {
                return Some(false);
            }
            (own || owner.depth == 0).then(|| {
                (owner.thread, owner.depth) = (thread, owner.depth + 1);
                true
            })
        })?;
        match taken {
            None => Ok(None),
            Some(false) => Err(PyRuntimeError::new_err(
                "this thread is in the middle of a change, as a signal handler may be: try again when it is done",
            )),
            Some(true) => {
                let mut hold = Hold { state, pass: None };
                if self.gated {
                    hold.pass = Some(Pass::enter(py)?);
                }
                Ok(Some(hold))
            }
        }
    }
}

#[pymethods]
impl Lock {
    #[new]
    #[pyo3(signature = (*, gated = false, again = false, handed_on = false))]
    fn new(gated: bool, again: bool, handed_on: bool) -> Self {
        Self { state: Mutex::new(Shared::new()), gated, again, handed_on }
    }

    /// Wait for the lock; None after the timeout.
    #[pyo3(signature = (timeout_s = None))]
    fn hold(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<Option<Held>> {
        let timeout = timeout_s.map(seconds).transpose()?;
        Ok(self.held(py, timeout)?.map(|hold| Held(Mutex::new(Some(hold)))))
    }

    /// True if any thread holds it.
    #[getter]
    fn held_by_any(&self) -> bool {
        let state = Shared::of_this_process(&mut locked(&self.state));
        locked(&state.inner).depth > 0
    }

    /// True if this thread holds it.
    #[getter]
    fn mine(&self) -> bool {
        let state = Shared::of_this_process(&mut locked(&self.state));
        let owner = locked(&state.inner);
        owner.depth > 0 && owner.thread == me()
    }
}

pub struct Hold {
    state: Arc<Shared<Owner>>,
    pass: Option<Pass>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.pass = None;
        if self.state.is_ours() {
            let mut owner = locked(&self.state.inner);
            owner.depth -= 1;
            if owner.depth == 0 {
                self.state.changed.notify_one();
            }
        }
    }
}

/// A lock that is held.
#[pyclass(frozen)]
pub struct Held(Mutex<Option<Hold>>);

#[pymethods]
impl Held {
    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_fault))]
    fn __exit__(&self, _fault: &Bound<'_, PyTuple>) {
        self.release();
    }

    /// Give the lock back; once is enough.
    fn release(&self) {
        drop(locked(&self.0).take());
    }
}
