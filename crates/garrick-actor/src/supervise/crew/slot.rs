//! The data that a supervisor stores about a child, and the class of the child, by which a plan (a
//! set of children to stop and start) chooses its next step.

use std::time::Duration;

use garrick_sched::{Nanos, Reply, Timer, Turn};

use super::plan::Key;
use crate::failure::fault::Fault;
use crate::supervise::face::ChildState;
use crate::supervise::member::Member;
use crate::supervise::note::{Id, Job, Note};
use crate::supervise::policy::{Decision, Policy, Shutdown};

/// The class of a child. A plan (a set of children to stop and start) chooses its next step by the
/// classes of its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The child is being started or stopped. A plan (a set of children to stop and start) waits
    /// until the child is up or has stopped.
    Busy,
    /// The child is up and is not marked for removal.
    Good,
    /// The child has failed or is marked for removal. A plan (a set of children to stop and start)
    /// must stop the child.
    Bad,
    /// The child is down and is not marked for removal.
    Down,
}

/// The data that a supervisor stores about a child.
pub(in crate::supervise) struct Slot {
    pub(in crate::supervise) id: Id,
    pub(in crate::supervise) policy: Policy,
    pub(in crate::supervise) member: Box<dyn Member>,
    /// State of the child. Only the [`Crew`](super::Crew) changes `state` and `is_doomed`, because
    /// each change must also be recorded in the child's plan (a set of children to stop and start).
    pub(super) state: ChildState,
    /// True if the child must be removed after it has stopped.
    pub(super) is_doomed: bool,
    /// Plan (a set of children to stop and start) to which the child belongs. Only the
    /// [`Crew`](super::Crew) writes this field.
    pub(super) plan: Option<Key>,
    /// True once the child has been asked to stop for good.
    pub(in crate::supervise) is_ending: bool,
    /// Number of actors that were created for this child so far. The task that runs these actors
    /// keeps the same count.
    pub(in crate::supervise) incarnation: u32,
    /// Number of consecutive restarts. Reset when the child has been up for long enough.
    streak: u32,
    /// Time at which the supervisor received the latest report that the child is up. `None` before
    /// the first such report, and after the time was used to compute the delay of a restart.
    pub(in crate::supervise) up_since: Option<Nanos>,
    /// Timer that fires if the child takes too long to handle its remaining messages before it
    /// stops. Cancelled when the child has stopped.
    pub(super) overdue: Option<Timer>,
    /// Replies to send when the child is removed.
    pub(super) waiters: Vec<Reply<bool>>,
}

impl Slot {
    pub(in crate::supervise) fn new(id: Id, policy: Policy, member: Box<dyn Member>) -> Self {
        Self {
            id,
            policy,
            member,
            state: ChildState::Down,
            is_doomed: false,
            plan: None,
            is_ending: false,
            incarnation: 0,
            streak: 0,
            up_since: None,
            overdue: None,
            waiters: Vec::new(),
        }
    }

    pub(in crate::supervise) fn state(&self) -> ChildState {
        self.state
    }

    /// Returns true if somebody waits until the child has stopped for good ([`Tree::remove`]).
    ///
    /// [`Tree::remove`]: crate::supervise::Tree::remove
    pub(in crate::supervise) fn is_to_leave(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// Returns the supervisor's decision about a fault of the child. An actor that failed while it
    /// was being started cannot resume. Such an actor is restarted instead, or stopped if its
    /// policy allows no restart.
    pub(in crate::supervise) fn decide(&self, fault: &Fault) -> Decision {
        match self.policy.decide(fault) {
            // An actor that did not come up cannot resume.
            Decision::Resume if self.state == ChildState::Starting => self.policy.restart(),
            decision => decision,
        }
    }

    /// Returns the delay before the next restart.
    pub(in crate::supervise) fn next_wait(&mut self, now: Nanos) -> Duration {
        let backoff = self.policy.backoff;
        let up = self.up_since.take().map_or(0, |since| now - since);
        if u128::from(up) >= backoff.resets_after().as_nanos() {
            self.streak = 0;
        }
        let random = now ^ self.id.rotate_left(32) ^ u64::from(self.incarnation).rotate_left(16);
        let wait = backoff.wait(self.streak, random);
        self.streak = self.streak.saturating_add(1);
        wait
    }

    pub(super) fn standing(&self) -> Standing {
        match self.state {
            ChildState::Starting | ChildState::Stopping => Standing::Busy,
            ChildState::Up if !self.is_doomed => Standing::Good,
            ChildState::Down if !self.is_doomed => Standing::Down,
            ChildState::Up | ChildState::Down | ChildState::Failed | ChildState::GivenUp => {
                Standing::Bad
            }
        }
    }

    /// Asks the child to stop for good.
    pub(super) fn end(&mut self, turn: &Turn<'_, Note>) {
        self.is_ending = true;
        if self.state != ChildState::Up {
            return self.member.job(Job::Abandon, turn);
        }
        match self.policy.shutdown {
            Shutdown::Now => self.member.job(Job::Abandon, turn),
            Shutdown::DrainAll => self.member.job(Job::End, turn),
            Shutdown::Drain(within) => {
                self.member.job(Job::End, turn);
                let overdue = Note::Overdue(self.id);
                let timer = turn.start_own_timer(within, &turn.address(), overdue);
                // A supervisor that has stopped needs no note.
                self.overdue = timer.ok();
            }
        }
    }
}
