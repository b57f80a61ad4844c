//! A current-thread runtime of tokio as the driver of a worker.
//!
//! The runtime never runs an actor. The worker polls an actor's future within the runtime's
//! context, so that sockets and timers find the driver that they register with. To sleep, a worker
//! calls `block_on` with a future. This future becomes ready when another thread gives the worker a
//! token, or when the worker's next timer expires. To check for I/O events without sleeping, a
//! worker runs the driver once without waiting. Tasks that actors have spawned with `tokio::spawn`
//! run while the worker sleeps or checks for events.
//!
//! A token is a permit of [`Notify`]. If another thread gives a permit before the worker begins to
//! sleep, the sleep ends immediately. An unused permit from an earlier time wakes the worker once
//! without need, which does no harm. If code inside the driver wakes an actor, this code runs on
//! the worker's own thread. So tokio need not write to a file descriptor to wake the worker, and
//! the sleep ends after the available events have been dispatched.

use std::cell::Cell;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use garrick_actor::system::{Driver, Drivers};
use garrick_actor::{StartError, System};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::yield_now;

use crate::alarm::Alarm;

/// Starts a system with one worker for each core. Idle workers sleep in tokio's driver, so actors
/// can use tokio's I/O and timers.
///
/// # Errors
/// Returns a [`StartError`] if the system cannot start.
///
/// # Examples
/// The [crate] documentation contains an example.
pub fn system() -> Result<System, StartError> {
    System::builder().name("tokio").driver(Tokio::new()).start()
}

/// A factory of tokio drivers for the workers of a system. Pass the factory to
/// [`Builder::driver`](garrick_actor::system::Builder::driver), so that idle workers sleep in
/// tokio's driver.
///
/// Each worker has its own current-thread runtime of tokio, with sockets, timers and signals. All
/// actors of the worker, async or not, run in the context of this runtime. So the actors can use
/// `tokio::net`, `tokio::time`, `tokio::fs`, `tokio::spawn` and `tokio::task::spawn_blocking` like
/// any tokio task.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::{Incoming, Reply, System};
/// use garrick_tokio::Tokio;
///
/// let system = System::builder()
///     .name("net")
///     .workers(1)
///     .driver(Tokio::new())
///     .start()?;
/// let patient = system.spawn(|mut mailbox: Incoming<Reply<&'static str>>| async move {
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
    /// Creates a factory of tokio drivers with tokio's default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of threads that each worker may use for blocking work, including
    /// file operations. The default is tokio's limit of 512. If the maximum is 0, starting the
    /// system returns an error. The threads for blocking work start on demand, and exit after ten
    /// seconds without work.
    #[must_use]
    pub fn blocking_threads_max(mut self, threads: usize) -> Self {
        self.blocking_threads_max = Some(threads);
        self
    }

    /// Sets how long the shutdown of the system waits for blocking work that is still running. By
    /// default, the shutdown does not wait.
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

const NO_THREADS: &str =
    "`blocking_threads_max` is 0, but each worker needs at least 1 thread for blocking work";

/// A handle through which other threads wake one worker.
#[derive(Debug, Default)]
struct Token(Notify);

impl Wake for Token {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// The tokio driver in which one worker sleeps. The documentation of this module describes the
/// driver.
#[derive(Debug)]
struct TokioDriver {
    runtime: Inside,
    /// Timer that wakes the worker when the timeout of its sleep expires.
    alarm: Alarm,
    /// The handle through which other threads wake the worker. Any thread can give the worker a
    /// token through this handle. Only the worker takes tokens.
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
                // The token was already given. If this happened every time, the driver would never
                // be polled.
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
        // `yield_now` returns after tokio has polled the driver once.
        self.runtime.get().block_on(yield_now());
    }
}

/// The tokio runtime of one worker. `Drop` waits until the running blocking work has ended, but at
/// most for the grace period.
#[derive(Debug)]
struct Inside {
    /// The tokio runtime, or `None` after the runtime has been dropped.
    runtime: Option<Runtime>,
    grace: Duration,
    /// True if a worker has run in this runtime. If no worker has run, there is no blocking work to
    /// wait for. In this case, the runtime may be dropped by a thread that must not block.
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
