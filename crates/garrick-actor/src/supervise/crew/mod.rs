//! The children of a supervisor, and the plans that determine the order in which they are stopped
//! and started.
//!
//! A plan is a set of children. The plan stops these children one after another, in reverse order
//! of starting. After a delay, the plan starts them again in order. A plan executes its next step
//! when one of its children reports that it has started or stopped. A child belongs to at most one
//! plan. If a child fails while its plan is executed, a new plan takes over the remaining work of
//! the old plan.
//!
//! With `n` children, processing the report of a child takes O(log n). Creating a plan for some
//! children takes O(log n) for each of these children. The size of the old plans that the new plan
//! takes over does not matter. The largest old plan is reused, and the members of the other old
//! plans are moved to it.

mod plan;
mod slot;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use garrick_sched::{Reply, Turn};

use self::plan::{Key, Phase, Plan, Plans, Step, Ticket};
pub(super) use self::slot::Slot;
use self::slot::Standing;
use super::face::{self, ChildFace, ChildState, Face};
use super::note::{Id, Job, Note};
use super::policy::{Restart, Shutdown, Strategy};
use crate::quiet::{self, Several};

/// The children of a supervisor, and the plans (sets of children) by which the supervisor stops and
/// starts them.
pub(super) struct Crew {
    /// Children, sorted by number. This is also the order in which they are started. Each child is
    /// boxed, because the map moves its values when it grows.
    slots: Several<BTreeMap<Id, Box<Slot>>>,
    /// Names and numbers of the children, sorted by name. Children with the same name are sorted by
    /// number, which is the order in which they were added.
    names: BTreeSet<(Arc<str>, Id)>,
    plans: Plans,
    /// Requests to stop children for good, in the order of arrival. If a child is being started,
    /// [`Crew::take_leaving`] moves the request for this child to the plan (a set of children to
    /// stop and start) that starts the child.
    leaving: BTreeMap<Ticket, Id>,
    tickets: Ticket,
    strategy: Strategy,
    face: Arc<Mutex<Face>>,
}

impl Crew {
    pub(super) fn new(strategy: Strategy, face: Arc<Mutex<Face>>) -> Self {
        Self {
            slots: Several::default(),
            names: BTreeSet::new(),
            plans: Plans::default(),
            leaving: BTreeMap::new(),
            tickets: 0,
            strategy,
            face,
        }
    }

