//! Turns that have ended, but are committed or undone by a later decision ([`Turn::commit_later`]).
//!
//! [`Turn::commit_later`]: crate::Turn::commit_later
//!
//! A turn with a later decision takes these steps:
//!
//! 1. The staged effects of the turn are set aside, as for a turn that is away (`worker/away.rs`).
//!    Its cell stays scheduled, but is in no run queue. So the cell is not run, given away, freed
//!    or closed, and new messages wait in its mailbox. The turn is counted, so that the sponsor
//!    does not end before the decision.
//! 2. The function that the turn has passed to [`Turn::commit_later`] gets the [`Pending`], with a
//!    reference to the cell.
//! 3. Any thread decides. It writes the decision, and then sends a WAKE note to the cell. The push
//!    of the note (release) and its removal from the inbox (acquire) ensure that the owner sees the
//!    decision.
//! 4. The owner takes the note, and finishes the turn after it has handled all other notes
//!    (`worker/pending.rs`). It stages the effects again, and commits or undoes them.
//!
//! A turn can have parts. [`Turn::next_message`] sets aside the effects of the message that the
//! turn has just handled, and takes the next message. One decision applies to all parts. If the
//! last part panics or is discarded, it is undone before step 1. From this undo on, the cell is
//! scheduled and in no run queue, because destructors may send to it. After a panic, the task fails
//! in step 4.
//!
//! [`Turn::next_message`]: crate::Turn::next_message

use std::fmt;
use std::sync::{Arc, PoisonError};

use garrick_core::prim::Mutex;

use crate::cell::{CellPtr, Kind};
use crate::runtime::address::{deliver_note, release_foreign};
use crate::runtime::current;

/// The decision about a turn: to commit or to undo the turn.
pub(crate) enum Decision {
    Commit,
    /// The turn is undone, and its task fails with this message.
    Undo(String),
}

/// Shared memory for the decision about a turn. One thread writes the decision, and the worker of
/// the turn reads it.
#[derive(Clone, Default)]
pub(crate) struct Decided(Arc<Mutex<Option<Decision>>>);

impl Decided {
    fn set(&self, decision: Decision) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(decision);
    }

    /// Removes and returns the decision about the turn, if a thread has already decided.
    pub(crate) fn take(&self) -> Option<Decision> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The right to decide about a turn that has ended without a commit. Any thread can decide.
///
/// If a `Pending` is dropped, the turn is undone. A sponsor does not end before there is a decision
/// about each of its turns.
pub struct Pending {
    /// Cell of the task to which the turn belongs, with a reference to the cell. `None` after the
    /// decision.
    cell: Option<CellPtr>,
    decided: Decided,
}

// SAFETY: other threads only send a note to the cell and release the reference, which any thread
// may do.
unsafe impl Send for Pending {}

impl Pending {
    /// Creates the right to decide about a turn of the task in `cell`. Takes over a reference to
    /// the cell.
    pub(crate) fn new(cell: CellPtr, decided: Decided) -> Self {
        Self {
            cell: Some(cell),
            decided,
        }
    }

    /// Commits the turn: its effects take place, and its task continues.
    pub fn commit(mut self) {
        self.decide(Decision::Commit);
    }

    /// Undoes the turn and lets its task fail, as after a panic with the message `why`.
    pub fn undo(mut self, why: impl Into<String>) {
        self.decide(Decision::Undo(why.into()));
    }

    fn decide(&mut self, decision: Decision) {
        let Some(cell) = self.cell.take() else {
            return;
        };
        // Step 3.
        self.decided.set(decision);
        // SAFETY: the reference is ours, and not used again.
        unsafe {
            // The cell is open, unless it was stopped with a simulated node. Then its turn is
            // undone already.
            let _ = current::with_pool(|pool| deliver_note(pool, cell, Kind::Wake));
            release_foreign(cell);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.cell.is_some() {
            self.decide(Decision::Undo(
                "nobody has decided about the turn".to_owned(),
            ));
        }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}
