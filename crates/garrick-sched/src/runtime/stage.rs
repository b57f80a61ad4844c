//! The effects that a turn has staged, until the turn commits.
//!
//! Staging costs a turn almost nothing, because the code is optimized for turns that commit. A
//! message to a cell (task) of the same worker goes directly to its final place: above a mark in
//! the run queue, or after a recorded end of the mailbox. No thread reads these places before the
//! turn is over. A commit moves the mark. An undo cuts the queue back to the mark, as later
//! versions of the Lisp TActors do. Only messages for other workers are stored separately, in one
//! chain of envelopes per receiver.

use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};

use garrick_core::prim::unmodelled::{Release, fence};

use crate::cell::{CellPtr, Chain, Envelope, Header, Kind, State};
use crate::parcel;
use crate::pool::Pool;
use crate::runtime::address::{SendError, is_refused};
use crate::runtime::purse::{Purse, Used};
use crate::runtime::timer::{Later, Timed, Timer};
use crate::runtime::trail::Trail;
use crate::runtime::worker::Worker;

/// Maximum number of chains (lists of staged envelopes) that a send searches for its receiver,
/// newest first. A turn that alternates between more receivers creates several chains for one
/// receiver. These chains are still in the right order.
const CHAINS_SEARCHED: usize = 4;

/// Maximum capacity with which an empty list keeps its allocation for the next turn. Larger lists
/// are rare.
const KEPT_MAX: usize = 4096;

/// Record of the end of a local mailbox, made before the turn appended messages to the mailbox.
struct Appended {
    cell: CellPtr,
    /// Last envelope of the mailbox when the record was made, or null if the mailbox was empty.
    tail: *mut Envelope,
    /// Number of free slots in the envelope `tail` when the record was made.
    free: u32,
}

/// Mailboxes from which the messages of an undone turn were removed. These mailboxes are still
/// marked as APPENDED, which means that the current turn has appended messages to them.
#[must_use]
pub(crate) struct Cut(Vec<Appended>);

impl Cut {
    /// Removes the mark APPENDED (the current turn has appended messages) from each mailbox. The
    /// turn must be over, and the turn number must have changed.
    pub(crate) fn end(self) {
        // Release: pairs with the Acquire fences of `CellPtr::snapshot`. A reader that sees that
        // the flag is gone sees that the turn is over.
        fence(Release);
        for appended in self.0 {
            appended.cell.end_append();
        }
    }
}

/// Chain of envelopes that a turn has staged for a cell of another worker.
struct Outgoing {
    /// Receiver of the chain. This entry holds a reference to the receiver (README, invariant 8).
    cell: CellPtr,
    chain: Chain,
}

/// An answer that the turn has sent to a task. If the turn is undone, the answer is undone, too,
/// and the asking task must get a refusal.
#[derive(Clone, Copy)]
pub(crate) struct Owed {
    /// Task, or door (function behind an address), that has asked the question. If it is a task,
    /// the staged answer keeps the task alive. If it is a door, [`Stage`] keeps the door alive.
    pub(crate) cell: CellPtr,
    /// Function that sends a refusal to the asker. Consumes a reference to the asker.
    pub(crate) refuse: unsafe fn(&Worker, CellPtr),
}

/// An answer that the turn has given to a thread or a future. The answer is stored in the slot of
/// the asker. Either `publish` or `refuse` is called, exactly once. Both functions run foreign
/// code, and catch its panics.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub(crate) slot: NonNull<()>,
    /// Function that publishes the answer to the asker.
    pub(crate) publish: unsafe fn(NonNull<()>),
    /// Function that drops the answer and refuses the question.
    pub(crate) refuse: unsafe fn(NonNull<()>),
}

/// Staged effects of a turn that has left its worker. The messages are kept as separate chains
/// (lists of envelopes), so that no thread sees the messages before the turn commits.
pub(crate) struct Carried {
    outgoing: Vec<Outgoing>,
    later: Vec<Later>,
    cancelled: Vec<Timer>,
    owed: Vec<Owed>,
    given: Vec<Given>,
    kept: Vec<CellPtr>,
    places: Used,
}

impl Carried {
    /// Returns the receivers of the messages that a turn had staged before it left its worker.
    pub(crate) fn receivers(&self) -> impl Iterator<Item = CellPtr> {
        self.outgoing.iter().map(|out| out.cell)
    }
}

