//! State that threads of one process wait for.

use std::mem;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Waiting threads look so often whether a signal has come.
const TICK: Duration = Duration::from_millis(50);

/// A number of this thread, which no other thread of the process has.
pub fn me() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static OWN: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    // No number is left only while the thread ends; then it takes nothing any more.
    OWN.try_with(|own| *own).unwrap_or(0)
}

pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that threads wait for, in the process that made it.
pub struct Shared<T> {
    process: u32,
    pub inner: Mutex<T>,
    pub changed: Condvar,
}

impl<T: Default + Send> Shared<T> {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { process: process::id(), inner: Mutex::default(), changed: Condvar::new() })
    }

    pub fn is_ours(&self) -> bool {
        self.process == process::id()
    }

    /// The state of this process: in a forked child a new one, since a thread that is not there may have held the old.
    pub fn of_this_process(place: &mut Arc<Self>) -> Arc<Self> {
        if !place.is_ours() {
            mem::forget(mem::replace(place, Self::new()));
        }
        Arc::clone(place)
    }

    /// Try after every change until it succeeds; None after the timeout.
    pub fn wait<R>(
        &self,
        py: Python<'_>,
        timeout: Option<Duration>,
        mut attempt: impl FnMut(&mut T, Duration) -> Option<R>,
    ) -> PyResult<Option<R>> {
        let mut begun: Option<Instant> = None;
        loop {
            // The clock is read only by those who wait.
            let waited = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
            if let Some(results) = attempt(&mut locked(&self.inner), waited) {
                return Ok(Some(results));
            }
            begun.get_or_insert_with(Instant::now);
            let left = timeout.map_or(TICK, |timeout| timeout.saturating_sub(waited));
            if left.is_zero() {
                return Ok(None);
            }
            // A change in between is seen a tick later.
            py.detach(|| drop(self.changed.wait_timeout(locked(&self.inner), left.min(TICK))));
            py.check_signals()?;
        }
    }
}

/// Number of leases that each thread holds.
#[derive(Default)]
pub struct Takers(pub Vec<(u64, usize)>);

impl Takers {
    pub fn take(&mut self, thread: u64) {
        match self.0.iter_mut().find(|taker| taker.0 == thread) {
            Some(taker) => taker.1 += 1,
            None => self.0.push((thread, 1)),
        }
    }

    pub fn leave(&mut self, thread: u64) {
        if let Some(at) = self.0.iter().position(|taker| taker.0 == thread) {
            self.0[at].1 -= 1;
            if self.0[at].1 == 0 {
                self.0.swap_remove(at);
            }
        }
    }

    pub fn any_but(&self, thread: u64) -> bool {
        self.0.iter().any(|taker| taker.0 != thread)
    }
}

pub fn seconds(input: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(input.min(1e9)).map_err(|fault| PyValueError::new_err(format!("{input} s: {fault}")))
}
