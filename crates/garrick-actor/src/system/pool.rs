//! A pool of threads as a system.

use std::fmt;
use std::time::Duration;

use garrick_sched::{Address, Ending, SpawnError, Sponsor, StartError};

use crate::model::actor::Actor;
use crate::model::behavior::{Behavior, BehaviorContext};
use crate::model::outcome::Outcome;
use crate::system::builder::Builder;
use crate::system::handle::Handle;

/// Runs actors on threads of its own. Dropping it is [`System::shutdown_now`].
///
/// # Examples
/// ```
/// use garrick_actor::System;
///
/// let system = System::builder().name("greeters").workers(2).start()?;
/// let greeter = system.spawn_behavior(|name: String, _| {
///     println!("Hello, {name}!");
/// })?;
/// greeter.send("Ada".to_owned())?;
/// greeter.send("Alan".to_owned())?;
/// system.shutdown();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct System {
    sponsor: Sponsor,
    handle: Handle,
}

impl System {
    /// A system with a worker for every core.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn new() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// A system made to measure.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Makes an actor on one of the workers: the caller's own if it is one of them, else the next in turn.
    ///
    /// # Errors
    /// Gives the actor back if the system is ending, which only an actor of it can see.
    pub fn spawn<A>(&self, actor: A) -> Result<Address<A::Msg>, SpawnError<A>>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        self.handle.spawn(actor)
    }

    /// Makes an actor with a name, as [`System::spawn`] does. The name stands in reports of its failures; see
    /// [`ActorPath`](crate::ActorPath).
    ///
    /// # Errors
    /// As for [`System::spawn`].
    ///
    /// # Panics
    /// If the name is empty, or has `/`, `#` or a control character in it.
    #[track_caller]
    pub fn spawn_named<A>(&self, name: &str, actor: A) -> Result<Address<A::Msg>, SpawnError<A>>
    where
        A: Actor + Send,
        A::Msg: Send,
    {
        self.handle.spawn_named(name, actor)
    }

    /// Makes an actor of a closure; see [`behavior`](crate::behavior()).
    ///
    /// # Errors
    /// As for [`System::spawn`].
    pub fn spawn_behavior<M, F, O>(
        &self,
        function: F,
    ) -> Result<Address<M>, SpawnError<Behavior<M>>>
    where
        M: Send + 'static,
        F: FnMut(M, &mut BehaviorContext<'_, M>) -> O + Send + 'static,
        O: Outcome,
    {
        self.handle.spawn_behavior(function)
    }

    /// A handle for spawning on it from elsewhere; it does not keep the system running.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
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

    /// Ends the system in order: every message that was sent is handled, and every message that this
    /// leads to; then all actors are dropped. Returns when its threads have ended.
    ///
    /// Threads that run no actors of the system, and actors of other systems, can put the end off for as long as they send, unless
    /// [`Builder::refuse_strangers`](crate::Builder::refuse_strangers) was set.
    ///
    /// Called by an actor of its own, it returns at once, and the system ends later.
    pub fn shutdown(self) {
        self.sponsor.shutdown();
    }

    /// Ends the system after the turns under way: what was sent and not handled becomes dead letters. Returns
    /// when its threads have ended, unless called by an actor of its own.
    pub fn shutdown_now(self) {
        self.sponsor.shutdown_now();
    }

    /// Ends the system in order, as [`System::shutdown`] does, for at most `limit`; then as [`System::shutdown_now`] does, after
    /// the turns under way. Returns when its threads have ended.
    ///
    /// Called by an actor of its own, it returns None at once, and the system ends later.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use garrick_actor::{Ending, System};
    ///
    /// let system = System::new()?;
    /// let endless = system.spawn_behavior(|(), cx| {
    ///     let me = cx.address();
    ///     let _ = cx.send(&me, ());
    /// })?;
    /// endless.send(())?;
    /// let ending = system.shutdown_within(Duration::from_millis(10));
    /// assert_eq!(ending, Some(Ending::AtOnce));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown_within(self, limit: Duration) -> Option<Ending> {
        self.sponsor.shutdown_within(limit)
    }

    /// Begins what [`System::shutdown`] does, and returns at once. Dropping the system then waits for its end.
    ///
    /// # Examples
    /// An end in order, with a limit:
    /// ```
    /// use std::{sync::Arc, thread};
    /// use garrick_actor::System;
    ///
    /// let system = Arc::new(System::new()?);
    /// system.begin_shutdown();
    /// let waiting = system.clone();
    /// let end = thread::spawn(move || waiting.wait());
    /// // Whoever loses patience meanwhile:
    /// system.begin_shutdown_now();
    /// end.join().unwrap();
    /// # Ok::<(), garrick_actor::StartError>(())
    /// ```
    pub fn begin_shutdown(&self) {
        self.sponsor.begin_shutdown();
    }

    /// Begins what [`System::shutdown_now`] does, also if an end in order is under way, and returns at once.
    pub fn begin_shutdown_now(&self) {
        self.sponsor.begin_shutdown_now();
    }

    /// Waits for the end of the system, which somebody else may begin. Called by an actor of its own, it returns at once.
    pub fn wait(&self) {
        self.sponsor.wait();
    }
}

impl Builder {
    /// Starts its threads.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running.
    pub fn start(self) -> Result<System, StartError> {
        let sponsor = self.sponsor().start()?;
        let handle = Handle::new(sponsor.handle());
        Ok(System { sponsor, handle })
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System")
            .field("name", &self.handle.name())
            .field("workers", &self.handle.workers())
            .finish_non_exhaustive()
    }
}
