//! The lookout: a thread that regularly reads which tasks the workers run, if the sponsor (group of
//! workers) counts the work of its tasks. As a result, a long activation is noticed while it runs,
//! and is still known after its end (`probe/sights.rs`). The thread also determines how often the
//! waiting time of messages is measured (`runtime/departure.rs`).

use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use garrick_core::prim::atomic::Ordering::Relaxed;
use garrick_core::prim::thread::JoinHandle;

use super::Shared;
use super::crew::Crew;
use super::guest;
use crate::probe::Running;
use crate::quiet;
use crate::runtime::departure;
use crate::world::ThreadSpec;

/// Time between two reads of the tasks that the workers run, if a worker has recently had a long
/// activation.
const OFTEN: Duration = Duration::from_millis(1);
/// Time between two reads of the tasks that the workers run, if no worker has recently had a long
/// activation. A read takes a few microseconds.
const SELDOM: Duration = Duration::from_millis(4);
/// Maximum time between two reads while no worker runs a task. The time doubles from read to read
/// until it reaches this value.
const IDLE: Duration = Duration::from_millis(64);
/// Number of reads at the short interval [`OFTEN`] after a long activation was noticed.
const OFTEN_FOR: u32 = 500;
/// Stack size of the lookout thread, in bytes.
const STACK_BYTES: usize = 128 << 10;

/// The lookout, a thread that regularly reads which tasks the workers run. Dropping this value ends
/// the thread, and waits for its end. The thread also ends when the sponsor has stopped.
pub(super) struct Lookout {
    ends: Arc<Ends>,
    thread: Option<JoinHandle<()>>,
}

/// Flag that asks the lookout thread (which regularly reads what the workers run) to end.
#[derive(Default)]
struct Ends {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl Lookout {
    /// Starts the lookout thread, if the work of each kind of task is counted. If no thread can be
    /// started, long activations are known only if they are timed.
    pub(super) fn start(shared: &Arc<Shared>) -> Option<Self> {
        // A simulation has one thread, and a model no clock.
        if !shared.lanes.are_counted() || shared.hooks.are_active() || cfg!(garrick_loom) {
            return None;
        }
        let ends = Arc::new(Ends::default());
        let spec = ThreadSpec::new(format!("{}-lookout", shared.name), Some(STACK_BYTES));
        let body = {
            let (shared, ends) = (shared.clone(), ends.clone());
            move || look(&shared, &ends)
        };
        let start = || shared.world.spawn_thread(spec, Box::new(body));
        let thread = quiet::call(start).ok()?.ok()?;
        Some(Self {
            ends,
            thread: Some(thread),
        })
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        *self.ends.is_over() = true;
        self.ends.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // Its panic was reported by the hook.
            let _ = thread.join();
        }
    }
}

impl Ends {
    fn is_over(&self) -> MutexGuard<'_, bool> {
        // No code that holds the lock can panic halfway.
        self.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `time`. Returns true if the thread must end.
    fn wait(&self, time: Duration) -> bool {
        let is_over = self.is_over();
        if *is_over {
            return true;
        }
        let waited = self.changed.wait_timeout(is_over, time);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Crew {
    /// Returns the activation that worker `seat` of the crew (a group of workers) runs now, if the
    /// work of each kind of task is counted.
    fn running(&self, seat: usize) -> Option<Running> {
        let look = self.seats[seat].look();
        let shown = self.shown(seat, &look)?;
        // Relaxed: as in `shown`.
        let worker = NonNull::new(self.seats[seat].worker.load(Relaxed))?;
        // SAFETY: as in `shown`.
        let turn = unsafe { &(*worker.as_ptr()).turn }.load(Relaxed);
        shown.running(turn)
    }
}

impl Shared {
    /// Returns the activation that worker number `index` runs now, if the work of each kind of task
    /// is counted.
    pub(super) fn running(&self, index: usize) -> Option<Running> {
        let (crew, seat) = self.place_of(index);
        crew.running(seat)
    }
}

impl Shared {
    /// Returns how many activations worker number `index` has begun. Returns `None` if the worker
    /// has not started, or has stopped.
    fn picks_of(&self, index: usize) -> Option<u32> {
        let (crew, seat) = self.place_of(index);
        let look = crew.seats[seat].look();
        Some(crew.shown(seat, &look)?.picks())
    }
}

/// Regularly reads which cells the workers run, until the sponsor has stopped, or until `ends`
/// requests the end of this thread.
fn look(shared: &Shared, ends: &Ends) {
    let (mut time, mut surprises, mut often) = (OFTEN, 0, 0_u32);
    let mut missed = vec![None; shared.homes.len()];
    while !shared.have_all_closed() && !ends.wait(time) {
        departure::tick();
        let has_guests = count_missed(shared, &mut missed);
        let running = (shared.lanes).glance(|index| shared.running(index), || shared.now());
        let known = std::mem::replace(&mut surprises, shared.lanes.surprises());
        often = if known == surprises {
            often.saturating_sub(1)
        } else {
            OFTEN_FOR
        };
        time = match running {
            // Between short visits, a worker mostly counts as asleep.
            0 if !has_guests => (2 * time).min(IDLE),
            _ if often > 0 => OFTEN,
            _ => SELDOM,
        };
    }
}

/// Counts the work that guests have done on workers and that is not counted yet. A guest is a
/// thread that waits for an answer and runs a worker in the meantime. Skips workers on which guests
/// have done work since the last call. For each worker with uncounted work, stores the number of
/// activations in `missed`, for comparison in the next call. Returns true if any worker was
/// skipped.
fn count_missed(shared: &Shared, missed: &mut [Option<u32>]) -> bool {
    let mut has_guests = false;
    for ((index, &home), before) in shared.homes.iter().enumerate().zip(missed) {
        let has_missed = |&picks: &u32| shared.lanes.has_missed(index, picks);
        let now = shared.picks_of(index).filter(has_missed);
        if now.is_some() && now == *before {
            guest::count_visits(home);
        }
        has_guests |= now.is_some() && now != *before;
        *before = now;
    }
    has_guests
}
