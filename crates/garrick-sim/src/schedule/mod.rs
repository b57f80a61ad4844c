//! The choices that a run can take now. Messages arrive in any order, or in the order of their
//! arrival times.

mod outages;
mod times;

use garrick_sched::{Choice, Circumstances, Fate, Nanos, TaskName};
use hashbrown::HashMap;

use crate::chance::{draws, rng_of};
use crate::event::{Event, is_fault};
use crate::faults::EndOfFaults;
use crate::search::{Action, Rng};
use crate::sim::Sim;
use outages::Outages;
use times::Times;

/// A number that distinguishes the random generators for the [`Fate`]s of messages from other
/// generators with the same seed. Used only in a search of all orders.
const FATES: u64 = 0x66_6174_6573;

/// The mode of a run, which selects the choices that are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All choices, including faults.
    Faulty,
    /// All choices except faults. Crashed nodes may start again at once, and partitions may heal at
    /// once.
    Calm,
    /// All choices that a list of moves (recorded steps) can contain: messages may arrive late, and
    /// outages may end early.
    Following,
}

/// The choices that can be taken now.
///
/// If messages have no arrival times, these are all choices of the simulation. If messages have
/// arrival times, these are the choices whose time has come. If there are no such choices, time
/// passes until there are. In both cases, messages that a partition holds back are left out.
pub(crate) struct Schedule {
    /// Arrival times of the messages. `None` if messages have no arrival times and can arrive in
    /// any order.
    times: Option<Times>,
    outages: Outages,
    /// Number of calls of [`Schedule::prepare`].
    steps: u32,
    /// True if only some choices of the simulation can be taken now.
    is_filtered: bool,
    /// The choices that can be taken now. Used only if `is_filtered` is true.
    enabled: Vec<Choice>,
    /// Index of each enabled choice among the choices of the simulation.
    indices: Vec<usize>,
    /// Number of times that each choice was taken. `None` unless this is a search of all orders.
    taken: Option<HashMap<Choice, u64>>,
}

impl Schedule {
    /// Creates the schedule of a run. `has_onsets` is true if each outage has a random step before
    /// which it cannot begin. `is_search_of_all` is true in a search of all orders.
    pub(crate) fn new(sim: &Sim, has_onsets: bool, is_search_of_all: bool) -> Self {
        Self {
            times: sim.delays().cloned().map(Times::new),
            outages: Outages::new(sim, has_onsets),
            steps: 0,
            is_filtered: false,
            enabled: Vec::new(),
            indices: Vec::new(),
            taken: is_search_of_all.then(HashMap::new),
        }
    }

    /// Finds the choices that can be taken now. Calls `absorb` after each action that may have
    /// caused new choices or created tasks. `absorb` must remove the simulation's records of these
    /// choices and tasks.
    pub(crate) fn prepare(&mut self, sim: &mut Sim, mode: Mode, mut absorb: impl FnMut(&mut Sim)) {
        self.steps += 1;
        self.look(sim, mode, &mut absorb);
        while self.times.is_some() && mode != Mode::Following {
            let is_urgent = |choice: &Choice| !is_fault(*choice);
            let is_over = mode == Mode::Faulty && self.have_faults_ceased(sim, 0);
            if is_over || self.enabled.iter().any(is_urgent) || !self.let_time_pass(sim, mode) {
                return;
            }
            self.look(sim, mode, &mut absorb);
        }
    }

    /// Finds the choices that can be taken now, including faults. Does not advance the clock.
    pub(crate) fn prepare_now(&mut self, sim: &mut Sim, mut absorb: impl FnMut(&mut Sim)) {
        self.steps += 1;
        self.look(sim, Mode::Faulty, &mut absorb);
    }

    /// Advances the clock to the next event, or to `limit` if the next event is later. Returns
    /// false if the clock has already reached `limit`.
    pub(crate) fn let_time_pass_until(&self, sim: &mut Sim, limit: Nanos) -> bool {
        let (now, deadline) = (sim.clock.now(), sim.next_deadline());
        let next = self.next(sim, Mode::Faulty, deadline);
        match next.filter(|next| *next <= limit) {
            Some(next) => pass_until(sim, next, deadline),
            None if now < limit => sim.clock.advance_to(limit),
            None => return false,
        }
        true
    }

    /// If messages have arrival times, lets time pass until `time`, even if a message could arrive
    /// earlier. Fires the timers that are due. Does nothing if messages have no arrival times.
    pub(crate) fn wait_until(
        &mut self,
        sim: &mut Sim,
        time: Nanos,
        mut absorb: impl FnMut(&mut Sim),
    ) {
        let Some(times) = &mut self.times else {
            return;
        };
        times.note_causes(sim);
        absorb(sim);
        while let Some(deadline) = sim.next_deadline().filter(|deadline| *deadline <= time) {
            sim.clock.advance_to(deadline);
            sim.fire_due();
            times.note_causes(sim);
            absorb(sim);
        }
        sim.clock.advance_to(time);
    }

