//! The census: each worker counts the messages in its mailboxes, and gets the labels of tasks.

use super::Worker;
use crate::cell::{CellPtr, Kind};
use crate::parcel;
use crate::probe::{CENSUS_MAX, Looked, Mailbox};
use crate::quiet;
use crate::run_queue::RunQueue;
use crate::runtime::current;
use crate::runtime::trail::Trail;
use crate::world::Nanos;

impl Worker {
    /// Returns the time. If `wants_label` is true, also returns the label of the task that is about
    /// to run on this worker. `wants_label` must be false if the task is in use.
    #[inline(never)]
    pub(crate) fn look_at(&self, cell: CellPtr, wants_label: bool) -> Looked {
        // First, so that the time of the label is not counted as a time of the task.
        let label = wants_label.then(|| label(cell)).flatten();
        Looked {
            now: self.now(),
            has_asked: wants_label,
            label,
        }
    }

    /// Takes a census: counts the messages in the mailboxes of this worker's tasks. Called between
    /// two activations.
    #[cold]
    #[inline(never)]
    pub(super) fn take_census(&self) {
        self.end_loan();
        if self.remote.ready.has_some() {
            self.take_ready();
        }
        // No visitor may read a mailbox while this worker counts. A task that has recovered just
        // now may have counted as running.
        self.end_loan();
        // A label is foreign code, which may wait for a task of the other seat.
        self.let_others();
        let now = self.now();
        let queues = [&self.old, &self.born];
        let ready = queues.iter().map(|queue| queue.len()).sum::<usize>();
        let ready = ready + usize::from(self.handoff.cell().is_some());
        let is_whole = queues.iter().all(|queue| queue.len() <= CENSUS_MAX);
        self.lane.take_census(now, is_whole, ready, |count| {
            let mut add = |cell: CellPtr, in_entry: bool, weight: usize| {
                let (first, len) = cell.mailbox_range();
                let mailbox = Mailbox {
                    first,
                    end: first.wrapping_add(len),
                    waiting: (len + usize::from(in_entry)) as u64,
                    oldest: oldest_wait(cell),
                };
                let label = || label(cell);
                count.add(cell.id(), cell.table(), mailbox, weight as u64, label);
            };
            for queue in queues {
                some_of(queue, now as usize, &mut add);
            }
            if let Some(cell) = self.handoff.cell() {
                add(cell, true, 1);
            }
        });
        self.shared.census_taken();
    }

    /// Pushes a cell to the end of the run queue, because its activation has not handled all of its
    /// messages.
    pub(crate) fn requeue_rest(&self, cell: CellPtr) {
        if self.lane.counts() {
            let left = cell.mailbox_range();
            let label = || label(cell);
            self.lane.left_waiting(cell.table(), cell.id(), left, label);
        }
        self.requeue(cell);
        if self.lane.counts() {
            self.look_after();
        }
    }
}

/// Calls `add` for at most [`CENSUS_MAX`] entries of a queue, at equal distances. `seed` selects
/// the first entry. The arguments of `add` are the cell of the entry, a flag that is true if the
/// entry contains a message, and the distance between two of the selected entries.
fn some_of(queue: &RunQueue, seed: usize, mut add: impl FnMut(CellPtr, bool, usize)) {
    let distance = queue.len().div_ceil(CENSUS_MAX).max(1);
    let mut index = seed % distance;
    while let Some(entry) = queue.nth(index) {
        // The reference to the entry must end here, because the code of a label may send.
        let (cell, in_entry) = (entry.cell(), !entry.message().is_null());
        add(cell, in_entry, distance);
        index += distance;
    }
}

/// Returns the time for which the oldest measured message in a mailbox of this worker has waited.
/// Checks only the first messages of the mailbox, but more of them if the mailbox is long. Returns
/// 0 if none of these messages is measured.
fn oldest_wait(cell: CellPtr) -> Nanos {
    const SHORT: usize = 16;
    let tail = cell.mailbox_tail();
    let limit = if cell.mailbox_len() > SHORT { 64 } else { 4 };
    let mut at = tail;
    for _ in 0..limit {
        if at.is_null() {
            break;
        }
        // SAFETY: the local mailbox is ours and circular, and its envelopes are alive.
        let envelope = unsafe {
            at = (*at).next();
            &*at
        };
        if envelope.kind() == Kind::Trail {
            // SAFETY: a note in a mailbox is sealed, and contains a trail.
            let waited = unsafe {
                let place = parcel::place::<Trail>(at, 0);
                parcel::look_at(place, Trail::waited)
            };
            if let Some(waited) = waited {
                return waited;
            }
        }
        if at == tail {
            break;
        }
    }
    0
}

/// Returns the label of a task of this worker. The task must not be in use.
///
/// The task's function for the label is foreign code. If it sends messages, they are sent as if
/// another thread had sent them. So they do not change the queues of this worker, from which the
/// caller may have taken a message.
pub(super) fn label(cell: CellPtr) -> Option<String> {
    current::leave(false, || {
        // SAFETY: the cell is ours, and runs nothing at the moment.
        quiet::call(|| unsafe { (cell.table().label)(cell) }).unwrap_or_default()
    })
}
