//! The trail (trace context) of the current turn.

use std::cell::RefCell;

use super::Worker;
use crate::cell::{CellPtr, Envelope, Home, Table};
use crate::parcel;
use crate::runtime::address::SendError;
use crate::runtime::departure::Departures;
use crate::runtime::trail::Trail;

/// The trail (trace context) of a worker's current turn, and the measurement of waiting times.
#[derive(Default)]
pub(super) struct Trails {
    /// Trace context of the current turn.
    current: RefCell<Option<Trail>>,
    /// Decides in which turns the waiting time of messages is measured.
    departures: Departures,
}

impl Worker {
    /// Returns the trail (trace context) of the current turn.
    pub(crate) fn trail(&self) -> Option<Trail> {
        self.trails.current.borrow().clone()
    }

    /// Removes and returns the trail (trace context) of the current turn.
    pub(super) fn leave_trail(&self) -> Option<Trail> {
        self.trails.current.take()
    }

    /// Sets the trail (trace context) of the current turn. The trail travels with the messages that
    /// the turn sends from now on. Does nothing in a simulation.
    ///
    /// The end of the turn removes the trail. To ensure this, the turn counts as one that has
    /// staged effects.
    pub(crate) fn set_trail(&self, trail: Trail) {
        if self.shared.hooks.sends_from(self.home) != self.home {
            return;
        }
        self.stage.set_dirty();
        self.sends_at.set(Home::STRANGER);
        self.trails.current.replace(Some(trail));
    }

    /// Prepares this worker for sending the messages of the next turn, which has no trail (trace
    /// context).
    #[inline]
    pub(super) fn send_from_home(&self) {
        let home = self.shared.hooks.sends_from(self.home);
        if self.sends_at.replace(home) == Home::STRANGER {
            self.end_trail();
        }
    }

    /// Removes the trail (trace context) of a turn that ends. If the trail is a departure, which
    /// measures how long messages wait, stores the current time in it, because the messages of the
    /// turn are sent now.
    #[cold]
    #[inline(never)]
    fn end_trail(&self) {
        if let Some(messages) = self.leave_trail().and_then(|trail| trail.depart()) {
            self.trails.departures.sent(messages);
        }
    }

    /// If it is time to measure how long messages wait, gives the next turn a
    /// [`departure`](crate::runtime::departure), which records the time when the messages of that
    /// turn are sent. Called before the first turn of a timed activation.
    pub(super) fn measure_departure(&self, table: &Table) {
        // A trail must not be set in a turn whose commit is decided later.
        if !table.commits_later
            && let Some(departure) = self.trails.departures.next()
        {
            self.set_trail(departure);
        }
    }

    /// Removes a departure (the record of a sending time) that no turn of the latest activation has
    /// used. Called after an activation.
    pub(super) fn drop_departure(&self) {
        let current = self.trails.current.borrow();
        let is_departure = current.as_ref().is_some_and(Trail::is_departure);
        drop(current);
        if is_departure {
            self.send_from_home();
        }
    }

    /// Takes the trail (trace context) out of a note, which is the oldest envelope of the mailbox.
    /// If the trail is a departure (the record of a sending time), counts how long the next message
    /// has waited. Otherwise, if `goes_on` is true, the turn that handles the next message gets the
    /// trail.
    #[cold]
    pub(crate) fn take_trail(&self, cell: CellPtr, goes_on: bool) {
        let note = cell.take_oldest();
        // SAFETY: the note was in the local mailbox, so it is ours; it is freed below.
        let trail = unsafe {
            let trail = parcel::open_sealed(note);
            self.pool.give_envelope(note);
            trail
        };
        self.receive_trail(cell, trail, goes_on);
    }

    /// Takes the trail (trace context) of the next message to a lent cell (a cell whose own worker
    /// is in a long turn), as [`Worker::take_trail`] does. Does nothing if that message has no
    /// trail.
    #[cold]
    pub(crate) fn take_trail_of_visit(&self, cell: CellPtr, goes_on: bool) {
        if let Some(trail) = self.visiting.trail.take() {
            self.receive_trail(cell, trail, goes_on);
        }
    }

    fn receive_trail(&self, cell: CellPtr, trail: Trail, goes_on: bool) {
        if trail.is_departure() {
            if let Some(waited) = trail.waited() {
                self.lane.waited(cell.table(), waited);
            }
        } else if goes_on {
            self.set_trail(trail);
        }
    }

    /// Drops the trail (trace context) in a note, which the caller frees.
    ///
    /// # Safety
    /// The caller owns the envelope, which is of kind `Trail` and was not opened.
    pub(super) unsafe fn drop_trail(note: *mut Envelope) {
        // SAFETY: by contract.
        drop(unsafe { parcel::open_sealed::<Trail>(note) });
    }

    /// Stages a message for a cell to whose mailbox this turn cannot send directly. If the turn has
    /// a trail (a trace context), stages the trail before the message.
    #[inline]
    pub(crate) fn stage_out<M: 'static>(
        &self,
        cell: CellPtr,
        message: M,
        is_answer: bool,
    ) -> Result<(), SendError<M>> {
        if self.sends_at.get() == Home::STRANGER
            && let Some(trail) = self.trail()
        {
            return self
                .stage
                .send_out_behind(&self.pool, trail, cell, message, is_answer);
        }
        self.stage
            .send_out_to_other(&self.pool, cell, message, is_answer)
    }
}
