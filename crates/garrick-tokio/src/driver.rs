//! A current-thread runtime of tokio as the driver of a worker.
//!
//! The runtime never runs an actor: an actor's future is polled by the worker, within the runtime's context, so that sockets and
//! timers find the driver they register with. Parking is `block_on` of a future that ends with the worker's token or its
//! next timer; polling is one pass over the driver that does not wait. Tasks that actors have spawned with
//! `tokio::spawn` run in both.
//!
//! A token is a permit of [`Notify`]: one that was given before the worker parks is found by it, and a permit too many is a
//! park that returns early. Whoever wakes an actor from inside of the driver is on the worker's own thread; tokio then writes to no
//! file descriptor, and the park ends when the events at hand have been handed out.

use std::cell::Cell;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use garrick_actor::{Driver, Drivers, StartError, System};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::yield_now;

use crate::alarm::Alarm;

/// A system whose workers sleep in tokio's driver, one for every core.
///
/// # Errors
/// See [`StartError`].
///
/// # Examples
/// See the [crate].
pub fn system() -> Result<System, StartError> {
    System::builder().name("tokio").driver(Tokio::new()).start()
}

/// Lets the workers of a system sleep in tokio's driver: for [`Builder::driver`](garrick_actor::Builder::driver).
///
/// Each worker has a current-thread runtime of its own, with sockets, timers and signals. All of its actors, the async ones and the
/// others, find that runtime around them: `tokio::net`, `tokio::time`, `tokio::fs`, `tokio::spawn` and
/// `tokio::task::spawn_blocking` work as in a task of tokio.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::{Incoming, Reply, System};
/// use garrick_tokio::Tokio;
///
/// let system = System::builder().name("net").workers(1).driver(Tokio::new()).start()?;
/// let patient = system.spawn_async(|mut mailbox: Incoming<Reply<&str>>| async move {
///     let reply = mailbox.recv().await.expect("somebody asks");
///     tokio::time::sleep(Duration::from_millis(1)).await;
///     reply.send("done");
/// })?;
/// assert_eq!(patient.ask(|reply| reply).wait(), Ok("done"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Tokio {
    blocking_threads_max: Option<usize>,
    blocking_grace: Duration,
}

impl Tokio {
    /// With tokio's own limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many threads each worker may have for blocking work, files among it; tokio's 512 unless told. They are started when
    /// there is work, and end when there was none for ten seconds.
    #[must_use]
    pub fn blocking_threads_max(mut self, threads: usize) -> Self {
        self.blocking_threads_max = Some(threads);
        self
    }

    /// How long the end of the system waits for blocking work that is under way; not at all unless told.
    #[must_use]
    pub fn blocking_grace(mut self, grace: Duration) -> Self {
        self.blocking_grace = grace;
        self
    }
}

impl Drivers for Tokio {
    fn driver(&self, _worker: usize) -> io::Result<Box<dyn Driver>> {
        let mut builder = Builder::new_current_thread();
        builder.enable_all().thread_name("garrick-blocking");
        match self.blocking_threads_max {
            Some(0) => return Err(io::Error::new(io::ErrorKind::InvalidInput, NO_THREADS)),
            Some(threads) => {
                builder.max_blocking_threads(threads);
            }
            None => {}
        }
        let driver = TokioDriver::new(builder.build()?, self.blocking_grace)?;
        Ok(Box::new(driver))
    }
}

const NO_THREADS: &str = "blocking work needs at least 1 thread a worker, not 0";

/// What wakes a worker.
#[derive(Debug, Default)]
struct Token(Notify);

impl Wake for Token {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// See the module.
#[derive(Debug)]
struct TokioDriver {
    runtime: Inside,
    /// What ends a sleep that has a time.
    alarm: Alarm,
    /// Given by any thread, taken by the worker.
    token: Arc<Token>,
}

impl TokioDriver {
    fn new(runtime: Runtime, grace: Duration) -> io::Result<Self> {
        let runtime = Inside {
            runtime: Some(runtime),
            grace,
            lived: Cell::new(false),
        };
        let alarm = {
            let _around = runtime.get().enter();
            Alarm::new()?
        };
        Ok(Self {
            runtime,
            alarm,
            token: Arc::default(),
        })
    }
}

impl Driver for TokioDriver {
    fn waker(&self) -> Waker {
        Waker::from(self.token.clone())
    }

    fn surround(&self, life: &mut dyn FnMut()) {
        self.runtime.lived.set(true);
        let _around = self.runtime.get().enter();
        life();
    }

    fn park(&self, timeout: Option<Duration>) {
        self.runtime.get().block_on(async {
            let mut token = pin!(self.token.0.notified());
            if token.as_mut().enable() {
                // The token was there. Were it always there, nobody would ever look at the driver.
                return yield_now().await;
            }
            let Some(timeout) = timeout else {
                return token.await;
            };
            tokio::select! {
                biased;
                () = token => {}
                () = self.alarm.wait(timeout) => {}
            }
        });
    }

    fn poll(&self) {
        // It comes back when tokio has looked at the driver once.
        self.runtime.get().block_on(yield_now());
    }
}

/// A worker's runtime. Its end waits for blocking work no longer than it was told.
#[derive(Debug)]
struct Inside {
    /// Taken by the end.
    runtime: Option<Runtime>,
    grace: Duration,
    /// Whether a worker has lived in there. If not there is nothing to wait for, and this may be a thread that must not.
    lived: Cell<bool>,
}

impl Inside {
    fn get(&self) -> &Runtime {
        self.runtime.as_ref().expect("taken when dropped")
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        if self.lived.get() {
            runtime.shutdown_timeout(self.grace);
        } else {
            runtime.shutdown_background();
        }
    }
}
