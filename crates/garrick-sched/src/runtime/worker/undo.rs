//! Undoing of turns, and dropping of messages that will not be handled.

use std::ptr::{self, NonNull};

use garrick_core::prim::unmodelled::{Release, fence};

use super::Worker;
use crate::cell::{CellPtr, Chain, Envelope, Kind, Slot};
use crate::letters::{LetterReason, NameOf};
use crate::parcel;
use crate::quiet;
use crate::run_queue::Entry;
use crate::runtime::sponsor::Handle;
use crate::runtime::timer::Later;
use crate::runtime::watch::Request;

impl Worker {
    /// Undoes the effects of the turn. First removes all effects, and then drops them, because the
    /// destructor of a message may send messages.
    ///
    /// Returns true if the activation of the running cell was handling its mailbox. In this case,
    /// the cell stays scheduled, although it is in no run queue. Only this method can detect this
    /// case, because the destructors of messages may send to the cell and thus push it to a run
    /// queue.
    #[cold]
    pub(crate) fn undo(&self) -> bool {
        self.undo_keeping(None)
    }

    /// Undoes the effects of the turn, as [`Worker::undo`] does. `undecided` is the running cell if
    /// earlier parts of its turn still wait for the decision to commit or undo them. This cell
    /// stays scheduled, but is in no run queue. So the destructors of messages can add messages to
    /// its mailbox, but cannot make the cell run.
    #[cold]
    pub(crate) fn undo_keeping(&self, undecided: Option<CellPtr>) -> bool {
        self.send_from_home();
        self.shared.hooks.undone();
        let (mut envelopes, mut chains) = (Vec::new(), Vec::new());
        let pool = NonNull::from(&self.pool).cast();
        let cut = self.stage.undo(
            // SAFETY: the messages are of the cell's type.
            |cell, envelope, count| unsafe { (cell.table().split_newest)(pool, envelope, count) },
            |cell, envelope| envelopes.push((cell, envelope)),
            |cell, chain| chains.push((cell, chain)),
        );
        chains.extend(self.stage.take_later().into_iter().map(Later::undo));
        // A turn that is undone has cancelled nothing.
        self.stage.undo_cancelled();
        let turn = self.turn();
        let entries = self.unschedule(turn);
        let running = self.shown.get();
        let in_line = self.in_line.replace(false);
        let is_at_mailbox = running.is_some_and(|cell| cell.state().is_scheduled()) && !in_line;
        if let Some(cell) = undecided {
            if in_line {
                self.leave_line(cell);
            }
            cell.keep_scheduled();
        }
        self.begin_pause();
        cut.end();
        let owed = self.stage.take_owed(turn);
        let given = self.stage.take_given();
        // Must be done first: an asker is no longer scheduled by its answer, and code called below
        // may drop its last address.
        for owed in &owed {
            self.count_reference(owed.cell);
        }
        for owed in owed {
            // SAFETY: the reference was counted above.
            let _ = quiet::call(|| unsafe { (owed.refuse)(self, owed.cell) });
        }
        for given in given {
            // SAFETY: it was given in the turn, and is taken out of the stage.
            unsafe { (given.refuse)(given.slot) };
        }
        self.stage.purse.wake_waiting();
        for (cell, envelope) in envelopes {
            // SAFETY: cut off its mailbox, so it is ours alone.
            unsafe {
                (*envelope).set_next(ptr::null_mut());
                self.drop_list(cell, envelope);
            }
        }
        for (cell, chain) in chains {
            self.drop_staged(cell, chain);
        }
        for entry in &entries {
            self.drop_entry(entry);
        }
        // Messages sent meanwhile came from destructors, not from the turn.
        self.commit();
        is_at_mailbox
    }

    /// Removes and returns the entries that turn number `turn` has pushed to the run queues.
    pub(super) fn unschedule(&self, turn: u64) -> Vec<Entry> {
        let mut entries = Vec::from_iter(self.handoff.take_of_turn(turn));
        for queue in [&self.old, &self.born] {
            entries.extend(std::iter::from_fn(|| queue.pop_of_turn(turn)));
        }
        for entry in &entries {
            entry.cell().unschedule();
        }
        // Release: pairs with the Acquire of `Queues::of`. A reader that sees the next number of a
        // turn sees that these are gone.
        fence(Release);
        entries
    }

    /// Drops the message of an entry that was removed from its queue.
    pub(super) fn drop_entry(&self, entry: &Entry) {
        let cell = entry.cell();
        if !entry.message().is_null() {
            // SAFETY: the entry's message, of the cell's type, is nobody else's.
            unsafe { self.drop_slot(cell, entry.message()) };
        }
        if !cell.state().is_scheduled() {
            self.free_if_unreachable(cell);
        }
    }

