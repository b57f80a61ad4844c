//! Handling of messages from other threads, and release of references to cells.

use super::Worker;
use crate::cell::{CellPtr, Envelope, Kind, Settled, reverse};
use crate::runtime::address::release_foreign;
use crate::runtime::sponsor::visit::Left;
use crate::runtime::watch;

/// Number of envelopes after which [`Worker::take_ready`] takes the contents of all remaining
/// inboxes at once. Otherwise, messages that come to the last cells while the messages of the first
/// cells are moved to their mailboxes would be moved too. If messages come faster than they are
/// moved, their number would grow exponentially with the number of cells.
const MOVED_MAX: usize = if cfg!(garrick_loom) { 1 } else { 4096 };

/// The result of emptying an inbox.
#[must_use]
pub(super) enum Received {
    /// Number of envelopes whose contents were handled.
    Handled(usize),
    /// Contents of an inbox that was closed, because its task has stopped.
    Shut(*mut Envelope),
}

/// Cells that are handled by [`Worker::take_ready`], after the tokens of other cells.
#[derive(Default)]
struct Behind {
    /// Cells that were closed, with the contents of their inboxes.
    closed: Vec<(CellPtr, *mut Envelope)>,
    /// Cells that another worker has run, with the work that this worker has left.
    left: Vec<(CellPtr, Left)>,
    /// Contents of inboxes, newest envelopes first. The worker still has the tokens of these cells.
    held: Vec<(CellPtr, *mut Envelope)>,
}

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
        let mut behind = Behind::default();
        let mut back = Vec::new();
        if was_lent {
            (back, behind.left) = self.recall();
        }
        // All cells that must be closed are closed before anything is dropped. So senders are
        // refused immediately, regardless of how much must be dropped.
        let mut moved = 0;
        while !carrier.is_null() {
            // SAFETY: the carrier is alive until we take its cell's inbox, below.
            let (cell, next) = unsafe { ((*carrier).token_of(), (*carrier).ready_next()) };
            let cell = cell.expect("the carrier of a token names its cell");
            self.take_inbox(cell, &mut moved, &mut behind);
            carrier = next;
        }
        for cell in back {
            self.take_inbox(cell, &mut moved, &mut behind);
        }
        for (cell, list) in behind.held {
            debug_assert!(
                !cell.state().waits_for_token(),
                "notices only stage what stops a task"
            );
            self.sort_in(cell, list);
            self.give_back_token(cell);
        }
        if !behind.closed.is_empty() {
            // Destructors of messages may take a long time.
            self.let_others();
        }
        for (cell, list) in behind.closed {
            self.leave_closed(cell, list);
        }
        // Last, because tasks that end by it are dropped.
        for (cell, visited) in behind.left {
            self.welcome(cell, visited);
        }
        self.finish_decided();
        // Unreachable cells are dropped now, not with the next turn, which may be far off.
        self.commit_between();
    }

    /// Empties the inbox of a cell whose token this worker has. `moved` is the number of envelopes
    /// that were taken out of inboxes so far. Adds the cell to `behind` if the rest must wait.
    fn take_inbox(&self, cell: CellPtr, moved: &mut usize, behind: &mut Behind) {
        if let Some(told) = self.take_told(cell) {
            behind.left.push((cell, told));
        } else if *moved > MOVED_MAX && !cell.state().waits_for_token() {
            behind.held.push((cell, cell.take_and_hold()));
        } else {
            match self.receive(cell) {
                Received::Handled(envelopes) => *moved += envelopes,
                Received::Shut(list) => behind.closed.push((cell, list)),
            }
        }
    }

    /// Gives back the token of a cell, after the contents of its inbox were handled. If envelopes
    /// have come in the meantime, pushes the token to this worker's ready stack again.
    #[cold]
    fn give_back_token(&self, cell: CellPtr) {
        if !cell.try_idle() {
            self.tell_owner(cell);
        } else if !cell.state().is_scheduled() {
            // It was not freed before, because its inbox was not idle.
            self.free_if_unreachable(cell);
        }
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
    pub(super) fn receive(&self, cell: CellPtr) -> Received {
        debug_assert_eq!(cell.home(), self.home, "a token goes to its cell's home");
        if cell.state().waits_for_token() {
            self.awaited.set(self.awaited.get().saturating_sub(1));
            return Received::Shut(self.shut(cell));
        }
        let list = cell.take_and_idle();
        Received::Handled(self.sort_in(cell, list))
    }

    /// Moves messages from the inbox of a cell to its mailbox, handles notes (envelopes that make
    /// requests), and schedules the cell if necessary. Drops references only at the end, when a
    /// cell with messages is already scheduled, so that the cell is not freed. Returns the number
    /// of envelopes.
    pub(crate) fn sort_in(&self, cell: CellPtr, list: *mut Envelope) -> usize {
        // SAFETY: the list was taken from the inbox, so it is ours.
        self.sort_in_order(cell, unsafe { reverse(list) })
    }

    /// Moves messages to the mailbox of a cell and handles notes, like `sort_in`. In contrast to
    /// `sort_in`, the list begins with the oldest envelope (block of messages).
    pub(super) fn sort_in_order(&self, cell: CellPtr, mut list: *mut Envelope) -> usize {
        cell.check_home(self.home);
        let (mut wanted, mut releases, mut late) = (false, 0, Vec::new());
        let mut envelopes = 0;
        while !list.is_null() {
            envelopes += 1;
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
        envelopes
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
