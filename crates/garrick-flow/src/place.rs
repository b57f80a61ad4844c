//! Places: pairs of a thread and a core. A comparison of two places shows whether a sleeping
//! thread, after it is woken, can run in parallel with the thread that wakes it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use garrick_core::park::current_core;

thread_local! {
    /// Unique id of the current thread.
    static THREAD: u32 = {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        NEXT.fetch_add(1, Relaxed)
    };
}

/// Returns the unique id of the calling thread. The id is never 0.
pub(crate) fn thread() -> u32 {
    THREAD.with(|thread| *thread)
}

/// A thread and the core that it runs on. The upper half is the thread's id, and the lower half is
/// the index of the core plus 1, or 0 if the core is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Place {
    /// Returns the calling thread and its current core. The thread may move to another core at any
    /// time, so use the result for guesses only.
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

    /// Returns true if the places are two different threads on the same core, so that only one of
    /// the threads can run at a time.
    pub(crate) fn competes_with(self, other: Self) -> bool {
        self.core() != 0 && self.core() == other.core() && self != other
    }
}

/// The thread and core on which a stage last went to sleep. Written by the stage before it sleeps,
/// and read by the stage that wakes it.
#[derive(Debug, Default)]
pub(crate) struct LastPlace(AtomicU64);

impl LastPlace {
    /// Records the calling thread and its core, because a stage on this thread is about to sleep.
    pub(crate) fn set_here(&self) {
        // Relaxed, here and below: it only determines whether a wake-up is sent at once or held
        // back.
        self.0.store(Place::here().0, Relaxed);
    }

    /// Returns the thread and core that were last recorded.
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
