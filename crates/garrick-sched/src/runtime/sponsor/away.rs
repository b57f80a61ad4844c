//! Turns that block. The thread of the turn leaves its worker, whose state is called a seat.
//! Another thread of the sponsor, called a hand, then runs the worker. Later the thread of the turn
//! comes back and finishes the turn.
//!
//! A turn that has left its worker is *away*. Such a turn takes these steps (README.md, seats):
//!
//! 1. The turn is counted in [`Away`], so that the sponsor does not stop before the turn comes
//!    back. There must be a hand for every seat, so a spare hand is started if necessary. If the
//!    maximum number of turns are already away, the turn does not leave its seat, and blocks its
//!    worker.
//! 2. The staged effects of the turn are set aside (`Worker::carry`), and the thread leaves the
//!    seat.
//! 3. The thread blocks.
//! 4. The thread takes the seat back (`Crew::take_back`). If another hand runs the worker
//!    meanwhile, the thread gets the seat after the current activation. The carried effects are
//!    staged again (`Worker::resume`), and the turn continues.
//!
//! A task that usually blocks ([`Task::BLOCKS`](crate::Task::BLOCKS)) is counted in step 1 for the
//! whole activation. If too many turns are away, the cell of the task is set aside until another
//! blocking turn has finished.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, OnceLock, PoisonError};

use garrick_core::prim::{
    Mutex, MutexGuard,
    atomic::{
        AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread::JoinHandle,
};

use super::Shared;
use super::crew::Hand;
use super::idle::{self, Came};
use super::over::Over;
use super::thread::{Ends, sleep_precisely};
use crate::cell::{CellPtr, Slot};
use crate::quiet;
#[cfg(all(test, garrick_loom))]
use crate::remote::Serve;
use crate::run_queue::Entry;
use crate::runtime::current::{self, Serving};
use crate::runtime::worker::Worker;
use crate::world::ThreadSpec;

/// Blocking turns that have left their workers, and the spare threads that run these workers in the
/// meantime.
pub(crate) struct Away {
    /// Maximum number of blocking turns that can be away from their workers at the same time.
    max: usize,
    /// Number of blocking turns that have left their workers and have not come back. Written under
    /// the lock of `spares`.
    turns: AtomicUsize,
    spares: Mutex<Spares>,
    /// Settings for starting spare threads. Not set in loom models, which have their own threads.
    how: OnceLock<How>,
}

#[derive(Default)]
struct Spares {
    /// Number of spare threads that were started or are about to be started.
    hands: usize,
    /// Numbers of spare threads that could not be started. The next spare threads get these
    /// numbers, so that no two threads have the same number.
    free: Vec<usize>,
    threads: Vec<JoinHandle<()>>,
    /// Cells that were put aside because too many blocking turns have left their workers, oldest
    /// first. Like cells in the shared queue, they belong to no worker.
    aside: VecDeque<Entry>,
}

/// Settings for starting a spare thread.
struct How {
    stack_size: Option<usize>,
    over: Arc<Over>,
}

impl Away {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            turns: AtomicUsize::new(0),
            spares: Mutex::default(),
            how: OnceLock::new(),
        }
    }

    /// Stores the settings for starting spare threads. Called once.
    pub(super) fn set_how(&self, stack_size: Option<usize>, over: Arc<Over>) {
        let _ = self.how.set(How { stack_size, over });
    }

    fn spares(&self) -> MutexGuard<'_, Spares> {
        // No code that holds the lock can panic halfway.
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if at least one blocking turn has left its worker and is not back yet.
    pub(super) fn are_some(&self) -> bool {
        // Acquire: pairs with the Release in `come_back`; a thread that sees that a turn has come
        // back sees that a hand sits there.
        self.turns.load(Acquire) > 0
    }

    /// Counts a turn that is about to leave its worker in order to block. If there are too few
    /// spare threads, returns the index of a new spare thread, and the caller must start this
    /// thread. Returns an error if the turn must not leave its worker.
    fn count(&self) -> Result<Option<usize>, Stays> {
        let mut spares = self.spares();
        let away = self.turns.load(Relaxed);
        if self.max == 0 {
            return Err(Stays::Always);
        }
        if away == self.max {
            return Err(Stays::ForNow);
        }
        // Relaxed: the turn's thread then leaves its seat, which publishes the number.
        self.turns.store(away + 1, Relaxed);
        if away < spares.hands {
            return Ok(None);
        }
        let number = spares.free.pop().unwrap_or(spares.hands);
        spares.hands += 1;
        Ok(Some(number))
    }

    /// Decrements the number of turns that are away (that block and have left their workers),
    /// because a turn has come back. Called after the turn's thread has begun to run its worker
    /// again. Returns a cell that was put aside because too many turns were away, if there is one.
    fn come_back(&self) -> Option<Entry> {
        let mut spares = self.spares();
        // Release: pairs with the Acquire in `are_some`.
        self.turns.store(self.turns.load(Relaxed) - 1, Release);
        spares.aside.pop_front()
    }

    /// Undoes `Away::count` for a turn that blocks without leaving its worker, because spare thread
    /// `number` could not be started. Returns one of the cells that were put aside because too many
    /// blocking turns had left their workers, if there is any.
    fn stay(&self, number: usize) -> Option<Entry> {
        let mut spares = self.spares();
        spares.hands -= 1;
        spares.free.push(number);
        drop(spares);
        self.come_back()
    }

    /// Puts aside a cell that belongs to no worker, because too many blocking turns have left their
    /// workers. Returns the cell if it need not wait.
    fn set_aside(&self, entry: Entry) -> Option<Entry> {
        let mut spares = self.spares();
        if self.turns.load(Relaxed) < self.max {
            return Some(entry);
        }
        spares.aside.push_back(entry);
        None
    }

    /// Takes the handles of the spare threads, so that the caller can join them.
    pub(super) fn take_threads(&self) -> Vec<JoinHandle<()>> {
        mem::take(&mut self.spares().threads)
    }
}