    fn look(&mut self, sim: &mut Sim, mode: Mode, absorb: &mut impl FnMut(&mut Sim)) {
        if let Some(times) = &mut self.times {
            times.note_causes(sim);
        }
        absorb(sim);
        if self.times.is_none() {
            let has_timers = sim.has_timers();
            set_offered(sim, Event::Time, has_timers);
        }
        self.outages.offer(sim, mode, self.steps);
        self.filter(sim, mode);
    }

    /// Collects the choices that can be taken now, unless all choices of the simulation can be
    /// taken.
    fn filter(&mut self, sim: &Sim, mode: Mode) {
        let are_any_held = self.outages.are_any_held(sim);
        let has_times = self.times.is_some() && mode != Mode::Following;
        self.is_filtered = are_any_held || has_times;
        if self.is_filtered {
            self.collect(sim, has_times, are_any_held);
        }
    }

    fn collect(&mut self, sim: &Sim, has_times: bool, are_any_held: bool) {
        let choices = sim.simulation.choices();
        let mut times = self.times.as_mut().filter(|_| has_times);
        if let Some(times) = &mut times {
            times.look_at(choices);
        }
        self.enabled.clear();
        self.indices.clear();
        let now = sim.clock.now();
        for (index, &choice) in choices.iter().enumerate() {
            let has_come = (times.as_ref()).is_none_or(|times| times.time_at(index, choice) <= now);
            if has_come && !(are_any_held && self.outages.cut_off(sim, index, true)) {
                self.enabled.push(choice);
                self.indices.push(index);
            }
        }
    }

    /// Returns the choices that can be taken now. Returns an empty slice if only faults can happen.
    pub(crate) fn enabled<'a>(&'a self, sim: &'a Sim) -> &'a [Choice] {
        let enabled = self.all_enabled(sim);
        let is_over = enabled.iter().all(|choice| is_fault(*choice));
        if is_over { &[] } else { enabled }
    }

    /// Returns the choices that can be taken now, even if there are only faults.
    pub(crate) fn all_enabled<'a>(&'a self, sim: &'a Sim) -> &'a [Choice] {
        if self.is_filtered {
            &self.enabled
        } else {
            sim.simulation.choices()
        }
    }

    /// Returns true if all faults have ended before the step with the number `step`.
    pub(crate) fn have_faults_ceased(&self, sim: &Sim, step: usize) -> bool {
        match sim.faults_and_links().0.end {
            None => false,
            Some(EndOfFaults::Time(time)) => sim.clock.now() >= time,
            Some(EndOfFaults::Steps(steps)) => step >= steps as usize,
        }
    }

    /// Advances the clock to the next event. Returns false if there is none.
    fn let_time_pass(&self, sim: &mut Sim, mode: Mode) -> bool {
        let deadline = sim.next_deadline();
        let Some(next) = self.next(sim, mode, deadline) else {
            return false;
        };
        pass_until(sim, next, deadline);
        true
    }

    /// Returns the time of the next event: a message, a timer, the end of an outage, or the end of
    /// all faults. Returns `None` if there is no such event. `deadline` is the deadline of the next
    /// timer.
    fn next(&self, sim: &Sim, mode: Mode, deadline: Option<Nanos>) -> Option<Nanos> {
        let now = sim.clock.now();
        let of_messages = self.times.as_ref().and_then(|times| times.next(sim));
        let of_faults = match sim.faults_and_links().0.end {
            Some(EndOfFaults::Time(time)) if mode == Mode::Faulty && time > now => Some(time),
            _ => None,
        };
        let of_outages = self.outages.ends(now).min();
        let next = [of_messages, deadline, of_outages, of_faults];
        next.into_iter().flatten().min()
    }

    /// Records that the enabled choice at an index is taken. Returns its index among all choices of
    /// the simulation, and the choice itself.
    pub(crate) fn take(&mut self, sim: &Sim, index: usize, fate: Fate) -> (usize, Choice) {
        let at = self.index_of(index);
        let choice = sim.simulation.choices()[at];
        if let Some(times) = &mut self.times {
            times.take(at, choice);
            if let (Fate::Doubled, Choice::Deliver { from, .. }) = (fate, choice) {
                times.note_copy(from);
            }
        }
        if let Some(taken) = &mut self.taken {
            *taken.entry(choice).or_default() += 1;
        }
        (at, choice)
    }

    /// Converts an index among the enabled choices into an index among all choices of the
    /// simulation.
    fn index_of(&self, index: usize) -> usize {
        if self.is_filtered {
            self.indices[index]
        } else {
            index
        }
    }

