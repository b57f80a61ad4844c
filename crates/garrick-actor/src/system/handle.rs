//! Spawning from anywhere.

use std::fmt;

use garrick_sched::{Address, Sample, SendError, SpawnError, Task};

use crate::model::context::Context;

/// Spawns actors on a [`System`](crate::System) or a [`Local`](crate::Local), from anywhere. A
/// handle does not keep the system running.
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

    /// Spawns a task that is not an actor, for the modules above.
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

    /// Returns the number of workers.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.handle.workers()
    }

    /// Returns the counters of the system: of its workers and, if it has
    /// [`probes`](crate::system::Builder::probes), of its actors' types. The types of actors that
    /// hold a worker now or block away from their workers are included. Sampling does not disturb
    /// the workers.
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

    /// Returns the number of actors that ended in a panic, or by an error that no supervisor took.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.handle.failures()
    }
}

impl<M: 'static> Context<'_, M> {
    /// Returns the sponsor of this actor: a handle of the system that runs it.
    #[must_use]
    pub fn sponsor(&self) -> Handle {
        Handle::new(self.turn().sponsor())
    }

    /// Sends `msg` to `to`, which handles it on that sponsor and stays there. Messages sent to it
    /// before are handled where it was. An actor that was spawned by
    /// [`Local::spawn`](crate::Local::spawn) may not be `Send`, so it stays where it is. So does an
    /// actor whose new sponsor has ended. Both still handle the message.
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
