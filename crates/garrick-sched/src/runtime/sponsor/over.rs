//! Waiting with a time limit until the threads of a sponsor (a group of workers) have exited.
//! Joining a thread does not support a time limit.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Count of the threads that have not exited yet.
pub(super) struct Over {
    left: Mutex<usize>,
    none: Condvar,
}

impl Over {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            left: Mutex::new(threads),
            none: Condvar::new(),
        }
    }

    fn left(&self) -> MutexGuard<'_, usize> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a thread that is about to start. The calling thread must already be counted.
    pub(super) fn expect(&self) {
        *self.left() += 1;
    }

    /// Counts a thread as exited.
    pub(super) fn count(&self) {
        let mut left = self.left();
        *left -= 1;
        if *left == 0 {
            self.none.notify_all();
        }
    }

    /// Waits until all threads have exited. Returns false if this takes longer than `limit`.
    pub(super) fn wait(&self, limit: Duration) -> bool {
        // A limit beyond the range of the clock means no limit.
        let deadline = Instant::now().checked_add(limit);
        let mut left = self.left();
        while *left > 0 {
            left = match deadline {
                None => self.none.wait(left).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let now = Instant::now();
                    if now >= deadline {
                        return false;
                    }
                    let waited = self.none.wait_timeout(left, deadline - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }
}
