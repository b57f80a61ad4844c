//! The way in which the sender and the receiver wait. It is the same for every ring.

use std::hint;
use std::thread;

/// Maximum number of spins of a thread that waits for the other one. After this number of spins,
/// the thread yields its core before each further attempt. If the two threads run on separate
/// cores, the other thread makes progress before this number of spins is reached. If they share a
/// core, the other thread may be waiting for this core.
const SPINS_MAX: u32 = 256;

/// A wait in which a thread repeatedly attempts to send or to receive.
#[derive(Debug, Default)]
pub(super) struct Wait {
    /// Number of failed attempts since the last successful one.
    spins: u32,
}

impl Wait {
    /// Waits a moment before the next attempt.
    #[inline]
    pub(super) fn moment(&mut self) {
        if self.spins < SPINS_MAX {
            self.spins += 1;
            hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }

    /// Ends the wait after a successful attempt.
    #[inline]
    pub(super) fn end(&mut self) {
        self.spins = 0;
    }
}
