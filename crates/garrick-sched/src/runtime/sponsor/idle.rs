//! Idle threads (*hands*): the steps of a thread whose worker (its *seat*) has no work, and the
//! ways in which the thread gets work.
//!
//! No thread waits by polling. A thread that leaves a worker first announces this (`announce_idle`,
//! then `PARKED` on the worker's ready stack), and then checks for work a last time. A thread that
//! creates work first makes the work visible, and then checks for workers that no thread runs. Both
//! sides have a sequentially consistent fence between their two steps (Dekker's pattern), so that
//! at least one side sees the other. Sends from other threads need no fence, because they change
//! the word that contains `PARKED`.

use garrick_core::prim::{
    atomic::{
        Ordering::{Acquire, SeqCst},
        fence,
    },
    thread,
    unmodelled::{AtomicUsize, Relaxed},
};
use std::ptr::NonNull;
use std::time::Duration;

use garrick_core::park::Spin;

use super::crew::Hand;
use super::{Handle, Signal};
use crate::cell::{CellPtr, Envelope, Home, Look, Ready};
use crate::parcel;
use crate::pool;
use crate::quiet;
use crate::remote::{Remote, Serve};
use crate::run_queue::Entry;
use crate::runtime::current::Entered;
use crate::runtime::worker::{Closing, Worker};
use crate::world::Nanos;

/// Maximum number of cells that a worker skips while it gives cells away. The worker skips cells
/// that cannot be given away now.
const KEPT_MAX: usize = 16;

/// Number of workers of this process that are awake. An idle thread spins only if there are more
/// cores than awake workers.
static AWAKE: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of workers of this process that are awake.
pub(crate) fn workers_awake() -> usize {
    AWAKE.load(Relaxed)
}

/// Guard that counts a worker as awake.
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

/// Next step of a thread, after it has run the cells of a worker.
pub(super) enum Next {
    /// The thread leaves its worker, because there is no work.
    Rest,
    /// The thread leaves its worker and runs another worker, whose index is contained. The thread
    /// has already taken the other worker, which still counts as idle.
    Go(usize),
    /// The thread hands its worker over to another thread, which has left the worker in the middle
    /// of a turn and wants the worker back.
    Yield,
    /// The thread closes the worker, which no message can reach any more.
    Close,
}

/// Situation of a thread before it begins to run a worker.
#[derive(Clone, Copy)]
pub(super) enum Came {
    /// The thread was idle, and no thread was running the worker.
    Idle,
    /// The thread uses an idle worker for a short time: as a guest, which waits for an answer, or
    /// to take a cell away from the worker. This time counts as part of the worker's sleep.
    Untimed,
    /// The thread came from another worker, which now counts as idle instead of this one. Contains
    /// the time of this move.
    Over(Nanos),
}

impl Hand {
    /// Runs workers of the crew (a group of threads and workers) until all of them are closed.
    /// Begins with worker `seat`, which this thread already runs. Does not close a worker with a
    /// driver.
    pub(super) fn serve(&self, mut seat: usize) {
        let mut spin = Spin::new(1);
        let _awake = Awake::new();
        let mut came = Came::Idle;
        loop {
            // SAFETY: this hand sits there.
            let worker = unsafe { self.crew.worker(seat).as_ref() };
            let next = match worker.work(came) {
                Next::Rest => self.rest(seat, &mut spin),
                Next::Go(next) => {
                    (seat, came) = self.follow(seat, next);
                    continue;
                }
                Next::Yield => {
                    worker.prepare_leaving();
                    worker.announce_idle();
                    self.crew.hand_over(seat);
                    self.wait(None)
                }
                Next::Close if worker.is_driven() => return,
                Next::Close => {
                    self.close(seat);
                    self.wait(None)
                }
            };
            self.path.ends();
            let Some(next) = next else { return };
            (seat, came) = (next, Came::Idle);
        }
    }

