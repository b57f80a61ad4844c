//! A child's place in the order, and how it stands.

use std::time::Duration;

use garrick_sched::{Nanos, Reply, Timer, Turn};

use super::plan::Key;
use crate::failure::fault::Fault;
use crate::supervise::face::ChildState;
use crate::supervise::member::Member;
use crate::supervise::note::{Id, Job, Note};
use crate::supervise::policy::{Decision, Policy, Shutdown};

/// How a child stands to a plan for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is being started or stopped, which is waited for.
    Busy,
    /// It is up, and to stay.
    Good,
    /// It has failed, or is to be removed: a stop has something to do with it.
    Bad,
    /// It is down, and to stay.
    Down,
}

/// See the module.
pub(in crate::supervise) struct Slot {
    pub(in crate::supervise) id: Id,
    pub(in crate::supervise) policy: Policy,
    pub(in crate::supervise) member: Box<dyn Member>,
    /// Written by the crew alone, as is `is_doomed`: plans know how it stands.
    pub(super) state: ChildState,
    /// Whether it is to be removed once it is stopped.
    pub(super) is_doomed: bool,
    /// The plan that it is in. Written by the crew alone.
    pub(super) plan: Option<Key>,
    /// Whether it has been asked to end for good.
    pub(in crate::supervise) is_ending: bool,
    /// How many actors were made, counting as its seat does.
    pub(in crate::supervise) incarnation: u32,
    /// Restarts since it was up for long enough.
    streak: u32,
    /// Since when it has been up; none if it has failed since.
    pub(in crate::supervise) up_since: Option<Nanos>,
    /// Rings when it has had the time to end by itself; cancelled when it has ended.
    pub(super) overdue: Option<Timer>,
    /// Who wants to know when it is removed.
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

    /// What is to be done about a fault of it.
    pub(in crate::supervise) fn decide(&self, fault: &Fault) -> Decision {
        match self.policy.decide(fault) {
            // What did not come up cannot go on.
            Decision::Resume if self.state == ChildState::Starting => self.policy.restart(),
            decision => decision,
        }
    }

    /// The wait before its next restart.
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
            ChildState::Up | ChildState::Down | ChildState::Failed => Standing::Bad,
        }
    }

    /// Asks it to end for good.
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