/// Staged effects of the current turn.
pub(crate) struct Stage {
    appended: RefCell<Vec<Appended>>,
    /// State word of the cell to whose mailbox the turn most recently appended a message, or 0.
    /// While a cell has this state word, a message can be written to the cell's last envelope
    /// without a new entry in `appended`.
    covered: Cell<State>,
    outgoing: RefCell<Vec<Outgoing>>,
    /// Receiver of the chain (list of staged envelopes) to which the turn last added a message, or
    /// null. `out_envelope` is the newest envelope of this chain. Further messages to the same cell
    /// are written to that envelope.
    out_cell: Cell<*const Header>,
    out_envelope: Cell<*mut Envelope>,
    later: RefCell<Vec<Later>>,
    /// Timers that the turn has cancelled.
    cancelled: RefCell<Vec<Timer>>,
    /// Messages that must not be sent, because their timers were cancelled or set again. A commit
    /// drops these messages after it has cancelled and set all timers of the turn.
    unsent: RefCell<Vec<Timed>>,
    /// Sequence number of the latest turn that has registered a watch on its own task. The watch
    /// cancels the timers of the task when the task ends.
    timers_watched_by: Cell<u64>,
    /// Answers that turn number `owed_by` has sent to tasks.
    owed: RefCell<Vec<Owed>>,
    owed_by: Cell<u64>,
    /// Answers that the turn has given to threads and futures.
    given: RefCell<Vec<Given>>,
    /// Doors (functions behind addresses) to which the turn has sent answers. A door passes an
    /// answer on immediately, so no staged answer keeps the door alive. Instead, each entry of this
    /// list holds a reference to its door.
    kept: RefCell<Vec<CellPtr>>,
    /// Places in bounded mailboxes that the turn has taken.
    pub(crate) purse: Purse,
    /// True if a commit of the turn must do more than keep the turn's entries in the run queues.
    /// For example, the turn has staged messages to other workers.
    dirty: Cell<bool>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            appended: RefCell::default(),
            covered: Cell::new(State::NONE),
            outgoing: RefCell::default(),
            out_cell: Cell::new(ptr::null()),
            out_envelope: Cell::new(ptr::null_mut()),
            later: RefCell::default(),
            cancelled: RefCell::default(),
            unsent: RefCell::default(),
            timers_watched_by: Cell::new(0),
            owed: RefCell::default(),
            owed_by: Cell::new(0),
            given: RefCell::default(),
            kept: RefCell::default(),
            purse: Purse::new(),
            dirty: Cell::new(false),
        }
    }

    /// Returns true if a commit of the turn must do more than keep the turn's entries in the run
    /// queues.
    #[inline]
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty.get()
    }

    /// Records that a commit of the turn must do more than keep the turn's entries in the run
    /// queues.
    #[inline]
    pub(crate) fn set_dirty(&self) {
        self.dirty.set(true);
    }

    /// Clears the flag that [`Stage::set_dirty`] sets. Called by a commit, immediately before the
    /// commit does the work for which the flag was set.
    pub(crate) fn clear_dirty(&self) {
        self.dirty.set(false);
    }

    /// Returns the state word of the cell to whose mailbox the turn last appended a message.
    #[inline]
    pub(crate) fn covered(&self) -> State {
        self.covered.get()
    }

    /// Records the current end of a cell's mailbox, so that an undo can remove later messages. Does
    /// nothing if the newest record already belongs to this mailbox. The cell is a scheduled cell
    /// of this worker.
    fn cover(&self, cell: CellPtr) {
        if self.covered.get() != cell.state() {
            let tail = cell.mailbox_tail();
            let free = free_slots(tail);
            self.set_dirty();
            self.appended
                .borrow_mut()
                .push(Appended { cell, tail, free });
            cell.begin_append();
            // Release: pairs with the Acquire fences of `CellPtr::snapshot`. A reader that sees
            // what is appended below sees the flag, or that it was removed since.
            fence(Release);
            self.covered.set(cell.state());
        }
    }

    /// Appends a note (an envelope that makes a request) to the mailbox of a scheduled cell of this
    /// worker. Later messages go into another envelope.
    pub(crate) fn append_note(&self, cell: CellPtr, note: *mut Envelope) {
        self.cover(cell);
        // SAFETY: the note is ours, and alive until it is read.
        unsafe { cell.append(note) };
        self.covered.set(cell.state());
    }

    /// Appends a message to the mailbox of a scheduled cell of this worker.
    pub(crate) fn append<M>(&self, pool: &Pool, cell: CellPtr, message: M) {
        self.cover(cell);
        append_for_good(pool, cell, message);
        self.covered.set(cell.state());
    }

    /// Adds a message to the chain (the list of staged envelopes) of `cell`. Succeeds only if the
    /// newest message in all chains of the turn is in the same chain.
    ///
    /// # Errors
    /// Returns the message if the newest message has another receiver, or if the newest envelope of
    /// the chain is full.
    #[inline(always)]
    pub(crate) fn send_out_again<M>(&self, cell: CellPtr, message: M) -> Result<(), M> {
        if !ptr::eq(self.out_cell.get(), cell.0.as_ptr()) {
            return Err(message);
        }
        // SAFETY: the envelope is the newest of a chain of ours, which holds messages `M`.
        unsafe { parcel::put(self.out_envelope.get(), message) }
    }

    /// Adds a message to the chain (the list of staged envelopes) of a cell that contains a task.
    /// An answer is accepted even if the sponsor of the cell refuses other messages because it is
    /// shutting down.
    ///
    /// # Errors
    /// Returns the message if the cell is closed.
    #[inline(never)]
    pub(crate) fn send_out_to_other<M: 'static>(
        &self,
        pool: &Pool,
        cell: CellPtr,
        message: M,
        is_answer: bool,
    ) -> Result<(), SendError<M>> {
        let mut outgoing = self.outgoing.borrow_mut();
        let same = outgoing
            .iter_mut()
            .rev()
            .take(CHAINS_SEARCHED)
            .find(|out| out.cell == cell);
        let envelope = if let Some(Outgoing { chain, .. }) = same {
            // SAFETY: the chain is ours and holds messages `M`.
            unsafe { append_to_chain(pool, chain, message) };
            chain.newest
        } else {
            if cell.inbox_is_closed() || !is_answer && is_refused(cell) {
                return Err(SendError(message));
            }
            let chain = Chain::of_one(parcel::alone(pool, message));
            // The reference that keeps the receiver alive until the turn is over.
            cell.clone_foreign();
            self.set_dirty();
            outgoing.push(Outgoing { cell, chain });
            chain.newest
        };
        // Each message to a bounded cell asks for its place first.
        if !cell.is_bounded() {
            self.out_cell.set(cell.0.as_ptr());
            self.out_envelope.set(envelope);
        }
        Ok(())
    }

    /// Stages a trail (a trace context), followed by its message, for a cell that contains a task.
    /// Later messages do not go into the same envelope. An answer is accepted even if the sponsor
    /// of the cell refuses other messages because it is shutting down.
    ///
    /// # Errors
    /// Returns the message if the cell is closed.
    #[cold]
    pub(crate) fn send_out_behind<M: 'static>(
        &self,
        pool: &Pool,
        trail: Trail,
        cell: CellPtr,
        message: M,
        is_answer: bool,
    ) -> Result<(), SendError<M>> {
        if cell.inbox_is_closed() || !is_answer && is_refused(cell) {
            return Err(SendError(message));
        }
        let chain = chain_behind(pool, trail, parcel::alone(pool, message));
        // The reference that keeps the receiver alive until the turn is over.
        cell.clone_foreign();
        self.set_dirty();
        self.out_cell.set(ptr::null());
        self.outgoing.borrow_mut().push(Outgoing { cell, chain });
        Ok(())
    }

    /// Stages a note (an envelope that makes a request) for a cell of any worker, after the
    /// messages that this turn has sent to the cell.
    pub(crate) fn send_note(&self, cell: CellPtr, note: *mut Envelope) {
        cell.clone_foreign();
        self.set_dirty();
        // Messages sent after the note must not go into an envelope before it.
        self.out_cell.set(ptr::null());
        let chain = Chain::of_one(note);
        self.outgoing.borrow_mut().push(Outgoing { cell, chain });
    }

    /// Stages a message that is delivered at a deadline.
    pub(crate) fn send_later(&self, later: Later) {
        self.set_dirty();
        self.later.borrow_mut().push(later);
    }

    /// Stages the cancellation of a timer.
    pub(crate) fn cancel(&self, timer: Timer) {
        self.set_dirty();
        self.cancelled.borrow_mut().push(timer);
    }

    /// Records that turn number `turn` has registered a watch on its own task, which cancels the
    /// task's timers when the task ends. Returns false if this was already recorded.
    pub(crate) fn watches_timers(&self, turn: u64) -> bool {
        self.timers_watched_by.replace(turn) != turn
    }

    /// Records an answer to a task. If turn number `turn` is undone, the asking task must get a
    /// refusal.
    pub(crate) fn owe(&self, turn: u64, owed: Owed) {
        if owed.cell.is_door() {
            owed.cell.clone_foreign();
            self.set_dirty();
            self.kept.borrow_mut().push(owed.cell);
        }
        let mut list = self.owed.borrow_mut();
        if self.owed_by.replace(turn) != turn {
            list.clear();
        }
        list.push(owed);
    }

    /// Removes and returns the answers that turn number `turn` has sent to tasks. Called when this
    /// turn is undone or leaves its worker.
    pub(crate) fn take_owed(&self, turn: u64) -> Vec<Owed> {
        if self.owed_by.get() == turn {
            self.owed.take()
        } else {
            Vec::new()
        }
    }

    /// Removes and returns the doors (functions behind addresses) that were kept alive for the
    /// turn. For each door, the caller gets the reference that has kept the door alive.
    pub(crate) fn take_kept(&self) -> Vec<CellPtr> {
        self.kept.take()
    }

    /// Calls `insert` with each delayed message of the turn, in the order of sending.
    pub(crate) fn commit_later(&self, insert: impl FnMut(Later)) {
        drain(&self.later, insert);
    }

    /// Removes and returns the delayed messages of the turn.
    pub(crate) fn take_later(&self) -> Vec<Later> {
        self.later.take()
    }

    /// Keeps `timed`, a message that a timer must not send. Does nothing if `timed` is `None`. The
    /// commit drops the message after it has cancelled and set all timers of the turn.
    pub(crate) fn keep_unsent(&self, timed: Option<Timed>) {
        if let Some(timed) = timed {
            self.unsent.borrow_mut().push(timed);
        }
    }

    /// Calls `drop` with each message that a timer must not send. `drop` may add more such
    /// messages.
    pub(crate) fn take_unsent(&self, drop: impl FnMut(Timed)) {
        drain(&self.unsent, drop);
    }

    /// Calls `cancel` with each timer that the turn has cancelled. `cancel` may cancel more timers.
    pub(crate) fn commit_cancelled(&self, cancel: impl FnMut(Timer)) {
        drain(&self.cancelled, cancel);
    }

    /// Stages an answer to a thread or a future. The answer is published or refused at the end of
    /// the turn.
    pub(crate) fn give(&self, given: Given) {
        self.set_dirty();
        self.given.borrow_mut().push(given);
    }

    /// Calls `publish` with each answer of the turn, oldest first. `publish` may add more answers.
    pub(crate) fn commit_given(&self, publish: impl FnMut(Given)) {
        drain(&self.given, publish);
    }

    /// Removes and returns the answers that the turn has given to threads and futures.
    pub(crate) fn take_given(&self) -> Vec<Given> {
        self.given.take()
    }

    /// Discards the staged cancellations of timers.
    pub(crate) fn undo_cancelled(&self) {
        self.cancelled.borrow_mut().clear();
    }

    /// Commits the appended messages. Then calls `deliver` with each chain (list of staged
    /// envelopes) and its receiver, in the order of sending. `deliver` gets the chain's reference
    /// to the receiver.
    pub(crate) fn commit(&self, mut deliver: impl FnMut(CellPtr, Chain)) {
        self.forget_appended();
        self.out_cell.set(ptr::null());
        drain(&self.outgoing, |out| deliver(out.cell, out.chain));
    }

    /// Undoes all staged effects.
    ///
    /// `undone` gets the envelopes that were removed from mailboxes. `split` moves the newest
    /// messages of an envelope to a separate envelope. The older messages stay in the mailbox.
    /// `discard` gets each chain with the reference to its receiver. The functions must only store
    /// what they get, and must not run foreign code. The mailboxes stay marked as APPENDED until
    /// the caller has ended the turn.
    pub(crate) fn undo(
        &self,
        mut split: impl FnMut(CellPtr, *mut Envelope, u32) -> *mut Envelope,
        mut undone: impl FnMut(CellPtr, *mut Envelope),
        mut discard: impl FnMut(CellPtr, Chain),
    ) -> Cut {
        self.purse.undo();
        self.covered.set(State::NONE);
        self.out_cell.set(ptr::null());
        let appended = self.appended.take();
        for entry in appended.iter().rev() {
            cut_back(entry, &mut undone);
            if !entry.tail.is_null() {
                let count = entry.free - free_slots(entry.tail);
                undone(entry.cell, split(entry.cell, entry.tail, count));
            }
        }
        for out in &self.outgoing.take() {
            discard(out.cell, out.chain);
        }
        Cut(appended)
    }

    /// Sets aside all staged effects of turn number `turn`, which leaves its worker.
    ///
    /// `firsts` are the messages with which the turn has scheduled cells of this worker. `split`
    /// moves the newest messages of an envelope to a separate envelope. The older messages stay in
    /// the mailbox. `keep` adds a reference to a cell of this worker.
    pub(crate) fn carry(
        &self,
        turn: u64,
        firsts: Vec<(CellPtr, *mut Envelope)>,
        mut split: impl FnMut(CellPtr, *mut Envelope, u32) -> *mut Envelope,
        keep: impl Fn(CellPtr),
    ) -> (Carried, Cut) {
        self.covered.set(State::NONE);
        self.out_cell.set(ptr::null());
        // Each mailbox is cut back to its old end, the newest entry first. The parts are put
        // together in reverse order.
        let mut parts = Vec::new();
        let appended = self.appended.take();
        for entry in appended.iter().rev() {
            let mut part = Vec::new();
            cut_back(entry, &mut |_, envelope| part.push(envelope));
            if !entry.tail.is_null() && free_slots(entry.tail) < entry.free {
                let count = entry.free - free_slots(entry.tail);
                part.insert(0, split(entry.cell, entry.tail, count));
            }
            parts.push((entry.cell, part));
        }
        // In the order of sending to each cell: the message that has scheduled it, the messages in
        // its mailbox, and then the messages that could not go there, because strangers had reached
        // the cell.
        let firsts = firsts.into_iter().map(|(cell, first)| (cell, vec![first]));
        let local = firsts.chain(parts.into_iter().rev());
        let mut outgoing: Vec<_> = local
            .filter_map(|(cell, envelopes)| {
                let chain = chain_of(&envelopes)?;
                // The reference that keeps the receiver alive until the turn is over.
                keep(cell);
                Some(Outgoing { cell, chain })
            })
            .collect();
        outgoing.append(&mut self.outgoing.borrow_mut());
        let carried = Carried {
            outgoing,
            later: self.later.take(),
            cancelled: self.cancelled.take(),
            owed: self.take_owed(turn),
            given: self.given.take(),
            kept: self.kept.take(),
            places: self.purse.carry(),
        };
        (carried, Cut(appended))
    }

    /// Restores the effects that [`Stage::carry`] has set aside: stages them for turn number
    /// `turn`. Before the call, this turn must have no staged effects.
    pub(crate) fn restore(&self, turn: u64, carried: Carried) {
        let Carried {
            outgoing,
            later,
            cancelled,
            owed,
            given,
            kept,
            places,
        } = carried;
        debug_assert!(
            self.outgoing.borrow().is_empty() && self.given.borrow().is_empty(),
            "the effects of two turns are not mixed"
        );
        *self.outgoing.borrow_mut() = outgoing;
        *self.later.borrow_mut() = later;
        *self.cancelled.borrow_mut() = cancelled;
        *self.given.borrow_mut() = given;
        *self.kept.borrow_mut() = kept;
        self.purse.restore(places);
        *self.owed.borrow_mut() = owed;
        self.owed_by.set(turn);
        self.set_dirty();
    }

    /// Commits the appended messages: removes the marks APPENDED from the mailboxes, and gives back
    /// the places in bounded mailboxes that the turn has taken but not used.
    #[inline]
    pub(crate) fn forget_appended(&self) {
        self.purse.settle();
        self.covered.set(State::NONE);
        // Release: pairs with the Acquire fences of `Header::snapshot`. A reader that sees that the
        // flag is gone sees what was appended.
        fence(Release);
        let mut list = self.appended.borrow_mut();
        for appended in list.drain(..) {
            appended.cell.check_alive();
            appended.cell.end_append();
        }
        trim(&mut list);
    }
}

