//! A word in memory that each worker checks before each activation, to see if anything other than
//! its ready tasks needs attention.

/// State that a worker must check before each activation: two counts and several flags, all in one
/// word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Signal(pub(super) u32);

impl Signal {
    /// Adding this number to the word of a [`Signal`] increments the second count in the word. This
    /// count is the number of threads that have left a worker in the middle of a turn and want to
    /// run this worker again.
    pub(super) const CALLS_BACK: u32 = 1 << 13;
    /// Mask of the first count in the word of a [`Signal`]. This count is the number of idle
    /// workers.
    pub(super) const IDLE: u32 = Self::CALLS_BACK - 1;
    /// Flag that is set while a requested census (a count of waiting messages) of at least one
    /// worker is pending.
    pub(super) const CENSUS: u32 = 1 << 27;
    /// Flag that is set while a worker lends cells to other workers.
    pub(super) const LENT: u32 = 1 << 28;
    /// Flag that is set while there are cells in the shared queue.
    pub(super) const QUEUED: u32 = 1 << 29;
    /// Flag that is set when the workers must stop as soon as there is no more work.
    pub(super) const DRAIN: u32 = 1 << 30;
    /// Flag that is set when the workers must stop now.
    pub(super) const STOP: u32 = 1 << 31;

    /// Maximum values of the two counts in the word of a [`Signal`]. The limits for workers and for
    /// blocking turns must not exceed these values.
    pub(super) const COUNTS_MAX: (usize, usize) = (
        Self::IDLE as usize,
        (Self::CENSUS / Self::CALLS_BACK) as usize - 1,
    );

    /// Returns true if a worker has nothing to do before its next activation: no worker is idle and
    /// no flag is set. A pending census (count of waiting messages) is ignored, because it is
    /// checked for each worker.
    #[inline]
    pub(crate) fn is_quiet(self) -> bool {
        self.0 & !Self::CENSUS == 0
    }

    /// Returns true if workers are idle and nothing else needs attention. A pending census (count
    /// of waiting messages) is ignored, as in [`Signal::is_quiet`].
    #[inline]
    pub(crate) fn has_only_idle(self) -> bool {
        self.0 & !(Self::CENSUS | Self::IDLE) == 0
    }

    /// Returns true if no worker is idle and no flag is set, not even the flag of a pending census
    /// (a count of waiting messages).
    #[inline]
    pub(crate) fn is_silent(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of idle workers.
    pub(crate) fn idle(self) -> u32 {
        self.0 & Self::IDLE
    }

    /// Returns true if a thread that has left a worker in the middle of a turn wants to run this
    /// worker again.
    pub(crate) fn calls_back(self) -> bool {
        self.0 & (Self::CENSUS - Self::CALLS_BACK) != 0
    }

    /// Returns true if a worker lends cells to others. The caller may then help that worker.
    pub(crate) fn is_lent(self) -> bool {
        self.0 & Self::LENT != 0
    }

    /// Returns true if a requested census (a count of waiting messages) of at least one worker is
    /// pending.
    pub(super) fn wants_census(self) -> bool {
        self.0 & Self::CENSUS != 0
    }

    pub(crate) fn is_queued(self) -> bool {
        self.0 & Self::QUEUED != 0
    }

    pub(crate) fn is_draining(self) -> bool {
        self.0 & Self::DRAIN != 0
    }

    pub(crate) fn is_stopping(self) -> bool {
        self.0 & Self::STOP != 0
    }
}
