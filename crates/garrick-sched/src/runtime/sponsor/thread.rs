//! Sponsors with threads of their own.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::Duration;

use garrick_core::prim::{atomic::Ordering::Release, thread::JoinHandle};

#[cfg(all(test, garrick_loom))]
use super::Signal;
use super::crew::Hand;
use super::over::Over;
use super::{Builder, Handle, Shared, StartError};
use crate::driver::Driver;
use crate::pool;
use crate::remote::Remote;
#[cfg(all(test, garrick_loom))]
use crate::remote::Serve;
use crate::runtime::current::{self, Serving};
use crate::runtime::worker::Worker;
use crate::world::ThreadSpec;
#[cfg(all(test, garrick_loom))]
use garrick_core::prim::thread;

/// How a sponsor has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Ending {
    /// Everything that was sent was handled.
    InOrder,
    /// Somebody lost patience. What was sent and not handled is a dead letter.
    AtOnce,
}

/// Owns a sponsor with threads of its own; dropping it ends it at once.
///
/// Tasks live on one worker at a time; a worker with more ready tasks than it can run gives some to one
/// that is idle.
pub struct Sponsor {
    shared: Arc<Shared>,
    over: Arc<Over>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Sponsor {
    /// A sponsor with `workers` threads.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn pool(workers: usize) -> Result<Self, StartError> {
        Self::builder().name("pool").workers(workers).start()
    }

    /// A sponsor with one thread, which is named `name`.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn single(name: impl Into<String>) -> Result<Self, StartError> {
        Self::builder().name(name).start()
    }

    /// A sponsor made to measure.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// A handle for spawning on it.
    pub fn handle(&self) -> Handle {
        Handle::new(self.shared.clone())
    }

    /// Ends the sponsor in order: once no task has anything left to handle, as far as its own tasks are
    /// concerned, all tasks are dropped. Returns when its threads have ended. Timers are not
    /// waited for. Other threads can put the end off for as long as they send, unless [`Builder::refuse_strangers`] was set.
    ///
    /// Called on a thread of its own, by a task or in a driver, it returns at once, and the sponsor ends later.
    pub fn shutdown(self) {
        self.shared.drain();
        self.join();
    }

    /// Ends the sponsor after the turns under way: what was sent and not handled becomes dead letters.
    /// Returns when its threads have ended, unless called on one of them.
    pub fn shutdown_now(self) {
        drop(self);
    }

    /// Ends the sponsor in order, as [`Sponsor::shutdown`] does, for at most `limit`; then as [`Sponsor::shutdown_now`] does, after
    /// the turns under way. Returns when its threads have ended.
    ///
    /// Called on a thread of its own, it returns None at once, and the sponsor ends later.
    pub fn shutdown_within(self, limit: Duration) -> Option<Ending> {
        self.shared.drain();
        if current::serves(&self.shared) {
            let (shared, over) = (self.shared.clone(), self.over.clone());
            let wait = move || {
                if !over.wait(limit) {
                    shared.stop();
                }
            };
            let name = format!("{}-end", self.shared.name);
            if std::thread::Builder::new().name(name).spawn(wait).is_err() {
                // Nobody is there to lose patience later.
                self.shared.stop();
            }
            return None;
        }
        let in_order = self.over.wait(limit);
        if !in_order {
            self.shared.stop();
        }
        self.join();
        Some(if in_order {
            Ending::InOrder
        } else {
            Ending::AtOnce
        })
    }

    /// Begins what [`Sponsor::shutdown`] does, and returns at once. Dropping the sponsor then waits for its end, as
    /// [`Sponsor::wait`] does.
    pub fn begin_shutdown(&self) {
        self.shared.drain();
    }

    /// Begins what [`Sponsor::shutdown_now`] does, also if an end in order is under way, and returns at once.
    pub fn begin_shutdown_now(&self) {
        self.shared.stop();
    }

    /// Waits for the end of the sponsor, which somebody else may begin. Called on a thread of its own, it returns at
    /// once.
    pub fn wait(&self) {
        self.join();
    }

    fn join(&self) {
        // A worker that waited for its own thread would wait for ever, in a turn or in its driver.
        if current::serves(&self.shared) {
            return;
        }
        // Held meanwhile, so that whoever else waits returns no earlier.
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let mut join = |thread: JoinHandle<()>| {
            // A worker's panics are caught; what is left is a bug of ours, and should be heard.
            if let Err(panic) = thread.join()
                && !std::thread::panicking()
            {
                std::panic::resume_unwind(panic);
            }
        };
        threads.drain(..).for_each(&mut join);
        // Spare hands are started by the others, which have ended.
        self.shared.away.take_threads().into_iter().for_each(join);
    }
}

