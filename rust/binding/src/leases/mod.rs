//! Leases: locks, connections and transactions that must be released, and the gate that a fork shuts.
//!
//! Python may raise between any two of its steps, for an interrupt. A lease is taken and released within one native
//! call, or released when its holder dies: no step of Python lies between.
//!
//! State belongs to the process that made it. A forked child finds every lock free, and forgets what it inherited
//! without running any finaliser: SQLite must neither use nor close in a child what its parent has open.

use std::mem;

use pyo3::prelude::*;

mod gate;
mod lock;
mod read;
mod shared;
mod write;

pub use gate::{open_gate, passed_gate, shut_gate};
pub use lock::{Held, Lock};
pub use read::{ReadTransaction, Readers};
pub use write::WriteTransaction;

/// Keep an object for ever, so that it is never finalised.
#[pyfunction]
pub fn leak(object: Py<PyAny>) {
    mem::forget(object);
}

/// Do what must be done while an object dies; an error that is on its way stays as it is.
fn undisturbed(act: impl FnOnce(Python<'_>)) {
    Python::try_attach(|py| {
        let pending = PyErr::take(py);
        act(py);
        if let Some(pending) = pending {
            pending.restore(py);
        }
    });
}

/// A connection that cannot be closed or rolled back any more was closed before.
fn ignored<T>(py: Python<'_>, result: PyResult<T>) {
    if let Err(fault) = result {
        drop(fault.into_value(py));
    }
}
