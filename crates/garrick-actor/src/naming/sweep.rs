//! A schedule for the removal of stopped actors from a list that does not watch its actors.

/// Minimum length of a list that is swept. Stopped actors are not removed from a shorter list.
const LEN_MIN: usize = 32;

/// A schedule for the sweeps of a list. A sweep removes all actors that have stopped. A sweep is
/// due when the length of the list has doubled since the last sweep.
///
/// So the list never grows beyond twice its length after the last sweep, or beyond [`LEN_MIN`]
/// entries if that is more. The amortized cost of sweeping is constant for each entry.
#[derive(Debug)]
pub(super) struct Sweep {
    due_at: usize,
}

impl Default for Sweep {
    fn default() -> Self {
        Self { due_at: LEN_MIN }
    }
}

impl Sweep {
    /// Returns true if a list of length `len` needs a sweep before an entry is added. A sweep
    /// removes the stopped actors from the list.
    pub(super) fn is_due(&self, len: usize) -> bool {
        len >= self.due_at
    }

    /// Records that the stopped actors were removed from the list. `len` is the new length of the
    /// list.
    pub(super) fn done(&mut self, len: usize) {
        self.due_at = LEN_MIN.max(2 * len);
    }
}
