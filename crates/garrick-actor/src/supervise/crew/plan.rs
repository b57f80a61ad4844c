//! Plans: sets of children to be stopped and started in order.
//!
//! ```text
//!   plan  Busy { 4 }  Good { 1 2 }  Bad { 3 }  Down { 5 6 }     the standing of each member
//!           |           \____________/          \_ the first is started next
//!           '- in progress      '- the last is stopped next
//! ```
//!
//! The members of a plan are children, which are stored in four sets, one for each [`Standing`]:
//! busy (being started or stopped), good (up), bad (to be stopped) and down (not running). When the
//! standing of a member changes, the member moves to another set. So finding the next step of a
//! plan takes O(log n). Finding the plans that can execute a step takes O(log n) too.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::time::Duration;

use super::slot::Standing;
use crate::supervise::note::Id;

/// The key of a plan (a set of children to stop and start). Its children refer to the plan by this
/// key. If a plan takes over the children of other plans, it keeps its key.
pub(super) type Key = u64;

/// The position of a request among all requests to stop a child for good. Earlier requests have
/// smaller numbers.
pub(super) type Ticket = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Stopping,
    Waiting,
    Starting,
}

/// The next step of a plan, which is a set of children to stop and start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Wait until a member reports or a timer fires.
    None,
    Stop(Id),
    Start(Id),
    /// Wait for this duration, and then continue the plan (a set of children to stop and start)
    /// with this number.
    Wait(u64, Duration),
    /// Remove the plan, because it is complete.
    Over,
}

/// A set of children that are stopped and started in order.
pub(super) struct Plan {
    /// Sequence number of the plan. The plans of a supervisor execute their steps in the order of
    /// their numbers. The number also identifies the timer of the plan. The plan gets a new number
    /// when it takes over the members of other plans.
    number: u64,
    phase: Phase,
    wait: Duration,
    /// True if the children of the plan must be started again after they have been stopped.
    starts: bool,
    /// Four sets of children of the plan, one for each [`Standing`]: busy, good, bad and down. Each
    /// set is in the order of starting.
    members: [BTreeSet<Id>; 4],
    /// Requests to stop children of the plan for good, as soon as these children are no longer
    /// being started.
    leaving: BTreeSet<(Id, Ticket)>,
}

impl Plan {
    pub(super) fn new() -> Self {
        Self {
            number: 0,
            phase: Phase::Stopping,
            wait: Duration::ZERO,
            starts: false,
            members: Default::default(),
            leaving: BTreeSet::new(),
        }
    }

    /// Sets the phase of the plan and the delay before the start of its members. `starts` is true
    /// if the members must be started again.
    pub(super) fn set(&mut self, phase: Phase, wait: Duration, starts: bool) {
        (self.phase, self.wait, self.starts) = (phase, wait, starts);
    }

    pub(super) fn add(&mut self, id: Id, standing: Standing) {
        self.those(standing).insert(id);
    }

    pub(super) fn len(&self) -> usize {
        self.members.iter().map(BTreeSet::len).sum()
    }

    /// Removes and returns all children of the plan, in no particular order.
    pub(super) fn take_members(&mut self) -> impl Iterator<Item = Id> + use<> {
        mem::take(&mut self.members).into_iter().flatten()
    }

    /// Removes and returns the children for which the plan has nothing left to do. If the plan is
    /// starting its children, these are the children that are up. Otherwise, there are none.
    pub(super) fn take_done(&mut self) -> BTreeSet<Id> {
        if self.phase != Phase::Starting {
            return BTreeSet::new();
        }
        mem::take(self.those(Standing::Good))
    }

    pub(super) fn take_leaving(&mut self) -> BTreeSet<(Id, Ticket)> {
        mem::take(&mut self.leaving)
    }

    fn those(&mut self, standing: Standing) -> &mut BTreeSet<Id> {
        &mut self.members[standing as usize]
    }

