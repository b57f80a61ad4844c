//! What a worker does when it has nothing to run, and how others give it something.
//!
//! Nothing waits by polling. A worker that goes to sleep first says so (`announce_idle`, then `PARKED` on its
//! ready stack), then looks once more; whoever makes work first makes it visible, then looks who sleeps.
//! With a sequentially consistent fence between the two steps on both sides (Dekker), one of them sees
//! the other. Foreign sends need no fence: they change the very word that says `PARKED`.

use garrick_core::prim::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, SeqCst},
    fence,
};
use std::time::Duration;

use garrick_core::park::Spin;

use super::{Handle, Signal};
use crate::cell::{CellPtr, Envelope, Home};
use crate::parcel;
use crate::remote::Remote;
use crate::run_queue::Entry;
use crate::runtime::current::Entered;
use crate::runtime::worker::Worker;

/// Ready cells that a worker keeps to itself while another is idle, beside the one it runs next: two
/// cells that talk to each other stay together.
const BACKLOG_KEPT: usize = 1;
/// Activations between two claims from the shared queue, for a worker that has enough of its own.
const CLAIM_EVERY: u32 = 512;
/// Cells given away at once.
const GIVEN_MAX: usize = 1024;

/// Workers of this process that are awake. Spinning is only for when there are cores to spare.
static AWAKE: AtomicUsize = AtomicUsize::new(0);

/// Counts a worker as awake until dropped.
pub(super) struct Awake;

impl Awake {
    pub(super) fn new() -> Self {
        AWAKE.fetch_add(1, Relaxed);
        Self
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        AWAKE.fetch_sub(1, Relaxed);
    }
}

impl Worker {
    /// Runs cells until the sponsor ends.
    pub(super) fn serve(&self) {
        // It was expected, and counted as idle.
        self.shared.announce_busy();
        let mut spin = if self.is_driven() {
            // Whoever spins does not see what comes from the operating system.
            Spin::off()
        } else {
            Spin::new(1)
        };
        let (_awake, _entered) = (Awake::new(), Entered::new(self));
        loop {
            self.run_ready(Signal::is_stopping);
            if self.shared.signal().is_stopping() {
                break;
            }
            if !self.claim() {
                self.rest(&mut spin);
            }
        }
    }

    /// Takes the oldest cell of the shared queue; false if there is none.
    pub(super) fn claim(&self) -> bool {
        let Some(entry) = self.shared.claim() else {
            return false;
        };
        // With nothing of its own it comes here for every cell: one more would only wait behind.
        self.looks.set(0);
        self.take_over(entry);
        true
    }

    /// Gives the cell that is about to run to the sponsor of the note at the head of its mailbox, and is true; or
    /// takes the note off, because the cell is there or cannot go, and is false. A cell whose token is out
    /// tries again later, and that is true as well.
    #[cold]
    pub(crate) fn move_away(&self, cell: CellPtr, note: *mut Envelope) -> bool {
        // SAFETY: the note is the oldest envelope of the mailbox, hence ours; it holds a handle, which is
        // dropped with it.
        let to = unsafe { parcel::peek::<Handle>(note).clone() };
        let goes = cell.table().moves && !to.is_of(self);
        if goes && !cell.try_hold() {
            // Its carrier is on the way to us.
            self.requeue(cell);
            return true;
        }
        // SAFETY: as above.
        drop(unsafe { parcel::get::<Handle>(note) });
        self.drop_oldest(cell);
        let gone = goes
            && to.take_cell(|| {
                self.lane.ended(cell);
                cell.share_refs();
                cell.set_home(Home::NOBODY);
                Entry::of(cell)
            });
        if goes && !gone {
            // We hold the token, and give it back as if we had taken the cell from the ready stack.
            let list = cell.take_and_idle();
            self.sort_in(cell, list);
        }
        gone
    }

    /// Makes a given cell ours (README, step 4).
    pub(super) fn take_over(&self, entry: Entry) {
        let cell = entry.cell();
        self.lane.claimed();
        cell.set_home(self.home);
        if cell.local_refs() == 0 {
            // One reference is counted here while there are any.
            self.settle(cell);
        }
        self.old.push_entry(self.turn(), entry);
        let list = cell.take_and_idle();
        self.sort_in(cell, list);
        self.commit();
    }

