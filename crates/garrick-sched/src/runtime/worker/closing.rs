//! The progress of a worker that closes its cells (tasks), because its sponsor stops.

use super::Worker;

/// Progress of a worker in closing its cells, because the sponsor stops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The worker has not begun to close its cells.
    No,
    /// The worker waits for some of its cells. If turns of these cells are away (they block while
    /// the worker runs other cells) or wait for a decision about their commit, the worker has
    /// closed all other cells. If another worker runs cells that this worker has lent, this worker
    /// has closed no cell yet.
    Partly,
    /// The worker has closed all its cells. Cells and messages that arrive later are dropped.
    All,
}

impl Worker {
    /// Returns true if the worker has begun to close its cells, because the sponsor stops.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.get() != Closing::No
    }
}