/// Reason why a blocking turn does not leave its worker.
enum Stays {
    /// The maximum number of turns have already left their workers.
    ForNow,
    /// The turn can never leave, because no other thread is allowed to run the worker, or because
    /// no thread can be started.
    Always,
}

/// Permission for an activation to leave its worker when it blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// The activation has not asked to leave its worker. Its task does not usually block, so the
    /// activation asks only when the task does block.
    Unasked,
    /// The activation is already counted among those that have left their workers.
    Counted,
    /// The activation must not leave its worker.
    Refused,
}

/// Interrupts a turn of `worker` and calls `f`, which may block. Code in `f` is not part of the
/// turn.
pub(crate) fn blocking<R>(worker: &Worker, f: impl FnOnce() -> R) -> R {
    let shared = worker.shared.clone();
    let cell = worker.running().expect("a turn has a cell");
    let is_counted = worker.permit.get() == Permission::Counted;
    let goes = match worker.permit.get() {
        Permission::Counted => worker.may_leave(),
        Permission::Unasked => worker.may_leave() && shared.let_go().is_ok(),
        Permission::Refused => false,
    };
    if !goes {
        return current::leave(false, f);
    }
    let (crew, seat) = shared.place_of(worker.index);
    worker.give_next_seat();
    worker.end_timed();
    let left = shared.lanes.leave(cell.table(), || worker.now());
    let journey = worker.carry(cell);
    worker.ends_visit();
    // From here on the worker belongs to another thread.
    shared.leave(worker.into());
    let result = quiet::call(|| current::leave(true, f));
    shared.calls_back(true);
    crew.take_back(seat);
    // Due timers wait until the turn is over: they may be for a door, which is foreign code.
    worker.arrive(Came::Idle);
    worker.watch_timers();
    shared.calls_back(false);
    shared.lanes.come_back(left);
    if !is_counted {
        shared.let_in(shared.away.come_back());
    }
    // The task is in use, so its label cannot be requested.
    worker.begin_other(cell, |_| worker.look_at(cell, false));
    worker.resume(journey);
    result.unwrap_or_else(|panic| panic.resume())
}