    /// Drops the message in a slot. Returns true if the message counts as a dead letter.
    ///
    /// # Safety
    /// The slot contains a message of the cell's type. The message is not used again.
    pub(crate) unsafe fn drop_slot(&self, cell: CellPtr, slot: *const Slot) -> bool {
        debug_assert!(!slot.is_null(), "there is a message");
        // SAFETY: by contract.
        unsafe { (cell.table().drop_slot)(NonNull::from(&self.pool).cast(), slot) }
    }

    /// Drops the message that waits for the start of the cell's task, if there is one. The
    /// destructor runs outside of turns.
    pub(crate) fn drop_waiting(&self, cell: CellPtr) {
        if let Some(slot) = self.waiting.take() {
            // SAFETY: the slot holds a message of the cell's type, which nobody else has.
            let was_letter = unsafe { self.drop_slot(cell, &raw const slot) };
            self.count_dead_letters(cell.table().name, self.end_reason(), u64::from(was_letter));
        }
    }

    /// Drops a chain (a list of envelopes) that a closed cell has not accepted. The messages in the
    /// chain are dead letters.
    pub(super) fn discard(&self, cell: CellPtr, chain: Chain) {
        // A destructor may take a long time.
        self.let_others();
        // SAFETY: the chain is ours; its oldest may have a stale link from a push that failed.
        unsafe {
            (*chain.oldest).set_next(ptr::null_mut());
            self.turn_watchers_away(chain.newest);
        }
        let name = cell.table().name;
        let dropped = self.drop_chain(cell, chain);
        self.count_dead_letters(name, self.end_reason(), dropped);
    }

    /// Drops a chain (a list of envelopes) that was not pushed. Returns the number of messages in
    /// the chain that count as dead letters.
    pub(super) fn drop_chain(&self, cell: CellPtr, chain: Chain) -> u64 {
        // SAFETY: the chain is ours; its oldest may have a stale link from a push that failed.
        unsafe {
            (*chain.oldest).set_next(ptr::null_mut());
            self.drop_list(cell, chain.newest)
        }
    }

    /// Drops a list of envelopes. Returns the number of messages in the list that count as dead
    /// letters.
    ///
    /// # Safety
    /// The caller owns the list. The messages are of the cell's type.
    pub(super) unsafe fn drop_list(&self, cell: CellPtr, mut list: *mut Envelope) -> u64 {
        let mut dropped = 0;
        while !list.is_null() {
            // SAFETY: by contract. A table is never replaced by one for other messages.
            unsafe {
                let next = (*list).next();
                match (*list).kind() {
                    Kind::Messages => dropped += (cell.table().drop_unread)(list),
                    Kind::Watch => {
                        parcel::drop_unread::<Request>(list, |_| false);
                    }
                    Kind::Trail => Self::drop_trail(list),
                    Kind::Move => {
                        parcel::drop_unread::<Handle>(list, |_| false);
                    }
                    Kind::Release | Kind::Wake | Kind::Nudge | Kind::Stop => {}
                }
                self.pool.give_envelope(list);
                list = next;
            }
        }
        dropped
    }

    /// Removes the oldest envelope (memory block with messages) from the mailbox, and frees it. The
    /// messages must have been read before.
    #[inline]
    pub(crate) fn drop_oldest(&self, cell: CellPtr) {
        let oldest = cell.take_oldest();
        // SAFETY: it was in the local mailbox, and all of it is read.
        unsafe { self.pool.give_envelope(oldest) };
    }

    /// Keeps an envelope (memory block with messages) while its last message is handled, and frees
    /// the envelope that was kept before. If `envelope` is null, keeps no envelope.
    pub(crate) fn hold(&self, envelope: *mut Envelope) {
        let before = self.held.replace(envelope);
        if !before.is_null() {
            // SAFETY: it was taken out of a mailbox, and its last message has been handled.
            unsafe { self.pool.give_envelope(before) };
        }
    }

    /// Counts dead letters, which are messages that will not be handled.
    pub(crate) fn count_dead_letters(&self, name: NameOf, reason: LetterReason, count: u64) {
        self.shared.count_dead_letters(name, reason, count);
    }

    /// Returns the reason why the messages that a task leaves behind are counted as dead letters.
    /// Called by the destructors of the task's state.
    pub(crate) fn leave_reason(&self) -> LetterReason {
        self.leaves.get().unwrap_or_else(|| self.end_reason())
    }

    /// Returns the reason why the unhandled messages of a task are counted as dead letters, if the
    /// task has ended without a failure.
    pub(crate) fn end_reason(&self) -> LetterReason {
        if self.is_closing() {
            LetterReason::ShutDown
        } else {
            LetterReason::Stopped
        }
    }
}