    /// Returns true if this plan is starting its children, or is stopping them to start them again
    /// without a delay.
    fn is_starting(&self) -> bool {
        self.starts
            && match self.phase {
                Phase::Stopping => self.wait.is_zero(),
                Phase::Waiting => false,
                Phase::Starting => true,
            }
    }

    /// Returns true if new children can be added to this plan. The plan then starts the new
    /// children after its other members.
    fn is_open(&self) -> bool {
        self.phase == Phase::Starting && self.starts
    }

    fn next_step(&mut self) -> Step {
        if self.phase == Phase::Waiting || !self.those(Standing::Busy).is_empty() {
            return Step::None;
        }
        if self.phase == Phase::Stopping {
            let good = self.those(Standing::Good).last().copied();
            if let Some(id) = good.max(self.those(Standing::Bad).last().copied()) {
                return Step::Stop(id);
            }
            if !self.starts {
                return Step::Over;
            }
            self.phase = Phase::Starting;
            if !self.wait.is_zero() {
                self.phase = Phase::Waiting;
                return Step::Wait(self.number, self.wait);
            }
        }
        let first = self.those(Standing::Down).first().copied();
        first.map_or(Step::Over, Step::Start)
    }
}

/// The plans of a supervisor. A plan is a set of children to stop and start.
#[derive(Default)]
pub(super) struct Plans {
    by_key: BTreeMap<Key, Plan>,
    /// Keys of the plans (sets of children to stop and start), sorted by number. The plans execute
    /// their steps in this order.
    order: BTreeMap<u64, Key>,
    /// Numbers of the plans (sets of children to stop and start) to which new children can be
    /// added. Such a plan starts the new children after its other members.
    open: BTreeSet<u64>,
    /// Number of plans (sets of children to stop and start) that are starting their children, or
    /// are stopping them to start them again without a delay.
    starting: usize,
    /// Numbers of the plans (sets of children to stop and start) that may have a step to execute.
    touched: BTreeSet<u64>,
    made: u64,
}

impl Plans {
    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Returns true if any plan (a set of children to stop and start) is starting its members, or
    /// is stopping them to start them again without a delay.
    pub(super) fn is_starting_any(&self) -> bool {
        self.starting > 0
    }

    pub(super) fn is_starting(&self, key: Key) -> bool {
        self.by_key.get(&key).is_some_and(Plan::is_starting)
    }

    pub(super) fn is_stopping(&self, key: Key) -> bool {
        let plan = self.by_key.get(&key);
        plan.is_some_and(|plan| plan.phase == Phase::Stopping)
    }

    pub(super) fn first(&self) -> Option<Key> {
        self.order.values().next().copied()
    }

    pub(super) fn first_open(&self) -> Option<Key> {
        let number = self.open.first()?;
        self.order.get(number).copied()
    }

    /// Returns the key of the only plan (a set of children to stop and start). Returns `None` if
    /// there are several plans, or if the plan does not have `len` members.
    pub(super) fn only(&self, len: usize) -> Option<Key> {
        let (&key, plan) = self.by_key.first_key_value()?;
        (self.by_key.len() == 1 && plan.len() == len).then_some(key)
    }

    /// Returns the number for a new plan (a set of children to stop and start). Numbers are never
    /// reused.
    fn next_number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// Adds a plan (a set of children to stop and start). Gives it the next number, so that it
    /// executes its steps after all other plans. `key` is the previous key of the plan, or `None`
    /// for a new plan.
    pub(super) fn push(&mut self, key: Option<Key>, mut plan: Plan) -> Key {
        plan.number = self.next_number();
        let key = key.unwrap_or(plan.number);
        self.put(key, plan);
        key
    }

    /// Adds a plan (a set of children to stop and start). Its number determines its position among
    /// the plans, which execute their steps in the order of their numbers.
    fn put(&mut self, key: Key, plan: Plan) {
        self.order.insert(plan.number, key);
        if plan.is_open() {
            self.open.insert(plan.number);
        }
        self.starting += usize::from(plan.is_starting());
        self.touched.insert(plan.number);
        self.by_key.insert(key, plan);
    }

