//! Visits: a worker (the visitor) handles the messages of a cell (task) whose own worker (the
//! owner) is in a long turn.
//!
//! The visitor has the token of the cell (the right to notify the owner). The visitor writes only
//! the inbox, the shared count and the task. The visitor does not write the owner fields, because
//! the owner may send to the cell during the visit, clone its addresses and drop them.
//! `sponsor/rescue.rs` defines which cells may be visited. `sponsor/README.md` explains the
//! protocol.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::Worker;
use super::ready::Received;
use crate::cell::{CellPtr, Chain, Envelope, Kind, Mail, Push, reverse};
use crate::parcel;
use crate::quiet::{self, Panic};
use crate::remote::{Remote, Serve as _};
use crate::run_queue::Entry;
use crate::runtime::look::{Seen, Standing};
use crate::runtime::sponsor::visit::{After, Left, Notes, Outcome, Parted, Rest, Visit};
use crate::runtime::trail::Trail;
use crate::runtime::watch::{self, Ended, Request};

/// Maximum number of messages of a lent cell that a worker handles before it runs its own cells
/// again.
const MESSAGES_MAX: u32 = if cfg!(garrick_loom) { 2 } else { 64 };

/// State of this worker while it visits a cell: it runs a cell that another worker has lent.
#[derive(Default)]
pub(super) struct Visiting {
    /// Envelope of the current or next message, or the nudge (request for a turn) that is being
    /// handled. Null if this worker runs no lent cell.
    envelope: Cell<*mut Envelope>,
    /// True if another message is waiting for the visited cell (the lent cell that this worker
    /// runs).
    has_more: Cell<bool>,
    /// True if the task in the visited cell (the lent cell that this worker runs) has stopped.
    stops: Cell<bool>,
    /// Trail (trace context) of the next message to the visited cell (the lent cell that this
    /// worker runs).
    pub(super) trail: Cell<Option<Trail>>,
}

impl Visiting {
    /// Returns true if the next message to the visited cell has a trail (a trace context).
    fn has_trail(&self) -> bool {
        let trail = self.trail.take();
        let has_trail = trail.is_some();
        self.trail.set(trail);
        has_trail
    }
}

/// Input for one turn of a cell that another worker has lent to this one.
pub(crate) enum Input {
    /// Pointer to a message, which the caller must move out.
    Message(*const u8),
    Nudge,
}

impl Worker {
    /// Returns true if this worker is running a cell that another worker has lent to it.
    #[inline]
    pub(crate) fn is_visiting(&self) -> bool {
        !self.visiting.envelope.get().is_null()
    }

    /// Panics in debug builds if this worker must not run the cell: the cell does not belong to
    /// this worker, and no other worker has lent it.
    #[inline(always)]
    pub(crate) fn check_runs(&self, cell: CellPtr) {
        if cfg!(debug_assertions) && !self.is_visiting() {
            cell.check_home(self.home);
        }
    }

    /// Returns the next input of the cell that another worker has lent to this one. If the input is
    /// a message, removes it from its envelope. Returns `None` if this worker runs no such cell.
    #[inline]
    pub(crate) fn next_of_visit<M>(&self) -> Option<Input> {
        let envelope = NonNull::new(self.visiting.envelope.get())?;
        // SAFETY: `handle_one` has put an envelope there that is ours: a nudge, or one with an
        // unread message of the cell's type.
        unsafe {
            if envelope.as_ref().kind() == Kind::Nudge {
                return Some(Input::Nudge);
            }
            let slot = u32::from(envelope.as_ref().read()) - 1;
            envelope.as_ref().set_read(slot as u16);
            Some(Input::Message(parcel::place::<M>(envelope.as_ptr(), slot)))
        }
    }

    /// If this worker runs a cell that another worker has lent, records that the task of the cell
    /// stops, and returns true. Otherwise returns false.
    pub(crate) fn visit_stops(&self) -> bool {
        let is_visiting = self.is_visiting();
        if is_visiting {
            self.visiting.stops.set(true);
        }
        is_visiting
    }

    /// Returns `Some` if this worker runs a cell that another worker has lent, and otherwise
    /// `None`. The value in `Some` is true if another message for this cell is waiting.
    pub(crate) fn visit_has_more(&self) -> Option<bool> {
        self.is_visiting().then(|| self.visiting.has_more.get())
    }

