//! Turns that have ended, but are committed or undone by a later decision. `runtime/pending.rs`
//! describes the steps.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem;

use garrick_core::prim::atomic::Ordering::{Acquire, Relaxed, Release};
use hashbrown::HashMap;

use super::Worker;
use super::asked::{Asked, Part, Request, Source, Wish};
use crate::cell::{CellPtr, Kind};
use crate::parcel;
use crate::quiet;
use crate::runtime::pending::{Decided, Decision, Pending};
use crate::runtime::sponsor::Shared;
use crate::runtime::watch::Ended;

/// Maximum number of parts before the last part of a turn, if the turn takes messages that its task
/// has kept for later. A part contains the effects of one message. Other turns have only as many
/// parts as the limits of the activation (a run of the task) allow.
const PARTS_MAX: usize = 255;

/// A turn that has ended and waits for the decision about its commit.
pub(super) struct Waiting {
    /// All parts of the turn except the last part, oldest first. Each part contains the effects of
    /// one message.
    parts: Vec<Part>,
    /// Last part of the turn (the effects of its last message). `None` if this part was undone.
    last: Option<Part>,
    after: After,
    decided: Decided,
}

/// The next step after a turn has committed.
pub(super) enum After {
    /// The task continues.
    GoOn,
    /// The task stops.
    Stop,
    /// The task fails with the contained message, because the last part of the turn has panicked.
    Fail(String),
}

/// Turns of a worker whose commit is decided later.
#[derive(Default)]
pub(crate) struct Later {
    /// Parts of the current turn that have ended (one for each message), and the request by which
    /// the turn leaves its commit to a later decision, if there is one.
    asked: Cell<Asked>,
    /// Turns that wait for a decision about their commit. The keys are the addresses of their
    /// cells.
    waiting: RefCell<HashMap<usize, Waiting>>,
    /// True if any turn has tried to take more messages.
    #[cfg(feature = "sim")]
    wanted_more: Cell<bool>,
    /// Cells whose turns wait for a decision, and that have got a WAKE note (a request for an
    /// activation). The cell that got its note first comes first.
    woken: RefCell<VecDeque<CellPtr>>,
}

impl Later {
    /// Allows the turn that begins now to leave its commit to a later decision. If `has_more` is
    /// true, the mailbox of its task has more messages, and the turn may take them.
    pub(crate) fn open(&self, has_more: bool) {
        self.asked.set(Asked::new(has_more));
    }

    /// Calls `f` with the ended parts of the current turn, and with its request for a later
    /// decision. `f` must not call foreign code (code that users have written).
    fn with_asked<R>(&self, f: impl FnOnce(&mut Asked) -> R) -> R {
        let mut asked = self.asked.take();
        let result = f(&mut asked);
        self.asked.set(asked);
        result
    }

    /// Stores `request`, by which the current turn leaves its commit to a later decision. Panics if
    /// the turn must not do so, or if an earlier part of the turn has already done so.
    #[track_caller]
    pub(crate) fn request(&self, request: Request) {
        let mut asked = self.asked.take();
        let part = asked.parts.len();
        let problem = match asked.wish {
            Wish::Never => Some("this turn cannot leave its commit to a later decision"),
            Wish::By(_, earlier) if earlier < part => {
                Some("an earlier part of this turn has left the commit to a later decision")
            }
            Wish::NotYet | Wish::By(..) => None,
        };
        let before = match problem {
            None => mem::replace(&mut asked.wish, Wish::By(request, part)),
            Some(_) => Wish::Never,
        };
        self.asked.set(asked);
        assert!(problem.is_none(), "{}", problem.unwrap_or_default());
        // A request that was made before may have a destructor, which belongs to the turn.
        drop(before);
    }

    /// Calls `first` when the current turn has ended and waits for a decision about its commit.
    pub(crate) fn precede(&self, first: impl FnOnce() + 'static) {
        self.with_asked(|asked| asked.precede(first));
    }

    /// Returns true if the current turn has left its commit to a later decision.
    pub(crate) fn is_requested(&self) -> bool {
        self.with_asked(|asked| matches!(asked.wish, Wish::By(..)))
    }

    /// Forbids the current turn to take more messages.
    pub(crate) fn take_no_more(&self) {
        self.with_asked(|asked| asked.is_barred = true);
    }

