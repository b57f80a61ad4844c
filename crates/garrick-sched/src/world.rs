//! The environment of a sponsor (a group of workers): its clock, its randomness and its threads.
//!
//! Everything that differs from run to run comes from a [`World`]. So a simulated world can replace
//! the real world.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use garrick_core::prim::thread::{Builder, JoinHandle};

/// A point in time, in nanoseconds since the start of the [`World`], or a duration in nanoseconds.
pub type Nanos = u64;

/// Converts a duration into nanoseconds. Returns [`Nanos::MAX`] if the duration is longer than
/// that.
#[inline]
pub fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}

/// The environment of a sponsor (a group of workers): its clock, its random seeds and its threads.
///
/// A panic of [`World::now`] or [`World::seed`] is caught. If [`World::now`] panics, the workers
/// continue with the latest time that the method has returned. Only the first panic of
/// [`World::now`] is reported to [`Builder::on_failure`](crate::Builder::on_failure).
pub trait World: Send + Sync + 'static {
    /// Returns the current time, which must never go back.
    fn now(&self) -> Nanos;

    /// Returns the time since an unspecified moment, by a clock that also runs while the machine
    /// sleeps. The time must never go back. Leases between machines use this time. By default,
    /// returns the result of [`World::now`]. The real world uses the clock `CLOCK_BOOTTIME` on
    /// Linux.
    fn lease_now(&self) -> Nanos {
        self.now()
    }

    /// Returns the current date and time. Unlike [`World::now`], the date may go back when the
    /// clock is set. By default, returns the date of the system's clock.
    fn date(&self) -> SystemTime {
        SystemTime::now()
    }

    /// Returns a seed for a random number generator. Each call must return a different seed.
    fn seed(&self) -> u64;

    /// Runs `body` on a new thread with the properties in `spec`. If `body` is dropped without
    /// being called, the sponsor (the group of workers) stops.
    ///
    /// # Errors
    /// Returns the operating system's error if the thread cannot be created.
    fn spawn_thread(
        &self,
        spec: ThreadSpec,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>>;
}

/// The name and the stack size of a worker's thread. [`World::spawn_thread`] gets them from the
/// sponsor.
///
/// # Examples
/// This implementation of [`World::spawn_thread`] uses real threads, and adds a prefix to their
/// names:
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
    /// Name of the thread. Contains no NUL bytes.
    pub name: String,
    /// Size of the stack in bytes, from [`STACK_BYTES_MIN`] to [`STACK_BYTES_MAX`]. `None` stands
    /// for the default of the standard library.
    pub stack_size: Option<usize>,
}

/// Smallest stack size of a worker, in bytes.
pub const STACK_BYTES_MIN: usize = 64 << 10;

/// Largest stack size of a worker, in bytes. A larger value is probably a mistake.
pub const STACK_BYTES_MAX: usize = 1 << 30;

impl ThreadSpec {
    pub(crate) fn new(name: String, stack_size: Option<usize>) -> Self {
        Self { name, stack_size }
    }

    /// Returns a [`std::thread::Builder`] for a thread with this name and stack size.
    pub fn builder(self) -> Builder {
        let builder = Builder::new().name(self.name);
        match self.stack_size {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        }
    }
}

/// The real world, in contrast to a simulated one: the default [`World`]. The real world uses the
/// clock of the system, random seeds, and threads of the operating system.
#[derive(Clone, Copy)]
pub struct RealWorld {
    began: Instant,
}

impl RealWorld {
    /// Creates a world that is not simulated. Its time begins now.
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
        }
    }

    /// Creates a world that is not simulated, and that several sponsors can share. The time of this
    /// world is 0 at the moment of this call.
    pub fn shared() -> Arc<dyn World> {
        Arc::new(Self::new())
    }
}

impl World for RealWorld {
    fn now(&self) -> Nanos {
        // A `u64` holds more than five centuries.
        self.began.elapsed().as_nanos() as Nanos
    }

    #[cfg(all(target_os = "linux", not(garrick_portable)))]
    fn lease_now(&self) -> Nanos {
        boot_time().unwrap_or_else(|| self.now())
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

/// Returns the time since the start of the machine, including the time for which the machine has
/// slept. Returns `None` if the kernel does not offer this clock. In that case, every call returns
/// `None`.
#[cfg(all(target_os = "linux", not(garrick_portable)))]
fn boot_time() -> Option<Nanos> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to the time, which is valid for writes.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    let seconds = Nanos::try_from(time.tv_sec).ok().filter(|_| result == 0)?;
    Some(seconds * 1_000_000_000 + Nanos::try_from(time.tv_nsec).ok()?)
}

impl fmt::Debug for RealWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RealWorld").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::RealWorld;

    #[test]
    fn the_clock_for_leases_goes_on() {
        let world = RealWorld::shared();
        let (lease, now) = (world.lease_now(), world.now());
        while world.now() < now + 1_000 {}
        assert!(world.lease_now() >= lease + 1_000);
    }
}
