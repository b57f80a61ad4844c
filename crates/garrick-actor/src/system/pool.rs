//! A system that runs actors on a pool of threads.

use std::fmt;
use std::time::Duration;

use garrick_sched::{Ending, Sponsor, StartError};

use crate::failure::FailureRecord;
use crate::system::builder::Builder;
use crate::system::handle::Handle;

/// A system that runs actors on its own threads. Dropping the system shuts it down, like
/// [`System::shutdown_now`]. If a graceful shutdown has already begun, dropping the system waits
/// until that shutdown is complete.
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
    /// Creates a system with one worker for each core.
    ///
    /// # Errors
    /// Returns a [`StartError`] if the system cannot start.
    pub fn new() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// Returns a builder that configures and starts a system.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn as_handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns a handle for spawning on this system from any thread or actor. The handle does not
    /// keep the system running.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns the number of dead letters: messages that were accepted but not handled, usually
    /// because their actor has stopped.
    #[must_use]
    pub fn dead_letters(&self) -> u64 {
        self.handle.dead_letters()
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

    /// Returns the latest failures of the system, the newest first, like
    /// [`Handle::recent_failures`].
    #[must_use]
    pub fn recent_failures(&self) -> Vec<FailureRecord> {
        self.handle.recent_failures()
    }

    /// Shuts the system down gracefully. The system first handles all messages that have been sent,
    /// including messages that the actors send during the shutdown. Then it drops all actors.
    ///
    /// Returns when the system's threads have exited.
    ///
    /// Other threads and actors of other systems can delay the shutdown for as long as they keep
    /// sending messages. [`Builder::refuse_strangers`](crate::system::Builder::refuse_strangers)
    /// prevents this.
    ///
    /// If an actor of this system calls this method, the method returns immediately, and the
    /// shutdown continues in the background.
    pub fn shutdown(self) {
        self.sponsor.shutdown();
    }

    /// Shuts the system down after the current turns. Messages that have not been handled become
    /// dead letters.
    ///
    /// Returns when the system's threads have exited. If an actor of this system calls this method,
    /// the method returns immediately, and the shutdown continues in the background.
    pub fn shutdown_now(self) {
        self.sponsor.shutdown_now();
    }

    /// Shuts the system down gracefully, like [`System::shutdown`], but with a time limit. If the
    /// shutdown takes longer than `limit`, continues like [`System::shutdown_now`].
    ///
    /// Returns when the system's threads have exited.
    ///
    /// The result shows how the shutdown ended. If an actor of this system calls this method, the
    /// method returns `None` immediately, and the shutdown continues in the background.
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

    /// Begins a shutdown like [`System::shutdown`], but returns immediately. If the system is
    /// dropped during the shutdown, the drop waits until the shutdown is complete.
    ///
    /// # Examples
    /// A graceful shutdown with a time limit:
    /// ```
    /// use std::{sync::Arc, thread};
    /// use garrick_actor::System;
    ///
    /// let system = Arc::new(System::new()?);
    /// system.begin_shutdown();
    /// let waiting = system.clone();
    /// let end = thread::spawn(move || waiting.wait());
    /// // If the graceful shutdown takes too long:
    /// system.begin_shutdown_now();
    /// end.join().unwrap();
    /// # Ok::<(), garrick_actor::StartError>(())
    /// ```
    pub fn begin_shutdown(&self) {
        self.sponsor.begin_shutdown();
    }

    /// Begins a shutdown like [`System::shutdown_now`], but returns immediately. This method can
    /// also be called while a graceful shutdown is in progress.
    pub fn begin_shutdown_now(&self) {
        self.sponsor.begin_shutdown_now();
    }

    /// Waits until the system has shut down. This method does not begin the shutdown itself.
    /// Returns immediately if called by an actor of this system.
    pub fn wait(&self) {
        self.sponsor.wait();
    }
}

impl Builder {
    /// Starts the system's threads.
    ///
    /// # Errors
    /// Returns a [`StartError`] if the system cannot start. In that case, no thread is left
    /// running.
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
