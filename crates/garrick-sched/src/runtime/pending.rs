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
//! Between steps 3 and 4, the owner may be in a long turn. If the commit depends on a condition
//! that may end in the meantime, the decision of step 3 is a function ([`Pending::when_due`]). The
//! owner calls the function in step 4, immediately before it would finish the turn. The function
//! commits the turn, undoes it, or lets it wait for another decision (`worker/due.rs`).
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
use crate::world::Nanos;

/// Reason that is reported for a turn that is undone because nobody has decided about it.
pub(crate) const NO_DECISION: &str = "nobody has decided about the turn";

/// Function that decides about a turn when the worker of the turn is about to finish it.
pub(crate) type WhenDue = Box<dyn FnOnce(Due<'_>) + Send>;

/// The decision about a turn: to commit or to undo the turn, or who decides.
pub(crate) enum Decision {
    Commit,
    /// The turn is undone, and its task fails with this message.
    Undo(String),
    /// The worker of the turn calls this function, which decides.
    WhenDue(WhenDue),
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

    /// Lets `decide` decide about the turn. The worker of the turn calls `decide` when it is about
    /// to finish the turn, so that no other turn comes between the decision and its effects.
    ///
    /// `decide` belongs to no turn, and must not block. A panic of `decide` is caught. If `decide`
    /// makes no decision, the turn is undone.
    pub fn when_due(mut self, decide: impl FnOnce(Due<'_>) + Send + 'static) {
        self.decide(Decision::WhenDue(Box::new(decide)));
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

/// A turn that its worker is about to finish. The worker implements it.
pub(crate) trait Finishing {
    fn lease_now(&self) -> Nanos;

    /// Commits the turn. When this method returns, the effects have taken place.
    fn commit(&mut self);

    /// Lets the worker undo the turn when the function that decides has returned.
    fn undo(&mut self, why: String);

    /// Lets the turn wait for another decision.
    fn wait(&mut self) -> Pending;
}

/// The right to decide about a turn that its worker is about to finish. [`Pending::when_due`]
/// passes it to a function.
///
/// If a `Due` is dropped, the turn is undone.
pub struct Due<'a>(&'a mut dyn Finishing);

impl<'a> Due<'a> {
    /// Creates the right to decide about a turn. The caller undoes the turn if there is no
    /// decision.
    pub(crate) fn new(turn: &'a mut dyn Finishing) -> Self {
        Self(turn)
    }

    /// Returns the time by the clock for leases, like [`Turn::lease_now`](crate::Turn::lease_now).
    #[must_use]
    pub fn lease_now(&self) -> Nanos {
        self.0.lease_now()
    }

    /// Commits the turn. When this method returns, the effects have taken place. The effects wake
    /// askers, so this method calls foreign code.
    pub fn commit(self) {
        self.0.commit();
    }

    /// Undoes the turn and lets its task fail, as after a panic with the message `why`.
    pub fn undo(self, why: impl Into<String>) {
        self.0.undo(why.into());
    }

    /// Lets the turn wait for another decision. Returns the right to make this decision.
    #[must_use]
    pub fn wait(self) -> Pending {
        self.0.wait()
    }
}

impl fmt::Debug for Due<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Due").finish_non_exhaustive()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.cell.is_some() {
            self.decide(Decision::Undo(NO_DECISION.to_owned()));
        }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use super::Decision;

    #[test]
    fn a_decision_is_as_small_as_its_reason() {
        assert_eq!(size_of::<Option<Decision>>(), size_of::<String>());
    }
}
