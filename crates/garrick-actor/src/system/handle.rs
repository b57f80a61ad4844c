//! Handles for spawning from any thread or actor.

use std::fmt;

use garrick_sched::{Address, Nanos, Sample, SendError, SpawnError, Task};

use crate::failure::FailureRecord;
use crate::model::context::Context;
use crate::system::attached::Attached;

/// A handle to a [`System`](crate::System) or a [`Local`](crate::Local). Any thread or actor can
/// use the handle to spawn actors. A handle does not keep the system running.
#[derive(Clone)]
pub struct Handle {
    handle: garrick_sched::Handle,
}

impl Handle {
    pub(crate) fn new(handle: garrick_sched::Handle) -> Self {
        Self { handle }
    }

    /// Returns the scheduler's handle to the threads that run the actors of this system.
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
    /// in [`Context::blocking`].
    ///
    /// A call does not wait for the workers. If probes are enabled, each worker counts the messages
    /// in its mailboxes after the call. The counting takes at most about 0.2 ms. The next sample
    /// contains the results.
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

    /// Returns the number of dead letters: messages that were accepted but not handled, usually
    /// because their actor has stopped. [`Sample::letters`] contains the numbers for each type of
    /// actor and each reason.
    #[must_use]
    pub fn dead_letters(&self) -> u64 {
        self.handle.dead_letters()
    }

    /// Returns the current time of the system's [`World`](crate::system::World), in nanoseconds.
    #[doc(hidden)]
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.handle.now()
    }

    /// Returns the number of failures so far: panics of actors and of other user code such as
    /// [doors](crate::door), and errors of actors without a supervisor.
    ///
    /// A failure is counted after its turn has been undone. If this turn drops a question, the
    /// asker may be notified before the count includes the failure.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.handle.failures()
    }

    /// Returns the latest failures of the system, the newest first: at most 256 panics, errors, and
    /// restarts of actors that stopped by themselves. Failures are included even if they are not
    /// reported.
    ///
    /// The list contains a failure of a supervised actor as soon as the supervisor has decided what
    /// happens to the actor.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Consequence, Local, Next, behavior};
    ///
    /// let local = Local::new()?;
    /// let fails = local
    ///     .actor(behavior(|n: u32, cx| -> Next { cx.fail(format!("{n} is too much")) }))
    ///     .named("fails")
    ///     .spawn();
    /// fails.send(7)?;
    /// local.run();
    /// let newest = &local.handle().recent_failures()[0];
    /// assert_eq!(newest.failure.message, "7 is too much");
    /// assert_eq!(newest.failure.consequence, Consequence::Stopped);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn recent_failures(&self) -> Vec<FailureRecord> {
        self.failures_after(0)
    }

    /// Returns the latest failures, like [`Handle::recent_failures`], but only those with sequence
    /// numbers greater than `number`.
    #[doc(hidden)]
    #[must_use]
    pub fn failures_after(&self, number: u64) -> Vec<FailureRecord> {
        let attached = Attached::of(&self.handle);
        attached.map_or_else(Vec::new, |attached| attached.office.failures_after(number))
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
    /// Messages that were sent before `msg` are still handled on the actor's old system. An actor
    /// that was spawned by [`Local::spawn`](crate::Local::spawn) is never moved, because it might
    /// not be `Send`. Async actors, and actors with a mailbox that orders messages by rank or drops
    /// the oldest message, are not moved either. An actor is also not moved if `sponsor` is
    /// shutting down or has shut down. If the actor is not moved, it handles `msg` on its old
    /// system.
    ///
    /// The timers of the actor stay on its old system, and end with this system. The receive
    /// timeout of the actor begins again at its next message after that.
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