    /// Runs a cell that another worker of the same crew (group of workers) has lent, and delivers
    /// due timers of workers that lend cells. Returns false if there were neither cells nor timers.
    #[cold]
    pub(crate) fn visit_some(&self) -> bool {
        self.shown.name_none();
        self.watch_timers();
        let has_fired = self.fire_lent();
        // A timer may have sent to an idle worker.
        self.give_next_seat();
        let Some(visit) = self.crew.next_visit() else {
            return has_fired;
        };
        // The visit may take a long time, or wait for a cell of this worker or of a loan.
        self.let_others_after_turn();
        if self.shared.signal().idle() > 0 && self.crew.has_to_visit() {
            self.crew.wake_visitor();
        }
        self.visit(visit);
        true
    }

    fn visit(&self, mut visit: Visit) {
        let mut left = MESSAGES_MAX;
        loop {
            let parted = self.go_on(&mut visit, &mut left);
            let is_put_back = matches!(parted.outcome, Outcome::Later);
            match self.crew.part(visit, parted) {
                After::Nothing if is_put_back => return self.call_next_visitor(),
                After::Nothing => return,
                After::Again(again) => visit = again,
                After::Tell(cell) => return self.tell_owner(cell),
            }
        }
    }

    /// Wakes another thread, if this worker may run other cells before it visits the cell that it
    /// has put back.
    fn call_next_visitor(&self) {
        if self.has_something() || self.is_to_stop(self.shared.signal()) {
            self.crew.wake_visitor();
        }
    }

    /// Continues to run a lent cell. First handles the message in the cell's run queue entry, then
    /// the cell's mailbox, and then its inbox.
    fn go_on(&self, visit: &mut Visit, left: &mut u32) -> Parted {
        let message = visit
            .take_entry()
            .and_then(|entry| self.unwrap_entry(&entry));
        let rest = match message {
            Some(list) => Some(Rest {
                list,
                is_older: true,
            }),
            None => visit.take_rest(),
        };
        if let Some(Rest {
            list,
            is_older: true,
        }) = rest
        {
            let parted = self.handle(visit, list, true, left);
            if !matches!(parted.outcome, Outcome::Done) {
                return parted;
            }
        }
        if visit.has_mail() {
            return self.handle_mail(visit, left);
        }
        // Messages that the last visit has left come first.
        let list = match rest {
            Some(rest) if !rest.is_older => rest.list,
            // SAFETY: taken out of the inbox, so it is ours.
            _ => unsafe { reverse(visit.cell.take_and_hold()) },
        };
        if visit.is_calm() {
            // The state of the cell was read after its inbox was taken. So this thread sees
            // messages that the owner has sent to the mailbox before any message of this list.
            return self.handle(visit, list, false, left);
        }
        Parted {
            rest: Rest {
                list,
                is_older: false,
            },
            outcome: Outcome::ForOwner,
        }
    }

    /// Moves the message of a run queue entry to a separate envelope. Returns `None` if the entry
    /// has no message.
    fn unwrap_entry(&self, entry: &Entry) -> Option<*mut Envelope> {
        let pool = NonNull::from(&self.pool).cast();
        let (message, wrap) = (entry.message(), entry.cell().table().wrap_slot);
        // SAFETY: the entry's message, of the cell's type, is nobody else's.
        (!message.is_null()).then(|| unsafe { wrap(pool, message) })
    }

    /// Handles the messages in the mailbox of a lent cell that was in a run queue.
    fn handle_mail(&self, visit: &mut Visit, left: &mut u32) -> Parted {
        let mut outcome = Outcome::Done;
        while let (Outcome::Done, Some((envelope, free, follows))) = (&outcome, visit.next_mail()) {
            // SAFETY: the visitor reads it, up to there.
            let is_handled = match unsafe { (*envelope).kind() } {
                Kind::Messages => {
                    outcome = self.handle_messages(visit.cell, envelope, free, follows, left);
                    self.visiting.trail.take();
                    // SAFETY: as above.
                    unsafe { u32::from((*envelope).read()) == free }
                }
                Kind::Nudge => {
                    outcome = self.handle_nudge(visit.cell, envelope, follows, left);
                    let is_handled = !matches!(outcome, Outcome::Later);
                    if is_handled {
                        visit.end_nudge();
                    }
                    is_handled
                }
                Kind::Trail => {
                    // SAFETY: as above. It is not the last envelope, so it is freed below.
                    outcome = unsafe { self.open_trail(envelope, *left) };
                    matches!(outcome, Outcome::Done)
                }
                // As in `handle`.
                _ => {
                    outcome = Outcome::ForOwner;
                    break;
                }
            };
            if is_handled && let Some(read) = visit.next_envelope() {
                // SAFETY: nothing is left in it, and the owner mends the list before it looks at
                // that.
                unsafe { self.pool.give_envelope(read) };
            }
        }
        Parted {
            rest: Rest::NONE,
            outcome,
        }
    }

