//! The gate before SQLite, which a fork shuts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::shared::{Shared, Takers, locked, me, seconds};

/// Maximum wait at the gate while a fork waits. A thread inside may need another one to enter before it can leave, and
/// a hook that runs before the fork may wait for a lock that one of them holds.
const PATIENCE: Duration = Duration::from_millis(200);

/// Threads that entered while the gate was shut, and may still use SQLite or have left connections: a copy of
/// `Gate::late` for the child, where a thread of the parent may hold the gate's state.
static LATE: AtomicUsize = AtomicUsize::new(0);

/// The threads that use SQLite in this process, and the thread that is about to fork.
#[derive(Default)]
struct Gate {
    inside: Takers,
    forking: Option<u64>,
    /// Since then no thread is inside but those that entered after `PATIENCE`.
    shut: Option<Instant>,
    late: usize,
    /// Number of times it was shut or opened.
    turns: u64,
}

impl Gate {
    fn turn(&mut self, shut: bool) {
        (self.shut, self.late, self.turns) = (shut.then(Instant::now), 0, self.turns + 1);
        LATE.store(0, Ordering::Relaxed);
    }
}

fn gate() -> Arc<Shared<Gate>> {
    static GATE: Mutex<Option<Arc<Shared<Gate>>>> = Mutex::new(None);
    Shared::of_this_process(locked(&GATE).get_or_insert_with(Shared::new))
}

/// A thread's leave to use SQLite, until it is dropped.
pub struct Pass {
    gate: Arc<Shared<Gate>>,
    thread: u64,
    /// The turn of a shut gate in which it was taken.
    late: Option<u64>,
}

impl Pass {
    pub fn enter(py: Python<'_>) -> PyResult<Self> {
        let (gate, thread) = (gate(), me());
        // Leave is given while attached to the interpreter: a fork holds its lock or, where there is none, has stopped
        // every attached thread between two native calls. So none comes in its middle.
        let late = gate.wait(py, None, |state, waited| {
            let elsewhere = state.forking.is_some_and(|forking| forking != thread);
            // Patience begins again when the gate shuts: the fork, which may be delayed, is about to come.
            let impatient = || state.shut.map_or(waited, |shut| waited.min(shut.elapsed())) >= PATIENCE;
            let free = !elsewhere || impatient() || state.inside.0.iter().any(|taker| taker.0 == thread);
            free.then(|| {
                state.inside.take(thread);
                (elsewhere && state.shut.is_some()).then(|| {
                    state.late += 1;
                    LATE.store(state.late, Ordering::Relaxed);
                    state.turns
                })
            })
        })?;
        Ok(Self { gate, thread, late: late.flatten() })
    }

    /// True if it was taken while the gate was shut, so that the fork will close no connection any more.
    pub fn is_late(&self) -> bool {
        self.late.is_some()
    }

    /// Forget that it was late: it leaves no connection.
    pub fn leaves_nothing(&mut self) {
        if self.gate.is_ours() {
            let mut state = locked(&self.gate.inner);
            if self.late.take() == Some(state.turns) {
                state.late -= 1;
                LATE.store(state.late, Ordering::Relaxed);
            }
        }
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

/// True if a thread entered while the gate was shut, and may still use SQLite or have left connections.
#[pyfunction]
pub fn passed_gate() -> bool {
    LATE.load(Ordering::Relaxed) > 0
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
        let shut = !state.inside.any_but(thread);
        if shut || state.late == 0 {
            state.turn(shut);
        }
        shut.then_some(())
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
        state.forking = None;
        state.turn(false);
        gate.changed.notify_all();
    }
}
