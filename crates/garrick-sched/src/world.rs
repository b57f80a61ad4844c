//! The world a sponsor lives in: its clock, its randomness and its threads.
//!
//! Everything that differs from run to run enters through [`World`], so that a simulated one can take
//! the real one's place.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use garrick_core::prim::thread::{Builder, JoinHandle};

/// Nanoseconds since the world began.
pub type Nanos = u64;

/// Returns a time in nanoseconds, or the longest one there is.
#[inline]
pub fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}

/// The clock, the randomness and the threads of a sponsor.
///
/// A panic of [`World::now`] or [`World::seed`] is caught and, if it is the clock's, reported once to
/// [`Builder::on_failure`](crate::Builder::on_failure); the workers go on with the latest time that the clock told.
pub trait World: Send + Sync + 'static {
    /// The time. It never goes back.
    fn now(&self) -> Nanos;

    /// A seed for a generator of random numbers; another one at each call.
    fn seed(&self) -> u64;

    /// Runs `body` on a new thread as `spec` has it. A body that is dropped without being called ends the sponsor.
    ///
    /// # Errors
    /// The system's own error if it has no thread to give.
    fn spawn_thread(
        &self,
        spec: ThreadSpec,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>>;
}

/// How the thread of a worker is to be: what a [`World`] is asked for.
///
/// # Examples
/// A world whose threads are the real ones, but named otherwise:
/// ```
/// use std::{io, thread};
/// use garrick_sched::ThreadSpec;
///
/// fn spawn_thread(
///     mut spec: ThreadSpec,
///     body: Box<dyn FnOnce() + Send>,
/// ) -> io::Result<thread::JoinHandle<()>> {
///     spec.name.insert_str(0, "test-");
///     spec.builder().spawn(body)
/// }
/// # let _ = spawn_thread;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadSpec {
    /// Its name, without NUL bytes.
    pub name: String,
    /// The bytes of its stack, from [`STACK_BYTES_MIN`] to [`STACK_BYTES_MAX`]; what the standard library chooses if none.
    pub stack_size: Option<usize>,
}

/// The fewest bytes that the stack of a worker can have.
pub const STACK_BYTES_MIN: usize = 64 << 10;

/// The most bytes that the stack of a worker can have: more is taken for a mistake.
pub const STACK_BYTES_MAX: usize = 1 << 30;

impl ThreadSpec {
    pub(crate) fn new(name: String, stack_size: Option<usize>) -> Self {
        Self { name, stack_size }
    }

    /// Returns a builder of the standard library's for such a thread.
    pub fn builder(self) -> Builder {
        let builder = Builder::new().name(self.name);
        match self.stack_size {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        }
    }
}

/// The real world.
#[derive(Clone, Copy)]
pub struct RealWorld {
    began: Instant,
}

impl RealWorld {
    /// Returns a real world that begins now.
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
        }
    }

    /// Returns a real world that begins now, to be shared by several sponsors.
    pub fn shared() -> Arc<dyn World> {
        Arc::new(Self::new())
    }
}

impl World for RealWorld {
    fn now(&self) -> Nanos {
        // Five centuries fit.
        self.began.elapsed().as_nanos() as Nanos
    }

    fn seed(&self) -> u64 {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one(self.now())
    }

    fn spawn_thread(
        &self,
        spec: ThreadSpec,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        spec.builder().spawn(body)
    }
}

impl fmt::Debug for RealWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RealWorld").finish_non_exhaustive()
    }
}
