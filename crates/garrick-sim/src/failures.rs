//! A list of failures that the simulation has not caused itself. The simulation checks the list
//! after each step.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A list of failures, oldest first.
#[derive(Debug)]
pub(crate) struct Failures<T> {
    /// True if the list is not empty. Written only while the list is locked.
    are_any: AtomicBool,
    list: Mutex<Vec<T>>,
}

impl<T> Default for Failures<T> {
    fn default() -> Self {
        Self {
            are_any: AtomicBool::new(false),
            list: Mutex::default(),
        }
    }
}

impl<T> Failures<T> {
    fn list(&self) -> MutexGuard<'_, Vec<T>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, failure: T) {
        let mut list = self.list();
        list.push(failure);
        self.are_any.store(true, Relaxed);
    }

    #[inline]
    pub(crate) fn are_any(&self) -> bool {
        self.are_any.load(Relaxed)
    }

    /// Removes and returns all failures.
    pub(crate) fn take(&self) -> Vec<T> {
        let mut list = self.list();
        self.are_any.store(false, Relaxed);
        std::mem::take(&mut *list)
    }
}