impl Drop for Sponsor {
    fn drop(&mut self) {
        // One that ends in order, by the hand of its own task, goes on to do so.
        if !self.shared.signal().is_draining() {
            self.shared.stop();
        }
        self.join();
    }
}

impl fmt::Debug for Sponsor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle().fmt(f)
    }
}

/// A seat that waits to be opened, by the thread that calls [`Opening::serve`]. Dropped before that, it says that this
/// will not be, so that the others do not wait for it when they end.
struct Opening {
    /// The number of its worker.
    index: usize,
    /// None once it is open.
    shared: Option<Arc<Shared>>,
    /// What the worker is to sleep in.
    driver: Option<Driven>,
    /// Counts the thread as over.
    _ends: Ends,
}

/// Says that a thread is over, when it is dropped.
pub(super) struct Ends(pub(super) Arc<Over>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.count();
    }
}

/// A driver with its waker, which is asked for on the thread that starts the sponsor: a panic goes to whoever starts it.
pub(super) struct Driven {
    driver: Box<dyn Driver>,
    waker: Waker,
}

impl Driven {
    pub(super) fn new(driver: Box<dyn Driver>) -> Self {
        let waker = driver.waker();
        Self { driver, waker }
    }
}

impl Opening {
    /// Is the worker, until the sponsor ends.
    fn serve(mut self, core: Option<usize>) {
        let Some(shared) = self.shared.clone() else {
            return;
        };
        if let Some(core) = core {
            pin(core);
        }
        sleep_precisely();
        let _serving = Serving::new(&shared);
        let (driver, waker) = match self.driver.take() {
            Some(Driven { driver, waker }) => (Some(driver), Some(waker)),
            None => (None, None),
        };
        let hand = Hand::new(shared.clone(), self.index, waker);
        let seat = hand.first_seat();
        let worker = Worker::new(shared.homes[self.index], shared, driver);
        let is_driven = worker.is_driven();
        hand.open(seat, Box::new(worker));
        drop(self.shared.take());
        if !is_driven {
            return hand.serve(seat);
        }
        // SAFETY: the seat is open until it is closed below, and used by nobody but the only hand of its crew, which this is.
        unsafe { hand.crew.worker(seat).as_ref() }.live(|| hand.serve(seat));
        hand.close(seat);
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else {
            return;
        };
        // A sponsor that lacks a worker cannot run what is spawned on it: it ends.
        shared.stop();
        // Release: pairs with the Acquire in `have_all_closed`; nobody will use this home for us.
        shared.closed.fetch_add(1, Release);
        shared.wake_all();
        shared.place_of(self.index).0.end_seat();
        let home = shared.homes[self.index];
        // A world may let go of a thread's body after the sponsor has started. If tasks were made here by then, the number
        // stays theirs: who got it next would take them for its own.
        let mut is_empty = true;
        pool::cells_of(home, |_| is_empty = false);
        if is_empty {
            Remote::release(home);
        }
    }
}

/// Starts a thread for each home. If that fails, or panics, those that were started are ended.
pub(super) fn start(
    shared: &Arc<Shared>,
    cores: &[usize],
    stack_size: Option<usize>,
    drivers: Vec<Option<Driven>>,
) -> Result<Sponsor, StartError> {
    // Dropped after the seats: it waits for the threads, which wait until no seat is left.
    let sponsor = Sponsor {
        shared: shared.clone(),
        over: Arc::new(Over::new(shared.homes.len())),
        threads: Mutex::default(),
    };
    shared.away.set_how(stack_size, sponsor.over.clone());
    shared.expect_workers();
    let seats: Vec<_> = drivers
        .into_iter()
        .enumerate()
        .map(|(index, driver)| Opening {
            index,
            shared: Some(shared.clone()),
            driver,
            _ends: Ends(sponsor.over.clone()),
        })
        .collect();
    for (index, seat) in seats.into_iter().enumerate() {
        let core = (!cores.is_empty()).then(|| cores[index % cores.len()]);
        let spec = ThreadSpec::new(format!("{}-{index}", shared.name), stack_size);
        let thread = shared
            .world
            .spawn_thread(spec, Box::new(move || seat.serve(core)))
            .map_err(StartError::Thread)?;
        sponsor
            .threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(thread);
    }
    Ok(sponsor)
}

/// Is worker number `index` of a sponsor on a thread of a model, until the sponsor ends. It sleeps in the driver, if it has one.
#[cfg(all(test, garrick_loom))]
pub(crate) fn serve_in_model(shared: Arc<Shared>, index: usize, driver: Option<Box<dyn Driver>>) {
    let seat = Opening {
        index,
        shared: Some(shared),
        driver: driver.map(Driven::new),
        _ends: Ends(Arc::new(Over::new(1))),
    };
    seat.serve(None);
}

