//! The end of tasks that are unreachable, have stopped or have failed.

use std::ptr::{self, NonNull};

use super::Worker;
use crate::cell::{CellPtr, Envelope, Home, Kind, Table};
use crate::letters::LetterReason;
use crate::parcel;
use crate::pool;
use crate::quiet::{self, Panic};
use crate::runtime::address::release_foreign;
use crate::runtime::watch::{self, Ended, Notice, Request};

impl Worker {
    pub(super) fn bury(&self, cell: CellPtr) {
        cell.check_home(self.home);
        cell.condemn();
        self.garbage.borrow_mut().push(cell);
        self.stage.set_dirty();
    }

    /// Drops all unreachable cells of this worker. Dropping a cell may make other cells
    /// unreachable, which are then dropped, too.
    pub(super) fn sweep(&self) {
        loop {
            let Some(cell) = self.garbage.borrow_mut().pop() else {
                return;
            };
            // A destructor may take a long time, or wait for something that the seat has.
            self.let_others();
            // SAFETY: ours and unreachable, so the task is dropped once and then the block is
            // freed.
            unsafe {
                let table = cell.table();
                self.count_ended(cell);
                self.shared.hooks.gone(cell);
                self.tell_watchers(cell, &Ended::Unreachable);
                self.drop_task(cell, table);
                if let Some(dead) = table.dead {
                    self.drop_task(cell, dead);
                }
                self.pool
                    .give_cell(pool::cell_class(table.block_bytes), cell);
            }
        }
    }

    /// Stops a task of this worker. Drops the task and its waiting messages, and closes its cell.
    #[cold]
    pub(crate) fn stop(&self, cell: CellPtr, ended: &Ended) {
        debug_assert_eq!(cell.home(), self.home, "a cell is closed once");
        // A destructor may take a long time.
        self.let_others();
        let is_retired = cell.retire();
        if self.is_running(cell) {
            // The cell runs no more, and its block may be reused before this is over. No visitor
            // runs the cell, because it counts as stopped.
            self.shown.name_drops();
        }
        if is_retired {
            self.drop_retired(cell, ended);
        }
        self.drop_mailbox(cell, self.reason_of(ended));
        // Values dropped just now, or with the message that the cell was scheduled with, may have
        // sent to it, and its block is about to go.
        self.stage.forget_appended();
        cell.unschedule();
        if cell.try_hold() {
            self.close(cell);
        } else {
            self.awaited.set(self.awaited.get() + 1);
        }
        self.commit();
    }

    /// Drops the task of a cell, and notifies the watchers of the task. Replaces the function table
    /// of the cell by the table of a dropped task.
    pub(crate) fn retire(&self, cell: CellPtr, ended: &Ended) {
        cell.check_home(self.home);
        if cell.retire() {
            self.drop_retired(cell, ended);
        }
    }

    /// Does the same as [`Worker::retire`] for a cell that has just been marked as stopped.
    fn drop_retired(&self, cell: CellPtr, ended: &Ended) {
        // SAFETY: the cell is ours and does not run; its task is dropped once, because the dead
        // table takes the place of the live one first.
        unsafe {
            let table = cell.table();
            self.count_ended(cell);
            self.shared.hooks.gone(cell);
            // One destructor may end another task.
            let outer = self.leaves.replace(Some(self.reason_of(ended)));
            if let Some(dead) = table.dead {
                cell.set_table(dead);
                self.drop_task(cell, table);
            }
            if table.watched.is_none() {
                watch::tell(cell, ended);
            }
            self.leaves.set(outer);
        }
    }

    /// Notifies the watchers of a cell that is about to be freed.
    #[inline]
    pub(crate) fn tell_watchers(&self, cell: CellPtr, ended: &Ended) {
        if cell.is_watched() {
            watch::tell(cell, ended);
        }
    }

