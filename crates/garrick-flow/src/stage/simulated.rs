//! Runs a stage as a task of a simulation.

use std::sync::Arc;

use garrick_sched::{Flow, Task, Turn};

use super::desk::{CHOSEN_PANIC, LastPanic};
use super::runner::{Env, Outcome};
use super::work::WorkReader;
use super::{Stage, StageTask};
use crate::post::{Post, Wake};

/// The type name that traces show for all simulated stages. No Rust type has this name.
pub const SIMULATED_STAGE: &str = "pipeline stage";

/// The kind of the message that a stage sends to itself to take its next step.
pub const STEP: &str = "step";

/// The kind of the message by which the other end of a channel wakes a stage.
pub const WAKE: &str = "wake";

/// The error text for a stage that was woken by a thread outside of the simulation.
const FOREIGN_WAKE: &str = "another thread has woken this stage, so two runs may differ: in a \
     simulation, a stage can await actors and channels, but no I/O, no timers of other executors, \
     and no threads";

/// A callback that gets the name of a failed stage and the reason for the failure.
pub(crate) type OnFailure = Arc<dyn Fn(&str, String) + Send + Sync>;

/// A task that runs a stage in a simulation, with the same code that runs a stage on a thread.
///
/// The simulation chooses when each message is delivered, so it chooses which stage takes its next
/// step. Traces show the label of the task and the kinds of its messages.
pub(crate) struct SimulatedTask<S: Stage> {
    task: StageTask<S>,
    watched: Watched,
}

/// Finds the failures of a stage after each of its steps.
struct Watched {
    name: Arc<str>,
    work: WorkReader,
    last_panic: LastPanic,
    post: Arc<Post>,
    /// Number of restarts that were reported.
    restarts: u64,
    on_failure: OnFailure,
}

impl<S: Stage> SimulatedTask<S> {
    pub(crate) fn new(stage: S, mut env: Env, name: &str, on_failure: OnFailure) -> Self {
        env.work.set_simulated();
        let watched = Watched {
            name: name.into(),
            work: env.work.reader(),
            last_panic: env.desk.last_panic(),
            post: Arc::clone(&env.post),
            restarts: 0,
            on_failure,
        };
        let (name, on_failure) = (Arc::clone(&watched.name), Arc::clone(&watched.on_failure));
        let on_end = env.on_end;
        env.on_end = Box::new(move |outcome| {
            if let Outcome::Panicked(words) = &outcome {
                tell(&on_failure, &name, words);
            }
            on_end(outcome);
        });
        Self {
            task: StageTask::new(stage, env),
            watched,
        }
    }
}

impl Watched {
    /// Reports restarts, and wake-ups by threads outside of the simulation, since the last call to
    /// this method.
    fn look(&mut self) {
        if self.post.take_foreign_wake() {
            tell(&self.on_failure, &self.name, FOREIGN_WAKE);
        }
        let restarts = self.work.get().restarts;
        if restarts > self.restarts {
            self.restarts = restarts;
            let words = self.last_panic.get().unwrap_or_default();
            let words = format!("{words} (its restart policy has handled it)");
            tell(&self.on_failure, &self.name, &words);
        }
    }
}

/// Reports a failure, unless the simulation has caused it.
fn tell(on_failure: &OnFailure, name: &str, words: &str) {
    if !words.contains(CHOSEN_PANIC) {
        on_failure(name, words.to_owned());
    }
}

impl<S: Stage> Task for SimulatedTask<S> {
    type Message = Wake;
    const INTERNAL: bool = true;
    const MESSAGES: &'static [&'static str] =
        &[STEP, WAKE, "wake of a future", "timer", "question", "panic"];

    fn receive(&mut self, wake: Wake, turn: &Turn<'_, Wake>) -> Flow {
        let flow = self.task.receive(wake, turn);
        self.watched.look();
        flow
    }

    fn is_letter(_: &Wake) -> bool {
        // The wake-up of a stage that has ended.
        false
    }

    fn message_kind(wake: &Wake) -> usize {
        match wake {
            Wake::Again => 0,
            Wake::Note => 1,
            Wake::Ring => 2,
            Wake::Timer => 3,
            Wake::Tell => 4,
            Wake::Panic => 5,
        }
    }

    fn name() -> &'static str {
        SIMULATED_STAGE
    }

    fn label(&self) -> Option<String> {
        Some(format!("stage {}", self.watched.name))
    }
}
