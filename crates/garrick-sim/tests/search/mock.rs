//! A simulated system of tasks, with a queue for each pair of a sender and a receiver.

use garrick_sim::search::{Action, Strategy};
use std::collections::{BTreeMap, VecDeque};

/// Sender of the messages of the setup.
pub(crate) const OUTSIDE: usize = usize::MAX;

/// Something that can happen in a system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Act {
    /// The oldest message of the pair is delivered.
    Land { from: usize, to: usize },
    /// The clock advances, and every task is told about it.
    Tick,
}

impl Action for Act {
    fn changes(&self) -> Option<u64> {
        match *self {
            Act::Land { to, .. } => Some(to as u64),
            Act::Tick => None,
        }
    }

    fn chain(&self) -> u64 {
        match *self {
            Act::Land { from, to } => (from as u64).wrapping_add(1) << 32 | to as u64,
            Act::Tick => u64::MAX,
        }
    }
}

/// Messages that a task sends, with their receivers.
pub(crate) type Sends = Vec<(usize, i64)>;

/// A system of tasks. The state of each task is a number, which the reactions of the task change.
pub(crate) trait System {
    /// Returns the states of the tasks before the first message.
    fn states(&self) -> Vec<i64>;

    /// Returns the messages of the setup.
    fn first(&self) -> Sends;

    /// Changes the state of a task that gets a message, and returns what it sends.
    fn react(&self, task: usize, state: &mut i64, from: usize, message: i64) -> Sends;

    /// Returns how often the clock advances.
    fn ticks(&self) -> usize {
        0
    }

    /// Changes the state of a task when the clock advances.
    fn tick(&self, _task: usize, _state: &mut i64) {}
}

/// Results of a run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Outcome {
    pub(crate) states: Vec<i64>,
    /// Messages and ticks that each task has seen. They are the same in all orders of a partial
    /// order.
    pub(crate) seen: Vec<Vec<(Act, i64)>>,
    pub(crate) steps: Vec<Act>,
    /// False if the strategy has ended the run early.
    pub(crate) is_whole: bool,
}

struct Run<'a, S: System, T> {
    system: &'a S,
    strategy: &'a mut T,
    queues: BTreeMap<(usize, usize), VecDeque<i64>>,
    ticks: usize,
    outcome: Outcome,
}

/// Makes one run, which the strategy has already begun.
pub(crate) fn run<S: System, T: Strategy<Act>>(system: &S, strategy: &mut T) -> Outcome {
    let states = system.states();
    let seen = vec![Vec::new(); states.len()];
    let mut run = Run {
        system,
        strategy,
        queues: BTreeMap::new(),
        ticks: system.ticks(),
        outcome: Outcome {
            states,
            seen,
            steps: Vec::new(),
            is_whole: true,
        },
    };
    run.send(OUTSIDE, system.first());
    if run.ticks > 0 {
        run.strategy.caused(Act::Tick);
    }
    run.finish();
    run.outcome
}

/// Makes one run with a new strategy.
pub(crate) fn run_once<S: System, T: Strategy<Act>>(system: &S, mut strategy: T) -> Outcome {
    assert!(strategy.begin());
    run(system, &mut strategy)
}

impl<S: System, T: Strategy<Act>> Run<'_, S, T> {
    fn send(&mut self, from: usize, sends: Sends) {
        for (to, message) in sends {
            self.queues
                .entry((from, to))
                .or_default()
                .push_back(message);
            self.strategy.caused(Act::Land { from, to });
        }
    }

    fn enabled(&self) -> Vec<Act> {
        let pairs = self.queues.iter().filter(|(_, queue)| !queue.is_empty());
        let mut enabled: Vec<Act> = pairs
            .map(|(&(from, to), _)| Act::Land { from, to })
            .collect();
        enabled.extend((self.ticks > 0).then_some(Act::Tick));
        enabled
    }

    fn finish(&mut self) {
        loop {
            let enabled = self.enabled();
            if enabled.is_empty() {
                return;
            }
            let Some(index) = self.strategy.choose(&enabled) else {
                self.outcome.is_whole = false;
                return;
            };
            self.outcome.steps.push(enabled[index]);
            match enabled[index] {
                Act::Land { from, to } => self.land(from, to),
                Act::Tick => self.tick(),
            }
        }
    }

    fn land(&mut self, from: usize, to: usize) {
        let queue = self
            .queues
            .get_mut(&(from, to))
            .expect("an enabled pair has a queue");
        let message = queue.pop_front().expect("an enabled pair has a message");
        self.outcome.seen[to].push((Act::Land { from, to }, message));
        let state = &mut self.outcome.states[to];
        let sends = self.system.react(to, state, from, message);
        self.send(to, sends);
    }

    fn tick(&mut self) {
        self.ticks -= 1;
        if self.ticks > 0 {
            self.strategy.caused(Act::Tick);
        }
        for (task, state) in self.outcome.states.iter_mut().enumerate() {
            self.system.tick(task, state);
            self.outcome.seen[task].push((Act::Tick, 0));
        }
    }
}
