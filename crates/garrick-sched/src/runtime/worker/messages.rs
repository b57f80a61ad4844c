//! The worker's part in the counts by kind of message: it gets the kind of a message before the
//! turn that handles it.

use super::Worker;
use crate::cell::{CellPtr, Slot};
use crate::quiet;
use crate::runtime::current;

impl Worker {
    /// If turns are measured, begins to measure the turn that handles the message in `slot`. Does
    /// nothing if `slot` is null, or if the task must start first.
    ///
    /// # Safety
    /// The slot is null, or contains a message for the cell.
    #[inline]
    pub(crate) unsafe fn measure_slot(&self, cell: CellPtr, slot: *const Slot) {
        let Some(gauge) = self.lane.gauge().filter(|_| !slot.is_null()) else {
            return;
        };
        let table = cell.table();
        if table.starts && cell.state().is_newborn() {
            return;
        }
        let kind = || {
            // SAFETY: by contract. Messages that the function sends do not change the queues of
            // this worker.
            kind_of(|| unsafe { (table.kind_in_slot)(slot) })
        };
        gauge.turns_begin(1, self.turns(), || self.now(), kind);
    }

    /// Ends the measurement of the last turn. Returns the number of turns that may pass before the
    /// next call of [`Worker::measure_turns`].
    #[inline]
    pub(crate) fn end_measured(&self) -> u32 {
        self.lane.gauge().map_or(u32::MAX, |gauge| {
            gauge.turn_ends(self.turns(), || self.now());
            u32::try_from(gauge.turns_max()).unwrap_or(u32::MAX)
        })
    }

    /// Begins to measure the first of the next `count` turns, if it was selected. `kind` returns
    /// the kind of its message, which no other code of this worker accesses meanwhile.
    #[inline]
    pub(crate) fn measure_turns(&self, count: u32, kind: impl FnOnce() -> usize) {
        if let Some(gauge) = self.lane.gauge() {
            let kind = || kind_of(kind);
            gauge.turns_begin(u64::from(count), self.turns(), || self.now(), kind);
        }
    }
}

/// Calls the function that returns the kind of a message, which is foreign code. Returns an index
/// without a name if it panics.
///
/// Messages that the function sends are sent as from another thread. So they do not change the
/// queues and mailboxes of the worker, from one of which the message was not yet taken.
fn kind_of(kind: impl FnOnce() -> usize) -> usize {
    current::leave(false, || quiet::call(kind).unwrap_or(usize::MAX))
}
