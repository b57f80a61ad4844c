//! Idle hands: the steps of a hand whose seat has nothing to run, and the ways to give it work.
//!
//! Nothing waits by polling. A hand that leaves a seat first announces it (`announce_idle`, then
//! `PARKED` on the seat's ready stack), then looks for work once more. A thread that makes work
//! first makes it visible, then looks for seats where nobody sits. With a sequentially consistent
//! fence between the two steps on both sides (Dekker), one side sees the other. Foreign sends need
//! no fence: they change the same word that says `PARKED`.

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
use crate::runtime::worker::Worker;
use crate::world::Nanos;

/// Largest number of cells looked at in vain in one go, because they cannot be given away at the
/// moment.
const KEPT_MAX: usize = 16;

/// Number of workers of this process that are awake. Hands spin only when there are cores to spare.
static AWAKE: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of workers of this process that are awake.
pub(crate) fn workers_awake() -> usize {
    AWAKE.load(Relaxed)
}

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

/// The next step of the hand that sits on a seat.
pub(super) enum Next {
    /// The hand leaves: there is no work.
    Rest,
    /// The hand goes to the seat of that number, which it already owns, and which counts as idle.
    Go(usize),
    /// The hand hands the seat over to a hand that has left it in the middle of a turn, and wants
    /// it back.
    Yield,
    /// The hand closes the seat, which nothing can reach any more.
    Close,
}

/// The way in which a hand has come to its seat.
#[derive(Clone, Copy)]
pub(super) enum Came {
    /// The hand was idle, and so was the seat.
    Idle,
    /// A guest sat down on an idle seat, and the visit counts as a part of the sleep.
    Untimed,
    /// The hand came from another seat, which counts as idle in place of this one. Contains the
    /// time.
    Over(Nanos),
}

impl Hand {
    /// Serves the seats of the crew until all of them are over, starting with `seat`, where the
    /// hand sits. Leaves the seat of a driver open.
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
                    self.shared.announce_idle();
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

    /// Leaves a seat without work, and waits for a seat. Returns the seat where the hand sits then,
    /// which may be the same one. Returns `None` if all seats of the crew are over. The caller
    /// counts as awake.
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

    /// Waits for a seat. A hand with a driver sleeps in the driver.
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

