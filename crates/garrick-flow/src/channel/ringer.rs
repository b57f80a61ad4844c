//! A waker that makes a stage take a step.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use std::task::{Wake, Waker};

use super::line::{Line, Side};

/// A waker for a future in a stage. The waker makes the stage take a step, by ringing the bell (the
/// wake-up flag) at an end of a channel, and records that the future was woken.
pub(crate) struct Ringer {
    /// The channel whose bell (wake-up flag) the waker rings.
    line: Arc<Line>,
    /// The channel end that belongs to the stage.
    side: Side,
    /// True if the future must be polled: it was woken after its last poll, or was never polled.
    /// Set by the thread that wakes the future, and reset by the stage.
    roused: AtomicBool,
}

impl Ringer {
    /// Creates the `Ringer` of a future that has not been polled yet, and the waker that uses it.
    pub(crate) fn new(line: &Arc<Line>, side: Side) -> (Arc<Self>, Waker) {
        let ringer = Arc::new(Self {
            line: Arc::clone(line),
            side,
            roused: AtomicBool::new(true),
        });
        (Arc::clone(&ringer), Waker::from(ringer))
    }

    /// Returns true if the future must be polled: it was woken after the last call to this method,
    /// or was never polled.
    pub(crate) fn take(&self) -> bool {
        // Acquire: pairs with the Release in `wake_by_ref`; the future sees what it was woken for.
        self.roused.swap(false, Acquire)
    }

    /// Marks the ringer as woken, for a new future that has not been polled yet.
    pub(crate) fn rouse(&self) {
        // Release: as in `wake_by_ref`.
        self.roused.store(true, Release);
    }
}

impl Wake for Ringer {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Release: pairs with the Acquire in `take`. It comes before the bell, so that the stage
        // that answers the bell finds it.
        self.roused.store(true, Release);
        self.line.ring(self.side);
    }
}