    /// Gives a cell back to its owner, by a note (an internal message) that carries the token of
    /// the cell (the right to notify the owner). This worker must have the token.
    pub(super) fn tell_owner(&self, cell: CellPtr) {
        let note = self.pool.take_envelope(Kind::Wake, 0, 0);
        // SAFETY: the note is ours, and stays in the inbox until the owner takes it, who must have
        // the token for it.
        let wake = unsafe {
            (*note).set_token_of(Some(cell));
            let pushed = cell.push(Chain::of_one(note));
            debug_assert_eq!(pushed, Push::Queued, "we have the token");
            Remote::of(cell.home()).notify(note, false)
        };
        wake.call();
    }

    /// Handles a list of envelopes for a lent cell.
    fn handle(
        &self,
        visit: &mut Visit,
        mut list: *mut Envelope,
        is_older: bool,
        left: &mut u32,
    ) -> Parted {
        let mut outcome = Outcome::Done;
        while !list.is_null() && matches!(outcome, Outcome::Done) {
            // SAFETY: the list is ours.
            let envelope = unsafe { &*list };
            let next = envelope.next();
            let follows = || {
                // SAFETY: as above.
                let next = unsafe { next.as_ref() };
                next.map_or(visit.has_messages(), Envelope::has_messages)
            };
            outcome = match envelope.kind() {
                Kind::Messages => {
                    let free = envelope.free();
                    let handled = self.handle_messages(visit.cell, list, free, follows(), left);
                    self.visiting.trail.take();
                    handled
                }
                Kind::Nudge => self.handle_nudge(visit.cell, list, follows(), left),
                Kind::Wake => Outcome::Done,
                // SAFETY: the list is ours, and the envelope is freed below if its trail is taken.
                Kind::Trail => unsafe { self.open_trail(list, *left) },
                Kind::Release => {
                    visit.notes.releases += 1;
                    Outcome::Done
                }
                Kind::Watch => {
                    self.register(visit.cell, list);
                    visit.notes.is_watched = true;
                    Outcome::Done
                }
                // These kinds need something that only the owner may do.
                Kind::Stop | Kind::Move => Outcome::ForOwner,
            };
            let is_over = match envelope.kind() {
                Kind::Messages => envelope.unread() == 0,
                Kind::Nudge => !matches!(outcome, Outcome::Later),
                _ => matches!(outcome, Outcome::Done),
            };
            if !is_over {
                break;
            }
            // SAFETY: nothing is left in it.
            unsafe { self.pool.give_envelope(list) };
            list = next;
        }
        Parted {
            rest: Rest { list, is_older },
            outcome,
        }
    }

    /// Registers the watchers in an envelope for a lent cell, and answers requests for the state of
    /// the task. The watchers are registered early enough, because the task does not end before its
    /// owner has the cell again.
    #[cold]
    fn register(&self, cell: CellPtr, envelope: *mut Envelope) {
        let mut cancelled = Vec::new();
        // SAFETY: the envelope is ours, and contains watchers.
        while let Some(request) = unsafe { parcel::get::<Request>(envelope) } {
            match request {
                Request::Watch(watcher) => cancelled.append(&mut watch::register(cell, watcher)),
                // Only the owner can count the messages and read the label.
                Request::Look(looker) => looker.answer(Seen {
                    waiting: None,
                    standing: Standing::Ready,
                    label: None,
                }),
            }
        }
        if !cancelled.is_empty() {
            self.let_others();
            watch::tell_late(cancelled);
            // What their destructors have sent belongs to no turn.
            self.commit();
        }
    }

    /// Returns true if this worker must not start another turn of the visited cell. `left` is the
    /// number of turns that the visit may still run.
    fn must_leave(&self, left: u32) -> bool {
        left == 0 || self.is_to_stop(self.shared.signal())
    }

    /// Takes the trail (trace context) out of a note, for the message that follows the note. The
    /// visit must handle both or neither. So if the visit ends before another turn, leaves the note
    /// as it is, and returns [`Outcome::Later`]. `left` is the number of turns that the visit may
    /// still run.
    ///
    /// # Safety
    /// The caller owns the envelope, which is of kind `Trail` and was not opened. If the outcome is
    /// [`Outcome::Done`], the caller frees the envelope, and handles the next one in this visit.
    unsafe fn open_trail(&self, note: *mut Envelope, left: u32) -> Outcome {
        if self.must_leave(left) {
            return Outcome::Later;
        }
        // SAFETY: by contract.
        let trail = unsafe { parcel::open_sealed(note) };
        self.visiting.trail.set(Some(trail));
        Outcome::Done
    }

