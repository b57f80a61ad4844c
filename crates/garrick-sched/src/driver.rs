//! What a worker waits in, when that is to be more than a thread's sleep.
//!
//! A [`Driver`] belongs to one worker. It surrounds all that the worker runs, it is what the worker sleeps in, and while
//! the worker is busy it is given a moment every now and then. So sockets, timers and whatever else is waited for by the
//! operating system wake tasks on the very thread that runs them.
//!
//! ```text
//!   worker:   surround( run .. run .. poll .. run .. run .. park .......... run .. )
//!                                                            ^
//!   others:   a task made ready ------------- Driver::waker -+
//! ```
//!
//! **Waking.** A worker says on its ready stack that it sleeps, looks once more for work, and parks. Whoever makes work
//! takes that word back and calls the waker, once. So a wake that comes before `park` must make it return at once: the
//! waker leaves a token, as [`std::thread::Thread::unpark`] does. A wake too many does no harm; the worker looks and parks again.
//!
//! **Outside.** While it parks or polls, the thread is no worker: what foreign code sends in there is in no turn. It goes
//! at once, by the way that other threads use, which also ends the sleep.

use std::io;
use std::task::Waker;
use std::time::Duration;

/// What one worker waits in. See the [`Drivers`] that make it.
pub trait Driver: Send {
    /// Ends the worker's `park`, or the next one if it is not in there. Any thread calls it, at any time, also when the
    /// worker has ended.
    fn waker(&self) -> Waker;

    /// Calls `life` once, on the worker's thread, surrounded by what tasks are to find there. All else but `waker` is
    /// called in there.
    fn surround(&self, life: &mut dyn FnMut());

    /// Waits until the waker is called, but not longer than `timeout`. It may return early, but not without having done what
    /// [`Driver::poll`] does.
    fn park(&self, timeout: Option<Duration>);

    /// Does what there is to do without waiting. Called about every 100 microseconds while the worker is busy.
    fn poll(&self);
}

/// Makes the drivers of a sponsor; see [`Builder::driver`](crate::Builder::driver).
///
/// # Examples
/// The sleep of a thread, as a driver:
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
///         // Nobody sleeps before there is a thread.
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
    /// Makes the driver of that worker, counted from 0, on the thread that starts the sponsor.
    ///
    /// # Errors
    /// Why there is none; the sponsor is not started then.
    fn driver(&self, worker: usize) -> io::Result<Box<dyn Driver>>;
}

impl<D: Drivers + ?Sized> Drivers for Box<D> {
    fn driver(&self, worker: usize) -> io::Result<Box<dyn Driver>> {
        (**self).driver(worker)
    }
}
