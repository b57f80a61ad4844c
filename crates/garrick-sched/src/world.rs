//! The world a sponsor lives in: its clock, its randomness and its threads.
//!
//! Everything that differs from run to run enters through [`World`], so that a simulated one can take
//! the real one's place.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

/// Nanoseconds since the world began.
pub type Nanos = u64;

/// The clock, the randomness and the threads of a sponsor.
pub trait World: Send + Sync + 'static {
    /// The time. It never goes back.
    fn now(&self) -> Nanos;

    /// A seed for a generator of random numbers; another one at each call.
    fn seed(&self) -> u64;

    /// Runs `body` on a new thread named `name`.
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
pub struct RealWorld {
    began: Instant,
}

impl RealWorld {
    /// A real world that begins now.
    pub fn shared() -> Arc<dyn World> {
        Arc::new(Self {
            began: Instant::now(),
        })
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
