//! The stages that have ended, and how they ended.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::post::StageId;
use crate::stage::Outcome;

/// The stages that have ended. Threads can wait until all have ended.
pub(super) struct Ended {
    state: Mutex<State>,
    /// Condition variable that is notified when the last stage has ended.
    all: Condvar,
}

struct State {
    /// Outcome of each stage, or `None` if the stage has not ended.
    ends: Vec<Option<Outcome>>,
    /// Number of stages that have not ended.
    left: usize,
    /// Stages that panicked, in the order of the panics.
    panicked: Vec<StageId>,
}

impl Ended {
    pub(super) fn new(stages: usize) -> Self {
        let state = State {
            ends: vec![None; stages],
            left: stages,
            panicked: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
            all: Condvar::new(),
        }
    }

    /// Returns a closure that stage `id` calls when it has ended.
    pub(super) fn listener(ended: &Arc<Self>, id: StageId) -> Box<dyn FnOnce(Outcome) + Send> {
        let ended = Arc::clone(ended);
        Box::new(move |outcome| {
            let mut state = ended.lock();
            state.left -= 1;
            if let Outcome::Panicked(_) = outcome {
                state.panicked.push(id);
            }
            state.ends[id as usize] = Some(outcome);
            if state.left == 0 {
                ended.all.notify_all();
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the outcome of stage `id`, if it has ended.
    pub(super) fn end_of(&self, id: usize) -> Option<Outcome> {
        self.lock().ends[id].clone()
    }

    /// Returns the stages that panicked, in the order of the panics, with their panic messages.
    pub(super) fn panics(&self) -> Vec<(usize, String)> {
        let state = self.lock();
        let panicked = state.panicked.iter().map(|id| *id as usize);
        let words = panicked.map(|id| match &state.ends[id] {
            Some(Outcome::Panicked(words)) => (id, words.clone()),
            _ => unreachable!("it is listed because it panicked"),
        });
        words.collect()
    }

    pub(super) fn has_ended(&self, id: usize) -> bool {
        self.lock().ends[id].is_some()
    }

    /// Returns the stages that were dropped before they had ended.
    pub(super) fn cut_short(&self) -> Vec<usize> {
        let state = self.lock();
        let ends = state.ends.iter().enumerate();
        ends.filter(|(_, end)| **end == Some(Outcome::Dropped))
            .map(|(id, _)| id)
            .collect()
    }

    /// Sleeps until all stages have ended.
    pub(super) fn wait(&self) {
        let mut state = self.lock();
        while state.left > 0 {
            state = self.all.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sleeps until all stages have ended, but for at most `timeout`. Returns true if all stages
    /// have ended.
    pub(super) fn wait_timeout(&self, timeout: Duration) -> bool {
        let began = Instant::now();
        let mut state = self.lock();
        while state.left > 0 {
            let left = timeout.saturating_sub(began.elapsed());
            if left.is_zero() {
                return false;
            }
            state = self
                .all
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }
}
