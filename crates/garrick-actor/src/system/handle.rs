//! Handles for spawning from any thread or actor.

use std::fmt;

use garrick_sched::{Address, Sample, SendError, SpawnError, Task};

use crate::model::context::Context;

/// A handle to a [`System`](crate::System) or a [`Local`](crate::Local). Any thread or actor can
/// use it to spawn actors. A handle does not keep the system running.
#[derive(Clone)]
pub struct Handle {
    handle: garrick_sched::Handle,
}

impl Handle {
    pub(crate) fn new(handle: garrick_sched::Handle) -> Self {
        Self { handle }
    }

    /// Returns the scheduler's handle.
    pub(crate) fn sponsor(&self) -> garrick_sched::Handle {
        self.handle.clone()
    }

    /// Spawns a task that is not an actor, for other modules of this crate.
    pub(crate) fn spawn_task<T>(&self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send,
    {
        self.handle.spawn(task)
    }

    /// Returns the system's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.handle.name()
    }

    /// Returns the number of the system's workers.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.handle.workers()
    }

    /// Returns the counters of the system's workers. If [`probes`](crate::system::Builder::probes)
    /// are enabled, also returns the counters of each type of actor.
    ///
    /// The sample also contains the type of each actor that is currently running on a worker or is
    /// in [`Context::blocking`]. Sampling does not disturb the workers.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Next, System, behavior};
    ///
    /// let system = System::builder().probes(true).start()?;
    /// let handle = system.handle();
    /// let sink = system.spawn(behavior(|_: u32, _| Next::Continue))?;
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

    /// Returns the number of messages that were not handled because their actor had stopped.
    #[must_use]
    pub fn dead_letters(&self) -> u64 {
        self.handle.dead_letters()
    }

    /// Returns the number of failures so far: panics of actors, and errors of actors without a
    /// supervisor.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.handle.failures()
    }
}

impl<M: 'static> Context<'_, M> {
    /// Returns a handle to this actor's sponsor: the system or [`Local`](crate::Local) that runs
    /// the actor.
    #[must_use]
    pub fn sponsor(&self) -> Handle {
        Handle::new(self.turn().sponsor())
    }

    /// Moves the actor `to` to the system `sponsor`, and sends `msg` to the actor. The actor
    /// handles `msg`, and all messages that are sent after `msg`, on `sponsor`.
    ///
    /// The actor handles messages that were sent before `msg` on its old system. An actor that was
    /// spawned by [`Local::spawn`](crate::Local::spawn) is never moved, because it might not be
    /// `Send`. An actor is also not moved if `sponsor` is shutting down or has shut down. If the
    /// actor is not moved, it handles `msg` on its old system.
    ///
    /// # Errors
    /// Returns the message if the actor is known to have stopped.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    /// use garrick_actor::{Handle, Next, System, behavior};
    ///
    /// let near = System::builder().name("near").workers(1).start()?;
    /// let far = System::builder().name("far").workers(1).start()?;
    /// let (told, heard) = mpsc::channel();
    /// let parent = near.spawn(behavior(move |far: Handle, cx| {
    ///     let told = told.clone();
    ///     let child = cx.spawn(behavior(move |(): (), cx| {
    ///         told.send(cx.sponsor().name().to_owned()).unwrap();
    ///     }));
    ///     let sent = cx.send(&child, ()).and(cx.send_on(&far, &child, ()));
    ///     if sent.is_ok() {
    ///         Next::Continue
    ///     } else {
    ///         Next::Stop
    ///     }
    /// }))?;
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