    pub(super) fn take(&mut self, key: Key) -> Option<Plan> {
        let plan = self.by_key.remove(&key)?;
        self.order.remove(&plan.number);
        self.open.remove(&plan.number);
        self.touched.remove(&plan.number);
        self.starting -= usize::from(plan.is_starting());
        Some(plan)
    }

    /// Adds a child to the plan with this key. A plan is a set of children to stop and start.
    pub(super) fn join(&mut self, key: Key, id: Id, standing: Standing) {
        if let Some(plan) = self.by_key.get_mut(&key) {
            plan.add(id, standing);
            self.touched.insert(plan.number);
        }
    }

    /// Moves a child to another set of its plan, because the standing (the class) of the child has
    /// changed from `before` to `after`. Removes and returns the requests to stop this child, which
    /// the caller must process again.
    pub(super) fn moved(
        &mut self,
        key: Key,
        id: Id,
        before: Standing,
        after: Standing,
    ) -> BTreeSet<(Id, Ticket)> {
        let Some(plan) = self.by_key.get_mut(&key) else {
            return BTreeSet::new();
        };
        plan.those(before).remove(&id);
        plan.those(after).insert(id);
        self.touched.insert(plan.number);
        tickets_of(plan, id)
    }

    /// Removes a child from the plan (a set of children to stop and start) with this key. Removes
    /// the plan if it has no other members. Returns the requests to stop this child for good.
    pub(super) fn quit(&mut self, key: Key, id: Id, standing: Standing) -> BTreeSet<(Id, Ticket)> {
        let Some(plan) = self.by_key.get_mut(&key) else {
            return BTreeSet::new();
        };
        plan.those(standing).remove(&id);
        self.touched.insert(plan.number);
        let tickets = tickets_of(plan, id);
        if plan.len() == 0 {
            self.take(key);
        }
        tickets
    }

    /// Stores a request to stop a child for good. The request is processed after the plan (a set of
    /// children to stop and start) has started the child.
    pub(super) fn park(&mut self, key: Key, id: Id, ticket: Ticket) {
        if let Some(plan) = self.by_key.get_mut(&key) {
            plan.leaving.insert((id, ticket));
        }
    }

    /// Records that the delay of the plan with this number is over. A plan is a set of children to
    /// stop and start.
    pub(super) fn is_due(&mut self, number: u64) {
        let Some(&key) = self.order.get(&number) else {
            return;
        };
        if let Some(mut plan) = self.take(key) {
            plan.phase = Phase::Starting;
            self.put(key, plan);
        }
    }

    /// Takes the numbers of the plans (sets of children to stop and start) that may have a step to
    /// execute. The numbers are sorted.
    pub(super) fn take_touched(&mut self) -> BTreeSet<u64> {
        mem::take(&mut self.touched)
    }

    /// Returns the key and the next step of the plan (a set of children to stop and start) with
    /// this number.
    pub(super) fn next_step(&mut self, number: u64) -> Option<(Key, Step)> {
        let &key = self.order.get(&number)?;
        let plan = self.by_key.get_mut(&key)?;
        // The plan keeps its place. Its phase can change, on which `open` and `starting` depend.
        let (was_open, was_starting) = (plan.is_open(), plan.is_starting());
        let step = plan.next_step();
        let (is_open, is_starting) = (plan.is_open(), plan.is_starting());
        if is_open && !was_open {
            self.open.insert(number);
        } else if was_open && !is_open {
            self.open.remove(&number);
        }
        self.starting -= usize::from(was_starting);
        self.starting += usize::from(is_starting);
        self.touched.remove(&number);
        Some((key, step))
    }
}

fn tickets_of(plan: &mut Plan, id: Id) -> BTreeSet<(Id, Ticket)> {
    if plan.leaving.is_empty() {
        return BTreeSet::new();
    }
    let tickets = plan.leaving.range((id, 0)..=(id, Ticket::MAX));
    let tickets: BTreeSet<_> = tickets.copied().collect();
    for ticket in &tickets {
        plan.leaving.remove(ticket);
    }
    tickets
}
