//! Sponsors with threads of their own.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::{Builder, Handle, Shared, StartError};
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

/// Starts a thread for each home. If one fails, the others are ended.
pub(super) fn start(shared: &Arc<Shared>, cores: &[usize]) -> Result<Sponsor, StartError> {
    let sponsor = Sponsor {
        shared: shared.clone(),
        threads: Mutex::default(),
    };
    shared.expect_workers();
    for (index, &home) in shared.homes.iter().enumerate() {
        let core = if cores.is_empty() {
            None
        } else {
            Some(cores[index % cores.len()])
        };
        let name = format!("{}-{index}", shared.name);
        let for_thread = shared.clone();
        let thread = shared.world.spawn_thread(
            name,
            Box::new(move || {
                if let Some(core) = core {
                    pin(core);
                }
                Remote::of(home).set_thread(Some(std::thread::current()));
                let worker = Worker::new(home, for_thread);
                worker.serve();
                worker.end();
            }),
        );
        match thread {
            Ok(thread) => {
                sponsor
                    .threads
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(thread);
            }
            Err(error) => {
                // The homes without a thread have no cells: they are closed as they are.
                let missing = shared.homes.len() - index;
                shared
                    .closed
                    .fetch_add(missing, garrick_core::prim::atomic::Ordering::Release);
                drop(sponsor);
                shared.homes[index..]
                    .iter()
                    .for_each(|home| Remote::release(*home));
                return Err(StartError::Thread(error));
            }
        }
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
