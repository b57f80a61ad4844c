//! A watchdog for turns that never end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use std::{process, thread};

/// Number of checks within the time limit of a step. The watchdog notices an endless turn with a
/// delay of at most the time limit divided by this number.
const LOOKS: u32 = 10;

/// A guard that exists while the steps of a check are watched. If a step takes longer than the
/// limit, the watchdog prints the step and aborts the process: the thread of the check cannot be
/// stopped in any other way.
pub(crate) struct Watchdog {
    watched: Arc<Watched>,
}

/// State that the check writes and the watchdog reads.
#[derive(Default)]
struct Watched {
    seed: AtomicU64,
    /// A number that grows with each step of a run, and at the end of a run. Odd within a run, and
    /// even between two runs.
    steps: AtomicU64,
    /// Index of the current step in the run.
    step: AtomicU64,
}

impl Watchdog {
    /// Begins to watch the check named `name`.
    pub(crate) fn begin(name: &str, limit: Duration) -> Self {
        let watched = Arc::new(Watched::default());
        let weak = Arc::downgrade(&watched);
        let name = name.to_owned();
        let look = move || {
            let (mut before, mut same) = (u64::MAX, 0);
            loop {
                thread::sleep(limit / LOOKS);
                let Some(watched) = weak.upgrade() else {
                    return;
                };
                let steps = watched.steps.load(Relaxed);
                same = if steps == before && steps % 2 == 1 {
                    same + 1
                } else {
                    0
                };
                before = steps;
                if same >= LOOKS {
                    watched.abort(&name, limit);
                }
            }
        };
        // Without the thread, an endless turn is not named. The check itself does not need it.
        drop(
            thread::Builder::new()
                .name("watchdog".to_owned())
                .spawn(look),
        );
        Self { watched }
    }

    /// Records that a step begins.
    #[inline]
    pub(crate) fn begin_step(&self, seed: u64, step: u32) {
        // Only this thread writes.
        let steps = self.watched.steps.load(Relaxed);
        self.watched.seed.store(seed, Relaxed);
        self.watched.step.store(step.into(), Relaxed);
        self.watched.steps.store((steps | 1) + 2, Relaxed);
    }

    pub(crate) fn end_run(&self) {
        let steps = self.watched.steps.load(Relaxed);
        self.watched.steps.store((steps | 1) + 1, Relaxed);
    }
}

impl Watched {
    fn abort(&self, name: &str, limit: Duration) -> ! {
        let (seed, step) = (self.seed.load(Relaxed), self.step.load(Relaxed));
        eprintln!(
            "step {step} of seed {seed} of \"{name}\" has run for more than {limit:?}: a handler \
             does not return. To run it again: GARRICK_SIM_SEED={seed}"
        );
        process::abort();
    }
}
