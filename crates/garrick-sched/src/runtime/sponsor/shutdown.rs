//! Shutdown of a sponsor (a group of workers): closes the cells of all tasks, and drops all tasks
//! and messages.

use std::ptr;

use garrick_core::prim::atomic::{
    Ordering::{Acquire, Release},
    fence,
};

use crate::cell::{CellPtr, Slot};
use crate::letters::LetterReason;
use crate::pool;
use crate::quiet;
use crate::remote::Remote;
use crate::runtime::current::Entered;
use crate::runtime::watch::Ended;
use crate::runtime::worker::{Closing, Worker};

impl Worker {
    /// Closes all cells of this worker that exist now. Returns true if no message can reach the
    /// worker any more (`cell/README.md`, step 7). If the result is false, the caller must call
    /// this method again whenever messages have come.
    pub(super) fn wind_up(&self) -> bool {
        let _entered = Entered::new(self);
        // Acquire: pairs with the release in `Shared::raise`, which this worker has seen relaxed.
        // Cells that were made for this worker before newborns were refused are complete, and none
        // comes any more.
        fence(Acquire);
        if self.remote().ready.is_lent() || self.has_cells_elsewhere() {
            // Cells that other threads have borrowed come back by the ready stack, and decisions
            // about turns come there, too.
            self.take_ready();
        }
        if self.has_cells_elsewhere() {
            self.closing.set(Closing::Partly);
            if self.visited.get() > 0 {
                // A cell that runs on another thread cannot be closed. It comes back here.
                return false;
            }
            // A turn that blocks may wait for an answer of another task of this worker. The right
            // to decide about a turn may lie in another task, too. So the other cells are closed
            // now, which drops the replies and the rights. The cell of the turn is scheduled and in
            // no run queue, so it is not closed. Its turn comes back here, or is decided.
            self.close_all();
            // A message of the turn's closure may just have come, and the right to decide may have
            // been dropped just now.
            while self.remote().ready.has_some() {
                self.take_ready();
                self.close_all();
            }
            if self.has_cells_elsewhere() {
                return false;
            }
        }
        if self.closing.replace(Closing::All) != Closing::All {
            self.close_all();
            // Release: pairs with the Acquire in `have_all_closed`; every worker has closed its
            // cells.
            self.shared.closed.fetch_add(1, Release);
            // A waker is foreign code. What it sends belongs to no turn, and must not be staged by
            // a worker that commits nothing any more.
            let _entered = Entered::nobody();
            self.shared.wake_all();
        }
        // Other workers may still release references to our cells, and tokens may be on their way.
        while !self.is_over() {
            self.take_ready();
            self.close_all();
            if !self.remote().ready.has_some() {
                return self.is_over();
            }
        }
        true
    }

    /// Releases the number of the worker, after all its cells were closed. Other threads must not
    /// find the worker any more.
    pub(super) fn leave(self: Box<Self>) {
        // A thread may have set the mark LENT just before it could no longer find this worker. The
        // next worker with this number must not get the mark.
        self.end_loan();
        self.lane.ends(self.progress(), self.now());
        let home = self.home;
        // Dropping the driver is foreign code. So is dropping the sponsor's world, reporter and
        // attachment, if this is their last owner.
        quiet::drop(self);
        Remote::release(home);
    }

    fn is_over(&self) -> bool {
        self.shared.have_all_closed() && self.awaited.get() == 0
    }

    /// Drops all scheduled entries and stops all cells. Repeats this until no entries and cells are
    /// left, because destructors may create further entries and cells.
    fn close_all(&self) {
        loop {
            self.hold(ptr::null_mut());
            self.drop_scheduled();
            let mut stopped = false;
            // The tasks of a simulation are known, and usually stopped by now.
            if self.shared.hooks.may_have_tasks() {
                pool::cells_of(self.home, |cell| {
                    // A cell that a destructor schedules again is stopped when its entry is popped.
                    if !cell.state().is_looked_after() {
                        stopped = true;
                        self.stop(cell, &Ended::SponsorEnded);
                    }
                });
            }
            self.commit();
            if !stopped && self.backlog() == 0 {
                return self.settle_vitals();
            }
        }
    }

    fn drop_scheduled(&self) {
        while let Some(mut timed) = self.pop_timed() {
            let counts = !timed.can_be_cancelled();
            timed.leave_owner();
            let (cell, chain) = timed.take_apart();
            let name = cell.table().name;
            let dropped = self.drop_staged(cell, chain);
            if counts {
                self.count_dead_letters(name, LetterReason::ShutDown, dropped);
            }
        }
        self.shared.let_all_in();
        while let Some(entry) = self.shared.claim() {
            self.take_over(entry);
        }
        while let Some(entry) = self.take_oldest() {
            self.drop_dead(entry.cell(), entry.message());
        }
    }

    /// Drops the message of a run queue entry that will not be run, and then stops the cell. Until
    /// the stop, the cell stays scheduled, so that it is not freed while messages are in its
    /// mailbox.
    pub(crate) fn drop_dead(&self, cell: CellPtr, message: *const Slot) {
        if !message.is_null() {
            // SAFETY: its entry left the queue, so the message is ours and of the cell's type.
            let was_letter = unsafe { self.drop_slot(cell, message) };
            self.count_dead_letters(cell.table().name, self.end_reason(), u64::from(was_letter));
        }
        self.stop(cell, &Ended::SponsorEnded);
    }
}
