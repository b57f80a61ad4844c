//! A supervisor's children and the plans for them: the order of stops and starts, and nothing else.
//!
//! A plan is a set of children that are to be stopped, in reverse order of starting and one after the other, and
//! then, after a wait, to be started in order. It goes on whenever one of them reports. Plans never share a
//! child: a failure in the middle of a plan makes a new one, which takes over what the old one has not done.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_sched::{Nanos, Reply, Turn};

use super::face::{self, ChildFace, ChildState, Face};
use super::member::Member;
use super::note::{Id, Job, Note};
use super::policy::{Decision, Policy, Shutdown, Strategy};
use crate::fault::Fault;
use crate::quiet::{self, Several};

/// A child's place in the order.
pub(super) struct Slot {
    pub(super) id: Id,
    pub(super) policy: Policy,
    pub(super) member: Box<dyn Member>,
    pub(super) state: ChildState,
    /// Whether it is to be removed once it is stopped.
    pub(super) is_doomed: bool,
    /// Whether it has been asked to end for good.
    pub(super) is_ending: bool,
    /// Whether it has not ended in time, so that nobody waits for it any more.
    pub(super) is_overdue: bool,
    /// How many actors were made, counting as its seat does.
    pub(super) incarnation: u32,
    /// Restarts since it was up for long enough.
    pub(super) streak: u32,
    /// Since when it has been up; none if it has failed since.
    pub(super) up_since: Option<Nanos>,
    /// Who wants to know when it is removed.
    pub(super) waiters: Vec<Reply<bool>>,
}

impl Slot {
    pub(super) fn new(id: Id, policy: Policy, member: Box<dyn Member>) -> Self {
        Self {
            id,
            policy,
            member,
            state: ChildState::Down,
            is_doomed: false,
            is_ending: false,
            is_overdue: false,
            incarnation: 0,
            streak: 0,
            up_since: None,
            waiters: Vec::new(),
        }
    }

    /// What is to be done about a fault of it.
    pub(super) fn decide(&self, fault: &Fault) -> Decision {
        match self.policy.decide(fault) {
            // What did not come up cannot go on.
            Decision::Resume if self.state == ChildState::Starting => self.policy.restart(),
            decision => decision,
        }
    }