    /// Allows the current turn to take the messages in `held`, which the task has kept for later.
    pub(crate) fn lend<M: 'static>(&self, held: VecDeque<M>) {
        self.with_asked(|asked| asked.source = Source::Held(Box::new(held)));
    }

    /// Returns the messages that the task has kept for later and that the current turn has not
    /// taken.
    pub(crate) fn take_back<M: 'static>(&self) -> VecDeque<M> {
        match self.with_asked(|asked| mem::take(&mut asked.source)) {
            Source::Held(held) => held.downcast().map(|held| *held).unwrap_or_default(),
            Source::Nothing | Source::Mailbox => VecDeque::new(),
        }
    }

    /// Returns true if a turn has tried to take more messages since the last call. Resets this
    /// state.
    #[cfg(feature = "sim")]
    pub(crate) fn has_wanted_more(&self) -> bool {
        self.wanted_more.take()
    }

    /// Removes and returns the oldest message that the task has kept for later, if the current turn
    /// may take it.
    fn next_held<M: 'static>(&self) -> Option<M> {
        self.with_asked(|asked| match &mut asked.source {
            Source::Held(held) if !asked.is_barred && asked.parts.len() < PARTS_MAX => {
                held.downcast_mut::<VecDeque<M>>()?.pop_front()
            }
            _ => None,
        })
    }

    /// Returns true if the current turn may take messages out of the mailbox.
    fn may_read(&self) -> bool {
        #[cfg(feature = "sim")]
        self.wanted_more.set(true);
        self.with_asked(|asked| matches!(asked.source, Source::Mailbox) && !asked.is_barred)
    }

    /// Adds a part of the current turn (the effects of one message) to the parts that have ended.
    fn add_part(&self, part: Part) {
        self.with_asked(|asked| asked.parts.push(part));
    }

    /// Removes and returns the ended parts of the current turn, and its request for a later
    /// decision. Called when the turn ends, or when it leaves its worker in order to block.
    pub(super) fn take_asked(&self) -> Asked {
        self.asked.take()
    }

    /// Restores what [`take_asked`](Self::take_asked) has returned, because the turn has come back
    /// to its worker.
    pub(super) fn set_asked(&self, asked: Asked) {
        self.asked.set(asked);
    }

    /// Returns true if the current turn has handled other messages before the current message. Each
    /// of these messages is an earlier part of the turn.
    pub(crate) fn has_parts(&self) -> bool {
        self.with_asked(|asked| !asked.parts.is_empty())
    }

    /// Returns true if an earlier part of the current turn has left the commit to a later decision.
    pub(super) fn is_asked_before(&self) -> bool {
        self.with_asked(|asked| asked.is_asked_before())
    }

    /// Discards the request by which the current turn leaves its commit to a later decision,
    /// because the whole turn is undone. The destructor of the request is foreign code (code that
    /// users have written).
    pub(crate) fn forget(&self) {
        quiet::drop(self.asked.take().take_request());
    }

    /// Returns true if the latest turn of a cell waits for a decision about its commit.
    pub(crate) fn is_undecided(&self, cell: CellPtr) -> bool {
        self.waiting.borrow().contains_key(&cell.0.addr().get())
    }

    /// Records that a cell has got a WAKE note (a request for an activation). Returns true if the
    /// latest turn of the cell waits for a decision.
    pub(super) fn note_wake(&self, cell: CellPtr) -> bool {
        let is_undecided = self.is_undecided(cell);
        if is_undecided {
            self.woken.borrow_mut().push_back(cell);
        }
        is_undecided
    }

    /// Removes and returns the cell that was the first to get a WAKE note (a request for an
    /// activation).
    pub(crate) fn next_woken(&self) -> Option<CellPtr> {
        self.woken.borrow_mut().pop_front()
    }

    /// Returns the waiting turn of a cell and the decision about its commit, and removes both.
    /// Returns `None` if the commit is not decided yet.
    fn take_decided(&self, cell: CellPtr) -> Option<(Waiting, Decision)> {
        let at = cell.0.addr().get();
        let mut waiting = self.waiting.borrow_mut();
        let decision = waiting.get(&at)?.decided.take()?;
        Some((waiting.remove(&at)?, decision))
    }
}

impl Worker {
    /// Ends a turn of `cell` that may have requested a later decision. Returns true if the turn now
    /// waits for this decision. Otherwise, the caller must commit the turn. If `stops` is true, the
    /// task stops after the commit.
    pub(crate) fn ends_later(&self, cell: CellPtr, stops: bool) -> bool {
        // While the effects of the turn are still staged. A panic discards the request.
        self.shared.hooks.fail_if_chosen();
        self.shared.hooks.fail_if_broken_off();
        let mut asked = self.later.take_asked();
        let Some(request) = asked.take_request() else {
            if !asked.parts.is_empty() {
                // In the order in which the task has requested them.
                asked.parts.push(self.end_part(cell));
                self.commit_parts(cell, asked.parts);
            }
            return false;
        };
        // Step 1. The permission and the envelope of the message belong to the activation, which
        // ends now.
        let permit = self.permit.get();
        let journey = self.carry(cell);
        self.permit.set(permit);
        self.hold(journey.held);
        let after = if stops { After::Stop } else { After::GoOn };
        self.await_decision(cell, asked.parts, Some(journey.part), after, request);
        true
    }

