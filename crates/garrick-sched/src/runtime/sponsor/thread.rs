//! Sponsors (groups of workers) with their own threads.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::Duration;

use garrick_core::prim::{atomic::Ordering::Release, thread::JoinHandle};

#[cfg(all(test, garrick_loom))]
use super::Signal;
use super::crew::Hand;
use super::lookout::Lookout;
use super::over::Over;
use super::{Builder, Handle, Shared, StartError};
#[cfg(all(test, garrick_loom))]
use crate::cell::CellPtr;
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

/// The result of [`Sponsor::shutdown_within`]: shows how the shutdown ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Ending {
    /// All sent messages were handled before the workers stopped.
    InOrder,
    /// The time limit passed, and the workers stopped after their current turns. Messages that were
    /// not handled are dead letters.
    AtOnce,
}

/// A sponsor (a group of workers) with its own threads. Dropping a `Sponsor` shuts it down like
/// [`Sponsor::shutdown_now`]. But if an orderly shutdown has already begun, the drop waits until
/// this shutdown has ended.
///
/// A task belongs to at most one worker at a time. A worker with several ready tasks may give some
/// of them to an idle worker.
pub struct Sponsor {
    shared: Arc<Shared>,
    over: Arc<Over>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Thread that regularly reads which tasks the workers run, if the work of each kind of task is
    /// counted.
    lookout: Option<Lookout>,
}

impl Sponsor {
    /// Starts a sponsor (a group of workers) with `workers` threads.
    ///
    /// # Errors
    /// Returns a [`StartError`] if the sponsor cannot be started.
    pub fn pool(workers: usize) -> Result<Self, StartError> {
        Self::builder().name("pool").workers(workers).start()
    }

    /// Starts a sponsor (a group of workers) named `name` with one worker thread.
    ///
    /// # Errors
    /// Returns a [`StartError`] if the sponsor cannot be started.
    pub fn single(name: impl Into<String>) -> Result<Self, StartError> {
        Self::builder().name(name).start()
    }

    /// Returns a [`Builder`], which sets the options of a sponsor (a group of workers) and starts
    /// the sponsor.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Returns a handle for spawning tasks on this sponsor (group of workers).
    pub fn handle(&self) -> Handle {
        Handle::new(self.shared.clone())
    }

    /// Shuts the sponsor down in an orderly way, and returns when its threads have exited.
    ///
    /// All sent messages are handled first, including those that the tasks send to each other. Then
    /// all tasks are dropped. The shutdown does not wait for pending timers. Other threads that
    /// continue to send messages delay the shutdown, unless [`Builder::refuse_strangers`] was set.
    ///
    /// If a task or a driver calls this method on one of the sponsor's threads, the method returns
    /// immediately, and the sponsor stops later.
    pub fn shutdown(self) {
        self.shared.drain();
        self.join();
    }

    /// Shuts the sponsor (group of workers) down after the current turns. Messages that are not
    /// handled become dead letters. Returns when the sponsor's threads have exited, or immediately
    /// if called on one of these threads.
    pub fn shutdown_now(self) {
        drop(self);
    }

    /// Shuts the sponsor down in an orderly way, like [`Sponsor::shutdown`], but with a time limit.
    ///
    /// If the orderly shutdown takes longer than `limit`, the sponsor stops after the current
    /// turns, like [`Sponsor::shutdown_now`]. Returns when the threads have exited.
    ///
    /// If called on one of the sponsor's threads, returns `None` immediately, and the sponsor stops
    /// later.
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
                // No thread is there to enforce the limit later.
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

    /// Begins an orderly shutdown, like [`Sponsor::shutdown`], and returns immediately. Dropping
    /// the `Sponsor` then waits until it has stopped, like [`Sponsor::wait`].
    pub fn begin_shutdown(&self) {
        self.shared.drain();
    }

    /// Begins an immediate shutdown, like [`Sponsor::shutdown_now`], and does not wait for its end.
    /// The sponsor stops after the current turns. If an orderly shutdown has already begun, the
    /// immediate shutdown replaces it.
    pub fn begin_shutdown_now(&self) {
        self.shared.stop();
    }