    /// Handles the unread messages of an envelope, oldest first. The newest message is in slot
    /// `free`. `follows` must be true if more messages follow. If the oldest message has a trail,
    /// handles at least this message.
    fn handle_messages(
        &self,
        cell: CellPtr,
        envelope: *mut Envelope,
        free: u32,
        follows: bool,
        left: &mut u32,
    ) -> Outcome {
        loop {
            // SAFETY: this field of it is ours.
            let unread = u32::from(unsafe { (*envelope).read() }) - free;
            if unread == 0 {
                return Outcome::Done;
            }
            if !self.visiting.has_trail() && self.must_leave(*left) {
                return Outcome::Later;
            }
            *left -= 1;
            self.visiting.has_more.set(unread > 1 || follows);
            match self.handle_one(cell, envelope) {
                Outcome::Done => {}
                other => return other,
            }
        }
    }

    /// Handles a nudge (a request for a turn), if this worker may run another turn of the cell now.
    /// Otherwise returns [`Outcome::Later`]. `follows` must be true if messages follow.
    fn handle_nudge(
        &self,
        cell: CellPtr,
        nudge: *mut Envelope,
        follows: bool,
        left: &mut u32,
    ) -> Outcome {
        if self.must_leave(*left) {
            return Outcome::Later;
        }
        *left -= 1;
        self.visiting.has_more.set(follows);
        self.handle_one(cell, nudge)
    }

    /// Runs one turn, which handles the oldest message of an envelope, or a nudge (a request for a
    /// turn without a message).
    fn handle_one(&self, cell: CellPtr, envelope: *mut Envelope) -> Outcome {
        let table = cell.table();
        self.visiting.envelope.set(envelope);
        self.shown.name(cell);
        self.begin_other(cell, |wants_label| self.look_at(cell, wants_label));
        self.lane.rescued();
        let worker = NonNull::from(self).cast();
        // SAFETY: we have the cell's token, its owner does not run it (`Visit`), and the message is
        // of its type.
        let ran = quiet::call(|| unsafe { (table.run)(cell, worker, ptr::null()) });
        let outcome = match ran {
            Ok(()) if self.visiting.stops.take() => Outcome::Stops,
            Ok(()) => Outcome::Done,
            Err(panic) => self.fail_on_visit(cell, panic),
        };
        self.end_timed();
        self.shown.name_none();
        self.visiting.envelope.set(ptr::null_mut());
        outcome
    }

    #[cold]
    fn fail_on_visit(&self, cell: CellPtr, panic: Panic) -> Outcome {
        self.undo();
        self.let_others();
        self.turn_failed(cell.table(), || panic.message());
        let message = panic.message();
        // The panic's payload may send while it is dropped, which belongs to no turn either.
        drop(panic);
        self.commit();
        Outcome::Failed(message)
    }

    /// Recalls the cells that this worker has lent, after the mark LENT was removed from its ready
    /// stack. Returns two lists. The first contains cells whose tokens (the rights to notify this
    /// worker) this worker has, and whose inboxes it must handle. The second contains cells for
    /// which other workers have left work.
    #[cold]
    pub(super) fn recall(&self) -> (Vec<CellPtr>, Vec<(CellPtr, Left)>) {
        let mut recalled = self.crew.recall(self.seat());
        // The owner's next timers come after the timers being delivered.
        self.crew.await_firing(self.seat());
        self.shared.lends(false);
        let visited = self.visited.get() + recalled.to_be_told - recalled.resumed;
        self.visited.set(visited);
        if let Some(ends) = recalled.ends {
            self.old.skip_to(ends.old);
            self.born.skip_to(ends.born);
            if let Some(cell) = ends.handoff {
                self.handoff.forget(cell);
            }
        }
        // First, because a cell that is freed below notifies its watchers.
        for (&cell, notes) in &recalled.notes {
            mark_watched(CellPtr(cell), notes);
        }
        let in_hand = self.in_hand.get().map(|entry| entry.cell());
        for &entry in recalled.entries.iter().rev() {
            // An entry that was taken out of its queue while it was lent is still in hand.
            if Some(entry.cell()) != in_hand {
                self.put_back(entry);
            }
        }
        for &(cell, stood) in &recalled.visited {
            if stood {
                self.drop_from_hand(cell);
                self.free_if_unreachable(cell);
            }
        }
        for (cell, left) in &recalled.left {
            if left.mail.is_some() {
                self.drop_from_hand(*cell);
            }
        }
        for cell in &recalled.rested {
            cell.end_rest();
        }
        for (cell, mail) in recalled.stood {
            self.drop_from_hand(cell);
            let waits = self.take_back(cell, &mail);
            // Its turns may have given its address away, by the shared count.
            self.free_if_unreachable(cell);
            if waits {
                self.requeue(cell);
            }
        }
        for (cell, notes) in recalled.notes {
            for _ in 0..notes.releases {
                self.drop_reference(CellPtr(cell));
            }
        }
        for cell in recalled.rested {
            let state = cell.state();
            if !state.is_scheduled() && !state.is_garbage() {
                self.free_if_unreachable(cell);
            }
        }
        if recalled.visited.len() > recalled.to_be_told {
            // A task that a visit has stopped gets no more messages.
            let left = self.crew.await_visits(self.seat());
            recalled.left.extend(left);
        }
        (recalled.back, recalled.left)
    }

