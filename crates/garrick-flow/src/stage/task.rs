//! A stage as the scheduler sees it: a task whose messages say "look again".

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use garrick_sched::{Flow, Nanos, Task, Turn};

use super::{Clock, Cx, Stage, Work};
use crate::post::{Post, StageId, Wake};
use crate::timer;
use crate::wait::{Lines, Verdict, Wait};

/// How a stage ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It returned [`Wait::done`], or is a source and was stopped.
    Done,
    /// It was dropped in the midst of things, with its graph.
    Dropped,
    /// It panicked, and this is what it said.
    Panicked(String),
}

/// What a stage's task knows of its graph.
pub(crate) struct Env {
    /// The stage's number.
    pub(crate) id: StageId,
    /// Whether it ends when the graph is to stop.
    pub(crate) is_source: bool,
    /// The channels of the graph.
    pub(crate) lines: Lines,
    /// Who is where.
    pub(crate) post: Arc<Post>,
    /// Counts what it does.
    pub(crate) work: Work,
    /// Told of the end, once, after the stage was dropped.
    pub(crate) on_end: Box<dyn FnOnce(Outcome) + Send>,
}

/// Runs a stage.
pub(crate) struct StageTask<S: Stage> {
    /// Gone when it has ended.
    stage: Option<S>,
    /// Gone when the end has been told.
    env: Option<Env>,
    /// What the last step returned.
    wait: Wait,
    /// Whether a [`Wake::Again`] is on its way: then others have nothing to add.
    queued: bool,
    /// When the earliest [`Wake::Timer`] that is on its way will come.
    timer: Option<Nanos>,
    /// How it ends, if it ends now.
    outcome: Outcome,
}

impl<S: Stage> StageTask<S> {
    pub(crate) fn new(stage: S, env: Env) -> Self {
        Self {
            stage: Some(stage),
            env: Some(env),
            wait: Wait::again(),
            // `Post::open` sends the first one.
            queued: true,
            timer: None,
            outcome: Outcome::Dropped,
        }
    }

    /// Takes a step if it is due, and sees to it that the next one will come.
    fn go_on(&mut self, turn: &Turn<'_, Wake>) -> Flow {
        let (Some(stage), Some(env)) = (&mut self.stage, &mut self.env) else {
            return Flow::Stop;
        };
        let clock = Clock::Turn(turn);
        if env.is_source && env.post.is_stopping() {
            env.work.left(|| clock.now());
            self.outcome = Outcome::Done;
            return Flow::Stop;
        }
        if self.wait.look(&env.lines, || clock.now()) == Verdict::Due {
            env.work.step(|| clock.now());
            let step = AssertUnwindSafe(|| {
                env.post
                    .with_current(env.id, || stage.step(&mut Cx::new(clock, &env.post)))
            });
            match catch_unwind(step) {
                Ok(wait) => self.wait = wait,
                Err(panic) => {
                    env.work.left(|| clock.now());
                    self.outcome = Outcome::Panicked(words_of(&*panic));
                    return Flow::Stop;
                }
            }
            self.wait.begin(|| clock.now());
        }
        self.rest_or_go_on(turn)
    }

    /// Rests if the wait is not over, else sends itself on.
    fn rest_or_go_on(&mut self, turn: &Turn<'_, Wake>) -> Flow {
        let Some(env) = &mut self.env else {
            return Flow::Stop;
        };
        let now = || turn.now();
        let mut verdict = self.wait.look(&env.lines, now);
        if matches!(verdict, Verdict::NotYet(_)) {
            self.wait.arm(&env.lines, env.id);
            // Once more: who moved before we were armed saw no need to wake us.
            verdict = self.wait.look(&env.lines, now);
        }
        env.post.settle(env.id, verdict != Verdict::Due);
        match verdict {
            Verdict::Due => {
                env.work.stepped(now);
                self.queued = turn.send(&turn.address(), Wake::Again).is_ok();
            }
            Verdict::NotYet(earliest) => {
                env.work.rested(now);
                self.wait.count_stalls(&env.lines);
                if let Some(earliest) = earliest {
                    self.set_timer(earliest, turn);
                }
            }
            Verdict::Done => {
                env.work.left(now);
                self.outcome = Outcome::Done;
                return Flow::Stop;
            }
        }
        Flow::Continue
    }

    /// Sees to it that a [`Wake::Timer`] comes at `deadline` or before.
    fn set_timer(&mut self, deadline: Nanos, turn: &Turn<'_, Wake>) {
        if self.timer.is_none_or(|timer| timer > deadline) {
            self.timer = Some(deadline);
            timer::wake_at(deadline, turn);
        }
    }
}

impl<S: Stage> Task for StageTask<S> {
    type Message = Wake;

    fn receive(&mut self, wake: Wake, turn: &Turn<'_, Wake>) -> Flow {
        match wake {
            Wake::Again => self.queued = false,
            Wake::Note => {}
            Wake::Timer => self.timer = None,
        }
        if self.queued {
            return Flow::Continue;
        }
        self.go_on(turn)
    }
}

impl<S: Stage> Drop for StageTask<S> {
    /// Ends the stage, whatever the reason: its ends are closed first, then its end is told.
    fn drop(&mut self) {
        let Some(env) = self.env.take() else { return };
        let stage = self.stage.take();
        let mut outcome = std::mem::replace(&mut self.outcome, Outcome::Dropped);
        let end = AssertUnwindSafe(|| env.post.with_current(env.id, || drop(stage)));
        if let Err(panic) = catch_unwind(end)
            && !matches!(outcome, Outcome::Panicked(_))
        {
            outcome = Outcome::Panicked(words_of(&*panic));
        }
        env.post.settle(env.id, true);
        (env.on_end)(outcome);
    }
}

/// What a panic said.
fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
