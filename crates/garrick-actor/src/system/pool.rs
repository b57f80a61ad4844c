//! A pool of threads as a system.

use std::fmt;
use std::time::Duration;

use garrick_sched::{Ending, Sponsor, StartError};

use crate::system::builder::Builder;
use crate::system::handle::Handle;

/// Runs actors on its own threads. Dropping it calls [`System::shutdown_now`].
///
/// # Examples
/// ```
/// use garrick_actor::{System, behavior};
///
/// let system = System::builder().name("greeters").workers(2).start()?;
/// let greeter = system.spawn(behavior(|name: String, _| {
///     println!("Hello, {name}!");
/// }))?;
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
    /// Creates a system with a worker for every core.
    ///
    /// # Errors
    /// Returns a [`StartError`] if the system cannot start.
    pub fn new() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// Returns a builder for a configured system.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn as_handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns a handle for spawning on this system from elsewhere. The handle does not keep the
    /// system running.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
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

    /// Shuts the system down in order. Every message that was sent is handled, and every message
    /// that results from it. Then all actors are dropped. Returns when the system's threads have
    /// ended.
    ///
    /// Threads that run no actors of the system, and actors of other systems, can delay the end for
    /// as long as they send, unless
    /// [`Builder::refuse_strangers`](crate::system::Builder::refuse_strangers) was set.
    ///
    /// If called by an actor of this system, returns at once, and the system ends later.
    pub fn shutdown(self) {
        self.sponsor.shutdown();
    }

    /// Shuts the system down after the turns under way. Messages not handled by then become dead
    /// letters. Returns when the system's threads have ended, or at once if called by an actor of
    /// this system.
    pub fn shutdown_now(self) {
        self.sponsor.shutdown_now();
    }

    /// Shuts the system down in order, like [`System::shutdown`], for at most `limit`. Then shuts
    /// it down after the turns under way, like [`System::shutdown_now`]. Returns when the system's
    /// threads have ended.
    ///
    /// If called by an actor of this system, returns None at once, and the system ends later.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use garrick_actor::system::Ending;
    /// use garrick_actor::{System, behavior};
    ///
    /// let system = System::new()?;
    /// let endless = system.spawn(behavior(|(), cx| {
    ///     let me = cx.address();
    ///     let _ = cx.send(&me, ());
    /// }))?;
    /// endless.send(())?;
    /// let ending = system.shutdown_within(Duration::from_millis(10));
    /// assert_eq!(ending, Some(Ending::AtOnce));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown_within(self, limit: Duration) -> Option<Ending> {
        self.sponsor.shutdown_within(limit)
    }

    /// Begins a [`System::shutdown`], and returns at once. Dropping the system then waits for its
    /// end.
    ///
    /// # Examples
    /// A shutdown in order, with a limit:
    /// ```
    /// use std::{sync::Arc, thread};
    /// use garrick_actor::System;
    ///
    /// let system = Arc::new(System::new()?);
    /// system.begin_shutdown();
    /// let waiting = system.clone();
    /// let end = thread::spawn(move || waiting.wait());
    /// // If that takes too long:
    /// system.begin_shutdown_now();
    /// end.join().unwrap();
    /// # Ok::<(), garrick_actor::StartError>(())
    /// ```
    pub fn begin_shutdown(&self) {
        self.sponsor.begin_shutdown();
    }

    /// Begins a [`System::shutdown_now`], also during a shutdown in order, and returns at once.
    pub fn begin_shutdown_now(&self) {
        self.sponsor.begin_shutdown_now();
    }

    /// Waits for the end of the system, which another thread may begin. Returns at once if called
    /// by an actor of this system.
    pub fn wait(&self) {
        self.sponsor.wait();
    }
}

impl Builder {
    /// Starts the system's threads.
    ///
    /// # Errors
    /// Returns a [`StartError`] if the system cannot start. No thread is left running.
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
