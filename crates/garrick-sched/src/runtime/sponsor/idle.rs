//! What a worker does when it has nothing to run, and how others give it something.
//!
//! Nothing waits by polling. A worker that goes to sleep first says so (`announce_idle`, then `PARKED` on its
//! ready stack), then looks once more; whoever makes work first makes it visible, then looks who sleeps.
//! With a sequentially consistent fence between the two steps on both sides (Dekker), one of them sees
//! the other. Foreign sends need no fence: they change the very word that says `PARKED`.

use garrick_core::prim::{
    atomic::{
        Ordering::{Acquire, SeqCst},
        fence,
    },
    unmodelled::{AtomicUsize, Relaxed},
};
use std::time::Duration;

use garrick_core::park::Spin;

use super::{Handle, Signal};
use crate::cell::{CellPtr, Envelope, Home};
use crate::parcel;
use crate::pool;
use crate::quiet;
use crate::remote::Remote;
use crate::run_queue::Entry;
use crate::runtime::current::Entered;
use crate::runtime::worker::{Worker, balance};
use crate::world::Nanos;

/// Ready cells that a worker keeps to itself while another is idle, beside the one it runs next: two
/// cells that talk to each other stay together.
const BACKLOG_KEPT: usize = if cfg!(garrick_loom) { 0 } else { 1 };
/// Cells given away at once.
const GIVEN_MAX: usize = 1024;
/// Cells that are looked at in vain at once, because they cannot be given away just now.
const KEPT_MAX: usize = 16;

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

    /// Claims as a worker that serves does.
    #[cfg(all(test, garrick_loom))]
    pub(super) fn claim_in_model(&self) {
        let _entered = Entered::new(self);
        self.claim();
    }

    /// Takes the oldest cell of the shared queue; false if there is none.
    pub(super) fn claim(&self) -> bool {
        let Some(entry) = self.shared.claim() else {
            return false;
        };
        // With nothing of its own it comes here for every cell: one more would only wait behind.
        self.shared_wait.claims();
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
        // SAFETY: as above. `to` is another handle of the same sponsor, so nothing of it is dropped here.
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
        // The last handle of a sponsor takes its world, reporter and attachment along, which are foreign code to drop.
        quiet::drop(to);
        // What they have sent is in no turn: no other one may come for long, or it may be undone.
        self.commit();
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
        shared.note_free(self.index);
        self.pace.rests();
        shared.tell_round(self.index, 0);
        self.lay_bare();
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

    /// Gives spare blocks to the depot, once for each of its watches, so that none of them keeps memory from the system.
    fn lay_bare(&self) {
        if let Some(watch) = pool::watch()
            && self.bared.replace(watch) != watch
        {
            self.pool.flush();
        }
    }

    /// Parks unless something is wanted.
    pub(super) fn park(&self, wanted: impl Fn() -> bool) {
        let ready = &self.remote().ready;
        if !ready.try_park() {
            return;
        }
        // SeqCst: pairs with the fences in `Shared::wake_some` and `wake_all`, and with the one of another worker here.
        fence(SeqCst);
        if wanted() || self.shared.end_if_drained() {
            ready.unpark();
            return;
        }
        self.lane.parks(self.now());
        self.sleep();
        self.lane.wakes(self.now());
        if ready.is_parked() {
            // Nobody woke us, but a timer, or memory that nobody uses.
            ready.unpark();
            // The thread of a `Here` that waits is no worker just now.
            self.fire_due();
            if self.shared.is_real() {
                pool::reclaim(|| self.has_something() || wanted());
            }
        }
    }

    /// Sleeps until somebody wakes this worker, a timer is due, or memory is to be given back.
    fn sleep(&self) {
        while self.remote().ready.is_parked() {
            let timer = self.timers.time_left(self.now());
            let memory = self.shared.is_real().then(pool::time_left).flatten();
            match [timer, memory].into_iter().flatten().min() {
                Some(Duration::ZERO) => return,
                left => self.wait(left),
            }
        }
    }

    /// Before an activation, when something is up: gives, or takes its share of what others gave.
    #[cold]
    pub(crate) fn share(&self, signal: Signal) {
        if !signal.is_queued() {
            self.shared_wait.is_over();
            if self.may_give() || self.keeps_too_long() {
                self.kept.is_over();
                self.give();
            }
            return;
        }
        self.kept.is_over();
        if self.backlog() == 0 {
            // It claims next anyhow, and needs no clock for that.
            return;
        }
        // What stands in the shared queue must not wait until some worker has nothing else to do.
        let (queued, workers) = (self.shared.queued(), self.shared.homes.len());
        for _ in 0..self.shared_wait.look(queued, workers, || self.now()) {
            let Some(entry) = self.shared.claim() else {
                return;
            };
            self.take_over(entry);
        }
    }

    /// Whether there is somebody to give to, and something to give.
    pub(crate) fn may_give(&self) -> bool {
        let signal = self.shared.signal();
        signal.idle() > 0 && !signal.is_queued() && self.backlog() > BACKLOG_KEPT + 1
    }

    /// Whether the one cell that is kept beside the next goes too.
    fn keeps_too_long(&self) -> bool {
        // A model has no clock to go by.
        let is_kept = !cfg!(garrick_loom) && self.backlog() == BACKLOG_KEPT + 1;
        if self.shared.signal().idle() == 0 || !is_kept {
            self.kept.is_over();
            return false;
        }
        let woke = self.handoff.last_turn();
        self.kept.look(self.turn(), woke, || self.now())
    }

    /// Gives cells away while another worker is idle: all but the one to run next, oldest first, because
    /// what is old is large, and because the next turn may take long.
    fn give(&self) {
        let count = (self.backlog() - 1).min(GIVEN_MAX);
        let mut kept = Vec::new();
        let oldest = || self.born.pop_oldest().or_else(|| self.old.pop_oldest());
        let given = self.take_to_give(count, &mut kept, || oldest().copied());
        // Back to where they were. Behind the others, they would wait for as long as anybody is idle.
        for entry in kept.into_iter().rev() {
            self.old.push_oldest(entry);
        }
        self.publish(given);
    }

    /// Gives what it has more than the others, all of which have enough to do, so that all cells are served alike. An activation
    /// takes so long on average.
    #[cold]
    #[inline(never)]
    pub(crate) fn balance(&self, activation: Nanos) {
        let shared = &self.shared;
        if shared.homes.len() == 1 {
            return;
        }
        self.shared_wait.others_had_time();
        let ready = self.backlog();
        // Each of them waits for all others.
        let round = activation.saturating_mul(ready as u64);
        let average = shared.tell_round(self.index, round);
        let signal = shared.signal();
        if signal.idle() > 0 || signal.is_queued() {
            // There are quicker ways to give.
            return;
        }
        let surplus = balance::surplus(round, average, ready).min(self.old.len());
        if surplus > 0 {
            self.give_newest(surplus.min(GIVEN_MAX));
            shared.tell_round(self.index, average);
        }
    }

    /// Gives cells away that would have to wait longest here.
    fn give_newest(&self, count: usize) {
        let mut kept = Vec::new();
        let given = self.take_to_give(count, &mut kept, || self.old.pop_newest().copied());
        for entry in kept.into_iter().rev() {
            self.old.push_entry(self.turn(), entry);
        }
        self.shared_wait.gave();
        self.publish(given);
    }

    /// Takes our hands off `count` cells of our run queues, as `next` has them. Those that cannot go just now are put in `kept`.
    fn take_to_give(
        &self,
        count: usize,
        kept: &mut Vec<Entry>,
        next: impl Fn() -> Option<Entry>,
    ) -> Vec<Entry> {
        let mut given = Vec::with_capacity(count);
        while given.len() + kept.len() < count && kept.len() < KEPT_MAX {
            let Some(entry) = next() else { break };
            if hand_over(entry.cell()) {
                given.push(entry);
            } else {
                kept.push(entry);
            }
        }
        given
    }

    fn publish(&self, given: Vec<Entry>) {
        if !given.is_empty() {
            self.lane.published(given.len());
            self.shared.publish(given.into_iter());
        }
    }
}

