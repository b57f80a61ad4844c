//! Handling of messages from other threads, and release of references to cells.

use super::Worker;
use crate::cell::{CellPtr, Envelope, Kind, Settled, reverse};
use crate::runtime::address::release_foreign;
use crate::runtime::watch;

impl Worker {
    /// Returns the number of ready cells, including the one that is about to run.
    pub(crate) fn ready_count(&self) -> usize {
        self.backlog() + usize::from(self.in_hand.get().is_some())
    }

    /// Empties the inboxes of all cells of this worker to which other threads have sent, and
    /// handles the contents (`cell/README.md`, step 2).
    #[inline(never)]
    pub(crate) fn take_ready(&self) {
        let (mut carrier, was_lent) = self.remote.ready.take();
        let (back, mut left) = if was_lent {
            self.recall()
        } else {
            (Vec::new(), Vec::new())
        };
        // All cells that must be closed are closed before anything is dropped. So senders are
        // refused immediately, regardless of how much must be dropped.
        let mut closed = Vec::new();
        let mut look_after = |cell: CellPtr| match self.take_told(cell) {
            Some(told) => left.push((cell, told)),
            None => closed.extend(self.receive(cell).map(|list| (cell, list))),
        };
        while !carrier.is_null() {
            // SAFETY: the carrier is alive until we take its cell's inbox, below.
            let (cell, next) = unsafe { ((*carrier).token_of(), (*carrier).ready_next()) };
            look_after(cell.expect("the carrier of a token names its cell"));
            carrier = next;
        }
        back.into_iter().for_each(look_after);
        for (cell, list) in closed {
            self.leave_closed(cell, list);
        }
        // Last, because tasks that end by it are dropped.
        for (cell, visited) in left {
            self.welcome(cell, visited);
        }
        self.finish_decided();
        // Unreachable cells are dropped now, not with the next turn, which may be far off.
        self.commit_between();
    }

    /// Commits effects that belong to no turn, between two activations. Destructors may take a long
    /// time, so other workers may run the ready cells of this worker during the commit.
    pub(crate) fn commit_between(&self) {
        if self.stage.is_dirty() {
            self.with_hand_empty(|| {
                self.shown.name_drops();
                self.commit();
            });
        }
    }

    /// Calls `long`, which may take a long time, between two activations. If a cell was already
    /// taken out of its run queue to run next, puts the cell back for the duration of the call, so
    /// that other workers can run it. After the call, no cells are lent to other workers.
    pub(crate) fn with_hand_empty(&self, long: impl FnOnce()) {
        // A task that has recovered just now may have counted as running, so cells may be lent.
        // The recall removes the entries that were in front of the lent ones, and must not remove
        // the entry in hand.
        self.end_loan();
        let in_hand = self.in_hand.take();
        if let Some(entry) = in_hand {
            self.old.push_oldest(entry);
        }
        long();
        // Before anything is taken out of a queue.
        self.end_loan();
        if in_hand.is_some() {
            self.in_hand.set(self.old.pop_oldest().copied());
        }
    }

    /// Takes everything out of the inbox of a cell. This worker has the token of the cell (the
    /// right to notify the worker). If the cell has stopped, closes the cell and returns the
    /// remaining envelopes of the inbox.
    pub(super) fn receive(&self, cell: CellPtr) -> Option<*mut Envelope> {
        debug_assert_eq!(cell.home(), self.home, "a token goes to its cell's home");
        if cell.state().waits_for_token() {
            self.awaited.set(self.awaited.get().saturating_sub(1));
            return Some(self.shut(cell));
        }
        let list = cell.take_and_idle();
        self.sort_in(cell, list);
        None
    }

    /// Moves messages from the inbox of a cell to its mailbox, handles notes (envelopes that make
    /// requests), and schedules the cell if necessary. Drops references only at the end, when a
    /// cell with messages is already scheduled, so that the cell is not freed.
    pub(crate) fn sort_in(&self, cell: CellPtr, list: *mut Envelope) {
        // SAFETY: the list was taken from the inbox, so it is ours.
        self.sort_in_order(cell, unsafe { reverse(list) });
    }

    /// Moves messages to the mailbox of a cell and handles notes, like `sort_in`. In contrast to
    /// `sort_in`, the list begins with the oldest envelope (block of messages).
    pub(super) fn sort_in_order(&self, cell: CellPtr, mut list: *mut Envelope) {
        cell.check_home(self.home);
        let (mut wanted, mut releases, mut late) = (false, 0, Vec::new());
        while !list.is_null() {
            // SAFETY: as above.
            unsafe {
                let (next, kind) = ((*list).next(), (*list).kind());
                match kind {
                    Kind::Messages | Kind::Nudge | Kind::Stop | Kind::Trail | Kind::Move => {
                        cell.append(list);
                    }
                    Kind::Release => releases += 1,
                    Kind::Wake => {
                        wanted = true;
                        self.later.note_wake(cell);
                    }
                    Kind::Watch => self.watch(cell, list, &mut late),
                }
                if matches!(kind, Kind::Release | Kind::Wake | Kind::Watch) {
                    self.pool.give_envelope(list);
                }
                list = next;
            }
        }
        if wanted || !cell.mailbox_tail().is_null() {
            self.schedule(cell);
        }
        for _ in 0..releases {
            self.drop_reference(cell);
        }
        if !cell.state().is_scheduled() {
            self.free_if_unreachable(cell);
        }
        // Last, because a notice may do anything.
        watch::tell_late(late);
    }

    pub(crate) fn schedule(&self, cell: CellPtr) {
        cell.check_home(self.home);
        if !cell.state().is_scheduled() {
            let queue = if cell.state().is_newborn() {
                &self.born
            } else {
                &self.old
            };
            cell.schedule();
            queue.push_cell(self.turn(), cell);
        }
    }

    pub(super) fn drop_reference(&self, cell: CellPtr) {
        if cell.drop_local() {
            self.settle(cell);
        }
    }

    /// Drops a reference to a cell of any worker.
    pub(crate) fn let_go(&self, cell: CellPtr) {
        if cell.home() == self.home {
            self.drop_reference(cell);
        } else {
            // SAFETY: the reference is the caller's.
            unsafe { release_foreign(cell) };
        }
    }

    /// Adds a reference to a cell of any worker.
    pub(crate) fn count_reference(&self, cell: CellPtr) {
        if cell.home() == self.home {
            cell.clone_local();
        } else {
            cell.clone_foreign();
        }
    }

    /// Frees a cell of this worker whose local reference count is zero, if no other reference is
    /// left and the cell is neither scheduled nor running.
    pub(crate) fn settle(&self, cell: CellPtr) {
        if cell.settle() == Settled::Referenced
            || cell.state().is_looked_after()
            || self.is_running(cell)
        {
            // If a cell is scheduled or is running, its counts are checked when its activation
            // ends.
            return;
        }
        if cell.inbox_is_idle() {
            self.bury(cell);
        }
    }

    /// Returns true if nothing can reach a cell of this worker any more: the cell has no
    /// references, and its inbox (the word to which other threads push messages) is idle. The
    /// cell's local reference count must be zero.
    #[inline]
    pub(crate) fn is_unreachable(&self, cell: CellPtr) -> bool {
        cell.settle() == Settled::Unreferenced && cell.inbox_is_idle()
    }

    /// Checks the other references to a cell if its local reference count is zero. If there are
    /// any, sets the local count to at least one. If there are none and the cell is not scheduled,
    /// frees the cell.
    pub(super) fn free_if_unreachable(&self, cell: CellPtr) {
        if cell.local_refs() <= 0 {
            self.settle(cell);
        }
    }
}
