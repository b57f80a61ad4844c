//! Spawning from anywhere.

use std::fmt;

use garrick_sched::{Address, SpawnError, Task};

use crate::actor::{Actor, Cell, Next};
use crate::behavior::{Behavior, BehaviorContext, behavior};
use crate::context::Context;

/// Spawns actors on a [`System`](crate::System) or a [`Local`](crate::Local), from anywhere. It does not
/// keep either running.
#[derive(Clone)]
pub struct Handle {
    handle: garrick_sched::Handle,
}

impl Handle {
    pub(crate) fn new(handle: garrick_sched::Handle) -> Self {
        Self { handle }
    }

    /// Makes an actor on one of the workers: the caller's own if it is one of them, else the next in turn.
    ///
    /// # Errors
    /// Gives the actor back if the system is ending.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{System, behavior, Next};
    ///
    /// let system = System::new()?;
    /// let handle = system.handle();
    /// system.shutdown_now();
    /// assert!(handle.spawn(behavior(|_: (), _| Next::Stop)).is_err());
    /// # Ok::<(), garrick_actor::StartError>(())
    /// ```
    pub fn spawn<A>(&self, actor: A) -> Result<Address<A::Msg>, SpawnError<A>>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        self.handle
            .spawn(Cell(actor))
            .map_err(|SpawnError(Cell(actor))| SpawnError(actor))
    }

    /// The same for the scheduler.
    pub(crate) fn sponsor(&self) -> garrick_sched::Handle {
        self.handle.clone()
    }

    /// Makes a task that is no actor, for the modules above.
    pub(crate) fn spawn_task<T>(&self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send,
    {
        self.handle.spawn(task)
    }

    /// Makes an actor of a closure, as [`Handle::spawn`] does.
    ///
    /// # Errors
    /// Gives the behavior back if the system is ending.
    pub fn spawn_behavior<M, F>(&self, function: F) -> Result<Address<M>, SpawnError<Behavior<M>>>
    where
        M: Send + 'static,
        F: Fn(M, &mut BehaviorContext<'_, M>) -> Next + Send + 'static,
    {
        self.spawn(behavior(function))
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.handle.name()
    }

    /// How many workers there are.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.handle.workers()
    }

    /// Messages that nobody handled, because their actor had stopped.
    #[must_use]
    pub fn dead_letters(&self) -> u64 {
        self.handle.dead_letters()
    }

    /// Actors that ended in a panic.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.handle.failures()
    }
}

impl<M: 'static> Context<'_, M> {
    /// The sponsor of this actor: what runs it.
    #[must_use]
    pub fn sponsor(&self) -> Handle {
        Handle::new(self.turn().sponsor())
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}