    /// Leaves a worker that has no work, and waits until this thread gets a worker to run. Returns
    /// the index of that worker, which may be `seat` again. Returns `None` if all workers of the
    /// crew are closed. The caller must be counted as awake.
    pub(super) fn rest(&self, seat: usize, spin: &mut Spin) -> Option<usize> {
        let worker = self.crew.worker(seat);
        // SAFETY: this hand sits there; if the worker has a driver, nobody else ever does.
        let driven = unsafe { worker.as_ref() }.is_driven().then_some(worker);
        // SAFETY: as above. The reference ends before the seat is left.
        let wanted = unsafe { worker.as_ref() }.wanted(self);
        if self.stays(seat, worker, spin, wanted) {
            return Some(seat);
        }
        self.wait(driven)
    }

    /// Waits until this thread gets a worker to run. A thread with a driver sleeps in the driver.
    fn wait(&self, driven: Option<NonNull<Worker>>) -> Option<usize> {
        AWAKE.fetch_sub(1, Relaxed);
        let seat = self.wait_for_seat(|left| match driven {
            // SAFETY: its worker is open, and is used by nobody but the only hand of its crew,
            // which this is.
            Some(worker) => unsafe { worker.as_ref() }.wait(left),
            None => sleep(left),
        });
        AWAKE.fetch_add(1, Relaxed);
        seat
    }

    /// Leaves a worker that has no work (README.md, sleep). Returns true if work has come, so that
    /// this thread runs the worker again.
    fn stays(
        &self,
        seat: usize,
        worker: NonNull<Worker>,
        spin: &mut Spin,
        wanted: impl Fn() -> bool,
    ) -> bool {
        let ready = &self.crew.remote(seat).ready;
        // SAFETY: this hand sits there until `try_watch` below. No reference lasts longer.
        let in_driver = unsafe { worker.as_ref() }.prepare_rest();
        // A thread that spins in a driver does not see events of the operating system. If a look is
        // due, another seat may be stuck, and this hand could spin again and again.
        if in_driver || self.is_to_watch() {
            spin.set_threads_running(usize::MAX);
        } else {
            // There is a core to spin on only if there are more cores than awake hands.
            spin.set_threads_running(workers_awake().saturating_sub(1));
        }
        if !ready.try_watch() {
            return true;
        }
        let seen = spin.wait(|| match ready.look() {
            Look::Nothing => wanted().then_some(true),
            Look::Called => Some(true),
            Look::Gone => Some(false),
        });
        if seen == Some(false) || !self.crew.retake(seat, Ready::sit_watched) {
            return false;
        }
        if seen == Some(true) {
            return true;
        }
        // SAFETY: this hand sits there until `try_park` below.
        let (_, deadline) = unsafe { worker.as_ref() }.prepare_park();
        self.crew.set_deadline(seat, deadline);
        if !ready.try_park() {
            return true;
        }
        // SeqCst: pairs with the fence in `Remote::wake_some`, with the one of another hand here,
        // and with the one of the hand that keeps watch.
        fence(SeqCst);
        let is_wanted = wanted() || self.shared.end_if_drained();
        is_wanted && self.crew.retake(seat, Ready::sit)
    }

    /// Moves this thread from worker `seat`, which has no work, to worker `next`. The latest turn
    /// of `seat` has woken `next`, and this thread has taken `next`. Returns the index of the
    /// worker that the thread runs afterwards. Before and after the move, one of the two workers
    /// counts as idle.
    pub(super) fn go(&self, seat: usize, next: usize) -> (usize, Came) {
        let ready = &self.crew.remote(seat).ready;
        let now = {
            // SAFETY: this hand sits there until `try_park` below.
            let worker = unsafe { self.crew.worker(seat).as_ref() };
            worker.prepare_going();
            // The next worker is counted as busy instead of this one.
            worker.is_counted_busy.set(false);
            let (now, deadline) = worker.prepare_park();
            self.crew.set_deadline(seat, deadline);
            now
        };
        if ready.try_park() {
            // SeqCst: as in `stays`.
            fence(SeqCst);
            let is_wanted = self.shared.wants_hands() || self.crew.is_wanted_back(seat);
            if !is_wanted || !self.crew.retake(seat, Ready::sit) {
                self.crew.watch_over(seat);
                return (next, Came::Over(now));
            }
        }
        self.crew.hand_over(next);
        (seat, Came::Over(now))
    }
}

