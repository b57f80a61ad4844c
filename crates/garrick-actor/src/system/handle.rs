//! Spawning from anywhere.

use std::fmt;

use garrick_sched::{Address, Sample, SendError, SpawnError, Task};

use crate::extras::named::{Named, named};
use crate::model::actor::{Actor, Cell};
use crate::model::behavior::{Behavior, BehaviorContext, behavior};
use crate::model::context::Context;
use crate::model::outcome::Outcome;

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

    /// Makes an actor with a name, as [`Handle::spawn`] does. The name stands in reports of its failures.
    ///
    /// # Errors
    /// Gives the actor back if the system is ending.
    ///
    /// # Panics
    /// If the name is empty, or has `/`, `#` or a control character in it.
    #[track_caller]
    pub fn spawn_named<A>(&self, name: &str, actor: A) -> Result<Address<A::Msg>, SpawnError<A>>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        let spawned = self.spawn(named(name, actor));
        spawned.map_err(|SpawnError(Named { actor, .. })| SpawnError(actor))
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
    pub fn spawn_behavior<M, F, O>(
        &self,
        function: F,
    ) -> Result<Address<M>, SpawnError<Behavior<M>>>
    where
        M: Send + 'static,
        F: FnMut(M, &mut BehaviorContext<'_, M>) -> O + Send + 'static,
        O: Outcome,
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

    /// What the system has done so far: its workers, and the types of its actors if it has
    /// [`probes`](crate::Builder::probes), those included that hold a worker now, or block away from theirs. Its workers do not notice.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Next, System};
    ///
    /// let system = System::builder().probes(true).start()?;
    /// let handle = system.handle();
    /// let sink = system.spawn_behavior(|_: u32, _| Next::Continue)?;
    /// (0..100).for_each(|n| sink.send(n).unwrap());
    /// drop(sink);
    /// system.shutdown();
    ///
    /// let sample = handle.sample();
    /// assert_eq!((sample.kinds[0].turns, sample.kinds[0].ended), (100, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sample(&self) -> Sample {
        self.handle.sample()
    }

    /// Messages that nobody handled, because their actor had stopped.
    #[must_use]
    pub fn dead_letters(&self) -> u64 {
        self.handle.dead_letters()
    }

    /// Actors that ended in a panic, or by an error that no supervisor took.
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

    /// Makes an actor on another sponsor, where it starts. If the turn is undone nothing can have reached it, and it is
    /// dropped with its address. A sponsor that has ended takes nobody: the actor then lives here.
    ///
    /// # Examples
    /// See [`Context::send_on`].
    pub fn spawn_on<A>(&self, sponsor: &Handle, actor: A) -> Address<A::Msg>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        self.turn().spawn_on(&sponsor.handle, Cell(actor))
    }

    /// Sends `msg` to `to`, which handles it on that sponsor and stays there (SENDX of seed 004). What was sent to it
    /// before is handled where it was. An actor that was made by [`Local::spawn`](crate::Local::spawn), and so
    /// may not be `Send`, stays where it is, and so does one whose new sponsor has ended: it handles the message
    /// all the same.
    ///
    /// # Errors
    /// Gives the message back if the actor is known to have stopped.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Handle, Next, System};
    /// use std::sync::mpsc;
    ///
    /// let near = System::builder().name("near").workers(1).start()?;
    /// let far = System::builder().name("far").workers(1).start()?;
    /// let (told, heard) = mpsc::channel();
    /// let parent = near.spawn_behavior(move |far: Handle, cx| {
    ///     let told = told.clone();
    ///     let child = cx.spawn_behavior(move |(): (), cx| {
    ///         told.send(cx.sponsor().name().to_owned()).unwrap();
    ///     });
    ///     let sent = cx.send(&child, ()).and(cx.send_on(&far, &child, ()));
    ///     if sent.is_ok() { Next::Continue } else { Next::Stop }
    /// })?;
    /// parent.send(far.handle()).unwrap();
    /// assert_eq!([heard.recv()?, heard.recv()?], ["near", "far"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send_on<N: 'static>(
        &self,
        sponsor: &Handle,
        to: &Address<N>,
        msg: N,
    ) -> Result<(), SendError<N>> {
        self.turn().send_on(&sponsor.handle, to, msg)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}
