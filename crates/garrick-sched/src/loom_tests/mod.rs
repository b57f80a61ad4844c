//! Models of the runtime: the production code, run by loom in every interleaving of its threads up
//! to a bound.
//!
//! Nothing of the runtime is copied here. A model makes sponsors, tasks and addresses like a user,
//! on threads of loom. The whole crate uses atomics, locks, cells and thread-local values through
//! `prim`, which is loom's here. The differences from production under `cfg(garrick_loom)`, with
//! their reasons:
//!
//! - blocks come from the allocator and keep their memory until a run is over, so that loom sees
//!   each use after free; every use of a cell through its pointer is checked
//!   (`Header::check_alive`);
//! - panics are not caught, because in a model a panic is a finding;
//! - there is no clock, and nothing spins;
//! - counts and hints that order nothing are not modelled (`prim::unmodelled`, `Lane::change`);
//! - a worker gives away all but one of its cells, and claims every second time, so that two cells
//!   are enough to test it.

mod asks;
mod away;
mod bounded;
mod cells;
mod moves;
mod rescue;
mod rooms;
mod sponsors;
mod timers;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use loom::thread::JoinHandle;

use crate::pool;
use crate::remote;
use crate::runtime::sponsor::{Here, Sponsor};
use crate::runtime::task::{Flow, Task};
use crate::runtime::timer;
use crate::runtime::turn::Turn;

thread_local! {
    /// True if the threads that a model spawns run before its own thread, where loom begins.
    static SPAWNED_FIRST: Cell<bool> = const { Cell::new(false) };
}

/// Runs a model with at most `preemptions` preemptions; the environment may ask for fewer. At the
/// end of each run all blocks must be free.
///
/// The model is run both ways, with the spawned threads after its own thread and before it, because
/// loom does not see everything from either side. Of the accesses to an atomic, loom keeps the last
/// one, and a thread that reads before it writes hides an earlier read of another thread.
fn check_with(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let model = Arc::new(model);
    for spawned_first in [false, true] {
        let mut builder = loom::model::Builder::new();
        let told = builder.preemption_bound.unwrap_or(preemptions);
        builder.preemption_bound = Some(preemptions.min(told));
        builder.max_branches = 20_000;
        let model = model.clone();
        builder.check(move || {
            SPAWNED_FIRST.set(spawned_first);
            pool::reset_model();
            remote::reset_model();
            timer::reset_model();
            model();
            assert_eq!(pool::reset_model(), 0, "blocks are left in use");
        });
    }
}

/// Runs a model of two threads.
fn check(model: impl Fn() + Sync + Send + 'static) {
    check_with(2, model);
}

/// Spawns a thread of a model.
fn spawn<R: 'static>(body: impl FnOnce() -> R + 'static) -> JoinHandle<R> {
    let thread = loom::thread::spawn(body);
    if SPAWNED_FIRST.get() {
        loom::thread::yield_now();
    }
    thread
}

/// Makes a sponsor of the calling thread.
fn here() -> Here {
    Sponsor::builder().here().unwrap()
}

/// Messages that tasks on one thread have handled.
type Log = Rc<RefCell<Vec<u32>>>;

/// Records the messages that it handles.
struct Sink {
    log: Log,
    _lives: Lives,
}

impl Sink {
    fn new(log: &Log, alive: &Alive) -> Self {
        Self {
            log: log.clone(),
            _lives: alive.one_more(),
        }
    }
}

impl Task for Sink {
    type Message = u32;

    fn receive(&mut self, message: u32, _: &Turn<'_, u32>) -> Flow {
        self.log.borrow_mut().push(message);
        Flow::Continue
    }
}

/// Messages that tasks on several threads have handled.
type SharedLog = Arc<Mutex<Vec<u32>>>;

/// Records the messages that it handles, on any thread, and stops after its last message.
struct Note {
    log: SharedLog,
    left: usize,
    _lives: Lives,
}

impl Note {
    /// Creates a task that handles all messages.
    fn new(log: SharedLog, lives: Lives) -> Self {
        Self::for_some(usize::MAX, log, lives)
    }

    /// Creates a task that stops after `left` messages.
    fn for_some(left: usize, log: SharedLog, lives: Lives) -> Self {
        let _lives = lives;
        Self { log, left, _lives }
    }
}

impl Task for Note {
    type Message = u32;

    fn receive(&mut self, message: u32, _: &Turn<'_, u32>) -> Flow {
        self.log.lock().unwrap().push(message);
        self.left -= 1;
        if self.left == 0 {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }
}

/// Counts live values, by an atomic that orders nothing.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn one_more(&self) -> Lives {
        self.0.fetch_add(1, Ordering::Relaxed);
        Lives(self.clone())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts as one live value.
struct Lives(Alive);

impl Drop for Lives {
    fn drop(&mut self) {
        let before = self.0.0.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "dropped once");
    }
}

/// Returns the numbers of a log that a sender marked by tens.
fn of(log: &[u32], tens: u32) -> Vec<u32> {
    log.iter()
        .copied()
        .filter(|number| number / 10 == tens)
        .collect()
}