/// Frees the allocation of an empty list if the allocation is large.
#[inline]
fn trim<T>(list: &mut Vec<T>) {
    if list.capacity() > KEPT_MAX {
        *list = Vec::new();
    }
}

/// Takes all values out of a list, and calls `f` with each value. `f` may add values to the list.
/// The list keeps its allocation, unless `f` has added values.
fn drain<T>(list: &RefCell<Vec<T>>, f: impl FnMut(T)) {
    if list.borrow().is_empty() {
        return;
    }
    let mut taken = list.take();
    taken.drain(..).for_each(f);
    trim(&mut taken);
    let mut list = list.borrow_mut();
    if list.is_empty() {
        *list = taken;
    }
}

/// Appends a message to the mailbox of a scheduled cell of this worker. Makes no record by which
/// the message could be removed again.
pub(crate) fn append_for_good<M>(pool: &Pool, cell: CellPtr, message: M) {
    let tail = cell.mailbox_tail();
    if tail.is_null() {
        return append_envelope(pool, cell, tail, message);
    }
    // SAFETY: in the local mailbox, hence ours, and the mailbox is one for messages `M`.
    if let Err(message) = unsafe { parcel::put(tail, message) } {
        append_envelope(pool, cell, tail, message);
    }
}

#[inline(never)]
fn append_envelope<M>(pool: &Pool, cell: CellPtr, tail: *mut Envelope, message: M) {
    // SAFETY: in the local mailbox, hence ours.
    let before = unsafe { tail.as_ref() }.map(Envelope::class);
    let envelope = parcel::envelope::<M>(pool, before);
    // SAFETY: made for `M`, empty, ours until read.
    unsafe {
        let put = parcel::put(envelope, message);
        debug_assert!(put.is_ok(), "an empty envelope has room for one");
        cell.append(envelope);
    }
}

