//! Loops that are meant, and their end.
//!
//! A pipeline ends from its sources on: who has no input left ends, and closes its outputs. In a loop nobody comes first,
//! for each stage waits for the one before it. So somebody has to see that the loop has come to a *standstill*, and then
//! close its feedback channels ([`Line::cut`]); the rest is as in any pipeline. It stands still when
//!
//! - all channels that lead into it from without are closed,
//! - each of its stages rests or has ended, and none is a source that could go on,
//! - each that rests cannot go on without a channel of the loop, so not by time, a future or a channel that leads out alone.
//!
//! From then on nothing can change in there: who rests could be woken by a stage of the loop only, and none is at work.
//! A message that still goes round is in a channel, and its reader wakes, or it is in the hands of a stage at work. So what
//! goes round goes on until it leaves the loop, and nothing polls for that.
//!
//! ```text
//!   a stage of the loop:   at work --rests--> resting   (looks: am I the last one?)
//!                             ^                  |
//!                             '----- a step -----'      (says so first)
//! ```
//!
//! A message that goes round for ever keeps its loop at work. So a loop has its *grace*, which begins when the sources are told to end:
//! each stage of the loop looks at its own clock, and the first one that finds the grace over closes the feedback channels.
//!
//! Both changes are made under one lock, so that who is last to rest sees all others rest. A stage says that it is at work
//! before it takes a step, so what it sends comes after that. Stages of no loop take no part, but look at the loops when
//! they end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garrick_sched::Nanos;

use crate::post::{Post, StageId};
use crate::wait::{Lines, Wait};

/// The loops of a graph.
pub(crate) type Loops = Arc<[Loop]>;

/// Stages that reach one another, with the help of feedback channels.
pub(crate) struct Loop {
    /// The channels between its stages, by their numbers, in order.
    inside: Vec<u32>,
    /// Those that lead into it.
    entering: Vec<u32>,
    /// Those inside that are marked as feedback.
    feedback: Vec<u32>,
    /// Time that it has left once the sources are told to end.
    grace: Nanos,
    /// How its stages are.
    state: Mutex<State>,
}

struct State {
    members: Vec<Member>,
    /// Whether its feedback channels were closed.
    is_cut: bool,
}

/// A stage of a loop.
pub(crate) struct Member {
    pub(crate) stage: StageId,
    pub(crate) is_source: bool,
    pub(crate) pace: Pace,
}

/// What a stage of a loop is at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    /// It may take a step.
    Works,
    /// It waits for this.
    Rests(Wait),
    /// It is gone, and its ends are closed.
    Ended,
}

impl Loop {
    pub(crate) fn new(
        members: Vec<Member>,
        inside: Vec<u32>,
        entering: Vec<u32>,
        feedback: Vec<u32>,
        grace: Nanos,
    ) -> Self {
        let is_cut = false;
        Self {
            inside,
            entering,
            feedback,
            grace,
            state: Mutex::new(State { members, is_cut }),
        }
    }

    /// Takes note of what `stage` is at, if it is of this loop.
    pub(crate) fn set(&self, stage: StageId, pace: Pace) {
        let mut state = self.lock();
        let mut members = state.members.iter_mut();
        if let Some(member) = members.find(|member| member.stage == stage) {
            member.pace = pace;
        }
    }

    /// Closes the feedback channels if nothing goes on any more.
    pub(crate) fn look(&self, lines: &Lines, post: &Post) {
        let state = self.lock();
        if !state.is_cut && self.stands_still(&state, lines, post) {
            self.cut_now(state, lines, post);
        }
    }

    /// Returns the time that it has left once the sources are told to end.
    pub(crate) fn grace(&self) -> Nanos {
        self.grace
    }

    /// Returns whether its feedback channels were closed.
    pub(crate) fn is_cut(&self) -> bool {
        self.lock().is_cut
    }

    /// Closes the feedback channels, whatever goes on.
    pub(crate) fn cut(&self, lines: &Lines, post: &Post) {
        self.cut_now(self.lock(), lines, post);
    }

    fn cut_now(&self, mut state: MutexGuard<'_, State>, lines: &Lines, post: &Post) {
        state.is_cut = true;
        let members: Vec<_> = state.members.iter().map(|member| member.stage).collect();
        drop(state);
        for line in &self.feedback {
            lines[*line as usize].cut();
        }
        members.into_iter().for_each(|stage| post.wake(stage));
    }

    fn stands_still(&self, state: &State, lines: &Lines, post: &Post) -> bool {
        let is_inside = |line| self.inside.binary_search(&line).is_ok();
        let is_still = |member: &Member| match member.pace {
            Pace::Works => false,
            Pace::Ended => true,
            Pace::Rests(wait) => {
                (!member.is_source || post.is_ending()) && wait.is_stuck(lines, &is_inside)
            }
        };
        let mut entering = self.entering.iter();
        state.members.iter().all(is_still)
            && entering.all(|line| lines[*line as usize].sent.is_closed())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
