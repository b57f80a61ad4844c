//! The waiting of both sides, which is the same for every ring.

use std::hint;
use std::thread;

/// Maximum number of spins of a waiting side. After that, it yields its core before each further
/// attempt. If both sides run on separate cores, the other side always makes progress earlier. If
/// they share a core, the other side may be waiting for it.
const SPINS_MAX: u32 = 256;

/// The wait from one success to the next.
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