/// Links envelopes, oldest first, into a chain. Returns `None` if there are no envelopes.
fn chain_of(envelopes: &[*mut Envelope]) -> Option<Chain> {
    let (oldest, rest) = envelopes.split_first()?;
    let mut chain = Chain::of_one(*oldest);
    for &envelope in rest {
        // SAFETY: cut out of a mailbox, or made for this, so it is ours alone.
        unsafe { (*envelope).set_next(chain.newest) };
        chain.newest = envelope;
    }
    Some(chain)
}

/// Returns a chain (a list of envelopes) that contains a trail (a trace context), followed by the
/// envelope with the message to which the trail belongs.
pub(crate) fn chain_behind(pool: &Pool, trail: Trail, envelope: *mut Envelope) -> Chain {
    let mut chain = Chain::of_one(parcel::sealed(pool, Kind::Trail, trail));
    // SAFETY: made for this, so it is ours alone.
    unsafe { (*envelope).set_next(chain.newest) };
    chain.newest = envelope;
    chain
}

/// Appends a message to the newest envelope of a chain. If that envelope is full, adds a new one.
///
/// # Safety
/// The caller owns the chain, which has messages of type `M`.
unsafe fn append_to_chain<M>(pool: &Pool, chain: &mut Chain, message: M) {
    // SAFETY: by contract; the new envelope is made for `M`, empty, and ours.
    unsafe {
        let Err(message) = parcel::put(chain.newest, message) else {
            return;
        };
        let envelope = parcel::envelope::<M>(pool, Some((*chain.newest).class()));
        let put = parcel::put(envelope, message);
        debug_assert!(put.is_ok(), "an empty envelope has room for one");
        (*envelope).set_next(chain.newest);
        chain.newest = envelope;
    }
}

/// Returns the number of free slots in the last envelope of a mailbox, or 0 if the mailbox is
/// empty. The mailbox belongs to this worker.
fn free_slots(tail: *mut Envelope) -> u32 {
    // SAFETY: in the local mailbox, hence ours.
    unsafe { tail.as_ref() }.map_or(0, Envelope::free)
}

/// Removes the envelopes after `entry.tail` from a mailbox. `entry.tail` was the last envelope of
/// the mailbox when `entry` was recorded. Calls `undone` with each removed envelope.
fn cut_back(entry: &Appended, undone: &mut impl FnMut(CellPtr, *mut Envelope)) {
    let newest = entry.cell.mailbox_tail();
    if newest == entry.tail {
        return;
    }
    // SAFETY: the local mailbox is ours: a circular list from `newest` by `next` to the oldest.
    unsafe {
        let oldest = (*newest).next();
        let mut envelope = oldest;
        if !entry.tail.is_null() {
            envelope = (*entry.tail).next();
            (*entry.tail).set_next(oldest);
        }
        entry.cell.set_mailbox_tail(entry.tail);
        loop {
            let next = (*envelope).next();
            undone(entry.cell, envelope);
            if envelope == newest {
                return;
            }
            envelope = next;
        }
    }
}
