//! Who has ended, for those who wait for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::post::StageId;
use crate::stage::Outcome;

/// Who has ended, and how.
pub(super) struct Ended {
    /// How each stage ended, once it has. Written by the stages, read by who waits.
    outcomes: Mutex<Outcomes>,
    /// Notified when the last stage has ended.
    all: Condvar,
}

pub(super) struct Outcomes {
    /// Stages that have not ended.
    left: usize,
    /// Those that have, in the order in which they did.
    pub(super) ended: Vec<(StageId, Outcome)>,
}

impl Ended {
    pub(super) fn new(stages: usize) -> Self {
        let outcomes = Outcomes {
            left: stages,
            ended: Vec::new(),
        };
        Self {
            outcomes: Mutex::new(outcomes),
            all: Condvar::new(),
        }
    }

    /// What stage `id` is to call at its end.
    pub(super) fn listener(ended: &Arc<Self>, id: StageId) -> Box<dyn FnOnce(Outcome) + Send> {
        let ended = Arc::clone(ended);
        Box::new(move |outcome| {
            let mut outcomes = ended.lock();
            outcomes.left -= 1;
            outcomes.ended.push((id, outcome));
            if outcomes.left == 0 {
                ended.all.notify_all();
            }
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Outcomes> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until all have ended.
    pub(super) fn wait(&self) {
        let mut outcomes = self.lock();
        while outcomes.left > 0 {
            outcomes = self
                .all
                .wait(outcomes)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sleeps until all have ended, and `timeout` at most; says whether they have.
    pub(super) fn wait_timeout(&self, timeout: Duration) -> bool {
        let began = Instant::now();
        let mut outcomes = self.lock();
        while outcomes.left > 0 {
            let left = timeout.saturating_sub(began.elapsed());
            if left.is_zero() {
                return false;
            }
            outcomes = self
                .all
                .wait_timeout(outcomes, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }
}
