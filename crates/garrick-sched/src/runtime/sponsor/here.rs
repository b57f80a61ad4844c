//! A sponsor that runs on the calling thread.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use garrick_core::park::Spin;

use super::crew::Hand;
use super::idle::{Awake, Came};
use super::{Handle, Shared};
use crate::runtime::address::Address;
use crate::runtime::current::{self, Resting};
use crate::runtime::task::{Flow, Task};
use crate::runtime::turn::Turn;
use crate::runtime::worker::Worker;

/// Number of the only seat of a [`Here`].
const SEAT: usize = 0;

/// A sponsor that runs its tasks on the thread that created it, while this thread is in a method
/// such as [`Here::run`]. Its tasks need not be `Send`. Dropping a `Here` stops the sponsor.
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
    /// Hand that sits on the only seat, except while it rests.
    hand: Hand,
    /// True while the tasks are run. During this time, other foreign code, such as the clock of the
    /// world, may be called in the middle of a turn.
    runs: Cell<bool>,
    /// Makes the type not `Send`, because the tasks stay on this thread.
    here: PhantomData<*const ()>,
}

impl Here {
    /// Creates a sponsor that runs on the calling thread.
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
        Self {
            hand,
            runs: Cell::new(false),
            here: PhantomData,
        }
    }

    fn worker(&self) -> &Worker {
        // SAFETY: the seat is open until this is dropped, and used by nobody but the only hand of
        // its crew, which this is.
        unsafe { self.hand.crew.worker(SEAT).as_ref() }
    }

    /// Rests until there is work.
    fn rest(&self, spin: &mut Spin) {
        let seat = self.hand.rest(SEAT, spin);
        debug_assert_eq!(seat, Some(SEAT), "its seat is over when it is dropped");
        self.worker().sit_down(Came::Idle);
    }

    /// Spawns a task on this thread. The task need not be `Send`.
    pub fn spawn<T: Task>(&self, task: T) -> Address<T::Message> {
        let spawned = self.handle().spawn_at(self.worker().home, task, false);
        spawned.unwrap_or_else(|_| unreachable!("it ends when it is dropped"))
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
    /// If another thread makes `done` true, that thread must then send a message to one of these
    /// tasks, to wake this thread.
    ///
    /// # Panics
    /// Panics if called by a task or by code that a task calls. But `done` may call this method.
    #[track_caller]
    pub fn run_until(&self, done: impl Fn() -> bool) {
        let running = self.begin();
        let _awake = Awake::new();
        let mut spin = Spin::new(1);
        loop {
            self.worker().run_ready(|_| false);
            if running.pause(&done) {
                return;
            }
            // Messages that `done` has sent are there already.
            if self.worker().backlog() == 0 && !self.worker().claim() {
                self.rest(&mut spin);
            }
        }
    }

    /// Runs the tasks until `future` is ready. The thread sleeps while no task has messages. Use
    /// this method to wait for answers on a thread that runs tasks.
    ///
    /// # Panics
    /// Panics if called by a task or by code that a task calls. But `future` may call this method.
    ///
    /// # Examples
    /// The example of [`Ask::wait`](crate::Ask::wait) uses this method.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let waker = Waker::from(Arc::new(Nudge(self.spawn(Nudged))));
        let future = pin!(future);
        let future = RefCell::new(future);
        let output = Cell::new(None);
        self.run_until(|| {
            let _resting = Resting::new(self.worker());
            let polled = future
                .borrow_mut()
                .as_mut()
                .poll(&mut Context::from_waker(&waker));
            match polled {
                Poll::Ready(ready) => output.set(Some(ready)),
                Poll::Pending => return false,
            }
            true
        });
        output
            .into_inner()
            .expect("it runs until the output is there")
    }
}

impl Here {
    /// Begins to run the tasks. Panics if they are already being run.
    #[track_caller]
    fn begin(&self) -> Running<'_> {
        assert!(
            current::worker().is_none() && !self.runs.replace(true),
            "a task must not run the other tasks of its thread"
        );
        Running(&self.runs)
    }
}

/// Guard that marks that a [`Here`] runs its tasks.
struct Running<'a>(&'a Cell<bool>);

impl Running<'_> {
    /// Calls foreign code between two turns. The foreign code may run the tasks itself.
    fn pause<R>(&self, foreign: impl FnOnce() -> R) -> R {
        self.0.set(false);
        let result = foreign();
        self.0.set(true);
        result
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// Waker that makes the thread of a [`Here`] check for work again.
struct Nudge(Address<()>);

impl Wake for Nudge {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A sponsor that has ended does not look for work again.
        let _ = self.0.send(());
    }
}

/// Task that receives the nudges and does nothing with them.
struct Nudged;

impl Task for Nudged {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        Flow::Continue
    }

    // A nudge that comes after the future is done, or after the last run, is not needed.
    fn is_letter((): &()) -> bool {
        false
    }
}

impl Drop for Here {
    fn drop(&mut self) {
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
