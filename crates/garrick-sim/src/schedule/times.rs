//! The times at which messages arrive.

use std::collections::VecDeque;
use std::ops::Range;

use garrick_sched::{Choice, Nanos, TaskName};
use hashbrown::{HashMap, HashSet};

use crate::chance::{draw_time, rng_of};
use crate::sim::Sim;
use crate::stage::is_stage;

use super::receiver_of;

/// A number that distinguishes the random generator for delays from other generators with the same
/// seed.
const DELAYS: u64 = 0x64_656c_6179;

/// The times at which messages arrive, and the data from which they are computed.
pub(super) struct Times {
    /// Range of the delays of messages. The link between two nodes can have a different range.
    delay: Range<Nanos>,
    /// The messages of each pair of a sender and a receiver.
    pairs: HashMap<Choice, Pair>,
    /// For each task, the number that identifies its node in the simulation.
    nodes: HashMap<TaskName, usize>,
    /// The stages of pipelines. They wake each other without a delay.
    stages: HashSet<TaskName>,
    /// For each task that uses a slow disk, the time at which it can handle a message again.
    busy: HashMap<TaskName, Nanos>,
    /// The choices at the latest call of [`Times::look_at`], with their times. Most choices are
    /// still there at the next call, and need no lookup. `None` if the time was not recorded yet or
    /// has changed.
    known: Vec<Option<(Choice, Nanos)>>,
    /// The task that received the latest choice that was taken. A choice is a possible next step,
    /// such as the delivery of a message.
    last: Option<TaskName>,
}

/// The messages from one sender to one receiver.
#[derive(Default)]
struct Pair {
    /// Number of messages that the sender has sent to the receiver so far.
    sent: u64,
    /// Arrival times of the messages that have not arrived yet, oldest message first.
    due: VecDeque<Nanos>,
}

impl Times {
    pub(super) fn new(delay: Range<Nanos>) -> Self {
        Self {
            delay,
            pairs: HashMap::new(),
            nodes: HashMap::new(),
            stages: HashSet::new(),
            busy: HashMap::new(),
            known: Vec::new(),
            last: None,
        }
    }

    /// Records the times of the messages that were sent since the last call.
    pub(super) fn note_causes(&mut self, sim: &mut Sim) {
        for birth in sim.simulation.births().iter() {
            self.nodes.insert(birth.task, birth.node);
            if is_stage(birth.type_name) {
                self.stages.insert(birth.task);
            }
        }
        let taken = sim.disks.take_time();
        let now = sim.clock.now().saturating_add(taken);
        if let Some(task) = self.last.filter(|_| taken > 0) {
            self.busy.insert(task, now);
            self.known.clear();
        }
        for at in 0..sim.simulation.caused().len() {
            let choice = sim.simulation.caused()[at];
            let sent = self.pairs.get(&choice).map_or(0, |pair| pair.sent);
            let delay = self.draw_delay(sim, choice, sent);
            let pair = self.pairs.entry(choice).or_default();
            pair.sent += 1;
            let earliest = pair.due.back().copied().unwrap_or(0);
            pair.due.push_back(earliest.max(now.saturating_add(delay)));
        }
    }

    /// Returns the random delay of a message. The delay depends only on the seed, the pair of
    /// sender and receiver, and the number of earlier messages of this pair. So the delay stays the
    /// same if other steps of the run are left out.
    fn draw_delay(&self, sim: &Sim, choice: Choice, sent: u64) -> Nanos {
        let Choice::Deliver { from, to } = choice else {
            return 0;
        };
        if self.stages.contains(&from) && self.stages.contains(&to) {
            return 0;
        }
        // Timers and the setup have no node. What they send comes at once.
        let (Some(&from_node), Some(&to_node)) = (self.nodes.get(&from), self.nodes.get(&to))
        else {
            return 0;
        };
        let (_, links) = sim.faults_and_links();
        let of_link = if from_node == to_node {
            None
        } else {
            links.delay(sim.name_of(from_node), sim.name_of(to_node))
        };
        let mut rng = rng_of(&[DELAYS, sim.seed(), from.get(), to.get(), sent]);
        draw_time(&mut rng, of_link.as_ref().unwrap_or(&self.delay))
    }

    /// Records that copies of messages from the task `from` come from the same node as the
    /// originals.
    pub(super) fn note_copy(&mut self, from: TaskName) {
        if let Some(&node) = self.nodes.get(&from) {
            self.nodes.insert(from.of_copies(), node);
        }
    }

    /// Returns the earliest time at which a choice (a possible next step) can be taken, and whether
    /// the choice keeps this time until it is taken. A choice without a recorded time can be taken
    /// at once, unless its receiver is busy.
    fn time_of(&self, choice: Choice) -> (Nanos, bool) {
        let first = self.pairs.get(&choice).and_then(|pair| pair.due.front());
        let busy = receiver_of(choice).and_then(|task| self.busy.get(&task));
        let keeps = first.is_some() || matches!(choice, Choice::Other(_));
        (first.max(busy).copied().unwrap_or(0), keeps)
    }

    /// Looks up the times of the choices of the simulation.
    pub(super) fn look_at(&mut self, choices: &[Choice]) {
        self.known.resize(choices.len(), None);
        for (index, &choice) in choices.iter().enumerate() {
            if !matches!(self.known[index], Some((known, _)) if known == choice) {
                let (time, keeps) = self.time_of(choice);
                self.known[index] = keeps.then_some((choice, time));
            }
        }
    }

    /// Returns the earliest time at which the choice with this index can be taken.
    #[inline]
    pub(super) fn time_at(&self, index: usize, choice: Choice) -> Nanos {
        match self.known.get(index) {
            Some(&Some((known, time))) if known == choice => time,
            _ => self.time_of(choice).0,
        }
    }

    /// Records that the simulation has taken the choice (a possible step) with this index.
    pub(super) fn take(&mut self, index: usize, choice: Choice) {
        self.last = receiver_of(choice);
        let Some(pair) = self.pairs.get_mut(&choice) else {
            return;
        };
        pair.due.pop_front();
        match self.known.get_mut(index) {
            Some(known) if known.is_some_and(|(known, _)| known == choice) => *known = None,
            // The times were not looked up before this step.
            _ => self.known.clear(),
        }
    }

    /// Returns the earliest time after the present at which a choice (a possible step) can be
    /// taken. Returns `None` if there is no such time.
    pub(super) fn next(&self, sim: &Sim) -> Option<Nanos> {
        let now = sim.clock.now();
        let choices = sim.simulation.choices().iter().enumerate();
        let times = choices.map(|(index, choice)| self.time_at(index, *choice));
        times.filter(|time| *time > now).min()
    }
}
