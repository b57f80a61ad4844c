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

    /// Returns the earliest time at which a choice (a possible next step) can be taken. A choice
    /// without a recorded time can be taken at once, unless its receiver is busy.
    pub(super) fn time_of(&self, choice: Choice) -> Nanos {
        let first = self.pairs.get(&choice).and_then(|pair| pair.due.front());
        let busy = receiver_of(choice).and_then(|task| self.busy.get(&task));
        first.max(busy).copied().unwrap_or(0)
    }

    /// Records that the simulation has taken a choice (a possible step).
    pub(super) fn take(&mut self, choice: Choice) {
        self.last = receiver_of(choice);
        if let Some(pair) = self.pairs.get_mut(&choice) {
            pair.due.pop_front();
        }
    }

    /// Returns the earliest time after the present at which a choice (a possible step) can be
    /// taken. Returns `None` if there is no such time.
    pub(super) fn next(&self, sim: &Sim) -> Option<Nanos> {
        let now = sim.clock.now();
        let choices = sim.simulation.choices().iter();
        let times = choices.map(|choice| self.time_of(*choice));
        times.filter(|time| *time > now).min()
    }
}
