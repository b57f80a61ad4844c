//! Waiting of both sides, the same for every ring.

use std::hint;
use std::thread;

/// Maximum number of spins of a waiting side, before it yields its core at each further attempt. On
/// separate cores, the other side has always made progress before that. On shared cores, the other
/// side may have lost its core.
const SPINS_MAX: u32 = 256;

/// Wait from one success to the next.
#[derive(Debug, Default)]
pub(super) struct Wait {
    /// Number of failed attempts.
    spins: u32,
}

impl Wait {
    /// Lets a moment pass before the next look.
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
