//! How both sides wait, whatever the ring.

use std::hint;
use std::thread;

/// How often who waits looks, spinning, before it yields its core at each further look. On cores of their own, both sides have always
/// moved before that; where others want the cores too, the other side may have lost its one.
const SPINS_MAX: u32 = 256;

/// A wait, from one success to the next.
#[derive(Debug, Default)]
pub(super) struct Wait {
    /// Looks in vain.
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
