//! Answers of a worker to threads that ask for the state of its tasks.

use super::Worker;
use super::census::label;
use crate::cell::CellPtr;
use crate::runtime::look::{Seen, Standing};

impl Worker {
    /// Returns the state of a task of this worker. Called between two activations, while no cells
    /// are lent to other workers.
    ///
    /// If the cell is scheduled, the call searches all ready cells, because the message with which
    /// the cell was scheduled is in one of the run queues.
    #[cold]
    pub(super) fn see(&self, cell: CellPtr) -> Seen {
        let is_scheduled = cell.state().is_scheduled();
        let entry = if is_scheduled {
            self.message_in_entry(cell)
        } else {
            Some(false)
        };
        let waiting = cell.mailbox_len() + usize::from(entry == Some(true));
        let standing = match entry {
            // A scheduled cell that is in no queue belongs to a turn that has left this worker.
            None => Standing::Aside,
            Some(_) if is_scheduled || waiting > 0 => Standing::Ready,
            Some(_) => Standing::Idle,
        };
        let is_in_use = self.is_running(cell) || standing == Standing::Aside;
        Seen {
            waiting: Some(waiting as u64),
            standing,
            label: (!is_in_use).then(|| label(cell)).flatten(),
        }
    }

    /// Returns true if the run queue entry of a scheduled cell contains a message, and false if
    /// not. Returns `None` if the cell has no entry.
    fn message_in_entry(&self, cell: CellPtr) -> Option<bool> {
        if self.handoff.cell() == Some(cell) {
            return Some(true);
        }
        if let Some(entry) = self.in_hand.get().filter(|entry| entry.cell() == cell) {
            return Some(!entry.message().is_null());
        }
        [&self.old, &self.born].into_iter().find_map(|queue| {
            let mut entries = (0..queue.len()).filter_map(|index| queue.nth(index));
            let entry = entries.find(|entry| entry.cell() == cell)?;
            Some(!entry.message().is_null())
        })
    }
}