    /// Locks and returns the state of the supervisor, as snapshots show it.
    pub(super) fn face(&self) -> MutexGuard<'_, Face> {
        face::lock(&self.face)
    }

    pub(super) fn slot(&mut self, id: Id) -> Option<&mut Slot> {
        self.slots.get_mut(&id).map(Box::as_mut)
    }

    /// Returns all children, in the order of starting.
    pub(super) fn ids(&self) -> Vec<Id> {
        self.slots.keys().copied().collect()
    }

    pub(super) fn is_calm(&self) -> bool {
        self.plans.is_empty()
    }

    pub(super) fn add(&mut self, slot: Slot) {
        let child = ChildFace {
            name: slot.policy.name.clone(),
            facts: slot.member.facts(),
            cell: slot.member.cell(),
            state: slot.state,
            restarts: 0,
            last_failure: None,
            is_given_up: false,
            tree: slot.member.tree(),
        };
        self.face().add(slot.id, child);
        self.names.insert((slot.policy.name.clone(), slot.id));
        let before = self.slots.insert(slot.id, Box::new(slot));
        debug_assert!(before.is_none(), "another child has the same number");
    }

    /// Removes a child that has stopped for good.
    pub(super) fn remove(&mut self, id: Id) {
        let Some(mut slot) = self.slots.remove(&id) else {
            return;
        };
        self.face().remove(id);
        self.names.remove(&(slot.policy.name.clone(), id));
        if let Some(key) = slot.plan {
            // The child has ended, so its tickets are no longer needed.
            self.plans.quit(key, id, slot.standing());
        }
        for waiter in mem::take(&mut slot.waiters) {
            waiter.send(true);
        }
        if let Some(overdue) = slot.overdue.take() {
            overdue.cancel();
        }
        // The captured values of its factory and its decider are dropped with it.
        quiet::drop(slot);
    }

    pub(super) fn set_state(&mut self, id: Id, state: ChildState) {
        self.alter(id, |slot| slot.state = state);
        self.face().set_state(id, state);
    }

    /// Marks the child, so that it is removed once it has stopped.
    fn doom(&mut self, id: Id) {
        self.alter(id, |slot| slot.is_doomed = true);
    }

    /// Changes the data of a child. A plan (a set of children to stop and start) keeps its children
    /// in several sets, one for each [`Standing`](slot::Standing). If the change affects the
    /// standing of the child, moves the child to another set of its plan.
    fn alter(&mut self, id: Id, change: impl FnOnce(&mut Slot)) {
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        let before = slot.standing();
        change(slot);
        if let Some(key) = slot.plan {
            let tickets = self.plans.moved(key, id, before, slot.standing());
            self.look_at(tickets);
        }
    }

    /// Returns the children that must be stopped when the child `id` is restarted. If one of these
    /// children may never be restarted, marks that child for removal.
    pub(super) fn affected(&mut self, id: Id) -> Vec<Id> {
        let affected: Vec<Id> = match self.strategy {
            Strategy::OneForOne => vec![id],
            Strategy::OneForAll => self.ids(),
            Strategy::RestForOne => self.slots.range(id..).map(|(id, _)| *id).collect(),
        };
        for id in &affected {
            let slot = self.slots.get(id);
            if slot.is_some_and(|slot| slot.policy.restart == Restart::Temporary) {
                self.doom(*id);
            }
        }
        affected
    }

    /// Returns true if the child belongs to a plan (a set of children to stop and start) that is
    /// now stopping its children. The supervisor reports a failure of such a child, but does not
    /// react to it, because the child is about to be stopped.
    pub(super) fn is_to_be_stopped(&self, id: Id) -> bool {
        let key = self.slots.get(&id).and_then(|slot| slot.plan);
        key.is_some_and(|key| self.plans.is_stopping(key))
    }

    /// Returns the plan (a set of children to stop and start) that starts the child now, or that
    /// stops the child and starts it again without a delay. Returns `None` if there is no such
    /// plan, for example because the restart is delayed.
    fn starting(&self, id: Id) -> Option<Key> {
        let slot = self.slots.get(&id)?;
        let is_down = slot.standing() != Standing::Good;
        slot.plan
            .filter(|key| is_down && self.plans.is_starting(*key))
    }

    /// Returns true if any plan (a set of children to stop and start) is starting its members, or
    /// is stopping them to start them again without a delay.
    pub(super) fn is_starting_any(&self) -> bool {
        self.plans.is_starting_any()
    }

    /// Records that the first child with this name must be stopped for good.
    pub(super) fn leave(&mut self, name: &str, reply: Reply<bool>) {
        let id = self.first_of(name);
        let Some((id, slot)) = id.and_then(|id| Some((id, self.slots.get_mut(&id)?))) else {
            return reply.send(false);
        };
        slot.waiters.push(reply);
        self.give_ticket(id);
    }

    /// Returns the first child with this name.
    fn first_of(&self, name: &str) -> Option<Id> {
        let (found, id) = self.names.range((Arc::from(name), 0)..).next()?;
        (**found == *name).then_some(*id)
    }

    fn give_ticket(&mut self, id: Id) {
        self.tickets += 1;
        self.leaving.insert(self.tickets, id);
    }

    /// Returns true if [`Crew::take_leaving`] has not yet taken all requests to stop a child for
    /// good.
    pub(super) fn is_leaving_any(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Takes the requests to stop a child for good, and returns the children that can be stopped
    /// now. If a child is being started, the plan (a set of children to stop and start) that starts
    /// this child gets the request instead.
    pub(super) fn take_leaving(&mut self) -> Vec<Id> {
        let mut leaving = Vec::new();
        for (ticket, id) in mem::take(&mut self.leaving) {
            match self.starting(id) {
                Some(key) => self.plans.park(key, id, ticket),
                None => leaving.push(id),
            }
        }
        leaving
    }

    fn look_at(&mut self, tickets: BTreeSet<(Id, Ticket)>) {
        let tickets = tickets.into_iter();
        self.leaving
            .extend(tickets.map(|(id, ticket)| (ticket, id)));
    }

    /// Creates a plan (a set of children to stop and start) that stops the child for good. The new
    /// plan may take over the children of earlier plans. If `starts` is true, the new plan starts
    /// these children again.
    pub(super) fn plan_end(&mut self, id: Id, starts: bool) {
        if self.slots.contains_key(&id) {
            self.doom(id);
            self.plan(&[id], Duration::ZERO, starts);
        }
    }

    /// Creates a plan (a set of children to stop and start) that stops all children for good.
    pub(super) fn plan_end_of_all(&mut self) {
        let all = self.ids();
        all.iter().for_each(|id| self.doom(*id));
        self.plan(&all, Duration::ZERO, false);
    }

    /// Stops a child that was added after [`Crew::plan_end_of_all`] was called.
    pub(super) fn plan_end_of_late(&mut self, id: Id) {
        match self.plans.only(self.slots.len() - 1) {
            Some(key) => {
                self.doom(id);
                self.join(key, id);
            }
            None => self.plan_end_of_all(),
        }
    }

    /// Makes every child stop without first handling the messages in its mailbox, as with
    /// [`Shutdown::Now`]. A child that has already been asked to stop is asked again, because it
    /// may still be handling the messages in its mailbox.
    pub(super) fn hurry(&mut self, turn: &Turn<'_, Note>) {
        for slot in self.slots.values_mut() {
            slot.policy.shutdown = Shutdown::Now;
            if slot.is_ending {
                slot.member.job(Job::Abandon, turn);
            }
        }
    }

    /// Creates a plan (a set of children to stop and start) that stops `members`. If `starts` is
    /// true, the plan then starts the members again after the delay `wait`.
    pub(super) fn plan(&mut self, members: &[Id], wait: Duration, starts: bool) {
        let taken = if self.strategy == Strategy::OneForOne {
            members.iter().for_each(|id| self.quit(*id));
            None
        } else {
            self.take_over(members)
        };
        let (key, mut plan) = taken.map_or((None, Plan::new()), |(key, plan)| (Some(key), plan));
        plan.set(Phase::Stopping, wait, starts);
        // A plan without members has nothing to do.
        if !members.is_empty() {
            let key = self.plans.push(key, plan);
            members.iter().for_each(|id| self.join(key, *id));
        }
    }

    /// Adds a new child to a plan (a set of children to stop and start). The plan starts the child
    /// after the children that were added earlier.
    pub(super) fn plan_start(&mut self, id: Id) {
        // With this strategy, a new child does not wait until another child has been restarted.
        let queue = if self.strategy == Strategy::OneForOne {
            self.plans.first_open()
        } else {
            self.plans.first()
        };
        let key = queue.unwrap_or_else(|| {
            let mut plan = Plan::new();
            plan.set(Phase::Starting, Duration::ZERO, true);
            self.plans.push(None, plan)
        });
        self.join(key, id);
    }

    /// Adds a child to a plan (a set of children to stop and start). Has no effect if the child
    /// already belongs to this plan.
    fn join(&mut self, key: Key, id: Id) {
        if let Some(slot) = self.slots.get_mut(&id)
            && slot.plan != Some(key)
        {
            slot.plan = Some(key);
            self.plans.join(key, id, slot.standing());
        }
    }

    /// Removes a child from its plan, which is a set of children to stop and start.
    fn quit(&mut self, id: Id) {
        if let Some(slot) = self.slots.get_mut(&id)
            && let Some(key) = slot.plan.take()
        {
            let tickets = self.plans.quit(key, id, slot.standing());
            self.look_at(tickets);
        }
    }

    /// Removes the plans (sets of children to stop and start) that contain `members`, merges them
    /// into one plan, and returns this plan. The merged plan contains all children for which the
    /// removed plans still had work to do.
    fn take_over(&mut self, members: &[Id]) -> Option<(Key, Plan)> {
        let plans_of = members.iter().filter_map(|id| self.slots.get(id)?.plan);
        let keys: BTreeSet<Key> = plans_of.collect();
        let mut whole: Option<(Key, Plan)> = None;
        for key in keys {
            let Some(mut plan) = self.plans.take(key) else {
                continue;
            };
            self.look_at(plan.take_leaving());
            plan.take_done()
                .iter()
                .for_each(|id| self.set_plan(*id, None));
            let part = (key, plan);
            whole = Some(match whole {
                None => part,
                Some(whole) if whole.1.len() < part.1.len() => self.unite(part, whole),
                Some(whole) => self.unite(whole, part),
            });
        }
        whole
    }

    /// Moves the children of the smaller plan to the larger plan, and returns the larger plan. A
    /// plan is a set of children to stop and start.
    fn unite(&mut self, larger: (Key, Plan), smaller: (Key, Plan)) -> (Key, Plan) {
        let ((key, mut larger), (_, mut smaller)) = (larger, smaller);
        for id in smaller.take_members() {
            if let Some(slot) = self.slots.get_mut(&id) {
                slot.plan = Some(key);
                larger.add(id, slot.standing());
            }
        }
        (key, larger)
    }

    fn set_plan(&mut self, id: Id, plan: Option<Key>) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.plan = plan;
        }
    }

    /// Records that the delay of a plan (a set of children to stop and start) is over, so that the
    /// plan can start its children.
    pub(super) fn is_due(&mut self, number: u64) {
        self.plans.is_due(number);
    }

    /// Executes all steps that the plans (the sets of children to stop and start) can execute now.
    pub(super) fn go_on(&mut self, turn: &Turn<'_, Note>) {
        for number in self.plans.take_touched() {
            let Some((key, step)) = self.plans.next_step(number) else {
                continue;
            };
            match step {
                Step::None => {}
                Step::Stop(id) => self.stop(id, turn),
                Step::Start(id) => self.start(id, turn),
                Step::Wait(number, wait) => {
                    // The timer of a superseded plan is not cancelled. When it fires, its note
                    // finds no plan.
                    let _ = turn.start_own_timer(wait, &turn.address(), Note::Due(number));
                }
                Step::Over => self.end(key),
            }
        }
    }

    /// Removes a plan (a set of children to stop and start) that has no work left.
    fn end(&mut self, key: Key) {
        if let Some(mut plan) = self.plans.take(key) {
            self.look_at(plan.take_leaving());
            plan.take_members().for_each(|id| self.set_plan(id, None));
        }
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
