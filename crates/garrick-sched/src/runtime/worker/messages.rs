//! Support for counts by kind of message: a worker asks for the kind of a message before the turn
//! that handles the message.

use super::Worker;
use crate::cell::{CellPtr, Slot};
use crate::quiet;
use crate::runtime::current;

impl Worker {
    /// Begins to measure the turn that handles the message in `slot`, if turns are measured. Does
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

    /// Ends the measurement of the turn that has just ended. Returns the maximum number of turns
    /// before the next call to [`Worker::measure_turns`].
    #[inline]
    pub(crate) fn end_measured(&self) -> u32 {
        self.lane.gauge().map_or(u32::MAX, |gauge| {
            gauge.turn_ends(self.turns(), || self.now());
            u32::try_from(gauge.turns_max()).unwrap_or(u32::MAX)
        })
    }

    /// If the first of the next `count` turns was selected as a sample, begins to measure this
    /// turn. `kind` returns the kind of the turn's message. During the call to `kind`, no other
    /// code of this worker accesses the message.
    #[inline]
    pub(crate) fn measure_turns(&self, count: u32, kind: impl FnOnce() -> usize) {
        if let Some(gauge) = self.lane.gauge() {
            let kind = || kind_of(kind);
            gauge.turns_begin(u64::from(count), self.turns(), || self.now(), kind);
        }
    }
}

/// Calls `kind`, a function that returns the kind of a message. The function is foreign code. If it
/// panics, returns an index without a name.
///
/// If the function sends messages, they are sent as if another thread had sent them. So they do not
/// change the queues and mailboxes of the worker, one of which still contains the message.
fn kind_of(kind: impl FnOnce() -> usize) -> usize {
    current::leave(false, || quiet::call(kind).unwrap_or(usize::MAX))
}
