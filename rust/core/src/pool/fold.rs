//! Long work over borrowed data, cut into units.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Job;

/// Work off the units `0..units` on this thread and on up to `threads - 1` helpers; return the state of every thread
/// that came, in no particular order.
///
/// Units are taken in order by whoever is free. A thread begins with `start()` and passes its state through `each` with
/// every unit that it takes. Unlike a search, this waits for helpers: for the one unit each may be in the middle
/// of, so units should be short. A panic of a helper becomes the caller's.
pub(crate) fn fold<S: Send>(
    units: usize,
    threads: usize,
    start: impl Fn() -> S + Sync,
    each: impl Fn(&mut S, usize) + Sync,
) -> Vec<S> {
    let next = AtomicUsize::new(0);
    let states = Mutex::new(Vec::new());
    let work = || {
        let mut unit = next.fetch_add(1, Ordering::Relaxed);
        if unit >= units {
            return;
        }
        let mut state = start();
        while unit < units {
            each(&mut state, unit);
            unit = next.fetch_add(1, Ordering::Relaxed);
        }
        states.lock().unwrap_or_else(PoisonError::into_inner).push(state);
    };
    share(&work, threads.min(units).saturating_sub(1));
    states.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Run `work` here and on helpers, and return when no thread is inside.
fn share(work: &(dyn Fn() + Sync), helpers: usize) {
    if helpers == 0 {
        return work();
    }
    // SAFETY: only the lifetime changes. The reference is followed by this thread, and by helpers between `enter` and
    // `leave`. `Closing` shuts the door and waits until everybody has left before this function returns or unwinds, so
    // the reference is never followed after `work` ends; a helper that comes later finds the door shut.
    let work = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(work) };
    let crew = Arc::new(Crew { work, door: Mutex::new(Door { open: true, ..Door::default() }), left: Condvar::new() });
    let closing = Closing(&crew);
    super::run(&crew, helpers);
    drop(closing);
    let panic = crew.door().panic.take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

struct Crew {
    work: &'static (dyn Fn() + Sync),
    door: Mutex<Door>,
    left: Condvar,
}

#[derive(Default)]
struct Door {
    open: bool,
    /// Threads that run the work.
    inside: usize,
    /// The panic that ended a thread's work.
    panic: Option<Box<dyn Any + Send>>,
}

impl Crew {
    fn door(&self) -> MutexGuard<'_, Door> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self) -> bool {
        let mut door = self.door();
        door.inside += usize::from(door.open);
        door.open
    }

    fn leave(&self, panic: Option<Box<dyn Any + Send>>) {
        let mut door = self.door();
        door.inside -= 1;
        if panic.is_some() {
            door.panic = panic;
        }
        self.left.notify_all();
    }
}

impl Job for Crew {
    fn run(&self) {
        if self.enter() {
            self.leave(catch_unwind(AssertUnwindSafe(self.work)).err());
        }
    }
}

/// Shuts the door when dropped, and waits until everybody has left.
struct Closing<'a>(&'a Crew);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let mut door = self.0.door();
        door.open = false;
        while door.inside > 0 {
            door = self.0.left.wait(door).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_worked_off_once_by_any_number_of_threads() {
        for (units, threads) in [(0, 4), (1, 4), (7, 0), (1_000, 1), (1_000, 2), (1_000, 5), (3, 64)] {
            let states = fold(units, threads, Vec::new, |mine: &mut Vec<usize>, unit| mine.push(unit));
            assert!(states.len() <= threads.max(1));
            let mut all = states.concat();
            all.sort_unstable();
            assert_eq!(all, (0..units).collect::<Vec<_>>());
        }
    }

    #[test]
    fn borrowed_places_are_filled() {
        let mut places = vec![0; 500];
        let parts: Vec<Mutex<&mut [usize]>> = places.chunks_mut(7).map(Mutex::new).collect();
        fold(parts.len(), 3, || (), |_, unit| parts[unit].lock().unwrap().fill(unit));
        assert!(places.iter().enumerate().all(|(at, &unit)| unit == at / 7));
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        for bad in [0, 50, 99] {
            let fails = || fold(100, 3, || (), |_, unit| assert!(unit != bad, "unit {bad}"));
            let caught = catch_unwind(AssertUnwindSafe(fails));
            assert_eq!(caught.unwrap_err().downcast_ref::<String>().unwrap(), &format!("unit {bad}"));
        }
        assert_eq!(fold(9, 3, || 0, |sum, unit| *sum += unit).iter().sum::<usize>(), 36);
    }
}
