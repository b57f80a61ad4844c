//! Drivers: a driver is a reactor (I/O, timers) in which a worker sleeps instead of parking its
//! thread.
//!
//! A [`Driver`] belongs to one worker. The worker runs all its code inside of [`Driver::surround`],
//! and it sleeps in [`Driver::park`]. While the worker is busy, it calls [`Driver::poll`] at short
//! intervals. So events of the operating system, such as those of sockets and timers, wake tasks on
//! the thread that runs these tasks.
//!
//! ```text
//!   worker:   surround( run .. run .. poll .. run .. run .. park .......... run .. )
//!                                                            ^
//!   others:   a task becomes ready ---------- Driver::waker -+
//! ```
//!
//! **Waking.** Before a worker parks, it sets a mark on the stack of its ready tasks, and checks
//! for work a last time. A thread that makes a task ready clears this mark and calls the waker
//! once. If the waker is called before `park`, `park` must return immediately. So the waker must
//! store a token, as [`std::thread::Thread::unpark`] does. A redundant wake does no harm: the
//! worker checks for work and parks again.
//!
//! **Outside of turns.** While the thread is in `park` or `poll`, it is not a worker. A message
//! that code in the driver sends belongs to no turn. Such a message is sent immediately, like a
//! message from another thread, and so wakes the worker.

use std::io;
use std::task::Waker;
use std::time::Duration;

/// A reactor for one worker, for example for I/O events. When the worker has nothing to run, it
/// sleeps in [`Driver::park`]. A value that implements [`Drivers`] creates the drivers for the
/// workers of a sponsor.
pub trait Driver: Send {
    /// Returns a waker that makes [`Driver::park`] return. If the worker is not parked when the
    /// waker is called, the next call of `park` returns immediately. Any thread may call the waker
    /// at any time, even after the worker has stopped.
    fn waker(&self) -> Waker;

    /// Calls `life` once, on the calling thread, which is the worker's thread. `life` runs the
    /// worker until the worker stops.
    ///
    /// Before it calls `life`, an implementation can set up the context that the tasks need. All
    /// other methods except [`Driver::waker`] are called only while `life` runs.
    fn surround(&self, life: &mut dyn FnMut());

    /// Waits until the waker is called or `timeout` has passed. `None` means that there is no
    /// timeout. An implementation must also process pending events, as [`Driver::poll`] does.
    /// `park` may return early.
    fn park(&self, timeout: Option<Duration>);

    /// Processes pending events without waiting. Called about every 100 microseconds while the
    /// worker is busy.
    fn poll(&self);
}

/// A factory of drivers: creates one [`Driver`] for each worker of a sponsor. Pass the factory to
/// [`Builder::driver`](crate::Builder::driver).
///
/// # Examples
/// The drivers in this example only park their threads:
/// ```
/// use std::sync::{Arc, OnceLock};
/// use std::task::{Wake, Waker};
/// use std::thread::{self, Thread};
/// use std::time::Duration;
/// use garrick_sched::{Driver, Drivers, Flow, Reply, Sponsor, Task, Turn};
///
/// #[derive(Default)]
/// struct Sleeper(OnceLock<Thread>);
///
/// impl Wake for Sleeper {
///     fn wake(self: Arc<Self>) {
///         // No thread sleeps until `surround` has stored the thread.
///         self.0.get().map(Thread::unpark);
///     }
/// }
///
/// struct Sleep(Arc<Sleeper>);
///
/// impl Driver for Sleep {
///     fn waker(&self) -> Waker {
///         Waker::from(self.0.clone())
///     }
///
///     fn surround(&self, life: &mut dyn FnMut()) {
///         self.0.0.get_or_init(thread::current);
///         life();
///     }
///
///     fn park(&self, timeout: Option<Duration>) {
///         match timeout {
///             Some(timeout) => thread::park_timeout(timeout),
///             None => thread::park(),
///         }
///     }
///
///     fn poll(&self) {}
/// }
///
/// struct Sleeps;
///
/// impl Drivers for Sleeps {
///     fn driver(&self, _worker: usize) -> std::io::Result<Box<dyn Driver>> {
///         Ok(Box::new(Sleep(Arc::default())))
///     }
/// }
///
/// struct Double;
///
/// impl Task for Double {
///     type Message = (u32, Reply<u32>);
///
///     fn receive(&mut self, (n, reply): (u32, Reply<u32>), _: &Turn<'_, Self::Message>) -> Flow {
///         reply.send(2 * n);
///         Flow::Continue
///     }
/// }
///
/// let sponsor = Sponsor::builder().workers(2).driver(Sleeps).start()?;
/// let double = sponsor.handle().spawn(Double)?;
/// assert_eq!(double.ask(|reply| (21, reply)).wait(), Ok(42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Drivers {
    /// Creates the driver of worker number `worker`, counted from 0. Called on the thread that
    /// starts the sponsor (the group of workers).
    ///
    /// # Errors
    /// Returns an error if the driver cannot be created. The sponsor is then not started.
    fn driver(&self, worker: usize) -> io::Result<Box<dyn Driver>>;
}

impl<D: Drivers + ?Sized> Drivers for Box<D> {
    fn driver(&self, worker: usize) -> io::Result<Box<dyn Driver>> {
        (**self).driver(worker)
    }
}
