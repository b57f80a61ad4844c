//! The caller's thread as a sponsor.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use garrick_core::park::Spin;

use super::idle::Awake;
use super::{Handle, Shared};
use crate::remote::Remote;
use crate::runtime::address::Address;
use crate::runtime::current;
use crate::runtime::task::Task;
use crate::runtime::worker::Worker;

/// Owns a sponsor that runs its tasks on the thread that made it, while that thread is in
/// [`Here::run`]. Its tasks need not be `Send`. Dropping it ends it.
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
    worker: ManuallyDrop<Worker>,
    /// Not `Send`: the tasks stay on this thread.
    here: PhantomData<*const ()>,
}

impl Here {
    /// Makes a sponsor of the calling thread.
    ///
    /// # Errors
    /// [`StartError::TooManyWorkers`](super::StartError::TooManyWorkers).
    pub fn new_here() -> Result<Self, super::StartError> {
        super::Sponsor::builder().name("here").here()
    }

    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let home = shared.homes[0];
        Remote::of(home).set_thread(Some(std::thread::current()));
        Self {
            worker: ManuallyDrop::new(Worker::new(home, shared)),
            here: PhantomData,
        }
    }

    /// Makes a task on this thread, whether it is `Send` or not.
    pub fn spawn<T: Task>(&self, task: T) -> Address<T::Message> {
        let spawned = self.handle().spawn_at(self.worker.home, task);
        spawned.unwrap_or_else(|_| unreachable!("it ends when it is dropped"))
    }

    /// A handle for spawning on it from elsewhere.
    pub fn handle(&self) -> Handle {
        self.worker.sponsor_handle()
    }

    /// Runs its tasks until none of them has anything to handle.
    ///
    /// # Panics
    /// If called by a task.
    #[track_caller]
    pub fn run(&self) {
        assert!(
            current::worker().is_none(),
            "a task must not wait for tasks"
        );
        loop {
            self.worker.run_ready(|_| false);
            self.worker.fire_due();
            if !self.worker.has_something() {
                return;
            }
        }
    }

    /// Runs its tasks until `done`, and sleeps meanwhile when none of them has anything to handle.
    /// Whoever makes `done` true must send to one of its tasks afterwards, or be one.
    ///
    /// # Panics
    /// If called by a task.
    #[track_caller]
    pub fn run_until(&self, done: impl Fn() -> bool) {
        assert!(
            current::worker().is_none(),
            "a task must not wait for tasks"
        );
        let _awake = Awake::new();
        let mut spin = Spin::new(1);
        loop {
            self.worker.run_ready(|_| false);
            if done() {
                return;
            }
            self.worker.rest(&mut spin);
        }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        self.worker.shared.stop();
        // SAFETY: taken once, here, and not used again.
        unsafe { ManuallyDrop::take(&mut self.worker) }.end();
    }
}

impl fmt::Debug for Here {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle().fmt(f)
    }
}
