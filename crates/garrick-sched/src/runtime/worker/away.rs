//! Turns that leave their worker in order to block, and come back.
//!
//! While a turn is away, another thread may run other cells (tasks) of the worker. So the staged
//! effects of the turn are first taken back, as in an undo, and kept as chains. After the turn has
//! come back, it sends its messages like a thread of another sponsor, through the inboxes. So these
//! messages do not overtake the ones that were kept. While the turn is away, its cell is marked as
//! scheduled. So the cell is not run, given away, freed or closed, and new messages wait in its
//! mailbox. `sponsor/away.rs` has the other steps.

use std::collections::HashSet;
use std::ptr::{self, NonNull};

use super::asked::{Asked, Part};
use super::{Limits, Worker};
use crate::cell::{CellPtr, Envelope, Home, Slot};
use crate::runtime::sponsor::away::Permission;
use crate::runtime::stage::Cut;
use crate::runtime::trail::Trail;

/// State of a turn that is away from its worker (it blocks), or that waits for a decision about its
/// commit.
pub(crate) struct Journey {
    cell: CellPtr,
    /// True if the cell was scheduled when the turn left the worker, because the activation was
    /// handling the mailbox.
    was_scheduled: bool,
    /// Staged effects of the turn.
    pub(super) part: Part,
    /// Permission for the activation to leave its worker. This field and the following ones are
    /// used to restore the activation.
    permit: Permission,
    limits: Limits,
    pub(super) held: *mut Envelope,
    waiting: Option<Slot>,
    asked: Asked,
    trail: Option<Trail>,
}

impl Worker {
    /// Returns true if the current turn may leave its worker in order to block.
    pub(crate) fn may_leave(&self) -> bool {
        !self.recovers.get() && !self.is_visiting()
    }

    /// Returns true if other workers run lent cells of this worker, or if turns of its cells have
    /// left the worker or wait for a decision about their commit.
    pub(crate) fn has_cells_elsewhere(&self) -> bool {
        self.away.get() > 0 || self.visited.get() > 0
    }

    /// Adds a reference to a cell of this worker. Any thread may release this reference. If the
    /// local reference count of the cell is 0, the reference is added to the local count, and
    /// otherwise to the shared count. So the local count is at least 1.
    pub(super) fn count_for_others(&self, cell: CellPtr) {
        if cell.local_refs() == 0 {
            cell.clone_local();
        } else {
            cell.clone_foreign();
        }
    }

    /// Removes the current turn, which belongs to `cell`, from this worker, because the turn leaves
    /// the worker. Returns the state from which the turn can continue.
    pub(crate) fn carry(&self, cell: CellPtr) -> Journey {
        // Steps 1 to 3.
        let (part, cut, was_scheduled) = self.set_aside(cell);
        let journey = Journey {
            cell,
            was_scheduled,
            part,
            permit: self.permit.replace(Permission::Unasked),
            limits: self.limits.get(),
            held: self.held.replace(ptr::null_mut()),
            waiting: self.waiting.take(),
            asked: self.later.take_asked(),
            trail: self.leave_trail(),
        };
        // Step 4: nobody looks after the cell until its turn is back.
        cell.keep_scheduled();
        self.stop_running();
        self.sends_at.set(self.shared.hooks.sends_from(self.home));
        self.begin_pause();
        cut.end();
        self.away.set(self.away.get() + 1);
        // Step 5: wakes senders that wait for places taken ahead. Their wakers are foreign code.
        self.stage.purse.wake_waiting();
        journey
    }

