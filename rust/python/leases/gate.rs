//! The gate before SQLite, which a fork shuts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::prelude::*;

use super::shared::{Shared, Takers, locked, me, seconds};

/// While a fork waits, so long do those wait that want in: whoever is inside may need them to come out.
const PATIENCE: Duration = Duration::from_millis(200);

/// Who uses SQLite in this process, and the thread that is about to fork.
#[derive(Default)]
struct Gate {
    inside: Takers,
    forking: Option<u64>,
    /// Nobody else is inside, and nobody may come in.
    shut: bool,
}

fn gate() -> Arc<Shared<Gate>> {
    static GATE: Mutex<Option<Arc<Shared<Gate>>>> = Mutex::new(None);
    Shared::of_this_process(locked(&GATE).get_or_insert_with(Shared::new))
}

/// A thread's leave to use SQLite, until it is dropped.
pub struct Pass {
    gate: Arc<Shared<Gate>>,
    thread: u64,
}

impl Pass {
    pub fn enter(py: Python<'_>) -> PyResult<Self> {
        let (gate, thread) = (gate(), me());
        gate.wait(py, None, |state, waited| {
            let free = match state.forking {
                None => true,
                Some(forking) if forking == thread => true,
                _ => !state.shut && (waited >= PATIENCE || state.inside.0.iter().any(|taker| taker.0 == thread)),
            };
            free.then(|| state.inside.take(thread))
        })?;
        Ok(Self { gate, thread })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.gate.is_ours() {
            let mut state = locked(&self.gate.inner);
            state.inside.leave(self.thread);
            if state.forking.is_some() {
                self.gate.changed.notify_all();
            }
        }
    }
}

/// Before a fork: let no other thread begin to use SQLite, and say whether none is left that does.
#[pyfunction]
pub fn shut_gate(py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
    let (gate, thread) = (gate(), me());
    let timeout = Some(seconds(timeout_s)?);
    let waited = gate.wait(py, timeout, |state, _| {
        if state.forking.is_some_and(|other| other != thread) {
            return None;
        }
        state.forking = Some(thread);
        state.shut = !state.inside.any_but(thread);
        state.shut.then_some(())
    });
    if waited.is_err() {
        open_gate();
    }
    Ok(waited?.is_some())
}

/// After a fork, in the parent: let other threads in again.
#[pyfunction]
pub fn open_gate() {
    let (gate, thread) = (gate(), me());
    let mut state = locked(&gate.inner);
    if state.forking == Some(thread) {
        (state.forking, state.shut) = (None, false);
        gate.changed.notify_all();
    }
}
