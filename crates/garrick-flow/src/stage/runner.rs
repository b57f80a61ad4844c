//! Runs a stage, and checks whether its next step is due. Used for stages on threads and for stages
//! that a test steps by hand.

use std::cell::Cell;
use std::sync::Arc;

use garrick_sched::Nanos;

use super::desk::{Desk, Paper};
use super::work::Work;
use super::{Clock, Cx, Stage};
use crate::channel::short_of;
use crate::feedback::{Loops, Pace};
use crate::post::{Post, StageId};
use crate::quiet;
use crate::roll_call::{Answer, RollCall};
use crate::vote::Vote;
use crate::wait::{Lines, Verdict, Wait};

/// The way a stage ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The stage returned [`Wait::done`], or is a source and was stopped.
    Done,
    /// The stage was dropped together with its graph before it had ended.
    Dropped,
    /// The stage panicked, or the graph ended it because of an error. Contains the panic message or
    /// the error message.
    Panicked(String),
}

/// The parts of a graph that the runner of one stage uses.
pub(crate) struct Env {
    pub(crate) id: StageId,
    /// True if the stage ends as soon as all stages have agreed to stop the graph.
    pub(crate) is_source: bool,
    /// The channels of the graph.
    pub(crate) lines: Lines,
    /// The loops of the graph.
    pub(crate) loops: Loops,
    /// Index of the loop that the stage is in, if any.
    pub(crate) in_loop: Option<usize>,
    /// The addresses of the stages, and their votes on stopping the graph.
    pub(crate) post: Arc<Post>,
    /// Object that receives the answer of the stage when the stage is asked what it is waiting for.
    pub(crate) roll_call: Arc<RollCall>,
    /// The stage's current vote on stopping the graph, and the stage's restarts and panics.
    pub(crate) desk: Desk,
    /// Counters of the stage.
    pub(crate) work: Work,
    /// Callback that is called once, after the stage has ended and its value has been dropped.
    pub(crate) on_end: Box<dyn FnOnce(Outcome) + Send>,
}

impl Env {
    /// Reports the state `pace` of the stage to the loop that the stage is in. Does nothing if the
    /// stage is in no loop.
    fn pace(&self, pace: Pace) {
        if let Some(number) = self.in_loop {
            self.loops[number].set(self.id, pace);
        }
    }

    /// Checks whether a loop can stop now that this stage has ended. This stage may have been the
    /// last sender outside of that loop that had a channel into the loop.
    fn look_at_loops(&self) {
        for each in self.loops.iter() {
            each.look(&self.lines, &self.post);
        }
    }
}

/// Runs the steps of one stage.
pub(crate) struct Runner<S: Stage> {
    /// The stage, or `None` after it has ended.
    stage: Option<S>,
    /// The parts of the graph that this runner uses. `None` after the graph was notified of the end
    /// of the stage.
    env: Option<Env>,
    /// The condition that the latest step returned for the next step.
    wait: Wait,
    /// The latest vote of the stage, or [`Paper::NotAsked`] before the first vote.
    vote: Paper,
    /// True while the loop (cycle of stages) that contains this stage counts the stage as resting.
    rests: bool,
    /// Time until which the loop (cycle of stages) that contains this stage may continue after the
    /// sources are stopped. `None` if this period has not begun.
    grace: Cell<Option<Nanos>>,
    /// Outcome that the stage would have if it ended now.
    outcome: Outcome,
}

impl<S: Stage> Runner<S> {
    pub(crate) fn new(stage: S, env: Env) -> Self {
        Self {
            stage: Some(stage),
            env: Some(env),
            wait: Wait::again(),
            vote: Paper::NotAsked,
            rests: false,
            grace: Cell::new(None),
            outcome: Outcome::Dropped,
        }
    }

    /// Returns the parts of the graph that this runner uses. Returns `None` if the stage has ended.
    pub(crate) fn env(&mut self) -> Option<&mut Env> {
        self.env.as_mut()
    }

    /// Checks whether the next step is due. A step is due in these cases: its condition is met, the
    /// stage has to vote on stopping the graph, or the stage is a source and must end.
    pub(crate) fn look(&self, now: impl Fn() -> Nanos) -> Verdict {
        let Some(env) = &self.env else {
            return Verdict::Done;
        };
        let grace = self.grace_left(env, &now);
        let verdict = self.wait.look(&env.lines, now);
        let is_asked = self.vote == Paper::NotAsked && env.post.is_stopping();
        let is_over = env.is_source && env.post.is_ending();
        match verdict {
            Verdict::NotYet(_) if is_asked || is_over => Verdict::Due,
            Verdict::NotYet(earliest) => Verdict::NotYet(earliest.into_iter().chain(grace).min()),
            verdict => verdict,
        }
    }

