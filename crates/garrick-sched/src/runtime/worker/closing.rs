//! The progress of a worker that closes its cells (tasks), because its sponsor stops.

use super::Worker;

/// Progress of a worker in closing its cells, because the sponsor stops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The worker has not begun to close its cells.
    No,
    /// The worker has closed the cells that it can close. Turns of other cells are away, or wait
    /// for a decision about their commit, or other workers run lent cells of this worker.
    Partly,
    /// The worker has closed all its cells. Cells and messages that still come are dropped.
    All,
}

impl Worker {
    /// Returns true if the worker has begun to close its cells, because the sponsor stops.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.get() != Closing::No
    }
}