    /// Takes back the staged effects of the current turn, which belongs to `cell`, and returns
    /// them. The caller must end the turn, and then call `end` on the returned [`Cut`]. The
    /// returned flag is true if the cell was scheduled.
    pub(super) fn set_aside(&self, cell: CellPtr) -> (Part, Cut, bool) {
        let turn = self.turn();
        let pool = NonNull::from(&self.pool).cast();
        // Step 1: the cells that the turn has scheduled are unscheduled.
        let entries = self.unschedule(turn);
        if self.in_line.replace(false) {
            self.leave_line(cell);
        }
        let was_scheduled = cell.state().is_scheduled();
        let mut firsts = Vec::new();
        for entry in &entries {
            if !entry.message().is_null() {
                let cell = entry.cell();
                // SAFETY: the entry's message, of the cell's type, is nobody else's.
                let first = unsafe { (cell.table().wrap_slot)(pool, entry.message()) };
                firsts.push((cell, first));
            }
        }
        // Step 2: its messages become chains, each with a reference to its receiver.
        let (carried, cut) = self.stage.carry(
            turn,
            firsts,
            // SAFETY: the messages are of the cell's type.
            |cell, envelope, count| unsafe { (cell.table().split_newest)(pool, envelope, count) },
            |cell| self.count_for_others(cell),
        );
        // Step 3: newborns wait for their start. Their messages schedule those that have some.
        let mut newborns = Vec::new();
        if entries.iter().any(|entry| entry.message().is_null()) {
            let receivers: HashSet<_> = carried.receivers().map(|cell| cell.0).collect();
            for entry in &entries {
                let cell = entry.cell();
                if entry.message().is_null() && !receivers.contains(&cell.0) {
                    self.count_reference(cell);
                    newborns.push(cell);
                }
            }
        }
        let part = Part { carried, newborns };
        (part, cut, was_scheduled)
    }

    /// Removes `cell` from the run queue to which [`Worker::resume`] has added it. The caller must
    /// have unscheduled the cells that the turn has scheduled.
    pub(super) fn leave_line(&self, cell: CellPtr) {
        // Since the turn came back, it has put nothing after its cell.
        let entry = self.old.pop_newest();
        debug_assert!(
            entry.is_some_and(|entry| entry.cell() == cell),
            "a cell in line is the last"
        );
        cell.unschedule();
    }

    /// Prepares the continuation of a turn that was away from its worker in order to block. The
    /// calling thread has just begun to run the worker again.
    pub(crate) fn resume(&self, journey: Journey) {
        let cell = journey.cell;
        debug_assert_eq!(cell.home(), self.home, "a cell whose turn is away stays");
        self.away.set(self.away.get() - 1);
        // Before the cell looks as if it could be visited.
        self.shown.name(cell);
        if self.remote.ready.is_lent() {
            self.crew.stop_lending(self.seat());
        }
        // Step 1: the cell runs again. If it was not scheduled before, messages that have come
        // meanwhile schedule it.
        if !journey.was_scheduled {
            if cell.mailbox_tail().is_null() {
                cell.unschedule();
            } else {
                self.requeue(cell);
                self.in_line.set(true);
            }
        }
        self.permit.set(journey.permit);
        self.hold(journey.held);
        self.limits.set(journey.limits);
        self.waiting.set(journey.waiting);
        // It sends like a stranger from here on, so it takes no more messages.
        self.later.set_asked(Asked {
            is_barred: true,
            ..journey.asked
        });
        self.stage_again(journey.part);
        if let Some(trail) = journey.trail {
            self.set_trail(trail);
        }
    }

    /// Restores the staged effects that [`Worker::set_aside`] has taken back. The rest of the turn
    /// has a new turn number. So if the turn is undone, entries that are already in the run queues
    /// stay there.
    pub(super) fn stage_again(&self, part: Part) {
        let Part { carried, newborns } = part;
        self.begin_pause();
        self.sends_at.set(Home::STRANGER);
        self.stage.restore(self.turn(), carried);
        for newborn in newborns {
            // A newborn that another thread has reached by now has started.
            if newborn.home() == self.home && newborn.state().is_newborn() {
                self.schedule(newborn);
            }
            self.let_go(newborn);
        }
    }
}