    /// Undoes the last part of a turn of `cell`, because the handler has returned `Flow::Undo`.
    /// Returns true if the commit of the earlier parts is decided later. Otherwise, commits these
    /// parts and returns false.
    pub(crate) fn undo_last_part(&self, cell: CellPtr) -> bool {
        let asked = self.later.take_asked();
        self.undo_keeping(asked.is_asked_before().then_some(cell));
        self.keep_parts(cell, asked, After::GoOn)
    }

    /// Keeps the earlier parts of a turn of `cell`. The last part of the turn has panicked with the
    /// message `why`, and was undone. If the commit of the earlier parts is decided later, returns
    /// true, and the task fails after the decision. Otherwise, commits the earlier parts and
    /// returns false.
    pub(super) fn keep_before_panic(&self, cell: CellPtr, why: &str) -> bool {
        let asked = self.later.take_asked();
        self.keep_parts(cell, asked, After::Fail(why.to_owned()))
    }

    /// Keeps the earlier parts of a turn whose last part was undone. `asked` contains these parts.
    /// If their commit is decided later, returns true, and `after` is the next step after the
    /// decision. Otherwise, commits these parts and returns false.
    fn keep_parts(&self, cell: CellPtr, mut asked: Asked, after: After) -> bool {
        quiet::drop(asked.take_own_request());
        let Some(request) = asked.take_request() else {
            self.commit_parts(cell, asked.parts);
            return false;
        };
        // Nobody looks after the cell until its turn is decided. It is scheduled since the undo.
        debug_assert!(
            cell.state().is_scheduled(),
            "an undecided cell is scheduled"
        );
        self.stop_running();
        self.away.set(self.away.get() + 1);
        self.await_decision(cell, asked.parts, None, after, request);
        true
    }

