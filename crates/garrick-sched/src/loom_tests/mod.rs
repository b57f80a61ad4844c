//! Loom models of the runtime. Loom runs the production code in all interleavings of its threads,
//! up to a bound.
//!
//! The models contain no copies of runtime code. A model creates sponsors, tasks and addresses as a
//! user does, on threads of loom. The whole crate uses atomics, locks, cells and thread-local
//! values through `prim`, which is based on loom here. These are the differences from production
//! under `cfg(garrick_loom)`, with their reasons:
//!
//! - Blocks come from the allocator, and their memory is kept until the run is over. So loom
//!   detects each use after free. Every use of a cell through its pointer is checked
//!   (`Header::check_alive`).
//! - Panics are not caught, because a panic in a model is an error.
//! - There is no clock, and no thread spins.
//! - Counts and hints that order nothing are not modelled (`prim::unmodelled`, `Lane::change`).
//! - While another worker is idle, a worker gives away all its ready cells except the one that it
//!   runs next. After every second activation, a worker with other ready cells claims a cell from
//!   the shared queue. So models with two cells test the giving and the claiming.

mod asks;
mod away;
mod bounded;
mod cells;
mod moves;
mod pending;
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
    /// True if spawned threads run before the main thread of the model. By default, loom runs the
    /// main thread first.
    static SPAWNED_FIRST: Cell<bool> = const { Cell::new(false) };
}

/// Runs a model with at most `preemptions` preemptions, or with fewer if the environment variable
/// `LOOM_MAX_PREEMPTIONS` is a lower number. Checks after each run that all blocks are free.
///
/// The model is run twice: first with the main thread before the spawned threads, and then with the
/// main thread after them. Either run alone may miss some orders, because loom remembers only the
/// last access to each atomic. If a thread reads an atomic and then writes it, loom forgets an
/// earlier read of another thread.
fn check_with(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    check_in_orders(&[false, true], preemptions, model);
}

/// Runs a model once for each value in `orders`. If the value is true, spawned threads run first.
fn check_in_orders(orders: &[bool], preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let model = Arc::new(model);
    for &spawned_first in orders {
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

/// Runs a model with at most 2 preemptions ([`check_with`]).
fn check(model: impl Fn() + Sync + Send + 'static) {
    check_with(2, model);
}

/// Runs a model that has very many interleavings.
///
/// If the environment variable `GARRICK_LONG_MODELS` is set, the model runs as in [`check_with`],
/// which takes minutes. By default, the model runs with one preemption less than `preemptions`. If
/// no preemption would remain, the model runs with one preemption, and spawned threads run first.
fn check_long(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    if std::env::var_os("GARRICK_LONG_MODELS").is_some() {
        check_with(preemptions, model);
    } else if preemptions > 1 {
        check_with(preemptions - 1, model);
    } else {
        check_in_orders(&[true], 1, model);
    }
}

/// Spawns a thread of a model.
fn spawn<R: 'static>(body: impl FnOnce() -> R + 'static) -> JoinHandle<R> {
    let thread = loom::thread::spawn(body);
    if SPAWNED_FIRST.get() {
        loom::thread::yield_now();
    }
    thread
}

/// Creates a sponsor (a group of workers) on the calling thread.
fn here() -> Here {
    Sponsor::builder().here().unwrap()
}

/// Log of the messages that tasks on one thread have handled.
type Log = Rc<RefCell<Vec<u32>>>;

/// Task that records the messages that it handles.
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

/// Log of the messages that tasks on several threads have handled.
type SharedLog = Arc<Mutex<Vec<u32>>>;

/// Task that records the messages that it handles, on any thread, and stops after its last message.
struct Note {
    log: SharedLog,
    left: usize,
    _lives: Lives,
}

impl Note {
    /// Creates a task that records all messages and does not stop by itself.
    fn new(log: SharedLog, lives: Lives) -> Self {
        Self::for_some(usize::MAX, log, lives)
    }

    /// Creates a task that records messages and stops after `left` messages.
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

/// Number of values that were created and not dropped yet. The atomic orders nothing in the model.
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

/// A guard that counts as one live value until it is dropped.
struct Lives(Alive);

impl Drop for Lives {
    fn drop(&mut self) {
        let before = self.0.0.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "dropped once");
    }
}

/// Returns the numbers in `log` that come from one sender: those whose quotient by 10 is `tens`.
fn of(log: &[u32], tens: u32) -> Vec<u32> {
    log.iter()
        .copied()
        .filter(|number| number / 10 == tens)
        .collect()
}
