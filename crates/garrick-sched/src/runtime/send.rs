//! Sending of messages by a worker. Messages to the worker's own cells (tasks) go directly to the
//! mailboxes of these cells or to the run queues, and are removed again if the turn is undone.
//! Messages to all other cells are kept until the turn commits.

use crate::cell::{CellPtr, Envelope};
use crate::parcel;
use crate::run_queue::fits_slot;
use crate::runtime::address::{Address, SendError};
use crate::runtime::pass;
use crate::runtime::stage;
use crate::runtime::worker::Worker;

impl Worker {
    /// Sends a message from this worker. If the turn is undone, the send is undone, too. Two common
    /// cases are handled here: a small message to an idle cell, and a message to a scheduled cell
    /// to which this turn has already sent. In both cases, the cell belongs to this worker. One
    /// comparison of a state word recognizes each of these cases. `send_on` and `send_out` handle
    /// all other cases, so that little code is inlined at each call.
    #[inline(always)]
    pub(crate) fn send<M: 'static>(&self, to: &Address<M>, message: M) -> Result<(), SendError<M>> {
        let cell = to.cell();
        if !cell.inbox_is_idle_and_unbounded() {
            return self.send_out(cell, message);
        }
        let state = cell.state();
        // A cell of this worker that is idle, with an empty mailbox.
        if fits_slot::<M>() && state.is_idle_at(self.sends_at.get()) {
            if self.handoff.is_empty() && !self.is_running(cell) {
                cell.schedule_from(state);
                self.handoff.put(self.turn(), cell, message);
                return Ok(());
            }
        } else if state == self.stage.covered() {
            // A scheduled cell of this worker to which this turn has already sent.
            // SAFETY: a covered mailbox is ours, and this one is for messages `M`.
            return match unsafe { parcel::put(state.tail(), message) } {
                Ok(()) => Ok(()),
                Err(message) => self.send_on(cell, message),
            };
        }
        self.send_on(cell, message)
    }

    /// Sends a message like [`Worker::send`], but only in one case, which needs no call: this turn
    /// has already sent to the cell, and its newest envelope has room. Otherwise returns the
    /// message as an error.
    #[inline(always)]
    pub(crate) fn send_behind<M: 'static>(&self, to: &Address<M>, message: M) -> Result<(), M> {
        let cell = to.cell();
        let state = cell.state();
        if !cell.inbox_is_idle_and_unbounded() || state != self.stage.covered() {
            return Err(message);
        }
        // SAFETY: as in `send`.
        unsafe { parcel::put(state.tail(), message) }
    }

    /// Returns true if the cell belongs to this worker and has not stopped, and no earlier message
    /// to it is on its way through the inbox.
    pub(crate) fn is_at_home_and_calm(&self, cell: CellPtr) -> bool {
        cell.inbox_is_idle() && cell.home() == self.home && !cell.state().is_stopped()
    }

    /// Sends a message to a cell of this worker, outside of a turn. The cell must meet the
    /// condition of [`Worker::is_at_home_and_calm`]. The send is not staged and cannot be undone.
    pub(crate) fn send_between_turns<M: 'static>(&self, cell: CellPtr, message: M) {
        self.begin_pause();
        if cell.state().rests_at(self.home) {
            self.schedule_with(cell, message);
        } else {
            self.schedule(cell);
            stage::append_for_good(&self.pool, cell, message);
        }
    }

    /// Sends the first message to a new cell of this worker, so that the cell runs after all cells
    /// that are now ready. With an ordinary send, the newest of several new cells would run first.
    /// So these cells would handle the messages of one sender in the wrong order.
    pub(crate) fn send_in_line<M: 'static>(&self, to: &Address<M>, message: M) {
        let cell = to.cell();
        cell.schedule_in_line(self.home);
        if const { fits_slot::<M>() } {
            self.old.push_message(self.turn(), cell, message);
        } else {
            let envelope = parcel::alone(&self.pool, message);
            self.old.push_message(self.turn(), cell, envelope);
        }
    }

    /// Sends a message to a cell whose inbox (shared mailbox) is not in use. Each path ends with a
    /// tail call, so that no register must be saved.
    #[inline(never)]
    fn send_on<M: 'static>(&self, cell: CellPtr, message: M) -> Result<(), SendError<M>> {
        if !cell.state().rests_at(self.sends_at.get()) {
            return self.send_on_busy(cell, message);
        }
        self.schedule_with(cell, message);
        Ok(())
    }

    /// Schedules an idle or new cell of this worker, and gives the cell `message` to handle.
    #[inline(always)]
    fn schedule_with<M>(&self, cell: CellPtr, message: M) {
        let state = cell.state();
        let was_idle = state.is_idle_at(self.home);
        cell.schedule_from(state);
        if const { fits_slot::<M>() } {
            // The first message to a newborn cell, or to a cell that does not run next.
            let queue = if was_idle { &self.old } else { &self.born };
            queue.push_message(self.turn(), cell, message);
        } else {
            self.schedule_for(cell, was_idle, parcel::alone(&self.pool, message));
        }
    }

    /// Schedules a cell with a message that is alone in its envelope. For a message of 40 bytes to
    /// an idle cell, this path takes 36 ns, and the path through the mailbox takes 80 ns. A message
    /// that fits into a slot takes 25 ns. (Measured with ten receivers per turn on Zen 3.)
    #[inline(never)]
    fn schedule_for(&self, cell: CellPtr, was_idle: bool, envelope: *mut Envelope) {
        if !was_idle {
            self.born.push_message(self.turn(), cell, envelope);
        } else if self.handoff.is_empty() && !self.is_running(cell) {
            self.handoff.put(self.turn(), cell, envelope);
        } else {
            self.old.push_message(self.turn(), cell, envelope);
        }
    }

    /// Sends a message to a cell that is possibly scheduled already. No thread uses the inbox of
    /// the cell (the mailbox for messages of other threads).
    #[inline(never)]
    fn send_on_busy<M: 'static>(&self, cell: CellPtr, message: M) -> Result<(), SendError<M>> {
        if cell.home() != self.sends_at.get() || cell.state().is_stopped() {
            return self.send_out(cell, message);
        }
        self.schedule(cell);
        self.stage.append(&self.pool, cell, message);
        Ok(())
    }

    /// Sends a message to a cell that the faster methods do not handle: a door, a bounded or
    /// stopped cell, a cell of another worker, or a cell of this worker whose inbox has messages of
    /// foreign threads.
    ///
    /// If the inbox has messages, this message must go through the inbox, too. Otherwise it could
    /// overtake messages that the same sender has sent from another worker (README, invariant 5).
    #[inline(never)]
    fn send_out<M: 'static>(&self, cell: CellPtr, message: M) -> Result<(), SendError<M>> {
        if cell.is_door() {
            return self.send_to_door(cell, message);
        }
        if cell.inbox_is_idle_and_bounded() {
            // SAFETY: it is bounded, and the caller holds a reference.
            return unsafe { self.send_to_bounded(cell, message, false, nothing) };
        }
        match self.stage.send_out_again(cell, message) {
            Ok(()) => Ok(()),
            Err(message) => self.send_to_task(cell, message, false),
        }
    }

    /// Sends a message to a task, in the cases that the faster methods do not handle. An answer is
    /// accepted even if the mailbox is full, or if the task's sponsor is shutting down.
    #[inline(never)]
    fn send_to_task<M: 'static>(
        &self,
        cell: CellPtr,
        message: M,
        is_answer: bool,
    ) -> Result<(), SendError<M>> {
        if cell.is_bounded() {
            // SAFETY: it is bounded, and the caller holds a reference.
            return unsafe { self.send_to_bounded(cell, message, is_answer, nothing) };
        }
        self.stage_out(cell, message, is_answer)
    }

    /// Sends a message to a door (a function behind an address) during a turn.
    #[inline(never)]
    fn send_to_door<M: 'static>(&self, cell: CellPtr, message: M) -> Result<(), SendError<M>> {
        // SAFETY: the caller holds a reference, and says that its messages are of this type.
        unsafe { pass::pass_in_turn(self, cell, message) }
    }

    /// Sends a message to a bounded cell, after the caller has taken a place in the mailbox.
    #[inline(always)]
    pub(crate) fn send_admitted<M: 'static>(
        &self,
        cell: CellPtr,
        message: M,
        is_answer: bool,
    ) -> Result<(), SendError<M>> {
        if !self.reaches(cell) {
            return self.stage_out(cell, message, is_answer);
        }
        let state = cell.state();
        if !state.rests_at(self.home) {
            self.schedule(cell);
            self.stage.append(&self.pool, cell, message);
        } else if fits_slot::<M>()
            && state.is_idle_at(self.home)
            && self.handoff.is_empty()
            && !self.is_running(cell)
        {
            cell.schedule_from(state);
            self.handoff.put(self.turn(), cell, message);
        } else {
            self.schedule_with(cell, message);
        }
        Ok(())
    }

    /// Sends an answer. The receiver accepts it even if its mailbox is full, or if its sponsor is
    /// shutting down.
    #[inline]
    pub(crate) fn send_answer<M: 'static>(
        &self,
        to: &Address<M>,
        message: M,
    ) -> Result<(), SendError<M>> {
        let cell = to.cell();
        if !cell.inbox_is_idle_and_unbounded() && cell.is_bounded() {
            return self.send_to_task(cell, message, true);
        }
        // If the answer comes back, a closed gate may be the only reason.
        let sent = self.send(to, message);
        sent.or_else(|SendError(message)| {
            if cell.is_door() {
                return self.send_to_door(cell, message);
            }
            self.send_to_task(cell, message, true)
        })
    }

    /// Returns true if the turn can send messages to a cell directly through its mailbox. The cell
    /// must belong to this worker and must not have stopped, and no earlier message to it may be on
    /// its way through the inbox.
    fn reaches(&self, cell: CellPtr) -> bool {
        cell.home() == self.sends_at.get() && cell.inbox_is_idle() && !cell.state().is_stopped()
    }

    /// Stages a note (an envelope with a request instead of messages) for a cell. The cell gets the
    /// note and the messages of this turn in the order of sending.
    pub(crate) fn send_note(&self, cell: CellPtr, note: *mut Envelope) {
        if self.reaches(cell) {
            self.schedule(cell);
            self.stage.append_note(cell, note);
        } else {
            self.stage.send_note(cell, note);
        }
    }
}

/// Does nothing. A function instead of closures, so that there is one copy of its caller.
fn nothing() {}