impl Shared {
    /// Counts a turn that wants to leave its worker in order to block, and starts a spare thread if
    /// necessary.
    fn let_go(self: &Arc<Self>) -> Result<(), Stays> {
        let Some(spare) = self.away.count()? else {
            return Ok(());
        };
        if self.start_spare(spare) {
            return Ok(());
        }
        self.let_in(self.away.stay(spare));
        Err(Stays::Always)
    }

    /// Pushes the cell in `entry`, if any, to the shared queue. The cell was put aside because too
    /// many blocking turns had left their workers.
    fn let_in(&self, entry: Option<Entry>) {
        if let Some(entry) = entry {
            self.publish([entry].into_iter());
        }
    }

    /// Pushes to the shared queue all cells that were put aside because too many blocking turns
    /// have left their workers.
    pub(super) fn let_all_in(&self) {
        let aside = mem::take(&mut self.away.spares().aside);
        if !aside.is_empty() {
            self.enqueue(aside.into_iter());
        }
    }

    /// Starts a spare thread. Returns false if the thread cannot be started.
    fn start_spare(self: &Arc<Self>, number: usize) -> bool {
        let Some(how) = self.away.how.get() else {
            // A model's hands exist already.
            return cfg!(garrick_loom);
        };
        let spec = ThreadSpec::new(format!("{}-spare-{number}", self.name), how.stack_size);
        how.over.expect();
        let spare = Spare {
            shared: self.clone(),
            number,
            _ends: Ends(how.over.clone()),
        };
        // A world is foreign code, which belongs to no turn.
        let started = quiet::call(|| {
            current::leave(false, || {
                self.world
                    .spawn_thread(spec, Box::new(move || spare.serve()))
            })
        });
        let Ok(Ok(thread)) = started else {
            return false;
        };
        self.away.spares().threads.push(thread);
        true
    }
}

impl Worker {
    /// Returns true if the current activation has already asked for permission to leave its worker
    /// when it blocks.
    #[inline]
    pub(crate) fn has_asked(&self) -> bool {
        self.permit.get() != Permission::Unasked
    }

    /// Begins an activation of a task that usually blocks. The cell of the task was scheduled with
    /// `message`. If too many blocking turns have already left their workers, puts the cell aside
    /// together with the message, and returns `None`.
    pub(crate) fn ask_permission(&self, cell: CellPtr, message: *const Slot) -> Option<Permit<'_>> {
        let permission = match self.shared.let_go() {
            Ok(()) => Permission::Counted,
            Err(Stays::Always) => Permission::Refused,
            Err(Stays::ForNow) => {
                self.let_wait(cell, message);
                return None;
            }
        };
        self.permit.set(permission);
        Some(Permit(self))
    }

    fn let_wait(&self, cell: CellPtr, message: *const Slot) {
        self.forget_running();
        // SAFETY: the message came out of a run queue with the cell, and goes into one with it.
        let entry = unsafe { Entry::with_slot(cell, message) };
        if idle::hand_over(cell, self.shared.queue_home()) {
            self.shared.let_in(self.shared.away.set_aside(entry));
        } else {
            // The cell's token is on its way to this worker.
            self.old.push_entry(self.turn(), entry);
        }
    }
}

/// Guard for a permission: the current activation may leave its worker when it blocks. Dropping the
/// guard withdraws the permission.
pub(crate) struct Permit<'a>(&'a Worker);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let shared = &self.0.shared;
        if self.0.permit.replace(Permission::Unasked) == Permission::Counted {
            shared.let_in(shared.away.come_back());
        }
    }
}

/// A spare thread that is about to run workers.
struct Spare {
    shared: Arc<Shared>,
    number: usize,
    /// Guard that counts the spare thread as exited when the guard is dropped.
    _ends: Ends,
}