    /// Sleeps until there is something to do. The caller counts as awake.
    pub(super) fn rest(&self, spin: &mut Spin) {
        let shared = &self.shared;
        let wanted = || {
            self.remote().ready.has_some() || shared.queued() > 0 || shared.signal().is_stopping()
        };
        shared.announce_idle();
        shared.note_free(self.home);
        if !self.is_driven() {
            // There is a core to spin on only if there are more of them than workers awake.
            spin.set_threads_running(AWAKE.load(Relaxed).saturating_sub(1));
        }
        if spin.wait(|| wanted().then_some(())).is_none() {
            AWAKE.fetch_sub(1, Relaxed);
            self.park(wanted);
            AWAKE.fetch_add(1, Relaxed);
        }
        shared.announce_busy();
    }

    /// Parks unless something is wanted.
    pub(super) fn park(&self, wanted: impl Fn() -> bool) {
        let ready = &self.remote().ready;
        if !ready.try_park() {
            return;
        }
        // SeqCst: pairs with the fence in `Shared::publish` and with the one of another worker here.
        fence(SeqCst);
        if wanted() || self.shared.end_if_drained() {
            ready.unpark();
            return;
        }
        self.lane.parks(self.now());
        self.sleep();
        self.lane.wakes(self.now());
        if ready.is_parked() {
            // Nobody woke us, but a timer.
            ready.unpark();
            self.fire_timers();
        }
    }

    /// Sleeps until somebody wakes this worker, or a timer is due.
    fn sleep(&self) {
        while self.remote().ready.is_parked() {
            match self.timers.time_left(self.now()) {
                Some(Duration::ZERO) => return,
                left => self.wait(left),
            }
        }
    }

    /// Before an activation, when something is up: gives, or takes its share of what others gave.
    #[cold]
    pub(crate) fn share(&self, signal: Signal) {
        if !signal.is_queued() {
            return self.give();
        }
        // What stands in the shared queue must not wait until some worker has nothing else to do.
        let looks = self.looks.get().wrapping_add(1);
        self.looks.set(looks);
        if looks.is_multiple_of(CLAIM_EVERY)
            && let Some(entry) = self.shared.claim()
        {
            self.take_over(entry);
        }
    }

    /// Whether there is somebody to give to, and something to give.
    pub(crate) fn may_give(&self) -> bool {
        let signal = self.shared.signal();
        signal.idle() > 0 && !signal.is_queued() && self.backlog() > BACKLOG_KEPT + 1
    }

    /// Gives cells away while another worker is idle: all but the one to run next, oldest first, because
    /// what is old is large, and because the next turn may take long.
    fn give(&self) {
        if !self.may_give() {
            return;
        }
        let backlog = self.backlog();
        let mut given = Vec::with_capacity((backlog - 1).min(GIVEN_MAX));
        let mut kept = Vec::new();
        while given.len() + kept.len() < (backlog - 1).min(GIVEN_MAX) {
            let oldest = self.born.pop_oldest().or_else(|| self.old.pop_oldest());
            let Some(&entry) = oldest else { break };
            if hand_over(entry.cell()) {
                given.push(entry);
            } else {
                kept.push(entry);
            }
        }
        for entry in kept {
            self.old.push_entry(self.turn(), entry);
        }
        if !given.is_empty() {
            self.lane.published(given.len());
            self.shared.publish(given.into_iter());
        }
    }
}

/// Takes our hands off a scheduled cell of ours (README, step 3); false if its token is out.
fn hand_over(cell: CellPtr) -> bool {
    if !cell.try_hold() {
        return false;
    }
    cell.share_refs();
    cell.set_home(Home::NOBODY);
    true
}

impl super::Shared {
    /// Whether the sponsor is to end when idle, and is: then it ends, and every worker is told.
    ///
    /// The caller has announced that it is idle and parked. Work is made by workers that are awake,
    /// so once all are parked and the shared queue is empty, only strangers can make more.
    fn end_if_drained(&self) -> bool {
        let wakes = self.wakes();
        let signal = self.signal();
        if !signal.is_draining() || signal.idle() as usize != self.homes.len() {
            return false;
        }
        let parked = || {
            self.homes
                .iter()
                .all(|home| Remote::of(*home).ready.is_parked())
        };
        if !parked() || self.queued() > 0 {
            return false;
        }
        // Nobody woke while we looked, or what we saw was not all at one time.
        fence(SeqCst);
        if self.wakes() != wakes || !parked() {
            return false;
        }
        self.stop();
        true
    }
}
