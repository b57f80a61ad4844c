//! Asks stages what they are waiting for.
//!
//! A stage does not publish what it is waiting for, because this information is rarely needed. A
//! caller that needs the information sends each stage a [`Wake::Tell`](crate::post::Wake::Tell),
//! and collects the answers for a limited time. If a stage does not answer, it is busy with a step.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::post::StageId;
use crate::wait::Wait;

/// Maximum time to wait for the answers of the stages. This time is longer than any step should
/// take.
const PATIENCE: Duration = Duration::from_millis(200);

/// Answer of a stage that was asked what it is waiting for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// The stage sleeps until the contained condition is met.
    Rests(Wait),
    /// The next step of the stage is due.
    Goes,
}

/// The answers to one call to [`RollCall::call`], indexed by stage.
#[derive(Debug, Default)]
struct Answers {
    given: Vec<Option<Answer>>,
    /// For each stage, true if its answer is awaited. Empty until all stages were asked.
    awaited: Vec<bool>,
    /// Number of answers that have not arrived yet.
    missing: usize,
}

impl Answers {
    /// Records which stages were asked and have not ended.
    fn wait_for(&mut self, awaited: Vec<bool>) {
        let pairs = awaited.iter().zip(&self.given);
        let missing = pairs.filter(|(is_awaited, answer)| **is_awaited && answer.is_none());
        self.missing = missing.count();
        self.awaited = awaited;
    }

    fn give(&mut self, stage: usize, answer: Answer) {
        // An answer that arrives after the end of the call is discarded.
        let Some(place) = self.given.get_mut(stage) else {
            return;
        };
        let is_first = place.replace(answer).is_none();
        let is_awaited = self
            .awaited
            .get(stage)
            .is_some_and(|is_awaited| *is_awaited);
        self.missing -= usize::from(is_first && is_awaited);
    }
}

/// A survey of a graph's stages: asks each stage what it is waiting for, and collects the answers.
#[derive(Debug, Default)]
pub(crate) struct RollCall {
    /// The answers to the latest call. Written by the stages, read by the caller.
    answers: Mutex<Answers>,
    /// Condition variable that is notified when an answer arrives.
    heard: Condvar,
    /// Lock that is held during a call, so that only one call runs at a time.
    calling: Mutex<()>,
}

impl RollCall {
    /// Asks the first `stages` stages what they are waiting for. `ask` asks one stage, and returns
    /// true if this stage has not ended. Returns the answers that arrived within [`PATIENCE`].
    pub(crate) fn call(&self, stages: usize, ask: impl Fn(StageId) -> bool) -> Vec<Option<Answer>> {
        let _calling = self.calling.lock().unwrap_or_else(PoisonError::into_inner);
        *self.lock() = Answers {
            given: vec![None; stages],
            ..Answers::default()
        };
        let asked = (0..stages).map(|stage| ask(stage as StageId)).collect();
        let began = Instant::now();
        let mut answers = self.lock();
        answers.wait_for(asked);
        while answers.missing > 0
            && let Some(left) = PATIENCE.checked_sub(began.elapsed())
        {
            let heard = self.heard.wait_timeout(answers, left);
            answers = heard.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::take(&mut *answers).given
    }

    /// Records the answer of the stage with the id `stage`.
    pub(crate) fn answer(&self, stage: StageId, answer: Answer) {
        self.lock().give(stage as usize, answer);
        self.heard.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