    /// Ends the current part of a turn of `cell`, and takes the next message: one that the task has
    /// kept for later, or one from the mailbox. Returns `None` if there is no message that this
    /// activation (run of the task) may handle, or if the turn must not take more messages. The
    /// message still occupies its place in a bounded mailbox.
    pub(crate) fn next_message<M: 'static>(&self, cell: CellPtr) -> Option<M> {
        if !self.is_running(cell) {
            return None;
        }
        cell.check_messages::<M>();
        if !self.is_wanted_elsewhere()
            && let Some(message) = self.later.next_held()
        {
            self.begin_part(cell);
            return Some(message);
        }
        if !self.later.may_read() {
            return None;
        }
        let tail = cell.mailbox_tail();
        // SAFETY: the local mailbox is ours, and circular.
        let oldest = unsafe { tail.as_ref()?.next() };
        // SAFETY: in the mailbox, which only this worker makes shorter.
        let envelope = unsafe { &*oldest };
        if envelope.kind() != Kind::Messages || self.take_share(envelope, 1) == 0 {
            return None;
        }
        self.begin_part(cell);
        // SAFETY: the oldest message, in an envelope for messages of this type. It is moved out
        // once, because its slot is marked as read.
        let message = unsafe { parcel::read_at::<M>(parcel::oldest::<M>(oldest)) };
        envelope.set_read(envelope.read() - 1);
        if envelope.unread() == 0 {
            self.hold(cell.take_oldest());
        }
        Some(message)
    }

    /// Ends the current part of a turn of `cell`, and begins the next one.
    fn begin_part(&self, cell: CellPtr) {
        let part = self.end_part(cell);
        self.later.add_part(part);
        // The times of kinds of messages are those of whole turns.
        self.end_measured();
        self.begin_turn();
    }

    /// Ends the current part of a turn of `cell`. Returns the effects of the part.
    fn end_part(&self, cell: CellPtr) -> Part {
        // A part that fails is undone here, before its effects are set aside.
        self.shared.hooks.fail_if_chosen();
        self.shared.hooks.fail_if_broken_off();
        let was_in_line = self.in_line.get();
        let (part, cut, _) = self.set_aside(cell);
        self.begin_pause();
        cut.end();
        if was_in_line {
            // The mailbox got messages while the turn was away. They wait for the next activation.
            self.schedule(cell);
        }
        // Wakers are foreign code. What they send belongs to no turn.
        self.stage.purse.wake_waiting();
        self.commit();
        part
    }

    /// Stores the parts of a turn until their commit is decided, and passes the right to decide to
    /// `request` (`runtime/pending.rs`, steps 1 and 2).
    fn await_decision(
        &self,
        cell: CellPtr,
        parts: Vec<Part>,
        last: Option<Part>,
        after: After,
        request: Request,
    ) {
        let waiting = Waiting {
            parts,
            last,
            after,
            decided: Decided::default(),
        };
        self.shared.note_undecided();
        // Step 2.
        let pending = self.store_waiting(cell, waiting);
        if let Err(panic) = quiet::call(|| request(pending)) {
            self.report_as(cell.table().name_of(), &panic, false);
        }
        self.commit();
    }

    /// Stores a turn of `cell` until its commit is decided. Returns the right to decide.
    pub(super) fn store_waiting(&self, cell: CellPtr, mut waiting: Waiting) -> Pending {
        self.count_for_others(cell);
        let decided = Decided::default();
        waiting.decided = decided.clone();
        let at = cell.0.addr().get();
        self.later.waiting.borrow_mut().insert(at, waiting);
        Pending::new(cell, decided)
    }

    /// Finishes all turns whose commit was decided in the meantime (`runtime/pending.rs`, step 4).
    /// Calls foreign code (code that users have written).
    pub(super) fn finish_decided(&self) {
        while let Some(cell) = self.later.next_woken() {
            self.finish_one(cell);
        }
    }

    /// Finishes the turn of a cell, if its commit was decided.
    pub(super) fn finish_one(&self, cell: CellPtr) {
        if let Some((waiting, decision)) = self.later.take_decided(cell) {
            self.finish_later(cell, waiting, decision);
        }
    }

    /// If the latest turn of a cell waits for a decision, undoes this turn, because the cell is
    /// about to be stopped.
    #[cfg(feature = "sim")]
    pub(super) fn give_up(&self, cell: CellPtr) {
        let waiting = self.later.waiting.borrow_mut().remove(&cell.0.addr().get());
        if let Some(waiting) = waiting {
            self.begin_to_finish();
            self.undo_parts(waiting.parts, waiting.last);
            // A decision that was made, but will not be applied, may have a destructor.
            quiet::drop(waiting.decided.take());
        }
    }

    /// Finishes a turn according to a decision. The cell is scheduled, but in no run queue.
    fn finish_later(&self, cell: CellPtr, waiting: Waiting, decision: Decision) {
        // The cell keeps the mark SCHEDULED until its turn is finished. So nothing that happens
        // meanwhile runs or frees it.
        match decision {
            Decision::Commit => {
                let after = self.commit_waiting(cell, waiting);
                self.go_on_after(cell, after);
            }
            Decision::Undo(why) => self.undo_waiting(cell, waiting, &why),
            Decision::WhenDue(decide) => self.finish_due(cell, waiting, decide),
        }
        self.commit();
    }

    /// Commits a turn that has waited for the decision. Returns the next step.
    pub(super) fn commit_waiting(&self, cell: CellPtr, waiting: Waiting) -> After {
        self.begin_to_finish();
        self.commit_parts(cell, waiting.parts.into_iter().chain(waiting.last));
        waiting.after
    }

    /// Takes the next step after a turn has committed.
    pub(super) fn go_on_after(&self, cell: CellPtr, after: After) {
        match after {
            After::GoOn => self.end_later(cell),
            After::Stop => self.stop(cell, &Ended::Stopped),
            After::Fail(why) => {
                self.let_others();
                self.fail(cell, &why, true);
            }
        }
    }

    /// Undoes a turn that has waited for the decision, and lets its task fail.
    pub(super) fn undo_waiting(&self, cell: CellPtr, waiting: Waiting, why: &str) {
        self.begin_to_finish();
        self.undo_parts(waiting.parts, waiting.last);
        self.let_others();
        self.turn_failed(cell.table(), || why.to_owned());
        self.commit();
        self.let_others();
        self.fail(cell, why, true);
    }

    /// Prepares this worker to finish a turn, after the decision about its commit.
    fn begin_to_finish(&self) {
        self.away.set(self.away.get() - 1);
        self.shared.note_decided();
        // Destructors may have sent just now.
        self.commit();
    }

    /// Commits parts of a turn of `cell`, oldest first. The caller must have staged no effects.
    fn commit_parts(&self, cell: CellPtr, parts: impl IntoIterator<Item = Part>) {
        for part in parts {
            self.stage_again(part);
            self.commit_turn(cell);
        }
    }

    /// Undoes parts of a turn, newest first. The caller must have staged no effects.
    fn undo_parts(&self, parts: Vec<Part>, last: Option<Part>) {
        for part in last.into_iter().chain(parts.into_iter().rev()) {
            self.stage_again(part);
            self.undo();
        }
    }

    /// Ends the activation (the run) of a cell whose turn has committed.
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
    /// Counts a turn that has ended and waits for a decision. Called by the worker of the turn.
    pub(crate) fn note_undecided(&self) {
        // Relaxed: the worker parks later, which publishes the number.
        self.undecided.fetch_add(1, Relaxed);
    }

    /// Removes a turn from the count of turns that wait for a decision. Called by the worker of the
    /// turn.
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
