//! How a sponsor ends: every cell is closed, every task and message dropped.

use std::ptr;

use garrick_core::prim::atomic::{
    Ordering::{Acquire, Release},
    fence,
};

use crate::cell::{CellPtr, Slot};
use crate::pool;
use crate::quiet;
use crate::remote::Remote;
use crate::runtime::current::Entered;
use crate::runtime::watch::Ended;
use crate::runtime::worker::Worker;

impl Worker {
    /// Closes all cells of this worker that there are by now. True once nobody can reach it any more (README, step 7); until then
    /// it is to be called again whenever something has come.
    pub(super) fn wind_up(&self) -> bool {
        let _entered = Entered::new(self);
        if self.remote().ready.is_lent() || self.visited.get() > 0 {
            // What others have of ours comes back by the ready stack.
            self.take_ready();
        }
        if self.has_cells_elsewhere() {
            // A cell that runs elsewhere cannot be closed. It comes back here.
            return false;
        }
        if !self.closes.replace(true) {
            // Acquire: pairs with the release in `Shared::raise`, which this worker has seen relaxed. Cells that were made for
            // us before newborns were refused are whole, and none comes any more.
            fence(Acquire);
            self.close_all();
            // Release: pairs with the Acquire in `have_all_closed`; every worker has closed its cells.
            self.shared.closed.fetch_add(1, Release);
            self.shared.wake_all();
        }
        // Others may still release references to us, and tokens may be on their way.
        while !self.is_over() {
            self.take_ready();
            self.close_all();
            if !self.remote().ready.has_some() {
                return self.is_over();
            }
        }
        true
    }

    /// Gives the home back, once all is wound up.
    pub(super) fn leave(self: Box<Self>) {
        let home = self.home;
        // The driver and, if nobody else has it, the sponsor's world, reporter and attachment are foreign code to drop.
        quiet::drop(self);
        Remote::release(home);
    }

    fn is_over(&self) -> bool {
        self.shared.have_all_closed() && self.awaited.get() == 0
    }

    /// Drops what is scheduled and stops every cell. Destructors may make more of both, so it goes on
    /// until there is nothing left.
    fn close_all(&self) {
        loop {
            self.hold(ptr::null_mut());
            self.drop_scheduled();
            let mut stopped = false;
            pool::cells_of(self.home, |cell| {
                // One that is scheduled again, by a destructor, is stopped when its entry is popped.
                if !cell.state().is_looked_after() {
                    stopped = true;
                    self.stop(cell, &Ended::SponsorEnded);
                }
            });
            self.commit();
            if !stopped && self.backlog() == 0 {
                return;
            }
        }
    }

    fn drop_scheduled(&self) {
        while let Some(mut timed) = self.pop_timed() {
            let counts = !timed.can_be_cancelled();
            timed.leave_owner();
            let (cell, chain) = timed.take_apart();
            let dropped = self.drop_staged(cell, chain);
            if counts {
                self.count_dead_letters(dropped);
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

    /// Stops the cell of an entry that will not be run. It stays scheduled until then, because what
    /// waits in its mailbox keeps nothing alive.
    pub(crate) fn drop_dead(&self, cell: CellPtr, message: *const Slot) {
        if !message.is_null() {
            // SAFETY: its entry left the queue, so the message is ours and of the cell's type.
            let was_letter = unsafe { self.drop_slot(cell, message) };
            self.count_dead_letters(u64::from(was_letter));
        }
        self.stop(cell, &Ended::SponsorEnded);
    }
}
