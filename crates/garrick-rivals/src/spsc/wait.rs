//! The waiting of both sides, which is the same for every ring.

use std::hint;
use std::thread;

/// Maximum number of spins of a thread that waits for the other one. After that, the thread yields
/// its core before each further attempt. If the two threads run on separate cores, the other thread
/// always makes progress earlier. If they share a core, the other thread may be waiting for this
/// core.
const SPINS_MAX: u32 = 256;

/// The wait of a thread between two successful attempts.
#[derive(Debug, Default)]
pub(super) struct Wait {
    /// Number of failed attempts.
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

    /// Ends the wait.
    #[inline]
    pub(super) fn end(&mut self) {
        self.spins = 0;
    }
}
