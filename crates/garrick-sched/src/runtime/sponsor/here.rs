//! A sponsor (a group of workers) that runs on the calling thread.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use garrick_core::park::Spin;

use super::crew::Hand;
use super::idle::{Awake, Came};
use super::lookout::Lookout;
use super::{Handle, Shared};
use crate::runtime::current;
use crate::runtime::worker::Worker;

/// Maximum number of activations before [`Here::run_until`] checks again if it is done. So tasks
/// that always have messages do not keep it running. A check costs about as much as several
/// activations.
const STRETCH: u32 = 512;

/// Index of the only worker of a [`Here`].
const SEAT: usize = 0;

/// A sponsor (a group of workers) that runs its tasks on the thread that created the sponsor, while
/// this thread is in a method such as [`Here::run`]. The tasks need not be `Send`. Dropping a
/// `Here` stops the sponsor.
///
/// # Examples
/// ```
/// use std::{cell::Cell, rc::Rc};
/// use garrick_sched::{Flow, Here, Task, Turn};
///
/// struct Add(Rc<Cell<u32>>);
/// impl Task for Add {
///     type Message = u32;
///     fn receive(&mut self, message: u32, _: &Turn<'_, u32>) -> Flow {
///         self.0.set(self.0.get() + message);
///         Flow::Continue
///     }
/// }
///
/// let sum = Rc::new(Cell::new(0));
/// let here = Here::new_here()?;
/// let add = here.spawn(Add(sum.clone()));
/// add.send(2).unwrap();
/// add.send(3).unwrap();
/// here.run();
/// assert_eq!(sum.get(), 5);
/// # Ok::<(), garrick_sched::StartError>(())
/// ```
pub struct Here {
    /// Thread that runs the only worker, except while the thread rests.
    hand: Hand,
    /// True while this thread runs the tasks. During this time, other foreign code, such as the
    /// clock of the world, may be called in the middle of a turn.
    runs: Cell<bool>,
    /// Thread that regularly reads which task runs, if the work of each kind of task is counted.
    _lookout: Option<Lookout>,
    /// Makes the type not `Send`, because the tasks stay on this thread.
    here: PhantomData<*const ()>,
}

impl Here {
    /// Creates a sponsor (a group of workers) that runs on the calling thread.
    ///
    /// # Errors
    /// Returns [`StartError::TooManyWorkers`](super::StartError::TooManyWorkers) if the process
    /// already has [`WORKERS_MAX`](crate::WORKERS_MAX) workers.
    pub fn new_here() -> Result<Self, super::StartError> {
        super::Sponsor::builder().name("here").here()
    }

    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let worker = Box::new(Worker::new(shared.homes[0], shared.clone(), None));
        let hand = Hand::new(shared, 0, None);
        hand.open(SEAT, worker);
        let here = Self {
            _lookout: Lookout::start(&hand.shared),
            hand,
            runs: Cell::new(false),
            here: PhantomData,
        };
        here.pauses();
        here
    }

    pub(crate) fn worker(&self) -> &Worker {
        // SAFETY: the seat is open until this is dropped, and used by nobody but the only hand of
        // its crew, which this is.
        unsafe { self.hand.crew.worker(SEAT).as_ref() }
    }

    /// Lets the thread sleep until there is work.
    fn rest(&self, spin: &mut Spin) {
        let seat = self.hand.rest(SEAT, spin);
        debug_assert_eq!(seat, Some(SEAT), "its seat is over when it is dropped");
        self.worker().sit_down(Came::Idle);
    }

    /// Returns a handle for spawning tasks from other threads.
    pub fn handle(&self) -> Handle {
        self.worker().sponsor_handle()
    }

    /// Runs the tasks until none of them has messages to handle.
    ///
    /// # Panics
    /// Panics if called by a task or by code that a task calls.
    #[track_caller]
    pub fn run(&self) {
        let _running = self.begin();
        loop {
            self.worker().run_ready(|_| false);
            self.worker().fire_due();
            if !self.worker().claim() && !self.worker().has_something() {
                return;
            }
        }
    }

    /// Runs the tasks until `done` returns true. The thread sleeps while no task has messages.
    ///
    /// If another thread makes `done` true, the other thread must then send a message to one of the
    /// tasks, to wake the thread that called this method.
    ///
    /// # Panics
    /// Panics if called by a task or by code that a task calls. Code in `done` is an exception: it
    /// may call this method.
    #[track_caller]
    pub fn run_until(&self, done: impl Fn() -> bool) {
        let running = self.begin();
        let _awake = Awake::new();
        let mut spin = Spin::new(1);
        loop {
            self.worker().run_at_most(STRETCH);
            if running.pause(&done) {
                return;
            }
            // Messages that `done` has sent are there already.
            if self.worker().backlog() == 0 && !self.worker().claim() {
                self.rest(&mut spin);
            }
        }
    }
}

impl Here {
    /// Begins to run the tasks. Panics if this thread already runs them.
    #[track_caller]
    fn begin(&self) -> Running<'_> {
        assert!(
            current::worker().is_none() && !self.runs.replace(true),
            "a task must not run the other tasks of its thread"
        );
        self.resumes();
        Running(self)
    }
}

impl Here {
    /// Records that this thread does not run the tasks for some time.
    fn pauses(&self) {
        self.runs.set(false);
        let worker = self.worker();
        worker.settle_vitals();
        worker.lane.pauses(worker.progress(), || worker.now());
    }

    /// Records that this thread runs the tasks again.
    fn resumes(&self) {
        let worker = self.worker();
        worker.resumes();
    }
}

/// Guard that exists while a [`Here`] runs its tasks.
struct Running<'a>(&'a Here);

impl Running<'_> {
    /// Calls foreign code between two turns. The foreign code may run the tasks itself.
    fn pause<R>(&self, foreign: impl FnOnce() -> R) -> R {
        self.0.pauses();
        let result = foreign();
        self.0.runs.set(true);
        self.0.resumes();
        result
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.pauses();
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        let _awake = Awake::new();
        self.hand.shared.stop();
        while !self.worker().wind_up() {
            self.rest(&mut Spin::off());
        }
        self.hand.close(SEAT);
    }
}

impl fmt::Debug for Here {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle().fmt(f)
    }
}