    /// Waits until the sponsor has stopped. Does not begin a shutdown. Returns immediately if
    /// called on one of the sponsor's threads.
    pub fn wait(&self) {
        self.join();
    }

    fn join(&self) {
        // A worker that joined its own thread would wait forever, in a turn or in its driver.
        if current::serves(&self.shared) {
            return;
        }
        // Held meanwhile, so that other waiting threads return no earlier.
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let mut join = |thread: JoinHandle<()>| {
            // A worker's panics are caught. Any other panic is a bug in Garrick, and must be
            // visible.
            if let Err(panic) = thread.join()
                && !std::thread::panicking()
            {
                std::panic::resume_unwind(panic);
            }
        };
        threads.drain(..).for_each(&mut join);
        // Spare hands are started by the other threads, which have ended.
        self.shared.away.take_threads().into_iter().for_each(join);
    }
}

impl Drop for Sponsor {
    fn drop(&mut self) {
        // A sponsor whose own task has begun an orderly end continues with it.
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

/// A worker that has not been started. The thread that calls [`Opening::serve`] starts it. If this
/// value is dropped instead, the worker is recorded as closed, so that the other workers do not
/// wait for it during a shutdown.
struct Opening {
    /// Index of the worker.
    index: usize,
    /// State that all workers share. `None` after the worker was started.
    shared: Option<Arc<Shared>>,
    /// Driver in which the worker sleeps.
    driver: Option<Driven>,
    /// Guard that counts the thread as exited when the guard is dropped.
    _ends: Ends,
}

/// Guard that counts a thread as exited when the guard is dropped.
pub(super) struct Ends(pub(super) Arc<Over>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.count();
    }
}

/// A driver with its waker. The waker is created on the thread that starts the sponsor, so that a
/// panic reaches the caller of `start`.
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
    /// Starts the worker. Then runs the workers of its crew (a group of threads and workers) until
    /// the sponsor stops.
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
        // SAFETY: the seat is open until it is closed below, and used by nobody but the only hand
        // of its crew, which is this one.
        unsafe { hand.crew.worker(seat).as_ref() }.live(|| hand.serve(seat));
        hand.close(seat);
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else {
            return;
        };
        // A sponsor that lacks a worker cannot run tasks that are spawned on it: it ends.
        shared.stop();
        // Release: pairs with the Acquire in `have_all_closed`; nobody will use this home for us.
        shared.closed.fetch_add(1, Release);
        shared.wake_all();
        shared.place_of(self.index).0.end_seat();
        let home = shared.homes[self.index];
        // A world may drop a thread's body after the sponsor has started. If tasks were made here
        // by then, they keep the number: the next worker with this number would take them for its
        // own.
        if !pool::has_cells(home) {
            Remote::release(home);
        }
    }
}

