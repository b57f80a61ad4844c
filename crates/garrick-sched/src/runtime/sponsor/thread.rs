//! Sponsors with threads of their own.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use garrick_core::prim::atomic::Ordering::Release;

use super::{Builder, Handle, Shared, StartError};
use crate::cell::Home;
use crate::remote::Remote;
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

    fn join(&self) {
        let ours =
            current::worker().is_some_and(|worker| Arc::ptr_eq(&worker.shared, &self.shared));
        if ours {
            return;
        }
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
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
        Remote::of(self.home).set_thread(Some(std::thread::current()));
        // If this panics, for the world has no time, the seat is still ours to give back.
        let worker = Worker::new(self.home, shared);
        drop(self.shared.take());
        worker.serve();
        worker.end();
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
pub(super) fn start(shared: &Arc<Shared>, cores: &[usize]) -> Result<Sponsor, StartError> {
    // Dropped after the seats: it waits for the threads, which wait until no seat is left.
    let sponsor = Sponsor {
        shared: shared.clone(),
        threads: Mutex::default(),
    };
    shared.expect_workers();
    let seats: Vec<_> = shared
        .homes
        .iter()
        .map(|&home| Seat {
            home,
            shared: Some(shared.clone()),
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
