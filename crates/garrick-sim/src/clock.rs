//! The clock and the world of a simulation.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;

use garrick_actor::system::World;
use garrick_core::random::mix;
use garrick_sched::{Nanos, ThreadSpec};

/// The clock of a simulation. Only the simulation advances it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    /// Returns the time in nanoseconds since the start of the run.
    pub(crate) fn now(&self) -> Nanos {
        self.0.load(Relaxed)
    }

    /// Advances the clock to `time`, unless the clock has passed it.
    pub(crate) fn advance_to(&self, time: Nanos) {
        self.0.fetch_max(time, Relaxed);
    }
}

/// The world of one node.
pub(crate) struct SimWorld {
    clock: Clock,
    /// Number from which the next seed is computed.
    seeds: AtomicU64,
}

impl SimWorld {
    /// Creates the world of a node. All seeds depend on `seed` only.
    pub(crate) fn new(clock: Clock, seed: u64) -> Self {
        Self {
            clock,
            seeds: AtomicU64::new(seed),
        }
    }
}

impl World for SimWorld {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn seed(&self) -> u64 {
        mix(self.seeds.fetch_add(1, Relaxed))
    }

    fn spawn_thread(
        &self,
        _: ThreadSpec,
        _: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        Err(io::Error::other(
            "a simulation has no threads: spawn an actor on a node instead",
        ))
    }
}
