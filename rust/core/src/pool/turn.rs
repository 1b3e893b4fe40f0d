//! Turns: hardly more threads do long work at once than there are cores.
//!
//! Many more would take the cores from each other, and from the one thread that holds the interpreter's lock, for which
//! all others wait. One more keeps a core busy while the next thread wakes.

use std::sync::{Condvar, Mutex, PoisonError};

use super::{Pool, cores};

/// The number of threads at work, in one process.
#[derive(Default)]
pub(super) struct Turns {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// The right to work, until it is dropped.
pub(crate) struct Turn<'a> {
    turns: Option<&'a Turns>,
    alone: bool,
}

/// Wait until a core is free, or will be soon. A thread with a turn must not take another, nor the interpreter's lock.
pub(crate) fn turn() -> Turn<'static> {
    Pool::here().map_or(Turn { turns: None, alone: true }, |pool| pool.turns.take(cores() + 1))
}

impl Turns {
    fn take(&self, most: usize) -> Turn<'_> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken >= most {
            taken = self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += 1;
        Turn { turns: Some(self), alone: *taken == 1 }
    }
}

impl Turn<'_> {
    /// The threads that the work may use: one while others work too; None leaves the number open.
    pub(crate) fn threads(&self) -> Option<usize> {
        (!self.alone).then_some(1)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(turns) = self.turns {
            *turns.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            turns.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn no_more_threads_work_at_once_than_have_turns_and_every_one_gets_its_own() {
        for most in [1, 2, 3] {
            let (turns, working, done) = (Turns::default(), AtomicUsize::new(0), AtomicUsize::new(0));
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        for _ in 0..50 {
                            let _turn = turns.take(most);
                            assert!(working.fetch_add(1, Ordering::SeqCst) < most);
                            thread::yield_now();
                            working.fetch_sub(1, Ordering::SeqCst);
                            done.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                }
            });
            assert_eq!((done.into_inner(), *turns.taken.lock().unwrap()), (400, 0));
        }
    }

    #[test]
    fn only_who_works_alone_may_use_more_threads() {
        let turns = Turns::default();
        let first = turns.take(2);
        assert_eq!(first.threads(), None);
        assert_eq!(turns.take(2).threads(), Some(1));
        drop(first);
        assert_eq!(turns.take(2).threads(), None);
    }

    #[test]
    fn a_panic_gives_the_turn_back() {
        let turns = Turns::default();
        let fails = || {
            let _turn = turns.take(1);
            panic!("seen");
        };
        assert!(catch_unwind(AssertUnwindSafe(fails)).is_err());
        assert_eq!(turns.take(1).threads(), None);
    }
}