/// Takes our hands off a scheduled cell of ours (README, step 3); false if its token is out, or if it must stay on this
/// thread.
fn hand_over(cell: CellPtr) -> bool {
    if !cell.table().moves || !cell.try_hold() {
        return false;
    }
    cell.share_refs();
    cell.set_home(Home::NOBODY);
    true
}

impl super::Shared {
    /// Whether the sponsor is to end when idle, and is: then it ends, and every worker is told (README, the end).
    ///
    /// The caller has announced that it is idle and parked. Work is made by workers that are awake,
    /// so once all are parked and the shared queue is empty, only strangers can make more.
    fn end_if_drained(&self) -> bool {
        self.end_if_drained_by(|home| Remote::of(home).ready.is_parked())
    }

    /// Does so by what `is_parked` says of each worker.
    fn end_if_drained_by(&self, is_parked: impl Fn(Home) -> bool) -> bool {
        // Step 1.
        let wakes = self.wakes();
        // Step 2: a quick look.
        let signal = self.signal();
        if !signal.is_draining() || signal.idle() as usize != self.homes.len() {
            return false;
        }
        // Acquire: pairs with the Release in `raise`; what strangers gave before they asked for the end is seen below.
        fence(Acquire);
        let parked = || self.homes.iter().all(|home| is_parked(*home));
        // Steps 3 and 4: all have parked since the first step, and we see what they left.
        if !parked() || self.queued() > 0 {
            return false;
        }
        // Steps 5 and 6: they have left nothing to each other, and nobody woke meanwhile.
        if !parked() || self.wakes() != wakes {
            return false;
        }
        self.stop();
        true
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use std::cell::Cell;

    use crate::remote::Remote;
    use crate::runtime::sponsor::{Extras, Shared, Signal};

    /// A sponsor of so many workers, all of which have parked, and that is to end when nothing is left.
    fn draining(workers: usize) -> Shared {
        let homes = (0..workers).map(|_| Remote::claim().unwrap()).collect();
        let extras = Extras {
            reporter: None,
            probes: false,
            attachment: None,
        };
        let shared = Shared::new("drains".to_owned(), None, homes, extras);
        shared.expect_workers();
        shared.raise(Signal::DRAIN);
        shared
    }

    /// Looks for the end. After the look of that number at a worker, `meanwhile` happens.
    fn ends(shared: &Shared, look: usize, meanwhile: impl Fn()) -> bool {
        let looks = Cell::new(0);
        let ends = shared.end_if_drained_by(|_| {
            looks.set(looks.get() + 1);
            if looks.get() == look {
                meanwhile();
            }
            true
        });
        shared.homes.iter().for_each(|home| Remote::release(*home));
        ends
    }

    #[test]
    fn a_sponsor_ends_when_all_have_parked() {
        assert!(ends(&draining(3), 0, || ()));
    }

    #[test]
    fn it_does_not_while_one_wakes_and_sends_to_another() {
        // The second round of looks has seen the first worker. A stranger's message wakes the second one, which sends to the
        // first one, and parks before it is looked at.
        let shared = draining(3);
        let wakes_and_parks = || {
            shared.announce_busy();
            shared.announce_idle();
        };
        assert!(!ends(&shared, 4, wakes_and_parks));
    }

    #[test]
    fn it_does_not_while_a_cell_waits_to_be_claimed() {
        let shared = draining(2);
        assert!(!ends(&shared, 2, || shared.note_queued(1)));
    }
}
