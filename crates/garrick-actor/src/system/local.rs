//! A system that runs actors on the caller's thread.

use std::fmt;

use garrick_sched::{Address, Here, StartError, Task};

use crate::system::builder::Builder;
use crate::system::handle::Handle;

/// A system that runs its actors on the thread that created the system. The actors need not be
/// `Send`.
///
/// The actors run while this thread is in [`Local::run`], [`Local::run_until`] or
/// [`Local::block_on`]. When a `Local` is dropped, its actors are dropped, and the messages in
/// their mailboxes become dead letters.
///
/// # Examples
/// ```
/// use std::{cell::Cell, rc::Rc};
/// use garrick_actor::{Actor, Context, Local};
///
/// struct Add(Rc<Cell<u32>>);
///
/// impl Actor for Add {
///     type Msg = u32;
///     type Outcome = ();
///
///     fn receive(&mut self, n: u32, _: &mut Context<'_, u32>) {
///         self.0.set(self.0.get() + n);
///     }
/// }
///
/// let sum = Rc::new(Cell::new(0));
/// let local = Local::new()?;
/// let add = local.spawn(Add(sum.clone()));
/// add.send(2)?;
/// add.send(3)?;
/// local.run();
/// assert_eq!(sum.get(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Local {
    here: Here,
}

impl Local {
    /// Creates a system on the calling thread. To configure the system, use [`Builder::local`]
    /// instead.
    ///
    /// # Errors
    /// Returns [`StartError::TooManyWorkers`] if the process already has the maximum number of
    /// workers.
    pub fn new() -> Result<Self, StartError> {
        Builder::new().name("local").local()
    }

    /// Spawns a task that is not an actor, for other modules of this crate.
    pub(crate) fn spawn_task<T: Task>(&self, task: T) -> Address<T::Message> {
        self.here.spawn(task)
    }

    /// Returns a handle for spawning on this system from any thread or actor.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::new(self.here.handle())
    }

    /// Runs the actors until none of them has a message to handle.
    ///
    /// # Panics
    /// Panics if called by an actor.
    #[track_caller]
    pub fn run(&self) {
        self.here.run();
    }

    /// Runs the actors until `done` returns true. The thread sleeps while no actor has a message to
    /// handle.
    ///
    /// If code outside of the actors changes the result of `done` to true, this code must then send
    /// a message to one of the actors.
    ///
    /// # Panics
    /// Panics if called by an actor.
    #[track_caller]
    pub fn run_until(&self, done: impl Fn() -> bool) {
        self.here.run_until(done);
    }

    /// Runs the actors until `future` completes. The thread sleeps while no actor has a message to
    /// handle.
    ///
    /// Use this method to wait for answers on the thread that runs the actors.
    /// [`Ask::wait`](crate::Ask::wait) would block the actors, so it returns an error on this
    /// thread.
    ///
    /// # Panics
    /// Panics if called by an actor.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Local, Reply, behavior};
    ///
    /// let local = Local::new()?;
    /// let double = local.spawn(behavior(|(n, reply): (u32, Reply<u32>), _| {
    ///     reply.send(2 * n);
    /// }));
    /// assert_eq!(local.block_on(double.ask(|reply| (21, reply))), Ok(42));
    /// # Ok::<(), garrick_actor::StartError>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.here.block_on(future)
    }
}

impl Builder {
    /// Creates a system that runs on the calling thread. This thread is the system's only worker.
    ///
    /// # Errors
    /// Returns a [`StartError`] if the system cannot start.
    pub fn local(self) -> Result<Local, StartError> {
        let here = self.sponsor().here()?;
        Ok(Local { here })
    }
}

#[cfg(feature = "sim")]
impl Builder {
    /// Adds a node with the configuration of this builder to a simulation. Returns the number that
    /// identifies the node, and the node's handle.
    ///
    /// # Errors
    /// Returns a [`StartError`] if the node cannot be created.
    #[doc(hidden)]
    pub fn open_in(
        self,
        simulation: &mut garrick_sched::Simulation,
    ) -> Result<(usize, Handle), StartError> {
        let node = simulation.open(self.workers(1).sponsor())?;
        Ok((node, Handle::new(simulation.handle(node))))
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.here.fmt(f)
    }
}
