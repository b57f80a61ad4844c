//! Random tests. A crew consists of the children of a supervisor, and of the plans by which they
//! are stopped and started. Each test applies the same events to a crew and to a simple model of
//! the crew.

use std::collections::BTreeSet;

use garrick_sched::{Address, Door, SendError, TaskId, Watch, door};
use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use super::*;
use crate::failure::path::ActorPath;
use crate::supervise::facts::Facts;
use crate::supervise::member::Member;
use crate::supervise::policy::{Policy, Strategy};

/// A stand-in for the task of a child. It has an id, but refuses all messages.
struct Nowhere;

impl Door for Nowhere {
    type Message = ();

    fn pass(&self, (): (), _: &Address<()>) -> Result<(), SendError<()>> {
        Err(SendError(()))
    }
}

struct Nobody;

impl Member for Nobody {
    fn job(&self, _: Job, _: &Turn<'_, Note>) {}

    fn watch(&self, _: Id, _: &Turn<'_, Note>) -> Watch {
        unreachable!("this test watches no actor")
    }

    fn tree(&self) -> Option<Arc<Mutex<Face>>> {
        None
    }

    fn facts(&self) -> Arc<Facts> {
        Arc::new(Facts::new(None, "nobody", None))
    }

    fn cell(&self) -> TaskId {
        door(Nowhere).id()
    }
}

/// A random event. A `usize` selects one of the existing children.
#[derive(Clone, Copy, Debug)]
enum Event {
    Add,
    /// A child fails and must be restarted after this number of milliseconds.
    Fail(usize, u64),
    /// A child must be stopped for good. If the flag is true, the plans (sets of children to stop
    /// and start) that are interrupted by the stop are continued.
    Doom(usize, bool),
    /// The first child with a certain name must be stopped for good once it is up.
    Leave(usize),
    /// A child reports that it has started or stopped.
    Report(usize),
    /// A child fails while it is being started.
    FailBusy(usize, u64),
    /// A child stops by itself.
    Gone(usize),
    Due(usize),
    StopAll,
    StartAll,
    EndAll,
}

const NAMES: usize = 5;

fn events() -> impl proptest::strategy::Strategy<Value = Vec<Event>> {
    let any = any::<usize>;
    let wait = || prop_oneof![2 => Just(0u64), 1 => 1..9u64];
    let event = prop_oneof![
        8 => Just(Event::Add),
        6 => (any(), wait()).prop_map(|(at, wait)| Event::Fail(at, wait)),
        3 => (any(), prop::bool::ANY).prop_map(|(at, starts)| Event::Doom(at, starts)),
        3 => any().prop_map(Event::Leave),
        30 => any().prop_map(Event::Report),
        3 => (any(), wait()).prop_map(|(at, wait)| Event::FailBusy(at, wait)),
        2 => any().prop_map(Event::Gone),
        6 => any().prop_map(Event::Due),
        1 => Just(Event::StopAll),
        1 => Just(Event::StartAll),
        1 => Just(Event::EndAll),
    ];
    prop::collection::vec(event, 0..200)
}

struct Child {
    id: Id,
    state: ChildState,
    is_doomed: bool,
}

struct PlainPlan {
    number: u64,
    members: Vec<Id>,
    phase: Phase,
    wait: Duration,
    starts: bool,
}

impl PlainPlan {
    fn is_starting(&self) -> bool {
        let waits =
            self.phase == Phase::Waiting || self.phase == Phase::Stopping && !self.wait.is_zero();
        self.starts && !waits
    }
}

/// A simple model of a crew (the children of a supervisor, and the plans by which they are stopped
/// and started). The model stores everything in lists, and searches each list from the start.
struct Plain {
    strategy: Strategy,
    children: Vec<Child>,
    plans: Vec<PlainPlan>,
    made: u64,
    leaving: Vec<Id>,
}

impl Plain {
    fn child(&self, id: Id) -> Option<&Child> {
        self.children.iter().find(|child| child.id == id)
    }

    fn set(&mut self, id: Id, state: ChildState) {
        let mut children = self.children.iter_mut();
        if let Some(child) = children.find(|child| child.id == id) {
            child.state = state;
        }
    }