impl Spare {
    fn serve(self) {
        sleep_precisely();
        serve(self.shared.clone(), self.number);
    }
}

/// Runs workers of a sponsor (a group of workers) until all workers are closed. The calling thread
/// is spare thread number `number`.
fn serve(shared: Arc<Shared>, number: usize) {
    let _serving = Serving::new(&shared);
    let hand = Hand::spare(shared, number);
    if let Some(seat) = hand.wait_for_seat(idle::sleep) {
        hand.serve(seat);
    }
}

/// Runs the first worker of a sponsor (a group of workers) on a thread of a loom model. The thread
/// leaves its worker like a turn that blocks, calls `meanwhile`, comes back, and runs workers until
/// the sponsor stops.
#[cfg(all(test, garrick_loom))]
pub(crate) fn come_and_go_in_model(shared: &Arc<Shared>, meanwhile: impl FnOnce()) {
    let hand = Hand::new(shared.clone(), 0, None);
    let worker = Box::new(Worker::new(shared.homes[0], shared.clone(), None));
    hand.open(0, worker);
    let (crew, _) = shared.place_of(0);
    let left = crew.worker(0);
    {
        // SAFETY: the seat is ours until it is left below.
        let worker = unsafe { left.as_ref() };
        worker.arrive(Came::Idle);
        assert!(shared.let_go().is_ok(), "nobody else is away");
        worker.away.set(1);
    }
    shared.leave(left);
    meanwhile();
    shared.calls_back(true);
    crew.take_back(0);
    // SAFETY: the seat is ours again, and its worker lasts until all who are away are back.
    let worker = unsafe { left.as_ref() };
    worker.arrive(Came::Idle);
    shared.calls_back(false);
    worker.away.set(0);
    shared.let_in(shared.away.come_back());
    // The seat counts as idle until it serves.
    shared.announce_idle();
    hand.serve(0);
}

/// Runs workers of a sponsor (a group of workers) in a loom model until all workers are closed. The
/// calling thread takes the place of the first spare thread.
#[cfg(all(test, garrick_loom))]
pub(crate) fn serve_in_model(shared: Arc<Shared>) {
    serve(shared, 0);
}

/// Takes the first worker back on a thread of a loom model, as a blocking turn does, and then hands
/// the worker over to another thread.
#[cfg(all(test, garrick_loom))]
pub(crate) fn take_back_in_model(shared: &Shared) {
    let (crew, seat) = shared.place_of(0);
    crew.take_back(seat);
    // SAFETY: the seat is ours.
    unsafe { crew.worker(seat).as_ref() }.touch();
    crew.hand_over(seat);
}

/// A turn, in a loom model, that is counted as away from its worker because it blocks. When the
/// turn comes back, its thread runs the first worker, which must be PARKED (no thread runs it).
#[cfg(all(test, garrick_loom))]
pub(crate) struct AwayInModel(Arc<Shared>);

#[cfg(all(test, garrick_loom))]
impl AwayInModel {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        assert!(shared.let_go().is_ok(), "nobody else is away");
        Self(shared.clone())
    }

    pub(crate) fn comes_back(self) {
        arrive_in_model(&self.0);
        self.0.let_in(self.0.away.come_back());
    }
}

/// Begins to run the first worker, which is PARKED (no thread runs it), on a thread of a loom
/// model.
#[cfg(all(test, garrick_loom))]
fn arrive_in_model(shared: &Shared) {
    let (crew, seat) = shared.place_of(0);
    crew.take_back(seat);
    // SAFETY: the seat is ours.
    unsafe { crew.worker(seat).as_ref() }.arrive(Came::Idle);
}

/// Begins to run the first worker on a thread of a loom model, and records that the commit of one
/// turn was decided.
#[cfg(all(test, garrick_loom))]
pub(crate) fn decide_in_model(shared: &Shared) {
    arrive_in_model(shared);
    shared.note_decided();
}
