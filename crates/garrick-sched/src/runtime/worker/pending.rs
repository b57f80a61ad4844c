//! Turns that have ended, and whose commit is decided later. `runtime/pending.rs` has the steps.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use garrick_core::prim::atomic::Ordering::{Acquire, Relaxed, Release};
use hashbrown::HashMap;

use super::Worker;
use super::asked::{Asked, Request};
use crate::cell::CellPtr;
use crate::quiet;
use crate::runtime::pending::{Decided, Decision, Pending};
use crate::runtime::sponsor::Shared;
use crate::runtime::stage::Carried;
use crate::runtime::watch::Ended;

/// A turn that has ended and is not decided.
struct Waiting {
    carried: Carried,
    newborns: Vec<CellPtr>,
    /// True if the task stops after the commit.
    stops: bool,
    decided: Decided,
}

/// Turns of a worker whose commit is decided later.
#[derive(Default)]
pub(crate) struct Later {
    /// Part of the current turn.
    asked: Cell<Asked>,
    /// Undecided turns, by the addresses of their cells.
    waiting: RefCell<HashMap<usize, Waiting>>,
    /// Cells with undecided turns that have got WAKE notes, oldest first.
    woken: RefCell<VecDeque<CellPtr>>,
}

impl Later {
    /// Allows the turn that begins now to ask for a later decision.
    pub(crate) fn open(&self) {
        self.asked.set(Asked::NotYet);
    }

    /// Stores the request of the current turn.
    #[track_caller]
    pub(crate) fn request(&self, request: Request) {
        let before = self.asked.take();
        assert!(
            !matches!(before, Asked::Never),
            "this turn cannot leave its commit to a later decision"
        );
        self.asked.set(Asked::By(request));
        // A request that was made before may have a destructor, which belongs to the turn.
        drop(before);
    }

    /// Takes the part of a turn that ends or leaves its seat.
    pub(super) fn take_asked(&self) -> Asked {
        self.asked.take()
    }

    /// Sets the part of a turn that has come back to its seat.
    pub(super) fn set_asked(&self, asked: Asked) {
        self.asked.set(asked);
    }

    /// Discards the request of a turn that is undone. Its destructor may do anything.
    pub(crate) fn forget(&self) {
        if let Asked::By(request) = self.asked.take() {
            quiet::drop(request);
        }
    }

    /// Returns true if there are undecided turns.
    pub(crate) fn are_some(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    /// Returns true if the last turn of a cell is undecided.
    pub(crate) fn is_undecided(&self, cell: CellPtr) -> bool {
        self.waiting.borrow().contains_key(&cell.0.addr().get())
    }

    /// Records that a cell has got a WAKE note. Returns true if the last turn of the cell is
    /// undecided.
    pub(super) fn note_wake(&self, cell: CellPtr) -> bool {
        let is_undecided = self.is_undecided(cell);
        if is_undecided {
            self.woken.borrow_mut().push_back(cell);
        }
        is_undecided
    }

    /// Takes the oldest cell that has got a WAKE note.
    pub(crate) fn next_woken(&self) -> Option<CellPtr> {
        self.woken.borrow_mut().pop_front()
    }

    /// Takes the decision about the turn of a cell, if there is one.
    fn take_decided(&self, cell: CellPtr) -> Option<(Waiting, Decision)> {
        let at = cell.0.addr().get();
        let mut waiting = self.waiting.borrow_mut();
        let decision = waiting.get(&at)?.decided.take()?;
        Some((waiting.remove(&at)?, decision))
    }
}

impl Worker {
    /// Ends a turn of `cell` that has requested a later decision (steps 1 and 2). Returns false if
    /// the turn has requested none. If `stops` is true, the task stops after the commit.
    pub(crate) fn ends_later(&self, cell: CellPtr, stops: bool) -> bool {
        // While the effects of the turn are still staged. A panic discards the request.
        self.shared.hooks.fail_if_chosen();
        let Asked::By(request) = self.later.take_asked() else {
            return false;
        };
        // Step 1. The permission and the envelope of the message belong to the activation, which
        // ends now.
        let permit = self.permit.get();
        let journey = self.carry(cell);
        self.permit.set(permit);
        self.hold(journey.held);
        self.count_for_others(cell);
        let decided = Decided::default();
        let waiting = Waiting {
            carried: journey.carried,
            newborns: journey.newborns,
            stops,
            decided: decided.clone(),
        };
        let at = cell.0.addr().get();
        self.later.waiting.borrow_mut().insert(at, waiting);
        self.shared.note_undecided();
        // Step 2.
        let pending = Pending::new(cell, decided);
        if let Err(panic) = quiet::call(|| request(pending)) {
            self.report_as(cell.table().name_of(), &panic, false);
        }
        self.commit();
        true
    }