    /// Removes a cell from `in_hand` (the entry that would run next), because another worker has
    /// run the cell.
    fn drop_from_hand(&self, cell: CellPtr) {
        if self.in_hand.get().is_some_and(|entry| entry.cell() == cell) {
            self.in_hand.set(None);
        }
    }

    /// Puts an entry back to its place in the run queue, after the entry was lent to other workers.
    fn put_back(&self, entry: Entry) {
        let queue = if entry.cell().state().is_newborn() {
            &self.born
        } else {
            &self.old
        };
        queue.push_oldest(entry);
    }

    /// Takes back a cell that was in a run queue and that another worker has run. Returns true if
    /// messages are waiting in its mailbox. In this case, the cell stays scheduled, although it is
    /// in no run queue.
    fn take_back(&self, cell: CellPtr, mail: &Mail) -> bool {
        if let Some(read) = cell.mend(mail) {
            // SAFETY: all of it is read, and it is in no list any more.
            unsafe { self.pool.give_envelope(read) };
        }
        let waits = !cell.mailbox_tail().is_null();
        if !waits {
            cell.unschedule();
        }
        waits
    }

    /// Takes the work that another worker has left for a cell. There is such work if the other
    /// worker was running the cell when this worker recalled the cell. Otherwise returns `None`.
    /// This worker must have the token of the cell (the right to notify this worker).
    pub(super) fn take_told(&self, cell: CellPtr) -> Option<Left> {
        if self.visited.get() == 0 {
            return None;
        }
        let told = self.crew.take_told(self.seat(), cell)?;
        self.visited.set(self.visited.get() - 1);
        Some(told)
    }

    /// Does the work `left` for a cell of this worker. Another worker has run the cell and has left
    /// this work. This worker must have the token of the cell (the right to notify this worker).
    pub(super) fn welcome(&self, cell: CellPtr, left: Left) {
        let mut rest = left.rest;
        // As in `recall`.
        mark_watched(cell, &left.notes);
        let mut waits = left.mail.is_some_and(|mail| self.take_back(cell, &mail));
        // As in `recall`.
        self.free_if_unreachable(cell);
        if rest.is_older && !rest.list.is_null() {
            // SAFETY: the list is ours.
            unsafe { cell.prepend(rest.list) };
            cell.keep_scheduled();
            (rest, waits) = (Rest::NONE, true);
        }
        self.sort_in_order(cell, rest.list);
        for _ in 0..left.notes.releases {
            self.drop_reference(cell);
        }
        // Messages that notices and destructors have sent by now must not be undone by the task
        // while it recovers.
        self.commit();
        match left.outcome {
            Outcome::Done | Outcome::Later | Outcome::ForOwner => {
                if waits {
                    self.requeue(cell);
                }
            }
            Outcome::Stops if !waits && cell.state().is_scheduled() => {
                self.retire(cell, &Ended::Stopped);
            }
            Outcome::Stops => self.stop(cell, &Ended::Stopped),
            Outcome::Failed(message) => self.fail(cell, &message, waits),
        }
        self.commit();
        if let Received::Shut(list) = self.receive(cell) {
            self.leave_closed(cell, list);
        }
    }
}

/// Gives a cell the function table that marks a watched task, if a visitor (another worker that ran
/// the lent cell) has registered watchers. Only the worker that owns the cell calls this function.
fn mark_watched(cell: CellPtr, notes: &Notes) {
    if notes.is_watched {
        cell.mark_watched();
    }
}