impl super::Shared {
    /// Leaves a worker that the caller runs. If the worker still has work, hands it over to another
    /// thread. The caller is a guest (a thread that waits for an answer), or is in the middle of a
    /// turn that leaves the worker in order to block.
    pub(super) fn leave(&self, worker: NonNull<Worker>) {
        if !self.try_leave(worker) {
            // SAFETY: the seat is the caller's still.
            let (crew, seat) = self.place_of(unsafe { worker.as_ref() }.index);
            crew.hand_over(seat);
        }
    }

    /// Leaves a worker like [`Shared::leave`], but does not hand it over. Returns false if the
    /// worker still has work. In this case, the caller still has the right to run the worker, but
    /// the worker counts as idle.
    pub(super) fn try_leave(&self, worker: NonNull<Worker>) -> bool {
        let (crew, seat, deadline) = {
            // SAFETY: the seat is the caller's until it is left below. The reference ends before
            // that.
            let worker = unsafe { worker.as_ref() };
            let (crew, seat) = self.place_of(worker.index);
            let deadline = worker.prepare_leaving();
            worker.announce_idle();
            if worker.has_something() || worker.closing.get() == Closing::All {
                return false;
            }
            (crew, seat, deadline)
        };
        crew.set_deadline(seat, deadline);
        let ready = &crew.remote(seat).ready;
        if !ready.try_park() {
            return false;
        }
        // SeqCst: as in `Hand::stays`.
        fence(SeqCst);
        let is_wanted = self.wants_hands() || crew.is_wanted_back(seat) || self.end_if_drained();
        if is_wanted && crew.retake(seat, Ready::sit) {
            crew.hand_over(seat);
        } else {
            crew.watch_over(seat);
        }
        true
    }
}

pub(super) fn sleep(left: Option<Duration>) {
    match left {
        None => thread::park(),
        Some(left) => thread::park_timeout(left),
    }
}

impl Worker {
    /// Runs cells of a worker until it has no more work. The caller has just begun to run the
    /// worker.
    pub(super) fn work(&self, came: Came) -> Next {
        let _entered = Entered::new(self);
        self.remote().ready.note_guest(false);
        self.sit_down(came);
        loop {
            // Does not use the signal, which may be older than the reason why this hand sat down.
            if self.crew.is_wanted_back(self.seat()) {
                self.give_next_seat();
                return Next::Yield;
            }
            if self.shared.signal().is_stopping() {
                self.give_next_seat();
                return if self.wind_up() {
                    Next::Close
                } else {
                    Next::Rest
                };
            }
            self.run_ready(|signal| self.is_to_stop(signal));
            if self.is_to_stop(self.shared.signal()) {
                continue;
            }
            if self.has_something() {
                self.give_next_seat();
                continue;
            }
            if let Some(next) = self.next_seat.take() {
                return Next::Go(next.seat);
            }
            if self.shared.signal().is_lent() && self.visit_some() {
                continue;
            }
            if !self.claim() {
                return Next::Rest;
            }
        }
    }

    /// Announces that a thread now runs this worker, and delivers due timers. Returns the time at
    /// which the sleep of the worker has ended. Returns `None` if the worker was not asleep, or
    /// still counts as asleep ([`Came::Untimed`]).
    #[inline]
    pub(super) fn sit_down(&self, came: Came) -> Option<Nanos> {
        let now = self.arrive(came);
        if !self.timers.are_calm() {
            self.fire_due();
        }
        now
    }