    /// The wait before its next restart.
    pub(super) fn next_wait(&mut self, now: Nanos) -> Duration {
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

    /// Whether the stop of a plan has something to do with it.
    fn is_to_be_stopped(&self) -> bool {
        match self.state {
            ChildState::Up | ChildState::Failed => true,
            ChildState::Down => self.is_doomed,
            ChildState::Starting | ChildState::Stopping => false,
        }
    }

    fn is_busy(&self) -> bool {
        matches!(self.state, ChildState::Starting | ChildState::Stopping)
    }

    /// Asks it to end for good.
    fn end(&mut self, turn: &Turn<'_, Note>) {
        self.is_ending = true;
        if self.state != ChildState::Up {
            return self.member.job(Job::Abandon, turn);
        }
        match self.policy.shutdown {
            Shutdown::Now => self.member.job(Job::Abandon, turn),
            Shutdown::DrainAll => self.member.end(turn),
            Shutdown::Drain(within) => {
                self.member.end(turn);
                let _ = turn.send_after(within, &turn.address(), Note::Overdue(self.id));
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Stopping,
    Waiting,
    Starting,
}

/// See the module.
struct Plan {
    number: u64,
    /// In the order of starting.
    members: Vec<Id>,
    phase: Phase,
    wait: Duration,
    /// Whether anything is to be started again.
    starts: bool,
}

impl Plan {
    fn is_starting(&self) -> bool {
        let waits =
            self.phase == Phase::Waiting || self.phase == Phase::Stopping && !self.wait.is_zero();
        self.starts && !waits
    }
}

/// See the module.
pub(super) struct Crew {
    /// In the order of starting, which is that of their numbers.
    pub(super) slots: Several<Vec<Slot>>,
    plans: Vec<Plan>,
    plans_made: u64,
    strategy: Strategy,
    face: Arc<Mutex<Face>>,
}

impl Crew {
    pub(super) fn new(strategy: Strategy, face: Arc<Mutex<Face>>) -> Self {
        Self {
            slots: Several::default(),
            plans: Vec::new(),
            plans_made: 0,
            strategy,
            face,
        }
    }

    fn at(&self, id: Id) -> Result<usize, usize> {
        self.slots.binary_search_by_key(&id, |slot| slot.id)
    }

    pub(super) fn slot(&mut self, id: Id) -> Option<&mut Slot> {
        let at = self.at(id).ok()?;
        Some(&mut self.slots[at])
    }

    pub(super) fn is_calm(&self) -> bool {
        self.plans.is_empty()
    }

    pub(super) fn add(&mut self, slot: Slot) {
        let at = self.at(slot.id).expect_err("a number is given once");
        let child = ChildFace {
            id: slot.id,
            name: slot.policy.name.clone(),
            state: slot.state,
            restarts: 0,
            tree: slot.member.tree(),
        };
        face::lock(&self.face).children.insert(at, child);
        self.slots.insert(at, slot);
    }

    /// Takes a child off the list that has ended for good.
    pub(super) fn remove(&mut self, id: Id) {
        let Ok(at) = self.at(id) else { return };
        face::lock(&self.face).children.remove(at);
        let mut slot = self.slots.remove(at);
        for waiter in slot.waiters.drain(..) {
            waiter.send(true);
        }
        // With it goes what the factory and the decider have captured.
        quiet::drop(slot);
        for plan in &mut self.plans {
            plan.members.retain(|member| *member != id);
        }
        self.plans.retain(|plan| !plan.members.is_empty());
    }

    pub(super) fn set_state(&mut self, id: Id, state: ChildState) {
        if let Some(slot) = self.slot(id) {
            slot.state = state;
            if let Some(child) = face::lock(&self.face).child(id) {
                child.state = state;
            }
        }
    }

    pub(super) fn count_restart(&mut self, id: Id) {
        if let Some(child) = face::lock(&self.face).child(id) {
            child.restarts += 1;
        }
    }

    /// Whom the failure of a child takes down.
    pub(super) fn affected(&self, id: Id) -> Vec<Id> {
        let ids = self.slots.iter().map(|slot| slot.id);
        match self.strategy {
            Strategy::OneForOne => vec![id],
            Strategy::OneForAll => ids.collect(),
            Strategy::RestForOne => ids.filter(|other| *other >= id).collect(),
        }
    }

    /// Whether a failure of the child means nothing, because it is about to be stopped.
    pub(super) fn is_to_be_stopped(&self, id: Id) -> bool {
        self.plans
            .iter()
            .any(|plan| plan.phase == Phase::Stopping && plan.members.contains(&id))
    }

    /// Whether the child is being started, or stopped to be started again. One that waits for its restart is not.
    pub(super) fn is_starting(&self, id: Id) -> bool {
        let is_down = self.at(id).is_ok_and(|at| !self.is_done(self.slots[at].id));
        is_down
            && self
                .plans
                .iter()
                .any(|plan| plan.is_starting() && plan.members.contains(&id))
    }

    /// Whether any child is.
    pub(super) fn is_starting_any(&self) -> bool {
        self.plans.iter().any(Plan::is_starting)
    }

    /// Makes a plan for `members`: stop them, wait, and start them again if `starts`.
    pub(super) fn plan(&mut self, members: Vec<Id>, wait: Duration, starts: bool) {
        let members = self.take_over(members);
        self.plans_made += 1;
        self.plans.push(Plan {
            number: self.plans_made,
            members,
            phase: Phase::Stopping,
            wait,
            starts,
        });
    }

    /// A child that was added is to be started, behind those before it.
    pub(super) fn plan_start(&mut self, id: Id) {
        let strategy = self.strategy;
        // Restarts of one child are no reason for another to wait.
        let queue = self.plans.iter_mut().find(|plan| {
            strategy != Strategy::OneForOne || (plan.phase == Phase::Starting && plan.starts)
        });
        let Some(plan) = queue else {
            self.plan(vec![id], Duration::ZERO, true);
            if let Some(plan) = self.plans.last_mut() {
                plan.phase = Phase::Starting;
            }
            return;
        };
        let at = plan.members.partition_point(|member| *member < id);
        plan.members.insert(at, id);
    }

    /// Adds to `members` what plans about them have not done, and ends those plans.
    fn take_over(&mut self, mut members: Vec<Id>) -> Vec<Id> {
        for mut plan in std::mem::take(&mut self.plans) {
            if self.strategy == Strategy::OneForOne {
                plan.members.retain(|member| !members.contains(member));
                self.plans.push(plan);
            } else if plan.members.iter().any(|member| members.contains(member)) {
                // One that is up is where the plan wants it, unless it is still to be stopped.
                if plan.phase == Phase::Starting {
                    plan.members.retain(|member| !self.is_done(*member));
                }
                members.append(&mut plan.members);
            } else {
                self.plans.push(plan);
            }
        }
        self.plans.retain(|plan| !plan.members.is_empty());
        members.sort_unstable();
        members.dedup();
        members
    }

    fn is_done(&self, id: Id) -> bool {
        self.at(id).is_ok_and(|at| {
            let slot = &self.slots[at];
            slot.state == ChildState::Up && !slot.is_doomed
        })
    }

    /// The wait of a plan is over.
    pub(super) fn is_due(&mut self, number: u64) {
        let plan = self.plans.iter_mut().find(|plan| plan.number == number);
        if let Some(plan) = plan {
            plan.phase = Phase::Starting;
        }
    }

    /// Does what can be done now.
    pub(super) fn go_on(&mut self, turn: &Turn<'_, Note>) {
        for mut plan in std::mem::take(&mut self.plans) {
            if !self.advance(&mut plan, turn) {
                self.plans.push(plan);
            }
        }
    }

    /// Takes the plan's next step, if nothing is to be waited for; true if there is none left.
    fn advance(&mut self, plan: &mut Plan, turn: &Turn<'_, Note>) -> bool {
        if plan.phase == Phase::Waiting || self.any(plan, Slot::is_busy) {
            return false;
        }
        if plan.phase == Phase::Stopping {
            if let Some(id) = self.last_to_stop(plan) {
                self.stop(id, turn);
                return false;
            }
            if !plan.starts {
                return true;
            }
            plan.phase = Phase::Starting;
            if !plan.wait.is_zero() {
                plan.phase = Phase::Waiting;
                let _ = turn.send_after(plan.wait, &turn.address(), Note::Due(plan.number));
                return false;
            }
        }
        let Some(id) = self.first_to_start(plan) else {
            return true;
        };
        self.start(id, turn);
        false
    }

    fn any(&self, plan: &Plan, is: impl Fn(&Slot) -> bool) -> bool {
        let mut members = plan.members.iter();
        members.any(|id| self.at(*id).is_ok_and(|at| is(&self.slots[at])))
    }

    fn last_to_stop(&self, plan: &Plan) -> Option<Id> {
        let mut latest_first = plan.members.iter().rev().copied();
        latest_first.find(|id| {
            self.at(*id)
                .is_ok_and(|at| self.slots[at].is_to_be_stopped())
        })
    }

    fn first_to_start(&self, plan: &Plan) -> Option<Id> {
        let mut members = plan.members.iter().copied();
        members.find(|id| {
            self.at(*id)
                .is_ok_and(|at| self.slots[at].state == ChildState::Down)
        })
    }

    fn stop(&mut self, id: Id, turn: &Turn<'_, Note>) {
        let Some(slot) = self.slot(id) else { return };
        if slot.is_doomed {
            slot.end(turn);
        } else {
            slot.member.job(Job::Halt, turn);
        }
        self.set_state(id, ChildState::Stopping);
    }

    fn start(&mut self, id: Id, turn: &Turn<'_, Note>) {
        let Some(slot) = self.slot(id) else { return };
        slot.incarnation = slot.incarnation.wrapping_add(1);
        slot.member.job(Job::Begin, turn);
        self.set_state(id, ChildState::Starting);
    }
}
