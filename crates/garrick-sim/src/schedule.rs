//! The choices of a run that can be taken now: any order, or the order of times.

use std::collections::VecDeque;
use std::ops::Range;

use garrick_sched::{Choice, Fate, Nanos, TaskName};
use hashbrown::{HashMap, HashSet};

use crate::faults::{draw_fate, draw_time};
use crate::search::Rng;
use crate::sim::Sim;
use crate::stage::is_stage;

/// Number of the choice that time passes until the next timer fires.
pub(crate) const TIME: u32 = 0;

/// Distinguishes the generator for delays from others with the same seed.
const DELAYS: u64 = 0x64_656c_6179;

/// Distinguishes the generator for the steps of crashes from others with the same seed.
const CRASHES: u64 = 0x63_7261_7368;

/// Number of steps among which the step is drawn before which a crash does not happen.
const CRASH_STEPS: usize = 64;

/// Returns the number of the choice that the node at an index crashes.
pub(crate) fn crash_of(node: usize) -> u32 {
    1 + 2 * node as u32
}

/// Returns the number of the choice that the node at an index starts again.
pub(crate) fn restart_of(node: usize) -> u32 {
    2 + 2 * node as u32
}

/// Returns the index of the node that a choice crashes or starts, and true if it crashes the node.
pub(crate) fn crash_or_restart(number: u32) -> (usize, bool) {
    ((number as usize - 1) / 2, number % 2 == 1)
}

/// The choices that can be taken now.
///
/// Without times, these are all choices of the simulation. With times, these are the choices whose
/// time has come. If there are none, time passes until there are some.
pub(crate) struct Schedule {
    /// `None` if any order is possible.
    times: Option<Times>,
    /// For each node that is down, the time at which it may start again.
    restarts: Vec<Option<Nanos>>,
    /// The receiver of the last choice.
    last: Option<TaskName>,
    /// For each crash in the faults, the number of calls of [`Schedule::prepare`] before which it
    /// does not happen. `None` if crashes are not delayed.
    crash_steps: Option<Vec<u32>>,
    /// Number of calls of [`Schedule::prepare`].
    steps: u32,
    /// Generator for delays.
    rng: Rng,
    /// Generator for the steps of crashes. A list of moves needs no such steps, so the delays must
    /// not depend on this generator.
    crash_rng: Rng,
}

/// Times of the messages.
struct Times {
    /// Range of the delays of messages within a node.
    delay: Range<Nanos>,
    /// Times at which the messages of each pair come, oldest first.
    due: HashMap<Choice, VecDeque<Nanos>>,
    /// Node of each task, by its number in the simulation.
    nodes: HashMap<TaskName, usize>,
    /// The stages of pipelines. They wake each other without a delay.
    stages: HashSet<TaskName>,
    /// For each task that uses a slow disk, the time at which it is free again.
    busy: HashMap<TaskName, Nanos>,
    enabled: Vec<Choice>,
    /// For each enabled choice, its index in the choices of the simulation.
    indices: Vec<usize>,
}

impl Schedule {
    pub(crate) fn new(sim: &Sim, delays_crashes: bool) -> Self {
        let mut crash_rng = Rng::new(sim.seed() ^ CRASHES);
        let crashes = sim.faults_and_links().0.crashes.len();
        let mut draw = |_| crash_rng.below(CRASH_STEPS) as u32;
        Self {
            crash_steps: delays_crashes.then(|| (0..crashes).map(&mut draw).collect()),
            steps: 0,
            times: sim.delays().map(|delay| Times {
                delay: delay.clone(),
                due: HashMap::new(),
                nodes: HashMap::new(),
                stages: HashSet::new(),
                busy: HashMap::new(),
                enabled: Vec::new(),
                indices: Vec::new(),
            }),
            restarts: Vec::new(),
            last: None,
            rng: Rng::new(sim.seed() ^ DELAYS),
            crash_rng,
        }
    }

    /// Finds the choices that can be taken now. `with_faults` is true if nodes may crash. `absorb`
    /// is called when there may be new causes and births, which it must take.
    pub(crate) fn prepare(
        &mut self,
        sim: &mut Sim,
        with_faults: bool,
        mut absorb: impl FnMut(&mut Sim),
    ) {
        self.steps += 1;
        self.note_causes(sim);
        absorb(sim);
        self.offer(sim, with_faults);
        while let Some(times) = &mut self.times {
            times.filter(sim);
            let is_urgent = |choice: &Choice| !is_crash(*choice);
            if times.enabled.iter().any(is_urgent) || !self.let_time_pass(sim) {
                return;
            }
            self.note_causes(sim);
            absorb(sim);
            self.offer(sim, with_faults);
        }
    }