    /// Announces that a thread now runs this worker. Returns the time at which the sleep of the
    /// worker has ended, or `None` if no sleep has ended.
    #[inline(always)]
    pub(super) fn arrive(&self, came: Came) -> Option<Nanos> {
        self.touch();
        self.timers.watched_from(None);
        self.remote().ready.count_sit();
        match came {
            Came::Idle => {
                self.shared.announce_busy();
                self.is_counted_busy.set(true);
                self.wakes(|| self.now())
            }
            Came::Untimed => None,
            Came::Over(now) => {
                self.is_counted_busy.set(true);
                self.wakes(|| now)
            }
        }
    }

    /// Counts this worker as idle, if it is counted as busy.
    fn announce_idle(&self) {
        if self.is_counted_busy.replace(false) {
            self.shared.announce_idle();
        }
    }

    /// Returns true if other workers are counted as idle. `signal` is the current [`Signal`].
    pub(super) fn are_others_idle(&self, signal: Signal) -> bool {
        signal.idle() > u32::from(!self.is_counted_busy.get())
    }

    /// Prepares this worker for a rest: the thread is about to check for work a last time, and
    /// leaves the worker if there is no work. Returns true if the thread sleeps in a driver.
    fn prepare_rest(&self) -> bool {
        self.announce_idle();
        self.lane.idles();
        self.prepare_going();
        self.shared.note_free(self.index);
        self.shared.tell_round(self.index, 0);
        self.is_driven()
    }

    /// Prepares this worker, because the thread that runs it is about to leave it. Interrupts the
    /// measurement of the worker's turns. Moves the spare memory blocks to the depot, if this was
    /// requested.
    fn prepare_going(&self) {
        self.touch();
        self.pace.rests();
        self.lay_bare();
    }

    /// Prepares this worker, because the thread that runs it is about to leave it. The worker may
    /// still have work. Returns the deadline of the next timer.
    fn prepare_leaving(&self) -> Option<Nanos> {
        self.prepare_going();
        if !self.lane.is_parked() {
            self.note_rest(self.now());
        }
        self.next_deadline()
    }

    /// Prepares this worker for the mark PARKED, which says that no thread runs the worker. Returns
    /// the current time, and the deadline of the next timer.
    fn prepare_park(&self) -> (Nanos, Option<Nanos>) {
        self.touch();
        let now = self.now();
        self.note_rest(now);
        (now, self.next_deadline())
    }

    /// Records that no thread runs this worker from now on. If no messages wait for this worker or
    /// for a turn that has left the worker, records that the census (the count of waiting messages)
    /// is zero. Otherwise, the latest census stays valid, and the next thread that runs the worker
    /// takes a requested census.
    fn note_rest(&self, now: Nanos) {
        let has_messages = self.has_something() || self.has_cells_elsewhere();
        self.settle_vitals();
        self.lane.parks(self.progress(), now, !has_messages);
        self.shared.census_taken();
    }