/// Starts a thread for each worker. If this fails or panics, stops the threads that were already
/// started.
pub(super) fn start(
    shared: &Arc<Shared>,
    cores: &[usize],
    stack_size: Option<usize>,
    drivers: Vec<Option<Driven>>,
) -> Result<Sponsor, StartError> {
    // Dropped after the seats: it waits for the threads, which wait until no seat is left.
    let mut sponsor = Sponsor {
        shared: shared.clone(),
        over: Arc::new(Over::new(shared.homes.len())),
        threads: Mutex::default(),
        lookout: None,
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
    sponsor.lookout = Lookout::start(shared);
    Ok(sponsor)
}

/// Runs worker number `index` on a thread of a loom model until all workers must stop. The worker
/// sleeps in `driver`, if there is one.
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

/// Runs worker number `index` on a thread of a loom model for `rounds` rounds. In each round, the
/// worker runs its cells and takes one cell from the shared queue. After the rounds, the worker
/// stops the sponsor and closes its cells.
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

/// The only thread of a sponsor in a loom model. The thread has started some workers and left them
/// PARKED (no thread runs them).
#[cfg(all(test, garrick_loom))]
pub(crate) struct LeftInModel(Hand);

#[cfg(all(test, garrick_loom))]
impl LeftInModel {
    /// Starts the workers with the numbers `seats` and leaves them PARKED (no thread runs them).
    /// The other workers are started by the model.
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

    /// Starts worker `seat`. If no thread runs worker `next`, takes that worker, and moves this
    /// thread to it. At the end, another thread gets the worker that this thread then owns.
    pub(crate) fn goes(self, seat: usize, next: usize) -> Self {
        Self::open(&self.0, seat);
        if self.0.crew.remote(next).ready.sit() {
            let (sits, _) = self.0.follow(seat, next);
            self.0.crew.hand_over(sits);
        } else {
            // A hand that has given something away has had the other seat handed over.
            self.0.crew.hand_over(seat);
        }
        self
    }

    /// Does the same as `goes`, but first records many moves between the two workers. So the thread
    /// moves a cell from worker `next` back to worker `seat`.
    pub(crate) fn brings(self, seat: usize, next: usize) -> Self {
        self.0.path.wear(seat, next);
        self.goes(seat, next)
    }

    /// Starts some workers and leaves them PARKED (no thread runs them). Then starts one more
    /// worker, which the thread continues to run.
    pub(crate) fn sits(shared: &Arc<Shared>, seat: usize, parked: &[usize]) -> Self {
        let left = Self::new(shared, parked);
        Self::open(&left.0, seat);
        left
    }

    /// Runs the cells of a worker that the calling thread owns. The turns of these cells count as
    /// short.
    pub(crate) fn runs_fine(&self, seat: usize) {
        // SAFETY: the seat is the caller's.
        unsafe { self.0.crew.worker(seat).as_ref() }.pace.be_fine();
        self.runs(seat);
    }

    /// Runs the cells of a worker that the calling thread owns.
    pub(crate) fn runs(&self, seat: usize) {
        // SAFETY: the seat is the caller's.
        unsafe { self.0.crew.worker(seat).as_ref() }.run_ready(Signal::is_stopping);
    }

    /// Names a cell of a worker that the calling thread owns, as before a destructor and before the
    /// next message of a visit, but without a check of the ready stack. Returns the result of
    /// `while_named`.
    pub(crate) fn names<R>(
        &self,
        seat: usize,
        cell: CellPtr,
        while_named: impl FnOnce() -> R,
    ) -> R {
        // SAFETY: the seat is the caller's.
        let worker = unsafe { self.0.crew.worker(seat).as_ref() };
        worker.shown.name(cell);
        let result = while_named();
        worker.stop_running();
        result
    }

    /// Gives worker `seat`, which the calling thread owns, to another thread.
    pub(crate) fn hands_over(&self, seat: usize) {
        let crew = &self.0.crew;
        // SAFETY: the seat is the caller's.
        unsafe { crew.worker(seat).as_ref() }.touch();
        crew.hand_over(seat);
    }

    /// Runs the workers until they are closed.
    pub(crate) fn serve(self) {
        let seat = self.0.wait_for_seat(|_| thread::park());
        self.serve_from(seat.expect("the sponsor ends"));
    }

    /// Runs the workers until they are closed. Begins with a worker that the calling thread owns.
    pub(crate) fn serve_from(self, seat: usize) {
        self.0.serve(seat);
    }
}

/// Returns the number of cores of this machine.
pub(super) fn cores() -> usize {
    // The standard library reads the number from files. A model starts millions of sponsors.
    if cfg!(garrick_loom) {
        return 2;
    }
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(all(target_os = "linux", not(garrick_portable)))]
fn pin(core: usize) {
    // SAFETY: the set is a plain bit field, zero is a valid one, and the call only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        // A refusal (a container without the right) leaves the thread where it may run.
        let _ = libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

#[cfg(any(not(target_os = "linux"), garrick_portable))]
fn pin(_core: usize) {}

/// Makes the timed sleeps of this thread precise. By default, Linux extends a timed sleep by up to
/// 50 us, in order to wake a core for several threads at the same time. A worker sleeps with a
/// timeout only if its tasks have a timer.
#[cfg(all(target_os = "linux", not(garrick_portable)))]
pub(super) fn sleep_precisely() {
    const SLACK_NS: libc::c_ulong = 1;
    // SAFETY: the call takes a number by value. A refusal leaves the sleeps as they are.
    let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS) };
}

#[cfg(any(not(target_os = "linux"), garrick_portable))]
pub(super) fn sleep_precisely() {}
