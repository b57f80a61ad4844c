//! A world for scenarios.
#![allow(dead_code, reason = "each scenario uses a part of it")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use garrick_sched::{Nanos, ThreadSpec, World};

/// A world with a clock that is set by hand.
#[derive(Default)]
pub(crate) struct ByHand {
    now: AtomicU64,
}

impl ByHand {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn advance(&self, by: Duration) {
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