    /// Returns a function for a thread that has left this worker. The function returns true if the
    /// thread should come back. The returned function does not access the worker.
    fn wanted<'a>(&self, hand: &'a Hand) -> impl Fn() -> bool + use<'a> {
        let (closing, may_end) = (self.closing.get(), self.awaited.get() == 0);
        let (seat, are_visited) = (self.seat(), self.visited.get() > 0);
        move || {
            // While the sponsor stops, cells in the shared queue must be closed, because a turn or
            // a destructor on another thread may wait for them.
            let wants = match closing {
                Closing::No => hand.shared.wants_hands(),
                // The seat cannot be closed before the visited cells have come back.
                Closing::Partly if are_visited => false,
                Closing::Partly => hand.shared.queued() > 0,
                Closing::All => {
                    hand.shared.queued() > 0 || may_end && hand.shared.have_all_closed()
                }
            };
            wants || hand.crew.is_wanted_back(seat)
        }
    }

    /// Returns the index of this worker in its crew (a group of threads and workers).
    pub(crate) fn seat(&self) -> usize {
        self.shared.place_of(self.index).1
    }

    /// Returns true if a thread that has left this worker in the middle of a turn wants to run the
    /// worker again.
    #[inline]
    pub(crate) fn is_wanted_back(&self, signal: Signal) -> bool {
        signal.calls_back() && self.crew.is_wanted_back(self.seat())
    }

    /// Returns true if the calling thread must run no more cells of this worker, because another
    /// thread wants the worker back or the sponsor stops.
    #[inline]
    pub(crate) fn is_to_stop(&self, signal: Signal) -> bool {
        signal.is_stopping() || self.is_wanted_back(signal)
    }

    /// Takes a cell from the shared queue in a loom model, as a running worker does.
    #[cfg(all(test, garrick_loom))]
    pub(super) fn claim_in_model(&self) {
        let _entered = Entered::new(self);
        self.claim();
    }

    /// Takes the oldest cell of the shared queue. Returns false if there is none.
    pub(crate) fn claim(&self) -> bool {
        let Some(entry) = self.shared.claim() else {
            return false;
        };
        // A worker without ready cells comes here for every cell: a second cell would only wait
        // behind the first.
        self.shared_wait.claims();
        self.take_over(entry);
        true
    }

    /// Handles a request to move to another sponsor. The request is the oldest envelope in the
    /// mailbox of a cell that is about to run.
    ///
    /// Returns true if the cell was given to the other sponsor. If the cell already belongs to the
    /// other sponsor or cannot move, removes the request and returns false. If the token of the
    /// cell (the right to notify its worker) is on the way to this worker, requeues the cell and
    /// returns true.
    #[cold]
    pub(crate) fn move_away(&self, cell: CellPtr, note: *mut Envelope) -> bool {
        // SAFETY: the note is the oldest envelope of the mailbox, hence ours; it holds a handle,
        // which is dropped with it.
        let to = unsafe { parcel::peek::<Handle>(note).clone() };
        // A task does not leave its simulation.
        let is_reachable = to.shared.hooks.are_beside(self.shared.hooks);
        let goes = cell.table().moves && is_reachable && !to.is_of(self);
        if goes && !cell.try_hold() {
            // The cell's carrier is on the way to this worker.
            self.requeue(cell);
            return true;
        }
        // SAFETY: as above. `to` is another handle of the same sponsor, so nothing of it is dropped
        // here.
        drop(unsafe { parcel::get::<Handle>(note) });
        self.drop_oldest(cell);
        let gone = goes
            && to.take_cell(|| {
                self.count_ended(cell);
                cell.share_refs();
                cell.set_home(to.shared.queue_home());
                Entry::of(cell)
            });
        if goes && !gone {
            // This worker holds the token, and gives it back as if the cell had come from the ready
            // stack.
            let list = cell.take_and_idle();
            self.sort_in(cell, list);
        }
        // The last handle of a sponsor drops its world, reporter and attachment, which are foreign
        // code.
        quiet::drop(to);
        // Their sends belong to no turn. Commit now: the next turn may be far off, or may be
        // undone.
        self.commit();
        gone
    }

    /// Takes over a cell that another worker has given away (`cell/README.md`, step 4).
    pub(super) fn take_over(&self, entry: Entry) {
        self.take_in(entry);
        self.commit_between();
    }

    /// Takes over a cell that another worker has given away. Does not commit the resulting changes
    /// of the run queues. The caller must ensure that these changes are committed later.
    pub(super) fn take_in(&self, entry: Entry) {
        let cell = entry.cell();
        self.lane.claimed();
        cell.set_home(self.home);
        pool::mark(cell);
        if cell.local_refs() == 0 {
            // One reference is counted here as long as there are any.
            self.settle(cell);
        }
        self.old.push_entry(self.turn(), entry);
        let list = cell.take_and_idle();
        self.sort_in(cell, list);
    }

    /// Moves the spare memory blocks of this worker to the depot (the free blocks that all threads
    /// share), if this was requested since the last call. The depot can then return the memory to
    /// the system.
    fn lay_bare(&self) {
        if let Some(watch) = pool::watch()
            && self.bared.replace(watch) != watch
        {
            self.pool.flush();
        }
    }

    /// Calls `next` up to `count` times to get cells, and releases these cells for other workers.
    /// If a cell cannot be given away now, appends the cell to `kept`.
    pub(super) fn take_to_give(
        &self,
        count: usize,
        kept: &mut Vec<Entry>,
        mut next: impl FnMut() -> Option<Entry>,
    ) -> Vec<Entry> {
        // Others take from the queues only while a cell runs here. A cell that is visited may have
        // run just now: either this worker sees that others take, or they see that no cell runs.
        self.shown.name_none_and_fence();
        if self.remote().ready.is_lent() {
            return Vec::new();
        }
        let mut given = Vec::with_capacity(count);
        while given.len() + kept.len() < count && kept.len() < KEPT_MAX {
            let Some(entry) = next() else { break };
            if hand_over(entry.cell(), self.shared.queue_home()) {
                given.push(entry);
            } else {
                kept.push(entry);
            }
        }
        given
    }

    pub(super) fn publish(&self, given: Vec<Entry>) {
        if !given.is_empty() {
            self.lane.published(given.len());
            self.shared.publish(given.into_iter());
        }
    }
}