    /// Leaves a seat without work (README, sleep). Returns true if there was work after all, and
    /// this hand sits there again.
    fn stays(
        &self,
        seat: usize,
        worker: NonNull<Worker>,
        spin: &mut Spin,
        wanted: impl Fn() -> bool,
    ) -> bool {
        let ready = &self.crew.remote(seat).ready;
        // SAFETY: this hand sits there until `try_watch` below. No reference lasts longer.
        if unsafe { worker.as_ref() }.prepare_rest() {
            // A spinning thread does not see events of the operating system.
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

    /// Leaves a seat without work for a seat that its last turn woke, and that this hand owns.
    /// Returns where the hand sits then. One of the two seats counts as idle before and after.
    pub(super) fn go(&self, seat: usize, next: usize) -> (usize, Came) {
        let ready = &self.crew.remote(seat).ready;
        let now = {
            // SAFETY: this hand sits there until `try_park` below.
            let worker = unsafe { self.crew.worker(seat).as_ref() };
            worker.prepare_going();
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
    /// Leaves a seat on which the caller sits. If work is left, a hand takes the seat over. The
    /// caller is no hand, or is a hand in the middle of a turn that it has taken off the seat.
    pub(super) fn leave(&self, worker: NonNull<Worker>) {
        if !self.try_leave(worker) {
            // SAFETY: the seat is the caller's still.
            let (crew, seat) = self.place_of(unsafe { worker.as_ref() }.index);
            crew.hand_over(seat);
        }
    }

    /// Leaves a seat like [`Shared::leave`]. Returns false if work is left. Then the caller still
    /// owns the seat, which counts as idle.
    pub(super) fn try_leave(&self, worker: NonNull<Worker>) -> bool {
        let (crew, seat, deadline) = {
            // SAFETY: the seat is the caller's until it is left below. The reference ends before
            // that.
            let worker = unsafe { worker.as_ref() };
            let (crew, seat) = self.place_of(worker.index);
            let deadline = worker.prepare_leaving();
            self.announce_idle();
            if worker.has_something() || worker.closes.get() {
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
    /// Runs cells until there is no work here. The caller has just sat down.
    pub(super) fn work(&self, came: Came) -> Next {
        let _entered = Entered::new(self);
        self.sit_down(came);
        loop {
            // Not by the signal, which may be older than the reason for which this hand sat down.
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

    /// Announces that a hand or a guest has sat down, and delivers due timers. Returns the time, if
    /// the clock was read. The clock does not slow down a hand that was away only briefly.
    pub(super) fn sit_down(&self, came: Came) -> Option<Nanos> {
        let now = self.arrive(came);
        if !self.timers.are_calm() {
            self.fire_due();
        }
        now
    }

    /// Announces that a hand or a guest has sat down. Returns the time, if the clock was read.
    pub(super) fn arrive(&self, came: Came) -> Option<Nanos> {
        self.touch();
        self.remote().ready.count_sit();
        match came {
            Came::Idle => {
                self.shared.announce_busy();
                self.lane.wakes(|| self.now())
            }
            Came::Untimed => {
                self.shared.announce_busy();
                None
            }
            Came::Over(now) => self.lane.wakes(|| now),
        }
    }

    /// Prepares for a rest: the hand is about to look for work, and to leave if there is none.
    /// Returns true if it sleeps in a driver.
    fn prepare_rest(&self) -> bool {
        self.shared.announce_idle();
        self.prepare_going();
        self.shared.note_free(self.index);
        self.shared.tell_round(self.index, 0);
        self.is_driven()
    }

    /// Prepares for leaving the seat.
    fn prepare_going(&self) {
        self.touch();
        self.pace.rests();
        self.lay_bare();
    }

    /// Prepares for leaving the seat without a rest. Returns the deadline of the next timer.
    fn prepare_leaving(&self) -> Option<Nanos> {
        self.prepare_going();
        if !self.lane.is_parked() {
            self.lane.parks(self.now());
        }
        self.next_deadline()
    }

    /// Prepares for PARKED. Returns the time, and the deadline of the next timer.
    fn prepare_park(&self) -> (Nanos, Option<Nanos>) {
        self.touch();
        let now = self.now();
        self.lane.parks(now);
        (now, self.next_deadline())
    }

    /// Returns a function that checks whether a hand that has left is wanted here again. The
    /// function does not access the seat that was left.
    fn wanted<'a>(&self, hand: &'a Hand) -> impl Fn() -> bool + use<'a> {
        let (closes, may_end) = (self.closes.get(), self.awaited.get() == 0);
        let (seat, is_left) = (self.seat(), self.has_cells_elsewhere());
        move || {
            let wants = match closes {
                // The seat cannot be wound up before the turns that are away have come back.
                false if is_left && hand.shared.signal().is_stopping() => false,
                false => hand.shared.wants_hands(),
                true => may_end && hand.shared.have_all_closed(),
            };
            wants || hand.crew.is_wanted_back(seat)
        }
    }

    /// Returns the number of its seat in the crew.
    pub(crate) fn seat(&self) -> usize {
        self.shared.place_of(self.index).1
    }

    /// Returns true if a hand that has left the seat in the middle of a turn wants it back.
    #[inline]
    pub(crate) fn is_wanted_back(&self, signal: Signal) -> bool {
        signal.calls_back() && self.crew.is_wanted_back(self.seat())
    }

    /// Returns true if the sitter must run nothing more: the seat is wanted back, or the sponsor
    /// ends.
    #[inline]
    pub(crate) fn is_to_stop(&self, signal: Signal) -> bool {
        signal.is_stopping() || self.is_wanted_back(signal)
    }

    /// Claims a cell like a worker that serves.
    #[cfg(all(test, garrick_loom))]
    pub(super) fn claim_in_model(&self) {
        let _entered = Entered::new(self);
        self.claim();
    }

    /// Takes the oldest cell of the shared queue. Returns false if there is none.
    pub(super) fn claim(&self) -> bool {
        let Some(entry) = self.shared.claim() else {
            return false;
        };
        // A worker without ready cells comes here for every cell: a second cell would only wait
        // behind the first.
        self.shared_wait.claims();
        self.take_over(entry);
        true
    }

    /// Handles the move note at the head of the mailbox of a cell that is about to run. Returns
    /// true if the cell was given to the note's sponsor. Otherwise removes the note, because the
    /// cell is there already or cannot go, and returns false. A cell whose token is out tries again
    /// later, and then the result is true as well.
    #[cold]
    pub(crate) fn move_away(&self, cell: CellPtr, note: *mut Envelope) -> bool {
        // SAFETY: the note is the oldest envelope of the mailbox, hence ours; it holds a handle,
        // which is dropped with it.
        let to = unsafe { parcel::peek::<Handle>(note).clone() };
        let goes = cell.table().moves && !to.is_of(self);
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
                self.lane.ended(cell);
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

    /// Takes over a given cell (README, step 4).
    pub(super) fn take_over(&self, entry: Entry) {
        self.take_in(entry);
        self.commit();
    }

    /// Takes over a given cell without the commit.
    pub(super) fn take_in(&self, entry: Entry) {
        let cell = entry.cell();
        self.lane.claimed();
        cell.set_home(self.home);
        if cell.local_refs() == 0 {
            // One reference is counted here as long as there are any.
            self.settle(cell);
        }
        self.old.push_entry(self.turn(), entry);
        let list = cell.take_and_idle();
        self.sort_in(cell, list);
    }

    /// Gives spare blocks to the depot, once for each of the depot's watches, so that none of them
    /// keeps memory from the system.
    fn lay_bare(&self) {
        if let Some(watch) = pool::watch()
            && self.bared.replace(watch) != watch
        {
            self.pool.flush();
        }
    }

    /// Releases up to `count` cells of the run queues, in the order of `next`. Cells that cannot go
    /// at the moment are put into `kept`.
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

/// Releases a scheduled cell of this worker (README, step 3). Returns false if its token is out, or
/// if it must stay on this thread. The home of the released cell is that of the shared queue.
pub(super) fn hand_over(cell: CellPtr, queue_home: Home) -> bool {
    if !cell.table().moves || !cell.try_hold() {
        return false;
    }
    cell.share_refs();
    cell.set_home(queue_home);
    true
}

impl super::Shared {
    /// Ends the sponsor and notifies every worker, if it is draining and no work is left (README,
    /// the end). Returns true if so.
    ///
    /// The caller has announced that it is idle and parked. Work is made by workers that are awake.
    /// So once all workers are parked and the shared queue is empty, only strangers can make more.
    pub(crate) fn end_if_drained(&self) -> bool {
        self.end_if_drained_by(|home| Remote::of(home).ready.is_parked())
    }

    /// Checks for the end, with `is_parked` as the test of each worker.
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
        // No turn is away.
        if !parked() || self.queued() > 0 || self.away.are_some() {
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

    use crate::remote::Remote;
    use crate::runtime::address::Address;
    use crate::runtime::sponsor::{Extras, Hands, Shared, Signal, Sponsor};
    use crate::runtime::task::{Flow, Task};
    use crate::runtime::turn::Turn;

    /// Returns a sponsor of `workers` workers that have all parked. It is draining.
    fn draining(workers: usize) -> Shared {
        let homes = (0..workers).map(|_| Remote::claim().unwrap()).collect();
        let extras = Extras {
            reporter: None,
            probes: false,
            attachment: None,
            gate: None,
        };
        let shared = Shared::new("drains".to_owned(), None, homes, extras, Hands::FIXED);
        shared.expect_workers();
        shared.raise(Signal::DRAIN);
        shared
    }

    /// Checks for the end. Runs `meanwhile` after look number `look` at a worker.
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

    /// Reports that it was called.
    struct Says(Sender<()>);

    impl Task for Says {
        type Message = ();

        fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
            let _ = self.0.send(());
            Flow::Continue
        }
    }

    /// Waits for a word when it is dropped.
    struct Waits(Receiver<()>);

    impl Task for Waits {
        type Message = ();

        fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
            Flow::Continue
        }
    }

    impl Drop for Waits {
        fn drop(&mut self) {
            let _ = self.0.recv();
        }
    }

    /// Makes a `Waits` task. At the next message it sends to the `Says` task, and drops the address
    /// of the `Waits` task.
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
                self.waits = Some(turn.spawn(Waits(word)));
                let _ = self.done.send(());
                return Flow::Continue;
            }
            // There is no other work here, so the hand may keep the seat of the `Says` task.
            let _ = turn.send(&self.says, ());
            self.waits = None;
            let _ = self.done.send(());
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
        }
        sponsor.shutdown();
    }
}
