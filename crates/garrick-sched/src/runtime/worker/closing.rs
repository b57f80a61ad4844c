//! The progress of a worker that closes its cells (tasks), because its sponsor stops.

use super::Worker;

/// Progress of a worker in closing its cells, because the sponsor stops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The worker has not begun to close its cells.
    No,
    /// The worker has closed the cells that it can close now. It cannot close a cell yet if a turn
    /// of the cell is away (it blocks while the worker runs other cells), if a turn waits for a
    /// decision about its commit, or if another worker runs the cell because this worker has lent
    /// it.
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