    fn doom(&mut self, id: Id) {
        let mut children = self.children.iter_mut();
        if let Some(child) = children.find(|child| child.id == id) {
            child.is_doomed = true;
        }
    }

    fn is_done(&self, id: Id) -> bool {
        let child = self.child(id);
        child.is_some_and(|child| child.state == ChildState::Up && !child.is_doomed)
    }

    fn is_starting(&self, id: Id) -> bool {
        let mut plans = self.plans.iter();
        self.child(id).is_some()
            && !self.is_done(id)
            && plans.any(|plan| plan.is_starting() && plan.members.contains(&id))
    }

    fn is_to_be_stopped(&self, id: Id) -> bool {
        let mut plans = self.plans.iter();
        plans.any(|plan| plan.phase == Phase::Stopping && plan.members.contains(&id))
    }

    fn remove(&mut self, id: Id) {
        self.children.retain(|child| child.id != id);
        for plan in &mut self.plans {
            plan.members.retain(|member| *member != id);
        }
        self.plans.retain(|plan| !plan.members.is_empty());
    }

    fn plan(&mut self, mut members: Vec<Id>, wait: Duration, starts: bool) {
        for mut plan in mem::take(&mut self.plans) {
            if self.strategy == Strategy::OneForOne {
                plan.members.retain(|member| !members.contains(member));
                self.plans.push(plan);
            } else if plan.members.iter().any(|member| members.contains(member)) {
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
        self.push(members, Phase::Stopping, wait, starts);
    }

    fn push(&mut self, members: Vec<Id>, phase: Phase, wait: Duration, starts: bool) {
        self.made += 1;
        self.plans.push(PlainPlan {
            number: self.made,
            members,
            phase,
            wait,
            starts,
        });
    }

    fn plan_start(&mut self, id: Id) {
        let strategy = self.strategy;
        let queue = self.plans.iter_mut().find(|plan| {
            strategy != Strategy::OneForOne || plan.phase == Phase::Starting && plan.starts
        });
        match queue {
            Some(plan) => plan.members.push(id),
            None => self.push(vec![id], Phase::Starting, Duration::ZERO, true),
        }
    }

    fn steps(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for mut plan in mem::take(&mut self.plans) {
            let step = self.step(&mut plan);
            match step {
                Step::Stop(id) => self.set(id, ChildState::Stopping),
                Step::Start(id) => self.set(id, ChildState::Starting),
                _ => {}
            }
            if step != Step::Over {
                self.plans.push(plan);
            }
            steps.push(step);
        }
        steps
    }

    fn step(&self, plan: &mut PlainPlan) -> Step {
        let members = || plan.members.iter().filter_map(|id| self.child(*id));
        let is_busy =
            |child: &Child| matches!(child.state, ChildState::Starting | ChildState::Stopping);
        if plan.phase == Phase::Waiting || members().any(is_busy) {
            return Step::None;
        }
        if plan.phase == Phase::Stopping {
            let is_to_be_stopped = |child: &&Child| {
                matches!(child.state, ChildState::Up | ChildState::Failed) || child.is_doomed
            };
            if let Some(last) = members().rfind(is_to_be_stopped) {
                return Step::Stop(last.id);
            }
            if !plan.starts {
                return Step::Over;
            }
            plan.phase = Phase::Starting;
            if !plan.wait.is_zero() {
                plan.phase = Phase::Waiting;
                return Step::Wait(plan.number, plan.wait);
            }
        }
        let first = members().find(|child| child.state == ChildState::Down);
        first.map_or(Step::Over, |child| Step::Start(child.id))
    }

    fn ids(&self) -> Vec<Id> {
        self.children.iter().map(|child| child.id).collect()
    }
}

/// A crew (the children of a supervisor) and its model. The test applies the same events to both.
struct Pair {
    crew: Crew,
    plain: Plain,
    /// Delays that are not over yet. Each entry contains the number of a plan (a set of children to
    /// stop and start) in the tested crew, and the number of the same plan in the model.
    waits: Vec<(u64, u64)>,
    added: Id,
}

impl Pair {
    fn new(strategy: Strategy) -> Self {
        let path = ActorPath::new(None, "crew");
        let face = Face::new("crew".into(), path, strategy, Arc::default());
        Self {
            crew: Crew::new(strategy, Arc::new(Mutex::new(face))),
            plain: Plain {
                strategy,
                children: Vec::new(),
                plans: Vec::new(),
                made: 0,
                leaving: Vec::new(),
            },
            waits: Vec::new(),
            added: 0,
        }
    }

    /// Returns a child for which the function `is` returns true.
    fn one(&self, at: usize, is: impl Fn(&Child) -> bool) -> Option<Id> {
        let children: Vec<_> = self
            .plain
            .children
            .iter()
            .filter(|child| is(child))
            .collect();
        Some(children.get(at.checked_rem(children.len())?)?.id)
    }

    fn plan_for(&mut self, id: Id, wait: u64) {
        let wait = Duration::from_millis(wait);
        let affected = self.crew.affected(id);
        let ids = self.plain.ids().into_iter();
        let expected: Vec<Id> = match self.plain.strategy {
            Strategy::OneForOne => vec![id],
            Strategy::OneForAll => ids.collect(),
            Strategy::RestForOne => ids.filter(|other| *other >= id).collect(),
        };
        assert_eq!(affected, expected);
        self.crew.plan(&affected, wait, true);
        self.plain.plan(affected, wait, true);
    }

    fn fail(&mut self, id: Option<Id>, wait: u64) {
        let Some(id) = id else { return };
        let is_to_be_stopped = self.plain.is_to_be_stopped(id);
        self.set(id, ChildState::Failed);
        if !is_to_be_stopped {
            self.plan_for(id, wait);
        }
    }

    fn set(&mut self, id: Id, state: ChildState) {
        self.crew.set_state(id, state);
        self.plain.set(id, state);
    }

    fn remove(&mut self, id: Id) {
        self.crew.remove(id);
        self.plain.remove(id);
    }

    fn end(&mut self, id: Id, starts: bool) {
        self.crew.plan_end(id, starts);
        if self.plain.child(id).is_some() {
            self.plain.doom(id);
            self.plain.plan(vec![id], Duration::ZERO, starts);
        }
    }

    fn leave(&mut self, name: usize) {
        let named = |id: &Id| *id as usize % NAMES == name;
        let first = self.plain.ids().into_iter().find(named);
        assert_eq!(self.crew.first_of(&name.to_string()), first);
        if let Some(id) = first {
            self.crew.give_ticket(id);
            self.plain.leaving.push(id);
        }
    }

    fn see_off(&mut self) {
        let plain = &self.plain;
        let (staying, leaving): (Vec<Id>, Vec<Id>) =
            plain.leaving.iter().partition(|id| plain.is_starting(**id));
        self.plain.leaving = staying;
        let seen_off = self.crew.take_leaving();
        let is_there = |id: &Id| self.plain.child(*id).is_some();
        assert!(
            seen_off
                .iter()
                .filter(|id| is_there(id))
                .eq(leaving.iter().filter(|id| is_there(id)))
        );
        leaving.into_iter().for_each(|id| self.end(id, true));
    }

    fn happen(&mut self, event: Event) {
        let is_busy =
            |child: &Child| matches!(child.state, ChildState::Starting | ChildState::Stopping);
        match event {
            Event::Add => self.add(),
            Event::Fail(at, wait) => {
                self.fail(self.one(at, |child| child.state == ChildState::Up), wait);
            }
            Event::FailBusy(at, wait) => {
                self.fail(
                    self.one(at, |child| child.state == ChildState::Starting),
                    wait,
                );
            }
            Event::Doom(at, starts) => {
                if let Some(id) = self.one(at, |_| true) {
                    self.end(id, starts);
                }
            }
            Event::Leave(name) => self.leave(name % NAMES),
            Event::Report(at) => {
                let Some(id) = self.one(at, is_busy) else {
                    return;
                };
                let child = self.plain.child(id).unwrap();
                match child.state {
                    ChildState::Starting => self.set(id, ChildState::Up),
                    _ if child.is_doomed => self.remove(id),
                    _ => self.set(id, ChildState::Down),
                }
            }
            Event::Gone(at) => {
                if let Some(id) = self.one(at, |_| true) {
                    self.remove(id);
                }
            }
            Event::Due(at) => self.is_due(at),
            Event::StopAll | Event::StartAll => {
                let (all, starts) = (self.plain.ids(), matches!(event, Event::StartAll));
                self.crew.plan(&all, Duration::ZERO, starts);
                self.plain.plan(all, Duration::ZERO, starts);
            }
            Event::EndAll => {
                self.crew.plan_end_of_all();
                let all = self.plain.ids();
                all.iter().for_each(|id| self.plain.doom(*id));
                self.plain.plan(all, Duration::ZERO, false);
            }
        }
    }

    fn add(&mut self) {
        self.added += 1;
        let id = self.added;
        let policy = Policy::new(
            (id as usize % NAMES).to_string().into(),
            Shutdown::default(),
        );
        self.crew.add(Slot::new(id, policy, Box::new(Nobody)));
        self.plain.children.push(Child {
            id,
            state: ChildState::Down,
            is_doomed: false,
        });
        self.crew.plan_start(id);
        self.plain.plan_start(id);
    }

    fn is_due(&mut self, at: usize) {
        if let Some(at) = at.checked_rem(self.waits.len()) {
            let (ours, plain) = self.waits.remove(at);
            self.crew.is_due(ours);
            let mut plans = self.plain.plans.iter_mut();
            if let Some(plan) = plans.find(|plan| plan.number == plain) {
                plan.phase = Phase::Starting;
            }
        }
    }

    fn go_on(&mut self) {
        let mut steps = Vec::new();
        for number in self.crew.plans.take_touched() {
            let Some((key, step)) = self.crew.plans.next_step(number) else {
                continue;
            };
            match step {
                Step::Stop(id) => self.crew.set_state(id, ChildState::Stopping),
                Step::Start(id) => self.crew.set_state(id, ChildState::Starting),
                Step::Over => self.crew.end(key),
                Step::None | Step::Wait(..) => {}
            }
            steps.push(step);
        }
        let is_done = |step: &Step| !matches!(step, Step::None | Step::Over);
        steps.retain(is_done);
        let mut expected = self.plain.steps();
        expected.retain(is_done);
        assert_eq!(
            steps.len(),
            expected.len(),
            "{steps:?}, and not {expected:?}"
        );
        for (step, expected) in steps.into_iter().zip(expected) {
            match (step, expected) {
                (Step::Wait(ours, wait), Step::Wait(plain, expected)) if wait == expected => {
                    self.waits.push((ours, plain));
                }
                (step, expected) => assert_eq!(step, expected),
            }
        }
    }

    fn assert_same(&self) {
        let plain = &self.plain;
        assert_eq!(self.crew.ids(), plain.ids());
        for child in &plain.children {
            let id = child.id;
            assert_eq!(self.crew.slots[&id].state, child.state);
            assert_eq!(self.crew.is_to_be_stopped(id), plain.is_to_be_stopped(id));
            assert_eq!(self.crew.starting(id).is_some(), plain.is_starting(id));
        }
        let is_starting_any = plain.plans.iter().any(PlainPlan::is_starting);
        assert_eq!(self.crew.is_starting_any(), is_starting_any);
        assert_eq!(self.crew.is_calm(), plain.plans.is_empty());
        let members: BTreeSet<Id> = plain
            .plans
            .iter()
            .flat_map(|plan| &plan.members)
            .copied()
            .collect();
        let slots = self.crew.slots.values().filter(|slot| slot.plan.is_some());
        assert!(slots.map(|slot| &slot.id).eq(&members));
    }
}

fn strategies() -> impl proptest::strategy::Strategy<Value = Strategy> {
    prop_oneof![
        Just(Strategy::OneForOne),
        Just(Strategy::OneForAll),
        Just(Strategy::RestForOne),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 500 } else { 20_000 }))]

    #[test]
    fn a_crew_does_what_a_plain_list_of_plans_does(strategy in strategies(), events in events()) {
        let mut pair = Pair::new(strategy);
        for event in events {
            pair.happen(event);
            pair.go_on();
            pair.see_off();
            pair.go_on();
            pair.assert_same();
        }
    }
}