/// Is such a worker for a few rounds: it runs what it has, and claims one cell, and once more. Then it winds up, for which the
/// sponsor must be told to stop.
#[cfg(all(test, garrick_loom))]
pub(crate) fn serve_rounds_in_model(shared: Arc<Shared>, index: usize, rounds: usize) {
    let hand = Hand::new(shared.clone(), index, None);
    let seat = hand.first_seat();
    let worker = Box::new(Worker::new(shared.homes[index], shared, None));
    for _ in 0..rounds {
        worker.run_ready(Signal::is_stopping);
        worker.claim_in_model();
    }
    hand.open(seat, worker);
    hand.shared.stop();
    hand.serve(seat);
}

/// The only hand of a sponsor, in a model, that has opened some seats and left them PARKED.
#[cfg(all(test, garrick_loom))]
pub(crate) struct LeftInModel(Hand);

#[cfg(all(test, garrick_loom))]
impl LeftInModel {
    /// Opens the seats of these workers. The others are opened by what the model does.
    pub(crate) fn new(shared: &Arc<Shared>, seats: &[usize]) -> Self {
        let hand = Hand::new(shared.clone(), 0, None);
        for &seat in seats {
            Self::open(&hand, seat);
            assert!(hand.crew.remote(seat).ready.try_park(), "nobody has sent");
        }
        Self(hand)
    }

    fn open(hand: &Hand, seat: usize) {
        let shared = hand.shared.clone();
        let worker = Worker::new(shared.homes[seat], shared, None);
        hand.open(seat, Box::new(worker));
    }

    /// Opens a seat, sits there, takes another one, and goes there. Whatever it does not sit on then, and is not PARKED, it has handed
    /// over. Both are left for `serve`.
    pub(crate) fn goes(self, seat: usize, next: usize) -> Self {
        Self::open(&self.0, seat);
        if self.0.crew.remote(next).ready.sit() {
            let (sits, _) = self.0.follow(seat, next);
            self.0.crew.hand_over(sits);
        } else {
            // Who has given something has had the other one handed over.
            self.0.crew.hand_over(seat);
        }
        self
    }

    /// Does so after it has gone to and fro between the two for as long as it takes to bring a cell over.
    pub(crate) fn brings(self, seat: usize, next: usize) -> Self {
        self.0.path.wear(seat, next);
        self.goes(seat, next)
    }

    /// Opens some seats, leaves them PARKED, and sits on one more.
    pub(crate) fn sits(shared: &Arc<Shared>, seat: usize, parked: &[usize]) -> Self {
        let left = Self::new(shared, parked);
        Self::open(&left.0, seat);
        left
    }

    /// Runs the cells of a seat that is the caller's, whose turns count as fine.
    pub(crate) fn runs_fine(&self, seat: usize) {
        // SAFETY: the seat is the caller's.
        unsafe { self.0.crew.worker(seat).as_ref() }.pace.be_fine();
        self.runs(seat);
    }

    /// Runs the cells of a seat that is the caller's.
    pub(crate) fn runs(&self, seat: usize) {
        // SAFETY: the seat is the caller's.
        unsafe { self.0.crew.worker(seat).as_ref() }.run_ready(Signal::is_stopping);
    }

    /// Hands a seat over that is the caller's.
    pub(crate) fn hands_over(&self, seat: usize) {
        let crew = &self.0.crew;
        // SAFETY: the seat is the caller's.
        unsafe { crew.worker(seat).as_ref() }.touch();
        crew.hand_over(seat);
    }

    /// Serves the seats to their end.
    pub(crate) fn serve(self) {
        let seat = self.0.wait_for_seat(|_| thread::park());
        self.serve_from(seat.expect("the sponsor ends"));
    }

    /// Serves the seats to their end, from one on that is the caller's.
    pub(crate) fn serve_from(self, seat: usize) {
        self.0.serve(seat);
    }
}

/// Cores of this machine.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(target_os = "linux")]
fn pin(core: usize) {
    // SAFETY: the set is a plain bit field, zero is a valid one, and the call only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        // A refusal (a container without the right) leaves the thread where it may run.
        let _ = libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

#[cfg(not(target_os = "linux"))]
fn pin(_core: usize) {}

/// Lets this thread's timed sleeps end when they are over. Linux otherwise lets each of them last up to 50 us longer, to wake a
/// core for several threads at once; a worker sleeps with a time only when a timer of its tasks is next.
#[cfg(target_os = "linux")]
pub(super) fn sleep_precisely() {
    const SLACK_NS: libc::c_ulong = 1;
    // SAFETY: the call takes a number by value. A refusal leaves the sleeps as they are.
    let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn sleep_precisely() {}