    /// If the sources are stopped, returns the time until which the loop (cycle of stages) that
    /// contains this stage may continue. When this time has passed, closes the feedback channels.
    /// Returns `None` if there is no time limit, or if the time has passed.
    fn grace_left(&self, env: &Env, now: impl Fn() -> Nanos) -> Option<Nanos> {
        let its_loop = &env.loops[env.in_loop?];
        if !env.post.is_ending() || its_loop.grace() == Nanos::MAX || its_loop.is_cut() {
            return None;
        }
        let now = now();
        let over = self
            .grace
            .get()
            .unwrap_or(now.saturating_add(its_loop.grace()));
        self.grace.set(Some(over));
        if now < over {
            return Some(over);
        }
        its_loop.cut(&env.lines, &env.post);
        None
    }

    /// Takes a step, even if none is due. Returns false if the stage has failed or had already
    /// ended. If the stage is a source and must end, takes no step and returns false. Returns true
    /// after a step that returned [`Wait::done`].
    #[inline]
    pub(crate) fn step(&mut self, clock: Clock<'_>) -> bool {
        let (Some(stage), Some(env)) = (&mut self.stage, &mut self.env) else {
            return false;
        };
        if env.is_source && env.post.is_ending() {
            env.work.left(|| clock.now());
            self.outcome = Outcome::Done;
            return false;
        }
        if self.rests {
            // Mark the stage as working first: values that the step sends must not find the loop
            // resting.
            self.rests = false;
            env.pace(Pace::Works);
        }
        let is_asked = env.post.is_stopping();
        if is_asked {
            env.desk.ballot = Paper::Agrees;
        }
        env.work.step(clock);
        let step = quiet::call(|| {
            env.post.with_current(env.id, || {
                let wait = stage.step(&mut Cx::new(clock, &env.post, &mut env.desk));
                // A stage that does not restart by itself fails here.
                env.desk.fail_on_demand();
                wait
            })
        });
        let step = match env.post.take_refusal_of(env.id) {
            Some(words) => Err(words),
            None => step,
        };
        let graph = short_of(env.post.graph());
        match step.and_then(|wait| wait.check(graph).map(|()| wait)) {
            Ok(wait) => self.wait = wait,
            Err(words) => {
                env.work.left(|| clock.now());
                self.outcome = Outcome::Panicked(words);
                return false;
            }
        }
        if env.desk.take_restarted() {
            env.work.restarted();
        }
        self.wait.begin(|| clock.now());
        if is_asked {
            self.cast();
        }
        true
    }

    /// Registers the stage to be woken by all channels that it waits for.
    pub(crate) fn arm(&self) {
        if let Some(env) = &self.env {
            self.wait.arm(&env.lines, env.id);
        }
    }

    /// Records that the stage goes to sleep now.
    pub(crate) fn rested(&mut self, now: impl Fn() -> Nanos) {
        if let Some(env) = &mut self.env {
            env.work.rested(self.wait.lack(&env.lines), now);
            self.wait.count_stalls(&env.lines);
            if let Some(number) = env.in_loop {
                self.rests = true;
                env.pace(Pace::Rests(self.wait));
                env.loops[number].look(&env.lines, &env.post);
            }
        }
    }

    /// Records that the stage has no next step.
    pub(crate) fn is_done(&mut self, now: impl Fn() -> Nanos) {
        if let Some(env) = &mut self.env {
            env.work.left(now);
        }
        self.outcome = Outcome::Done;
    }

    /// Reports to the [`RollCall`] what the stage is waiting for.
    pub(crate) fn tell(&self, now: impl Fn() -> Nanos) {
        let answer = match self.look(now) {
            Verdict::NotYet(_) => Answer::Rests(self.wait),
            Verdict::Due | Verdict::Done => Answer::Goes,
        };
        if let Some(env) = &self.env {
            env.roll_call.answer(env.id, answer);
        }
    }

    /// Publishes the stage's vote on stopping the graph, if the latest step has changed the vote.
    #[cold]
    fn cast(&mut self) {
        let Some(env) = &mut self.env else { return };
        let said = std::mem::take(&mut env.desk.ballot);
        if said == self.vote {
            return;
        }
        let vote = match &said {
            Paper::NotAsked | Paper::Abstains => Vote::Missing,
            Paper::Agrees => Vote::Yes,
            Paper::Against(reason) => Vote::No(reason.clone()),
        };
        self.vote = said;
        env.post.cast(env.id, vote);
    }
}

impl<S: Stage> Drop for Runner<S> {
    /// Ends the stage: closes its channel ends first, and then notifies the graph.
    fn drop(&mut self) {
        let Some(mut env) = self.env.take() else {
            return;
        };
        env.work.dropped();
        let stage = self.stage.take();
        let mut outcome = std::mem::replace(&mut self.outcome, Outcome::Dropped);
        let end = quiet::call(|| env.post.with_current(env.id, || drop(stage)));
        if let Err(words) = end
            && !matches!(outcome, Outcome::Panicked(_))
        {
            outcome = Outcome::Panicked(words);
        }
        env.post.settle(env.id, true);
        env.pace(Pace::Ended);
        env.look_at_loops();
        // A stage that has ended agrees to the stop of the graph.
        env.post.cast(env.id, Vote::Yes);
        (env.on_end)(outcome);
    }
}
