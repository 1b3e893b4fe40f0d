//! A few threads that sleep until work is worth sharing: the one pool of the process.
//!
//! No thread waits for a helper: a job must be complete when its owner has run it, whatever the helpers did. So a
//! helper that wakes late finds nothing to do, and a helper that loses its core delays no other thread.

mod fold;
mod turn;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;

pub(crate) use fold::fold;
pub(crate) use turn::turn;

/// Helpers that are never exceeded, whatever a caller asks for.
const MOST_HELPERS: usize = 63;
/// Forks of forks that still get helpers.
const MOST_FORKS: usize = 64;

/// Work that several threads may run at once.
pub(crate) trait Job: Send + Sync {
    /// Take pieces of the work until none is left.
    fn run(&self);
}

/// The threads of one process. Threads do not survive a fork, so a child makes its own; it never touches its parent's,
/// whose locks may have been held when it forked.
struct Pool {
    process: u32,
    shared: Arc<Shared>,
    helpers: Mutex<usize>,
    turns: turn::Turns,
}

#[derive(Default)]
struct Shared {
    jobs: Mutex<VecDeque<Arc<dyn Job>>>,
    ready: Condvar,
}

static POOLS: [OnceLock<Pool>; MOST_FORKS] = [const { OnceLock::new() }; MOST_FORKS];

/// Run a job on this thread, and on up to `helpers` more if they come in time.
pub(crate) fn run(job: &Arc<impl Job + 'static>, helpers: usize) {
    run_with(job, helpers, || job.run());
}

/// As [`run`], where this thread does its part in a way of its own, with what it alone may touch.
pub(crate) fn run_with(job: &Arc<impl Job + 'static>, helpers: usize, own: impl FnOnce()) {
    let pool = if helpers > 0 { Pool::here() } else { None };
    let Some(pool) = pool else { return own() };
    let shared = Arc::clone(job) as Arc<dyn Job>;
    pool.offer(&shared, helpers.min(MOST_HELPERS));
    own();
    pool.withdraw(&shared);
}

/// The default number of threads of long work.
pub(crate) fn cores() -> usize {
    // Reading the limits of a container costs some files, so it is done once.
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

impl Pool {
    fn here() -> Option<&'static Pool> {
        let process = std::process::id();
        POOLS
            .iter()
            .map(|slot| {
                slot.get_or_init(|| Self {
                    process,
                    shared: Arc::default(),
                    helpers: Mutex::new(0),
                    turns: turn::Turns::default(),
                })
            })
            .find(|pool| pool.process == process)
    }

    fn offer(&self, job: &Arc<dyn Job>, helpers: usize) {
        self.grow(helpers);
        let mut jobs = self.shared.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.extend((0..helpers).map(|_| Arc::clone(job)));
        drop(jobs);
        for _ in 0..helpers {
            self.shared.ready.notify_one();
        }
    }

    /// Take back what no helper has begun, so that a finished job holds no memory.
    fn withdraw(&self, job: &Arc<dyn Job>) {
        self.shared
            .jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|other| !std::ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(job)));
    }

    /// Start threads until there are as many as wanted; a system that gives none leaves the work to the caller.
    fn grow(&self, wanted: usize) {
        let mut helpers = self.helpers.lock().unwrap_or_else(PoisonError::into_inner);
        while *helpers < wanted {
            let shared = Arc::clone(&self.shared);
            let name = format!("septet-{}", *helpers);
            if thread::Builder::new().name(name).spawn(move || shared.help()).is_err() {
                return;
            }
            *helpers += 1;
        }
    }
}

impl Shared {
    fn help(&self) {
        loop {
            let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            let job = loop {
                match jobs.pop_front() {
                    Some(job) => break job,
                    None => jobs = self.ready.wait(jobs).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(jobs);
            // The owner finishes what a helper could not, and meets the same panic where it can be reported.
            let _ = catch_unwind(AssertUnwindSafe(|| job.run()));
        }
    }
}