    /// Returns the choices that can be taken now. Empty if nothing but crashes can happen.
    pub(crate) fn enabled<'a>(&'a self, sim: &'a Sim) -> &'a [Choice] {
        let enabled = match &self.times {
            None => sim.simulation.choices(),
            Some(times) => &times.enabled,
        };
        let is_over = enabled.iter().all(|choice| is_crash(*choice));
        if is_over { &[] } else { enabled }
    }

    /// Offers what the simulation itself does: time, crashes and restarts.
    fn offer(&self, sim: &mut Sim, with_faults: bool) {
        if self.times.is_none() {
            set_offered(sim, TIME, sim.has_timers());
        }
        for index in 0..sim.faults_and_links().0.crashes.len() {
            let crash = &sim.faults_and_links().0.crashes[index];
            let (left, restarts) = (crash.left, crash.restarts_after.is_some());
            let node = sim.node_index(&crash.node);
            let is_up = sim.is_up(node);
            let may_start = self
                .restart_time(node)
                .is_none_or(|time| time <= sim.clock.now());
            if sim.disks.are_any() {
                let at_risk = with_faults && is_up && left > 0;
                sim.disks.set_at_risk(sim.name_at(node), at_risk);
            }
            let is_time = (self.crash_steps.as_ref()).is_none_or(|steps| steps[index] < self.steps);
            set_offered(
                sim,
                crash_of(node),
                with_faults && is_up && left > 0 && is_time,
            );
            set_offered(sim, restart_of(node), !is_up && restarts && may_start);
        }
    }

    fn restart_time(&self, node: usize) -> Option<Nanos> {
        self.restarts.get(node).copied().flatten()
    }

    /// Records the times of the messages that were sent since the last call.
    fn note_causes(&mut self, sim: &mut Sim) {
        let Some(times) = &mut self.times else {
            return;
        };
        for birth in sim.simulation.births().iter() {
            times.nodes.insert(birth.task, birth.node);
            if is_stage(birth.type_name) {
                times.stages.insert(birth.task);
            }
        }
        let taken = sim.disks.take_time();
        let now = sim.clock.now().saturating_add(taken);
        if let Some(task) = self.last.filter(|_| taken > 0) {
            times.busy.insert(task, now);
        }
        for at in 0..sim.simulation.caused().len() {
            let choice = sim.simulation.caused()[at];
            let delay = times.draw_delay(sim, &mut self.rng, choice);
            let queue = times.due.entry(choice).or_default();
            let earliest = queue.back().copied().unwrap_or(0);
            queue.push_back(earliest.max(now.saturating_add(delay)));
        }
    }

    /// Advances the clock to the next message, timer or restart. Returns false if there is none.
    fn let_time_pass(&self, sim: &mut Sim) -> bool {
        let now = sim.clock.now();
        let of_messages = self.times.as_ref().and_then(|times| times.next(sim));
        let restarts = self
            .restarts
            .iter()
            .flatten()
            .copied()
            .filter(|time| *time > now);
        let next = [of_messages, sim.next_deadline(), restarts.min()];
        let Some(next) = next.into_iter().flatten().min() else {
            return false;
        };
        sim.clock.advance_to(next);
        sim.fire_due();
        true
    }

    /// Takes the choice with an index in the enabled ones. Returns its index in the choices of the
    /// simulation, and the choice.
    pub(crate) fn take(&mut self, sim: &Sim, index: usize) -> (usize, Choice) {
        let Some(times) = &mut self.times else {
            return (index, sim.simulation.choices()[index]);
        };
        let choice = times.enabled[index];
        self.last = receiver_of(choice);
        if let Some(queue) = times.due.get_mut(&choice) {
            queue.pop_front();
        }
        (times.indices[index], choice)
    }

