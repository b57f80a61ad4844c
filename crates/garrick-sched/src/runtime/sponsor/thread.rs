//! Sponsors with threads of their own.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use garrick_core::prim::atomic::Ordering::Release;

use super::{Builder, Handle, Shared, StartError};
use crate::cell::Home;
use crate::driver::Driver;
use crate::remote::{Remote, Sleeper};
use crate::runtime::current;
use crate::runtime::worker::Worker;

/// Owns a sponsor with threads of its own; dropping it ends it at once.
///
/// Tasks live on one worker at a time; a worker with more ready tasks than it can run gives some to one
/// that is idle.
pub struct Sponsor {
    shared: Arc<Shared>,
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
    /// waited for.
    ///
    /// Called by a task of its own, it returns at once, and the sponsor ends later.
    pub fn shutdown(self) {
        self.shared.drain();
        self.join();
    }

    /// Ends the sponsor after the turns under way: what was sent and not handled becomes dead letters.
    /// Returns when its threads have ended, unless called by a task of its own.
    pub fn shutdown_now(self) {
        drop(self);
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

    /// Waits for the end of the sponsor, which somebody else may begin. Called by a task of its own, it returns at
    /// once.
    pub fn wait(&self) {
        self.join();
    }

    fn join(&self) {
        let ours =
            current::worker().is_some_and(|worker| Arc::ptr_eq(&worker.shared, &self.shared));
        if ours {
            return;
        }
        // Held meanwhile, so that whoever else waits returns no earlier.
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A worker's panics are caught; what is left is a bug of ours, and should be heard.
            if let Err(panic) = thread.join()
                && !std::thread::panicking()
            {
                std::panic::resume_unwind(panic);
            }
        }
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

/// A home that waits for its worker, who takes it in [`Seat::serve`]. Dropped before that, it says that the
/// worker will not come, so that the others do not wait for it when they end.
struct Seat {
    home: Home,
    /// None once the home is a worker's.
    shared: Option<Arc<Shared>>,
    /// What the worker is to sleep in.
    driver: Option<Box<dyn Driver>>,
}

impl Seat {
    /// Is the worker, until the sponsor ends.
    fn serve(mut self, core: Option<usize>) {
        let Some(shared) = self.shared.clone() else {
            return;
        };
        if let Some(core) = core {
            pin(core);
        }
        sleep_precisely();
        let driver = self.driver.take();
        Remote::of(self.home).set_sleeper(Sleeper {
            thread: Some(std::thread::current()),
            waker: driver.as_ref().map(|driver| driver.waker()),
        });
        // If this panics, for the world has no time, the seat is still ours to give back.
        let worker = Worker::new(self.home, shared, driver);
        drop(self.shared.take());
        worker.live(|| {
            worker.serve();
            worker.wind_up();
        });
        worker.leave();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else {
            return;
        };
        // A sponsor that lacks a worker cannot run what is spawned on it: it ends.
        shared.stop();
        // Release: pairs with the Acquire in `Worker::is_over`; nobody will use this home for us.
        shared.closed.fetch_add(1, Release);
        shared.wake_all();
        Remote::release(self.home);
    }
}

/// Starts a thread for each home. If that fails, or panics, those that were started are ended.
pub(super) fn start(
    shared: &Arc<Shared>,
    cores: &[usize],
    drivers: Vec<Option<Box<dyn Driver>>>,
) -> Result<Sponsor, StartError> {
    // Dropped after the seats: it waits for the threads, which wait until no seat is left.
    let sponsor = Sponsor {
        shared: shared.clone(),
        threads: Mutex::default(),
    };
    shared.expect_workers();
    let seats: Vec<_> = shared
        .homes
        .iter()
        .zip(drivers)
        .map(|(&home, driver)| Seat {
            home,
            shared: Some(shared.clone()),
            driver,
        })
        .collect();
    for (index, seat) in seats.into_iter().enumerate() {
        let core = (!cores.is_empty()).then(|| cores[index % cores.len()]);
        let name = format!("{}-{index}", shared.name);
        let thread = shared
            .world
            .spawn_thread(name, Box::new(move || seat.serve(core)))
            .map_err(StartError::Thread)?;
        sponsor
            .threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(thread);
    }
    Ok(sponsor)
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
fn sleep_precisely() {
    const SLACK_NS: libc::c_ulong = 1;
    // SAFETY: the call takes a number by value. A refusal leaves the sleeps as they are.
    let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS) };
}

#[cfg(not(target_os = "linux"))]
fn sleep_precisely() {}
