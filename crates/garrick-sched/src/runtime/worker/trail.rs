//! The trail of the current turn.

use super::Worker;
use crate::cell::{CellPtr, Envelope, Home};
use crate::parcel;
use crate::runtime::address::SendError;
use crate::runtime::trail::Trail;

impl Worker {
    /// Returns the trail of the current turn.
    pub(crate) fn trail(&self) -> Option<Trail> {
        self.trail.borrow().clone()
    }

    /// Sets the trail of the current turn. It travels with the messages that the turn sends from
    /// now on. Does nothing in a simulation.
    ///
    /// The trail is removed at the end of the turn. For that, the turn counts as one that has
    /// staged effects.
    pub(crate) fn set_trail(&self, trail: Trail) {
        if self.shared.hooks.sends_from(self.home) != self.home {
            return;
        }
        self.stage.set_dirty();
        self.sends_at.set(Home::STRANGER);
        self.trail.replace(Some(trail));
    }

    /// Prepares the sends of the next turn, which has no trail.
    #[inline]
    pub(super) fn send_from_home(&self) {
        let home = self.shared.hooks.sends_from(self.home);
        if self.sends_at.replace(home) == Home::STRANGER {
            self.trail.take();
        }
    }

    /// Begins a turn with the trail in a note, which is the oldest envelope of the mailbox.
    #[cold]
    pub(crate) fn follow_trail(&self, cell: CellPtr) {
        let note = cell.take_oldest();
        // SAFETY: the note was in the local mailbox, so it is ours; it is freed below.
        unsafe {
            self.set_trail(parcel::open_sealed(note));
            self.pool.give_envelope(note);
        }
    }

    /// Begins a turn with the trail of the next message of a visited task, if that message has a
    /// trail.
    #[cold]
    pub(crate) fn follow_trail_of_visit(&self) {
        if let Some(trail) = self.visiting.trail.take() {
            self.set_trail(trail);
        }
    }

    /// Drops the trail in the oldest envelope of the mailbox.
    #[cold]
    pub(crate) fn drop_oldest_trail(&self, cell: CellPtr) {
        let note = cell.take_oldest();
        // SAFETY: as in `follow_trail`.
        unsafe {
            Self::drop_trail(note);
            self.pool.give_envelope(note);
        }
    }

    /// Drops the trail in a note, which the caller frees.
    ///
    /// # Safety
    /// The caller owns the envelope, which is of kind `Trail` and was not opened.
    pub(super) unsafe fn drop_trail(note: *mut Envelope) {
        // SAFETY: by contract.
        drop(unsafe { parcel::open_sealed::<Trail>(note) });
    }

    /// Stages a message for a cell that this turn cannot reach through its mailbox, behind the
    /// trail of the turn if there is one.
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