    /// Draws the fate of the choice with an index in the enabled ones.
    pub(crate) fn draw(&self, sim: &Sim, rng: &mut Rng, index: usize) -> Fate {
        let (faults, links) = sim.faults_and_links();
        if !faults.are_any() && !links.are_any() {
            return Fate::Happens;
        }
        let at = self
            .times
            .as_ref()
            .map_or(index, |times| times.indices[index]);
        match sim.simulation.circumstances(at) {
            Some(about) => draw_fate(faults, links, rng, &about, |number| sim.name_of(number)),
            None => Fate::Happens,
        }
    }

    /// Advances the clock to the next timer, and fires it.
    pub(crate) fn advance(&self, sim: &mut Sim) {
        if let Some(deadline) = sim.next_deadline() {
            sim.clock.advance_to(deadline);
            sim.fire_due();
        }
    }

    /// Crashes the node at an index.
    pub(crate) fn crash(&mut self, sim: &mut Sim, node: usize) {
        let name = sim.name_at(node).to_owned();
        let crashes = &mut sim.faults_mut().crashes;
        let Some(index) = crashes.iter().position(|crash| crash.node == name) else {
            return;
        };
        let crash = &mut crashes[index];
        crash.left -= 1;
        if let Some(steps) = &mut self.crash_steps {
            steps[index] = self.steps + self.crash_rng.below(CRASH_STEPS) as u32;
        }
        let after = crash.restarts_after.clone();
        if self.restarts.len() <= node {
            self.restarts.resize(node + 1, None);
        }
        let delay = after.map(|after| draw_time(&mut self.rng, &after));
        // Without times, a restart is possible at any time.
        let has_times = self.times.is_some();
        let at = delay.filter(|_| has_times);
        self.restarts[node] = at.map(|delay| sim.clock.now().saturating_add(delay));
        sim.crash(node);
    }

    /// Starts the node at an index again.
    pub(crate) fn restart(&mut self, sim: &mut Sim, node: usize) {
        if let Some(time) = self.restarts.get_mut(node) {
            *time = None;
        }
        sim.restart(node);
    }
}

impl Times {
    /// Draws the delay of a message.
    fn draw_delay(&self, sim: &Sim, rng: &mut Rng, choice: Choice) -> Nanos {
        let Choice::Deliver { from, to } = choice else {
            return 0;
        };
        if self.stages.contains(&from) && self.stages.contains(&to) {
            return 0;
        }
        // Timers and the setup have no node. What they send comes at once.
        let (Some(&from), Some(&to)) = (self.nodes.get(&from), self.nodes.get(&to)) else {
            return 0;
        };
        let (_, links) = sim.faults_and_links();
        let of_link = if from == to {
            None
        } else {
            links.delay(sim.name_of(from), sim.name_of(to))
        };
        draw_time(rng, of_link.as_ref().unwrap_or(&self.delay))
    }

    /// Returns the time of a choice. A choice without a recorded time can be taken at once, unless
    /// its receiver is busy.
    fn time_of(&self, choice: Choice) -> Nanos {
        let first = self.due.get(&choice).and_then(VecDeque::front);
        let busy = receiver_of(choice).and_then(|task| self.busy.get(&task));
        first.max(busy).copied().unwrap_or(0)
    }

    /// Finds the choices whose time has come.
    fn filter(&mut self, sim: &Sim) {
        self.enabled.clear();
        self.indices.clear();
        let now = sim.clock.now();
        for (index, &choice) in sim.simulation.choices().iter().enumerate() {
            if self.time_of(choice) <= now {
                self.enabled.push(choice);
                self.indices.push(index);
            }
        }
    }

    /// Returns the time of the next message.
    fn next(&self, sim: &Sim) -> Option<Nanos> {
        let now = sim.clock.now();
        let times = sim
            .simulation
            .choices()
            .iter()
            .map(|choice| self.time_of(*choice));
        times.filter(|time| *time > now).min()
    }
}

/// Returns the task that a choice delivers to or starts.
pub(crate) fn receiver_of(choice: Choice) -> Option<TaskName> {
    match choice {
        Choice::Start { task } => Some(task),
        Choice::Deliver { to, .. } => Some(to),
        Choice::Other(_) => None,
    }
}

/// Returns true if a choice crashes a node.
pub(crate) fn is_crash(choice: Choice) -> bool {
    matches!(choice, Choice::Other(number) if number != TIME && crash_or_restart(number).1)
}

fn set_offered(sim: &mut Sim, number: u32, is_offered: bool) {
    if is_offered {
        sim.simulation.offer(number);
    } else {
        sim.simulation.withdraw(number);
    }
}
