//! Decisions about turns that are made when the worker of the turn is about to finish the turn.
//!
//! The decision of another thread takes effect when the worker of the turn is free, which may be
//! much later. A function that decides as late as possible ([`Pending::when_due`]) can look at
//! conditions that may have ended in the meantime. The worker calls it between two activations:
//!
//! 1. The worker takes the waiting turn out of the list of waiting turns. The turn is still
//!    counted, and its cell is scheduled and in no run queue. So nothing changes about the cell
//!    while the function runs, and the sponsor does not end.
//! 2. The function decides. [`Due::commit`] releases the effects before it returns. So the function
//!    can hold a lock, or count the turn, until the effects have taken place.
//! 3. After the function has returned or panicked, the worker takes the steps that follow from the
//!    decision. The destructors of the task and of undone effects run only here, and not in calls
//!    of the function.

use std::mem;

use super::Worker;
use super::pending::{After, Waiting};
use crate::cell::CellPtr;
use crate::quiet;
use crate::runtime::pending::{Due, Finishing, NO_DECISION, Pending, WhenDue};
use crate::world::Nanos;

/// A turn, and the decision about it: commit, undo, or wait for another decision.
enum Verdict {
    Undecided(Waiting),
    /// The turn has committed, so its effects have taken place. Contains what the task does next:
    /// continue, stop or fail.
    Committed(After),
    /// The turn will be undone after the deciding function has returned. The task then fails with
    /// the contained message.
    Undone(Waiting, String),
    /// The turn waits for another decision.
    Waits,
}

/// A turn of the task in `cell`, while a function decides whether the turn commits, is undone or
/// waits.
struct Turn<'a> {
    worker: &'a Worker,
    cell: CellPtr,
    verdict: Verdict,
}

impl Finishing for Turn<'_> {
    fn lease_now(&self) -> Nanos {
        self.worker.lease_now()
    }

    fn commit(&mut self) {
        if let Some(waiting) = self.verdict.take() {
            let after = self.worker.commit_waiting(self.cell, waiting);
            self.verdict = Verdict::Committed(after);
        }
    }

    fn undo(&mut self, why: String) {
        if let Some(waiting) = self.verdict.take() {
            self.verdict = Verdict::Undone(waiting, why);
        }
    }

    fn wait(&mut self) -> Pending {
        match self.verdict.take() {
            Some(waiting) => self.worker.store_waiting(self.cell, waiting),
            None => unreachable!("a turn is decided once, because the decision consumes the right"),
        }
    }
}

impl Verdict {
    /// Takes the turn out of this value, if nothing was decided about the turn yet. Otherwise
    /// returns `None`.
    fn take(&mut self) -> Option<Waiting> {
        match mem::replace(self, Self::Waits) {
            Self::Undecided(waiting) => Some(waiting),
            decided => {
                *self = decided;
                None
            }
        }
    }
}

impl Worker {
    /// Lets `decide` choose whether a turn of `cell` commits, is undone or waits, and then finishes
    /// the turn accordingly. Calls foreign code.
    pub(super) fn finish_due(&self, cell: CellPtr, waiting: Waiting, decide: WhenDue) {
        // Step 1. What destructors have sent just now does not belong to the turn.
        self.commit();
        self.let_others();
        let mut turn = Turn {
            worker: self,
            cell,
            verdict: Verdict::Undecided(waiting),
        };
        // Step 2.
        if let Err(panic) = quiet::call(|| decide(Due::new(&mut turn))) {
            self.report_as(cell.table().name_of(), &panic, false);
        }
        // Step 3.
        match turn.verdict {
            Verdict::Undecided(waiting) => self.undo_waiting(cell, waiting, NO_DECISION),
            Verdict::Undone(waiting, why) => self.undo_waiting(cell, waiting, &why),
            Verdict::Committed(after) => self.go_on_after(cell, after),
            Verdict::Waits => {}
        }
    }
}
