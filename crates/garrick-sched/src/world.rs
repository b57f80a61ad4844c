//! The world a sponsor lives in: its clock, its randomness and its threads.
//!
//! Everything that differs from run to run enters through [`World`], so that a simulated one can take
//! the real one's place.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use garrick_core::prim::thread::{Builder, JoinHandle};

/// Nanoseconds since the world began.
pub type Nanos = u64;

/// The clock, the randomness and the threads of a sponsor.
///
/// A panic of [`World::now`] or [`World::seed`] is caught and, if it is the clock's, reported once to
/// [`Builder::on_failure`](crate::Builder::on_failure); the workers go on with the latest time that the clock told.
pub trait World: Send + Sync + 'static {
    /// The time. It never goes back.
    fn now(&self) -> Nanos;

    /// A seed for a generator of random numbers; another one at each call.
    fn seed(&self) -> u64;

    /// Runs `body` on a new thread named `name`. A body that is dropped without being called ends the sponsor.
    ///
    /// # Errors
    /// The system's own error if it has no thread to give.
    fn spawn_thread(
        &self,
        name: String,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>>;
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
        name: String,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        Builder::new().name(name).spawn(body)
    }
}

impl fmt::Debug for RealWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RealWorld").finish_non_exhaustive()
    }
}
