//! Sends of a worker: into the mailboxes and run queues of its own cells, and into the stage for all others.

use crate::cell::{CellPtr, Envelope};
use crate::parcel;
use crate::run_queue::fits_slot;
use crate::runtime::address::{Address, SendError};
use crate::runtime::stage;
use crate::runtime::task::Task;
use crate::runtime::worker::Worker;
use crate::runtime::{door, task};

impl Worker {
    /// Sends from this worker: a staged send. Two comparisons of whole state words find the two cases that
    /// matter; everything else is `send_on`'s, so that little code stands at each place that sends.
    #[inline(always)]
    pub(crate) fn send<M: 'static>(&self, to: &Address<M>, message: M) -> Result<(), SendError<M>> {
        let cell = to.cell();
        if !cell.inbox_is_idle_and_unbounded() {
            return self.send_out(cell, message);
        }
        let state = cell.state();
        // A cell of ours that has nothing to do and nothing waiting.
        if fits_slot::<M>() && state.is_idle_at(self.sends_at.get()) {
            if self.handoff.is_empty() && !self.is_running(cell) {
                cell.schedule_from(state);
                self.handoff.put(self.turn(), cell, message);
                return Ok(());
            }
        } else if state == self.stage.covered() {
            // A scheduled cell of ours that this turn has sent to before.
            // SAFETY: a covered mailbox is ours, and this one is for messages `M`.
            return match unsafe { parcel::put(state.tail(), message) } {
                Ok(()) => Ok(()),
                Err(message) => self.send_on(cell, message),
            };
        }
        self.send_on(cell, message)
    }

    /// Whether a cell is ours, has not stopped, and nothing is on its way to it that came first.
    pub(crate) fn is_at_home_and_calm(&self, cell: CellPtr) -> bool {
        cell.inbox_is_idle() && cell.home() == self.home && !cell.state().is_stopped()
    }

    /// Sends to such a cell from this worker's thread while it runs no turn: at once, and for good.
    pub(crate) fn send_between_turns<M: 'static>(&self, cell: CellPtr, message: M) {
        self.begin_pause();
        if cell.state().rests_at(self.home) {
            self.schedule_with(cell, message);
        } else {
            self.schedule(cell);
            stage::append_for_good(&self.pool, cell, message);
        }
    }

    /// Sends the first message to a newborn of ours, which is to run behind all that is ready by now: newborns run newest first,
    /// and what several of them carry for the same sender would come in the wrong order.
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

    /// A send to a cell whose inbox is idle. Each way ends in a call that takes everything along, so that there
    /// is nothing to keep for later.
    #[inline(never)]
    fn send_on<M: 'static>(&self, cell: CellPtr, message: M) -> Result<(), SendError<M>> {
        if !cell.state().rests_at(self.sends_at.get()) {
            return self.send_on_busy(cell, message);
        }
        self.schedule_with(cell, message);
        Ok(())
    }

    /// Has a cell of ours run with this message, which has nothing to do, or is newborn.
    #[inline(always)]
    fn schedule_with<M>(&self, cell: CellPtr, message: M) {
        let state = cell.state();
        let was_idle = state.is_idle_at(self.home);
        cell.schedule_from(state);
        if const { fits_slot::<M>() } {
            // The first message to a newborn cell, or to one that is not to run next.
            let queue = if was_idle { &self.old } else { &self.born };
            queue.push_message(self.turn(), cell, message);
        } else {
            self.schedule_for(cell, was_idle, parcel::alone(&self.pool, message));
        }
    }

    /// Has a cell run with the one message of that envelope. A message of 40 bytes to an idle cell takes 36 ns by this, 80 by the
    /// cell's mailbox, and one that fits a slot 25 (ten receivers a turn, Zen 3).
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

    /// The same for a cell that may have something to do already.
    #[inline(never)]
    fn send_on_busy<M: 'static>(&self, cell: CellPtr, message: M) -> Result<(), SendError<M>> {
        if cell.home() != self.sends_at.get() || cell.state().is_stopped() {
            return self.send_out(cell, message);
        }
        self.schedule(cell);
        self.stage.append(&self.pool, cell, message);
        Ok(())
    }

    /// A message to a cell of another worker, or to one of ours that foreign threads have reached: that
    /// must go the same way as theirs, or it would overtake what its own sender sent from elsewhere
    /// (README, invariant 5). Or to one of another kind.
    #[inline(never)]
    fn send_out<M: 'static>(&self, cell: CellPtr, message: M) -> Result<(), SendError<M>> {
        if cell.is_door() {
            return self.send_to_door(cell, message);
        }
        match self.stage.send_out_again(cell, message) {
            Ok(()) => Ok(()),
            Err(message) => self.send_to_task(cell, message, false),
        }
    }

    /// Does what `send_out` does for a task that is not the last one that was sent to, or whose envelope is full. A closed gate does not
    /// stop an answer, nor does a full mailbox.
    #[inline(never)]
    fn send_to_task<M: 'static>(
        &self,
        cell: CellPtr,
        message: M,
        is_answer: bool,
    ) -> Result<(), SendError<M>> {
        if cell.is_bounded() {
            // SAFETY: it is bounded, and the caller holds a reference.
            return unsafe { self.send_to_bounded(cell, message, is_answer, || {}) };
        }
        self.stage
            .send_out_to_other(&self.pool, cell, message, is_answer)
    }

    /// Sends to a door.
    #[inline(never)]
    fn send_to_door<M: 'static>(&self, cell: CellPtr, message: M) -> Result<(), SendError<M>> {
        // SAFETY: the caller holds a reference, and says that its messages are of this type.
        unsafe { door::pass_in_turn(self, cell, message) }
    }

    /// Sends a message to a bounded cell, which has a place for it, as to any other.
    #[inline(always)]
    pub(crate) fn send_admitted<M: 'static>(
        &self,
        cell: CellPtr,
        message: M,
        is_answer: bool,
    ) -> Result<(), SendError<M>> {
        if !self.reaches(cell) {
            return self
                .stage
                .send_out_to_other(&self.pool, cell, message, is_answer);
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

    /// Sends an answer.
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
        // If it comes back, a closed gate may be the only reason.
        let sent = self.send(to, message);
        sent.or_else(|SendError(message)| {
            if cell.is_door() {
                return self.send_to_door(cell, message);
            }
            self.send_to_task(cell, message, true)
        })
    }

    /// Returns whether the turn sends to a cell by its mailbox: it is ours, has not stopped, and nothing is on its way to it that came
    /// first.
    fn reaches(&self, cell: CellPtr) -> bool {
        cell.home() == self.sends_at.get() && cell.inbox_is_idle() && !cell.state().is_stopped()
    }

    /// A staged note to a cell, in order with the messages to it.
    pub(crate) fn send_note(&self, cell: CellPtr, note: *mut Envelope) {
        if self.reaches(cell) {
            self.schedule(cell);
            self.stage.append_note(cell, note);
        } else {
            self.stage.send_note(cell, note);
        }
    }

    /// Makes a cell here, which may go to another worker.
    #[inline]
    pub(crate) fn spawn<T>(&self, task: T) -> Address<T::Message>
    where
        T: Task + Send,
        T::Message: Send,
    {
        self.spawn_as(task, true)
    }

    /// Makes a cell here. One that `moves` asks for a task and messages that are `Send`.
    #[inline]
    pub(crate) fn spawn_as<T: Task>(&self, task: T, moves: bool) -> Address<T::Message> {
        let cell = task::new_cell(&self.pool, self.home, task, moves);
        self.lane.begun(cell);
        if T::STARTS {
            cell.schedule();
            self.born.push_cell(self.turn(), cell);
        }
        // SAFETY: the cell was made for this task, with one reference.
        unsafe { Address::from_counted(cell) }
    }
}
