//! When to look for those who have stopped, where nobody is told.

/// Entries below which a list is not worth a search.
const LEN_MIN: usize = 32;

/// Says when a list is to be swept: whenever it has doubled. So it holds, beside [`LEN_MIN`] entries, at most as
/// many of the stopped as there were of the others, and sweeping costs each entry a constant.
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
    /// Whether a list of this length is to be swept before it grows.
    pub(super) fn is_due(&self, len: usize) -> bool {
        len >= self.due_at
    }

    /// It has been, and this many are left.
    pub(super) fn done(&mut self, len: usize) {
        self.due_at = LEN_MIN.max(2 * len);
    }
}