/// Releases a scheduled cell of this worker for other workers (`cell/README.md`, step 3).
/// Afterwards the cell belongs to no worker and lies in the shared queue. Returns false if the
/// token of the cell (the right to notify its worker) is on the way to this worker, or if the cell
/// must stay on this thread.
pub(super) fn hand_over(cell: CellPtr, queue_home: Home) -> bool {
    if !cell.table().moves || !cell.try_hold() {
        return false;
    }
    cell.share_refs();
    cell.set_home(queue_home);
    true
}

impl super::Shared {
    /// Stops the sponsor (the group of workers), wakes all workers and returns true, if the sponsor
    /// is draining and there is no more work (README.md, the end).
    ///
    /// The caller must have counted its worker as idle, and must have left this worker PARKED (no
    /// thread runs it). Only workers that are awake create work. So once all workers are PARKED and
    /// the shared queue is empty, only strangers (threads outside of the sponsor) can create work.
    pub(crate) fn end_if_drained(&self) -> bool {
        self.end_if_drained_by(|home| Remote::of(home).ready.is_parked())
    }

    /// Does the same as `end_if_drained`, but calls `is_parked` for each worker, to check that no
    /// thread runs the worker.
    fn end_if_drained_by(&self, is_parked: impl Fn(Home) -> bool) -> bool {
        if !self.signal().is_draining() {
            return false;
        }
        // Step 1.
        let sits = self.sits();
        // Step 2: a quick look.
        let signal = self.signal();
        if !signal.is_draining()
            || signal.is_stopping()
            || signal.idle() as usize != self.homes.len()
        {
            return false;
        }
        // Acquire: pairs with the Release in `raise`; what strangers gave before they asked for the
        // end is seen below.
        fence(Acquire);
        let parked = || self.homes.iter().all(|home| is_parked(*home));
        // Steps 3 and 4: all have parked since the first step, and this thread sees what they left.
        // No turn is away, or waits for a decision.
        if !parked() || self.queued() > 0 || self.away.are_some() || self.are_undecided() {
            return false;
        }
        // Steps 5 and 6: they have left nothing to each other, and no worker woke meanwhile.
        if !parked() || self.sits() != sits {
            return false;
        }
        self.stop();
        true
    }
}