    /// Registers the watchers that a note (an envelope that makes requests) contains, and answers
    /// requests for the state of the task. Appends two kinds of watchers to `late`: those that came
    /// after the task had ended, and cancelled ones that were removed. The caller must notify or
    /// drop these watchers. Both operations run foreign code.
    ///
    /// # Safety
    /// The caller owns the envelope, which is of kind `Watch`, and frees it after the call.
    pub(super) unsafe fn watch(
        &self,
        cell: CellPtr,
        envelope: *mut Envelope,
        late: &mut Vec<Notice>,
    ) {
        cell.check_home(self.home);
        // SAFETY: by contract.
        let kind = unsafe { (*envelope).kind() };
        debug_assert_eq!(kind, Kind::Watch, "a watcher comes in a note of its kind");
        // SAFETY: by contract.
        while let Some(request) = unsafe { parcel::get::<Request>(envelope) } {
            match request {
                Request::Watch(watcher) if cell.state().is_stopped() => {
                    // The watchers have been notified already: the task is gone, and only its cell
                    // is still to be closed.
                    late.push(watcher);
                }
                Request::Watch(watcher) => {
                    cell.mark_watched();
                    late.append(&mut watch::register(cell, watcher));
                }
                Request::Look(looker) if cell.state().is_stopped() => drop(looker),
                Request::Look(looker) => looker.answer(self.see(cell)),
            }
        }
    }

    /// Notifies the watchers in a list of envelopes. The requests of these watchers came after the
    /// task had ended. Drops requests for the state of the task.
    ///
    /// # Safety
    /// The caller owns the list.
    pub(super) unsafe fn turn_watchers_away(&self, mut list: *mut Envelope) {
        while !list.is_null() {
            // SAFETY: by contract.
            unsafe {
                if (*list).kind() == Kind::Watch {
                    while let Some(request) = parcel::get::<Request>(list) {
                        request.turn_away();
                    }
                }
                list = (*list).next();
            }
        }
    }

    /// Drops a task. Catches a panic of its destructor, so that the cell can still be closed or
    /// freed.
    ///
    /// # Safety
    /// The requirements of `Table::drop_task` apply.
    pub(super) unsafe fn drop_task(&self, cell: CellPtr, table: &'static Table) {
        // SAFETY: by contract.
        if let Err(panic) = quiet::call(|| unsafe { (table.drop_task)(cell) }) {
            self.drop_failed(table, &panic);
        }
    }

    /// Counts and reports a panic of a task's destructor. `table` is the function table of the
    /// task.
    pub(crate) fn drop_failed(&self, table: &'static Table, panic: &Panic) {
        self.lane.failed(table);
        self.report_as(table.name_of(), panic, true);
    }

    /// Returns the reason why the unhandled messages of a task are counted as dead letters. `ended`
    /// is the result with which the task has ended.
    fn reason_of(&self, ended: &Ended) -> LetterReason {
        match ended {
            Ended::Failed(_) => LetterReason::Failed,
            _ => self.end_reason(),
        }
    }

    pub(super) fn drop_mailbox(&self, cell: CellPtr, reason: LetterReason) {
        loop {
            let envelope = cell.take_oldest();
            if envelope.is_null() {
                return;
            }
            // SAFETY: it was in the local mailbox, so it is ours.
            unsafe {
                (*envelope).set_next(ptr::null_mut());
                let dropped = self.drop_list(cell, envelope);
                self.count_dead_letters(cell.table().name, reason, dropped);
            }
        }
    }

    /// Drops the remaining envelopes (memory blocks with messages) of a closed cell's inbox.
    fn drop_inbox(&self, cell: CellPtr, list: *mut Envelope) {
        let mut releases = 0;
        let mut at = list;
        while !at.is_null() {
            // SAFETY: the list was taken from the inbox, so it is ours.
            unsafe {
                releases += u32::from((*at).kind() == Kind::Release);
                at = (*at).next();
            }
        }
        // SAFETY: as above.
        let dropped = unsafe {
            self.turn_watchers_away(list);
            self.drop_list(cell, list)
        };
        self.count_dead_letters(cell.table().name, self.end_reason(), dropped);
        for _ in 0..releases {
            // SAFETY: the reference that the note gave back.
            unsafe { release_foreign(cell) };
        }
    }

    /// Closes a stopped cell (`cell/README.md`, step 7). This worker must have the token of the
    /// cell, which is the right to notify the cell's worker.
    fn close(&self, cell: CellPtr) {
        let list = self.shut(cell);
        self.leave_closed(cell, list);
    }

    /// Closes the inbox of a cell and returns the remaining envelopes (memory blocks with
    /// messages). Calls no foreign code.
    pub(super) fn shut(&self, cell: CellPtr) -> *mut Envelope {
        cell.orphan_refs();
        let left = cell.close();
        // Not before: until the inbox is closed, a stranger asks the gate of its home.
        cell.set_home(Home::NOBODY);
        left
    }

