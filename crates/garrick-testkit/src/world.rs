//! A [`World`] for tests, whose clock the test sets.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use garrick_sched::{Nanos, ThreadSpec, World};

/// A [`World`] whose clock only moves when [`ByHand::advance`] is called.
///
/// The world starts ordinary threads of the operating system. [`World::seed`] returns the time of
/// its clock.
#[derive(Debug, Default)]
pub struct ByHand {
    now: AtomicU64,
}

impl ByHand {
    /// Creates a world whose clock is at zero.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Advances the clock by the duration `by`.
    pub fn advance(&self, by: Duration) {
        self.now.fetch_add(by.as_nanos() as u64, SeqCst);
    }
}

impl World for ByHand {
    fn now(&self) -> Nanos {
        self.now.load(SeqCst)
    }

    fn seed(&self) -> u64 {
        self.now.load(SeqCst)
    }

    fn spawn_thread(
        &self,
        spec: ThreadSpec,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle<()>> {
        spec.builder().spawn(body)
    }
}

/// Returns a duration of `count` milliseconds.
pub fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_by_hand_alone() {
        let world = ByHand::new();
        assert_eq!(world.now(), 0);
        world.advance(ms(2));
        world.advance(Duration::from_nanos(3));
        assert_eq!(world.now(), 2_000_003);
    }
}
