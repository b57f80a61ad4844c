//! Intended loops, and how they stop.
//!
//! A pipeline stops in the direction of its channels, beginning with the sources: when the inputs
//! of a stage are finished, the stage ends and closes its outputs. In a loop, no stage ends first,
//! because each stage waits for the one before it. So the graph has to detect that the loop has
//! come to a *standstill*. Then it closes the loop's feedback channels (`Line::cut`), and the loop
//! stops like any pipeline. A loop stands still if
//!
//! - all channels that lead into it from outside are closed,
//! - each of its stages rests or has ended, and none of them is a source that could continue,
//! - each resting stage can continue only if a channel of the loop changes. A stage keeps the loop
//!   running if it could be woken by a timer, by a future, or by a channel that leads out of the
//!   loop.
//!
//! From the standstill on, nothing can change in the loop. Only a stage of the loop could wake a
//! resting stage, and no stage is working. Conversely, a message that is still circulating prevents
//! the standstill. Such a message is either in a channel, so that the reader of the channel is
//! woken, or held by a stage that is working. So messages circulate until they leave the loop, and
//! no thread has to poll for the standstill.
//!
//! ```text
//!   a stage of the loop:   working --rests--> resting   (checks: am I the last one?)
//!                             ^                  |
//!                             '----- a step -----'      (marks itself as working first)
//! ```
//!
//! A message that circulates forever keeps the stages of its loop working. So a loop has a *grace*,
//! a period that begins when the sources are stopped. Each stage of the loop checks the clock. The
//! first stage that notices the end of this period closes the feedback channels.
//!
//! Each stage of a loop records, under a lock of the loop, whether the stage rests or works. So the
//! last stage to rest sees that all others are resting. A stage is marked as working before it
//! takes a step, and thus before it sends values. The states of stages outside all loops are not
//! recorded. When such a stage ends, it checks the loops.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garrick_sched::Nanos;

use crate::post::{Post, StageId};
use crate::wait::{Lines, Wait};

/// All loops of a graph. A loop is a cycle of stages that contains a feedback channel.
pub(crate) type Loops = Arc<[Loop]>;

/// A loop: stages that form a cycle through feedback channels. Channels lead from each of these
/// stages to every other one, directly or through other stages of the loop.
pub(crate) struct Loop {
    /// Sorted indices of the channels between stages of the loop.
    inside: Vec<u32>,
    /// Indices of the channels that lead into the loop from outside.
    entering: Vec<u32>,
    /// Indices of the channels inside the loop that are marked as feedback.
    feedback: Vec<u32>,
    /// Time for which the loop may continue after the sources are stopped.
    grace: Nanos,
    /// State of the loop's stages.
    state: Mutex<State>,
}

struct State {
    members: Vec<Member>,
    /// True after the feedback channels have been closed.
    is_cut: bool,
}

/// A stage of a loop.
pub(crate) struct Member {
    pub(crate) stage: StageId,
    pub(crate) is_source: bool,
    pub(crate) pace: Pace,
}

/// State of a stage of a loop.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    /// The stage may take a step.
    Works,
    /// The stage sleeps, and waits for the contained condition.
    Rests(Wait),
    /// The stage has ended, and its channel ends are closed.
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

    /// Records the state of `stage`, if it is in this loop.
    pub(crate) fn set(&self, stage: StageId, pace: Pace) {
        let mut state = self.lock();
        let mut members = state.members.iter_mut();
        if let Some(member) = members.find(|member| member.stage == stage) {
            member.pace = pace;
        }
    }

    /// Closes the feedback channels if no stage of the loop can continue.
    pub(crate) fn look(&self, lines: &Lines, post: &Post) {
        let state = self.lock();
        if !state.is_cut && self.stands_still(&state, lines, post) {
            self.cut_now(state, lines, post);
        }
    }

    /// Returns the time for which the loop may continue after the sources are stopped.
    pub(crate) fn grace(&self) -> Nanos {
        self.grace
    }

    /// Returns true if the feedback channels have been closed.
    pub(crate) fn is_cut(&self) -> bool {
        self.lock().is_cut
    }

    /// Closes the feedback channels, regardless of the state of the loop.
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