    /// Drops the remaining envelopes of a closed cell's inbox, and releases this worker's reference
    /// to the cell.
    pub(super) fn leave_closed(&self, cell: CellPtr, list: *mut Envelope) {
        self.drop_inbox(cell, list);
        // SAFETY: the reference that `orphan_refs` made for us.
        unsafe { release_foreign(cell) };
    }

    /// Handles a panic of a turn. The turn is undone, and its task stops if it cannot recover.
    #[cold]
    pub(super) fn turn_panicked(&self, panic: &Panic) {
        let Some(cell) = self.shown.get() else {
            // Foreign code outside of turns is called only where its panics are caught. So this is
            // a bug in Garrick, which must be visible, and the tasks of this worker continue.
            return self.report_as("a worker", panic, false);
        };
        let undecided = self.later.is_asked_before().then_some(cell);
        let is_at_mailbox = self.undo_keeping(undecided);
        self.let_others();
        let has_parts = self.later.has_parts();
        if !has_parts {
            self.later.forget();
        }
        self.drop_waiting(cell);
        self.end_timed();
        // The cell counts as running meanwhile: the reporter may drop its last address.
        self.turn_failed(cell.table(), || panic.message());
        // Messages that the reporter sent must not be undone by the task while it recovers.
        self.commit();
        self.let_others();
        let why = panic.message();
        if !has_parts || !self.keep_before_panic(cell, &why) {
            self.fail(cell, &why, is_at_mailbox);
        }
    }

    /// Counts a turn that has failed and was undone. Reports the failure with `message`, unless the
    /// task reports its failures itself.
    pub(super) fn turn_failed(&self, table: &'static Table, message: impl FnOnce() -> String) {
        self.lane.failed(table);
        if table.reports {
            let ends = table.recover.is_none();
            self.shared.report(table.name_of(), message(), ends);
        } else {
            self.shared.count_failure();
        }
    }

    /// Recovers the task of a turn that has panicked and was undone. Stops the task if it cannot
    /// recover.
    pub(super) fn fail(&self, cell: CellPtr, message: &str, is_at_mailbox: bool) {
        let was_running = self.is_running(cell);
        if !self.recovers(cell, message, is_at_mailbox) {
            if was_running {
                self.shown.name(cell);
            }
            let ended = Ended::Failed(message.into());
            if is_at_mailbox || !cell.state().is_scheduled() {
                self.stop(cell, &ended);
            } else {
                // The cell has been sent to, by itself or by a destructor, and stands in a run
                // queue. It is closed when it is taken from there.
                self.retire(cell, &ended);
            }
        }
        // Commits messages that the reporter sent about a second failure.
        self.commit();
    }

    /// Tries to recover the task of a turn that has panicked. Returns true if the task continues.
    fn recovers(&self, cell: CellPtr, message: &str, is_at_mailbox: bool) -> bool {
        let table = cell.table();
        let Some(recover) = table.recover else {
            return false;
        };
        let worker = NonNull::from(self).cast();
        self.shown.name(cell);
        self.recovers.set(true);
        if self.lane.counts() {
            self.shown.show_kind(table);
        }
        // SAFETY: the cell is ours, of the table's type, and does not run.
        let recovered = quiet::call(|| unsafe { recover(cell, worker, message) });
        self.recovers.set(false);
        if let Err(second) = &recovered {
            self.undo();
            self.report_as(table.name_of(), second, true);
        }
        self.shown.name_none();
        let goes_on = recovered.unwrap_or(false);
        if goes_on {
            self.lane.recovered(cell);
        }
        if goes_on && is_at_mailbox {
            self.requeue(cell);
        } else if goes_on && !cell.state().is_scheduled() {
            self.free_if_unreachable(cell);
        }
        goes_on
    }

    /// Reports a panic of a door (a function behind an address).
    pub(crate) fn report(&self, door: CellPtr, panic: &Panic) {
        self.report_as(door.table().name_of(), panic, false);
    }

    /// Reports a panic of a task, or of other code. `task` is the name of the task or code. `ends`
    /// is true if the task is dropped.
    pub(crate) fn report_as(&self, task: &'static str, panic: &Panic, ends: bool) {
        self.shared.report(task, panic.message(), ends);
    }
}
