//! Places of threads. They show whether a woken thread can run in parallel with the waking thread.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use garrick_core::park::current_core;

thread_local! {
    /// Number of this thread, which no other thread has.
    static THREAD: u32 = {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        NEXT.fetch_add(1, Relaxed)
    };
}

/// Returns the number of the calling thread, which is not 0.
pub(crate) fn thread() -> u32 {
    THREAD.with(|thread| *thread)
}

/// A thread on a core: the thread's number in the upper half, and the core's number plus 1 in the
/// lower half. A lower half of 0 stands for an unknown core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Place {
    /// Returns the current place of the calling thread. The thread may move at any time, so use the
    /// result for guesses only.
    pub(crate) fn here() -> Self {
        Self::new(thread(), current_core())
    }

    fn new(thread: u32, core: Option<u32>) -> Self {
        let core = core.map_or(0, |core| core.wrapping_add(1));
        Self(u64::from(thread) << 32 | u64::from(core))
    }

    fn core(self) -> u32 {
        self.0 as u32
    }

    /// Returns true if the places are two threads on one core, so that only one of them can run at
    /// a time.
    pub(crate) fn competes_with(self, other: Self) -> bool {
        self.core() != 0 && self.core() == other.core() && self != other
    }
}

/// The place where a stage rested last. Written by the stage before it rests, and read by the stage
/// that wakes it.
#[derive(Debug, Default)]
pub(crate) struct LastPlace(AtomicU64);

impl LastPlace {
    /// Records that the calling thread is about to rest.
    pub(crate) fn set_here(&self) {
        // Relaxed, here and below: it only determines whether a wake-up is sent at once or held
        // back.
        self.0.store(Place::here().0, Relaxed);
    }

    /// Returns the place that was last recorded.
    pub(crate) fn get(&self) -> Place {
        Place(self.0.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_on_one_core_compete() {
        let place = Place::new(1, Some(0));
        assert!(place.competes_with(Place::new(2, Some(0))));
        assert!(!place.competes_with(Place::new(2, Some(1))));
        assert!(!place.competes_with(place), "a thread goes on by itself");
    }

    #[test]
    fn who_has_never_rested_competes_with_nobody() {
        let nowhere = LastPlace::default().get();
        assert!(!nowhere.competes_with(Place::here()));
        assert!(!Place::new(1, None).competes_with(Place::new(2, None)));
    }
}