    /// Finishes the turns about which there are decisions (step 4). Calls foreign code.
    pub(super) fn finish_decided(&self) {
        while let Some(cell) = self.later.next_woken() {
            self.finish_one(cell);
        }
    }

    /// Finishes the turn of a cell, if there is a decision about it.
    pub(super) fn finish_one(&self, cell: CellPtr) {
        if let Some((waiting, decision)) = self.later.take_decided(cell) {
            self.finish_later(cell, waiting, decision);
        }
    }

    /// Undoes the turn of a cell if it is undecided, because the cell is about to be stopped.
    #[cfg(feature = "sim")]
    pub(super) fn give_up(&self, cell: CellPtr) {
        let waiting = self.later.waiting.borrow_mut().remove(&cell.0.addr().get());
        if let Some(waiting) = waiting {
            self.begin_to_finish(waiting.carried, waiting.newborns);
            self.undo();
        }
    }

    /// Finishes a turn by a decision. Its cell is scheduled, and in no run queue.
    fn finish_later(&self, cell: CellPtr, waiting: Waiting, decision: Decision) {
        // The cell keeps the mark SCHEDULED until its turn is finished. So nothing that happens
        // meanwhile runs or frees it.
        self.begin_to_finish(waiting.carried, waiting.newborns);
        match decision {
            Decision::Commit => {
                self.commit_turn(cell);
                if waiting.stops {
                    self.stop(cell, &Ended::Stopped);
                } else {
                    self.end_later(cell);
                }
            }
            Decision::Undo(why) => {
                self.undo();
                self.let_others();
                self.turn_failed(cell.table(), || why.clone());
                self.commit();
                self.let_others();
                self.fail(cell, &why, true);
            }
        }
        self.commit();
    }

    /// Stages the effects of a turn again that is about to be finished.
    fn begin_to_finish(&self, carried: Carried, newborns: Vec<CellPtr>) {
        self.away.set(self.away.get() - 1);
        self.shared.note_decided();
        // Destructors may have sent just now.
        self.commit();
        self.stage_again(carried, newborns);
    }

    /// Ends the activation of a cell whose turn has committed.
    fn end_later(&self, cell: CellPtr) {
        if !cell.mailbox_tail().is_null() {
            return self.requeue(cell);
        }
        cell.unschedule();
        // Addresses may have been dropped meanwhile.
        self.free_if_unreachable(cell);
    }
}

impl Shared {
    /// Counts a turn that has ended and is not decided. Called by the worker of the turn.
    pub(crate) fn note_undecided(&self) {
        // Relaxed: the worker parks later, which publishes the number.
        self.undecided.fetch_add(1, Relaxed);
    }

    /// Counts a turn as decided. Called by the worker of the turn.
    pub(crate) fn note_decided(&self) {
        // Release: pairs with the Acquire in `are_undecided`. A thread that sees that the turn is
        // decided sees that a hand sits on the seat of the worker.
        self.undecided.fetch_sub(1, Release);
    }

    /// Returns true if there are turns whose commit is not decided yet.
    pub(crate) fn are_undecided(&self) -> bool {
        // Acquire: pairs with the Release in `note_decided`.
        self.undecided.load(Acquire) > 0
    }
}