#[cfg(all(test, not(garrick_loom)))]
mod tests {
    use std::cell::Cell;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use crate::hooks::Hooks;
    use crate::remote::Remote;
    use crate::runtime::address::Address;
    use crate::runtime::sponsor::{Extras, Hands, Shared, Signal, Sponsor};
    use crate::runtime::task::{Flow, Task};
    use crate::runtime::turn::Turn;

    /// Creates a draining sponsor (one that stops when no work is left). It has `workers` workers,
    /// and no thread runs them.
    fn draining(workers: usize) -> Shared {
        let homes = (0..workers).map(|_| Remote::claim().unwrap()).collect();
        let extras = Extras {
            reporter: None,
            probes: false,
            attachment: None,
            gate: None,
            hooks: Hooks::none(),
        };
        let shared = Shared::new("drains".to_owned(), None, homes, extras, Hands::FIXED);
        shared.expect_workers();
        shared.raise(Signal::DRAIN);
        shared
    }

    /// Calls `end_if_drained_by`, which checks each worker several times. Runs `meanwhile` during
    /// check number `look`.
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
        // The second round of looks has seen the first worker. A stranger's message wakes the
        // second worker, which sends to the first one, and parks before it is looked at.
        let shared = draining(3);
        let wakes_and_parks = || {
            Remote::of(shared.homes[1]).ready.count_sit();
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

    /// Task that reports its messages through a channel.
    struct Says(Sender<()>);

    impl Task for Says {
        type Message = ();

        fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
            let _ = self.0.send(());
            Flow::Continue
        }
    }

    /// Task whose destructor waits for a value from a channel, and then reports the end of the
    /// task.
    struct Waits(Receiver<()>, Sender<()>);

    impl Task for Waits {
        type Message = ();

        fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
            Flow::Continue
        }
    }

    impl Drop for Waits {
        fn drop(&mut self) {
            let _ = self.0.recv();
            let _ = self.1.send(());
        }
    }

    /// Task that spawns a `Waits` task. At the next message, sends a message to the `Says` task,
    /// and drops the address of the `Waits` task.
    struct Drops {
        word: Option<Receiver<()>>,
        says: Address<()>,
        waits: Option<Address<()>>,
        done: Sender<()>,
    }

    impl Task for Drops {
        type Message = ();

        fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
            if let Some(word) = self.word.take() {
                self.waits = Some(turn.spawn(Waits(word, self.done.clone())));
                let _ = self.done.send(());
                return Flow::Continue;
            }
            // There is no other work here, so the hand may keep the seat of the `Says` task.
            let _ = turn.send(&self.says, ());
            self.waits = None;
            Flow::Stop
        }
    }

    #[test]
    fn a_destructor_may_wait_for_what_its_turn_has_sent_to_another_worker() {
        let patience = Duration::from_secs(60);
        let sponsor = Sponsor::pool(2).unwrap();
        let handle = sponsor.handle();
        let homes = &handle.shared.homes;
        for _ in 0..200 {
            let ((say, word), (done, is_done)) = (channel(), channel());
            let says = handle.spawn_at(homes[1], Says(say), true).unwrap();
            let drops = Drops {
                word: Some(word),
                says,
                waits: None,
                done: done.clone(),
            };
            let drops = handle.spawn_at(homes[0], drops, true).unwrap();
            let (ended, end) = channel();
            drops.watch(move |_| ended.send(()).unwrap());
            drops.send(()).unwrap();
            is_done.recv_timeout(patience).unwrap();
            drops.send(()).unwrap();
            end.recv_timeout(patience).expect("the seat is given away");
            // If a visitor runs the turn, the owner drops the `Waits` task later. Two workers are
            // not enough for two destructors that wait.
            is_done
                .recv_timeout(patience)
                .expect("the seat is given away");
        }
        sponsor.shutdown();
    }
}