    /// Chooses the [`Fate`] of a message at random. `index` is the index of its delivery among the
    /// enabled choices.
    pub(crate) fn draw(&self, sim: &Sim, rng: &mut Rng, index: usize) -> Fate {
        let (faults, links) = sim.faults_and_links();
        if !faults.are_any() && !links.are_any() {
            return Fate::Happens;
        }
        let at = self.index_of(index);
        // The fate of what is cut off is not drawn, and does not change when the partition goes.
        if self.is_cut_off(sim, at) {
            return Fate::Happens;
        }
        // Most messages stay on their node, and links do not change them.
        let is_remote = (sim.simulation.nodes_of(at)).is_some_and(|(from, to)| from != to);
        if !is_remote && !faults.can_fail_turns() {
            return Fate::Happens;
        }
        let Some(about) = sim.simulation.circumstances(at) else {
            return Fate::Happens;
        };
        let Some(taken) = &self.taken else {
            return draw_fate(sim, rng, &about);
        };
        // A search of all orders needs steps that are the same in every order.
        let choice = sim.simulation.choices()[at];
        let (changes, times) = (choice.changes().unwrap_or(0), taken.get(&choice));
        let times = times.copied().unwrap_or(0);
        let mut rng = rng_of(&[FATES, sim.seed(), choice.chain(), changes, times]);
        draw_fate(sim, &mut rng, &about)
    }

    /// Returns `fate`, unless `fate` is the loss of a message that cannot be lost. In this case,
    /// returns [`Fate::Happens`]. A loss is impossible, for example, if the crash that caused it
    /// was left out of the list of moves (recorded steps) that the run follows.
    pub(crate) fn possible(&self, sim: &Sim, index: usize, fate: Fate) -> Fate {
        let at = self.index_of(index);
        if fate != Fate::Lost || self.is_cut_off(sim, at) {
            return fate;
        }
        let about = sim.simulation.circumstances(at);
        let losses = about.map_or([0; 2], |about| losses(sim, &about));
        if losses == [0; 2] {
            Fate::Happens
        } else {
            Fate::Lost
        }
    }

    /// Returns true if a partition loses the message that a choice delivers. `at` is the index of
    /// the choice among all choices of the simulation.
    pub(crate) fn is_cut_off(&self, sim: &Sim, at: usize) -> bool {
        self.outages.cut_off(sim, at, false)
    }

    /// Executes an event of the simulation itself, such as a crash.
    pub(crate) fn happen(&mut self, sim: &mut Sim, event: Event) {
        let (step, has_times) = (self.steps, self.times.is_some());
        match event {
            Event::Time => advance(sim),
            Event::Crash(node) => self.outages.crash(sim, node, step, has_times),
            Event::Restart(node) => self.outages.restart(sim, node),
            Event::Cut(partition) => self.outages.cut(sim, partition, step, has_times),
            Event::Heal(partition) => self.outages.heal(partition),
        }
    }
}

/// Advances the clock to `time`, and fires the timers that are due then. `deadline` is the deadline
/// of the next timer. Most events are messages, and no timer is due.
fn pass_until(sim: &mut Sim, time: Nanos, deadline: Option<Nanos>) {
    sim.clock.advance_to(time);
    if deadline.is_some_and(|deadline| deadline <= time) {
        sim.fire_due();
    }
}

/// Advances the clock to the next timer, and fires it.
fn advance(sim: &mut Sim) {
    if let Some(deadline) = sim.next_deadline() {
        sim.clock.advance_to(deadline);
        sim.fire_due();
    }
}

/// Returns the nodes of the sender and of the receiver, if the step delivers a message from one
/// node to another one. Otherwise returns `None`.
fn remote_nodes(about: &Circumstances) -> Option<(usize, usize)> {
    let from = about.from.filter(|from| *from != about.to);
    from.filter(|_| about.is_message)
        .map(|from| (from, about.to))
}

/// Returns two probabilities in per mille: that the link loses a message, and that the message is
/// lost because the node of its sender has crashed.
fn losses(sim: &Sim, about: &Circumstances) -> [u32; 2] {
    let Some((from, to)) = remote_nodes(about) else {
        return [0; 2];
    };
    let (faults, links) = sim.faults_and_links();
    let of_link = links.loss(sim.name_of(from), sim.name_of(to));
    [of_link, u32::from(about.is_orphan) * faults.loses_sent]
}

/// Chooses at random what happens to the message of a step.
fn draw_fate(sim: &Sim, rng: &mut Rng, about: &Circumstances) -> Fate {
    let (faults, links) = sim.faults_and_links();
    if losses(sim, about)
        .into_iter()
        .any(|per_mille| draws(rng, per_mille))
    {
        return Fate::Lost;
    }
    if let Some((from, to)) = remote_nodes(about) {
        let (from, to) = (sim.name_of(from), sim.name_of(to));
        if from != to && links.draw_copy(rng, from, to, about) {
            return Fate::Doubled;
        }
    }
    if faults.draw_failure(rng, about) {
        return Fate::Fails;
    }
    Fate::Happens
}

/// Returns the task that a choice starts, or the receiver of the message that a choice delivers.
/// Returns `None` for all other choices.
pub(crate) fn receiver_of(choice: Choice) -> Option<TaskName> {
    match choice {
        Choice::Start { task } => Some(task),
        Choice::Deliver { to, .. } => Some(to),
        Choice::Other(_) => None,
    }
}

fn set_offered(sim: &mut Sim, event: Event, is_offered: bool) {
    if is_offered {
        sim.simulation.offer(event.number());
    } else {
        sim.simulation.withdraw(event.number());
    }
}
