//! Runs a stage as a task of the scheduler. Each message makes the stage check whether its next
//! step is due.

use garrick_sched::{Flow, Nanos, Task, Turn};

use super::runner::{Env, Runner};
use super::{Clock, Stage};
use crate::post::Wake;
use crate::timer;
use crate::wait::Verdict;

/// The task that runs a stage on a thread.
pub(crate) struct StageTask<S: Stage> {
    /// Runs the steps of the stage.
    runner: Runner<S>,
    /// True while a [`Wake::Again`] is in flight. During this time, other messages have no effect.
    queued: bool,
    /// Time of the earliest [`Wake::Timer`] that is in flight.
    timer: Option<Nanos>,
}

impl<S: Stage> StageTask<S> {
    pub(crate) fn new(stage: S, env: Env) -> Self {
        Self {
            runner: Runner::new(stage, env),
            // `Post::open` sends the first one.
            queued: true,
            timer: None,
        }
    }

    /// Takes a step if one is due, and makes sure that the next step follows.
    fn go_on(&mut self, turn: &Turn<'_, Wake>) -> Flow {
        let is_due = self.runner.look(|| turn.now()) == Verdict::Due;
        if is_due && !self.runner.step(Clock::Turn(turn)) {
            return Flow::Stop;
        }
        self.rest_or_go_on(turn)
    }

    /// Sends a [`Wake::Again`] to the task itself if the next step is due. Otherwise lets the stage
    /// sleep.
    fn rest_or_go_on(&mut self, turn: &Turn<'_, Wake>) -> Flow {
        let now = || turn.now();
        let mut verdict = self.runner.look(now);
        if matches!(verdict, Verdict::NotYet(_)) {
            self.runner.arm();
            // Check again: if another end moved before the stage was registered, it has not woken
            // the stage.
            verdict = self.runner.look(now);
        }
        let Some(env) = self.runner.env() else {
            return Flow::Stop;
        };
        env.post.settle(env.id, verdict != Verdict::Due);
        match verdict {
            Verdict::Due => {
                env.work.stepped(now);
                self.queued = turn.send(&turn.address(), Wake::Again).is_ok();
            }
            Verdict::NotYet(earliest) => {
                self.runner.rested(now);
                if let Some(earliest) = earliest {
                    self.set_timer(earliest, turn);
                }
            }
            Verdict::Done => {
                self.runner.is_done(now);
                return Flow::Stop;
            }
        }
        Flow::Continue
    }

    /// Makes sure that a [`Wake::Timer`] arrives no later than `deadline`.
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
            Wake::Note | Wake::Ring => {}
            Wake::Timer => self.timer = None,
            Wake::Tell => {
                self.runner.tell(|| turn.now());
                return Flow::Continue;
            }
            #[cfg(feature = "sim")]
            Wake::Panic => {
                if let Some(env) = self.runner.env() {
                    env.desk.choose_fault();
                }
                return Flow::Continue;
            }
        }
        if self.queued {
            return Flow::Continue;
        }
        self.go_on(turn)
    }
}
