//! The schedule for removing stopped actors from a list that gets no notices.

/// Length below which a list is not worth a search.
const LEN_MIN: usize = 32;

/// Schedules the sweeps of a list: whenever its length has doubled. So the list holds, besides
/// [`LEN_MIN`] entries, at most as many stopped actors as there were others. Sweeping costs each
/// entry a constant.
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
    /// Returns true if a list of this length is to be swept before it grows.
    pub(super) fn is_due(&self, len: usize) -> bool {
        len >= self.due_at
    }

    /// Records that the list was swept, and has this length now.
    pub(super) fn done(&mut self, len: usize) {
        self.due_at = LEN_MIN.max(2 * len);
    }
}
