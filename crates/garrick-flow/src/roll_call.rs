//! Asking stages what they wait for.
//!
//! A stage does not tell what it waits for: nobody wants to know while all goes well. Who does sends each stage a
//! [`Wake::Tell`](crate::post::Wake::Tell) and gathers the answers for a while. A stage that is in a step does not
//! answer in time, and that is an answer too.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::post::StageId;
use crate::wait::Wait;

/// How long the answers are waited for: longer than any step should be.
const PATIENCE: Duration = Duration::from_millis(200);

/// What a stage says.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// It rests, for this.
    Rests(Wait),
    /// It has something to do.
    Goes,
}

/// The answers of the stages of a graph.
#[derive(Debug, Default)]
pub(crate) struct RollCall {
    /// The answers to the latest call, by the numbers of the stages. Written by the stages, read by who calls.
    answers: Mutex<Vec<Option<Answer>>>,
    /// Notified of each answer.
    heard: Condvar,
    /// Held during a call: one at a time.
    calling: Mutex<()>,
}

impl RollCall {
    /// Asks `stages` stages, each by `ask`, which says whether it is there to answer; the answers of those that
    /// gave one in time.
    pub(crate) fn call(&self, stages: usize, ask: impl Fn(StageId) -> bool) -> Vec<Option<Answer>> {
        let _calling = self.calling.lock().unwrap_or_else(PoisonError::into_inner);
        *self.lock() = vec![None; stages];
        let asked: Vec<bool> = (0..stages).map(|stage| ask(stage as StageId)).collect();
        let is_missing = |answers: &mut Vec<Option<Answer>>| {
            let mut pairs = asked.iter().zip(answers);
            pairs.any(|(asked, answer)| *asked && answer.is_none())
        };
        let began = Instant::now();
        let mut answers = self.lock();
        while is_missing(&mut answers)
            && let Some(left) = PATIENCE.checked_sub(began.elapsed())
        {
            let heard = self.heard.wait_timeout(answers, left);
            answers = heard.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::take(&mut *answers)
    }

    /// Stage number `stage` answers.
    pub(crate) fn answer(&self, stage: StageId, answer: Answer) {
        // Who answers late has no place any more.
        if let Some(place) = self.lock().get_mut(stage as usize) {
            *place = Some(answer);
        }
        self.heard.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Answer>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
