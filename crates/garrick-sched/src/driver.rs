//! Drivers: the reactor (I/O, timers) that a worker sleeps in instead of parking its thread.
//!
//! A [`Driver`] belongs to one worker. It surrounds everything that the worker runs, and the worker
//! sleeps in it. While the worker is busy, the driver is polled at short intervals. So sockets,
//! timers and other operating-system events wake tasks on the same thread that runs them.
//!
//! ```text
//!   worker:   surround( run .. run .. poll .. run .. run .. park .......... run .. )
//!                                                            ^
//!   others:   a task made ready ------------- Driver::waker -+
//! ```
//!
//! **Waking.** Before it parks, a worker marks on its ready stack that it sleeps, and looks for
//! work once more. A thread that makes work clears that mark and calls the waker, once. A wake that
//! comes before `park` must make `park` return at once: the waker leaves a token, as
//! [`std::thread::Thread::unpark`] does. An extra wake does no harm; the worker looks for work and
//! parks again.
//!
//! **Outside.** While the thread parks or polls, it is not a worker: what foreign code sends from
//! there belongs to no turn. Such a message is sent at once, by the path that other threads use,
//! which also ends the sleep.

use std::io;
use std::task::Waker;
use std::time::Duration;

/// The reactor that one worker waits in. Made by [`Drivers`].
pub trait Driver: Send {
    /// Returns a waker that ends the worker's `park`, or the next `park` if the worker is not
    /// parked. Any thread may call the waker at any time, even after the worker has ended.
    fn waker(&self) -> Waker;

    /// Calls `life` once, on the worker's thread, inside the context that tasks are to find there.
    /// All methods but `waker` are called inside `life`.
    fn surround(&self, life: &mut dyn FnMut());

    /// Waits until the waker is called, for `timeout` at most. It may return early, but must do the
    /// work of [`Driver::poll`] first.
    fn park(&self, timeout: Option<Duration>);

    /// Processes pending events without waiting. Called about every 100 microseconds while the
    /// worker is busy.
    fn poll(&self);
}

/// Makes the drivers of a sponsor. Passed to [`Builder::driver`](crate::Builder::driver).
///
/// # Examples
/// A driver that only parks the thread:
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
///         // Nobody sleeps before the thread is known.
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
    /// Makes the driver of worker number `worker`, counted from 0. Called on the thread that starts
    /// the sponsor.
    ///
    /// # Errors
    /// An error if there is no driver; the sponsor is not started then.
    fn driver(&self, worker: usize) -> io::Result<Box<dyn Driver>>;
}

impl<D: Drivers + ?Sized> Drivers for Box<D> {
    fn driver(&self, worker: usize) -> io::Result<Box<dyn Driver>> {
        (**self).driver(worker)
    }
}
