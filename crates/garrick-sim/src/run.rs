//! The execution of one run.

use garrick_core::random::mix;
use garrick_sched::{Choice, Circumstances, Fate, Nanos};

use crate::coverage::Coverage;
use crate::event::{Event, is_fault, is_repair};
use crate::facts::{Crashed, Cut, Healed, Restarted};
use crate::property::{Broken, Kind};
use crate::schedule::{Mode, Schedule};
use crate::search::{Rng, Strategy};
use crate::sim::Sim;
use crate::stage;
use crate::trace::Trace;
use crate::watchdog::Watchdog;

/// Odd number with irregular bits: the fractional part of the golden ratio.
const HASH_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Seed of the random choices after the last fault of a run (in its *calm* part). The seed is the
/// same for all runs, so that a shortened list of moves leads to the same choices.
const CALM_SEED: u64 = 0x6361_6c6d;

/// A step of a run: a choice and its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Move {
    /// The choice that was taken.
    pub choice: Choice,
    /// Result of the choice. If a partition stops the message, the message is lost, regardless of
    /// this field.
    pub fate: Fate,
    /// Time of the choice, in nanoseconds since the start of the run.
    pub at: Nanos,
}

/// The way in which a run continues after a list of moves (recorded steps).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The run ends.
    Ends,
    /// The faults cease. The run continues until each property that must become true has been true,
    /// or until the time limits of these properties have passed.
    Calm,
    /// The run continues to its end, without further faults.
    GoesOn,
}

impl Then {
    /// Returns how a run must continue after a list of moves, so that the given property is broken
    /// again.
    pub(crate) fn after(broken: &Broken) -> Self {
        match broken.kind {
            Kind::Always | Kind::NoFailure => Self::Ends,
            Kind::Eventually => Self::Calm,
            Kind::AtEnd => Self::GoesOn,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Maximum number of steps with faults. Also the maximum number of steps in the part without
    /// faults at the end of a run.
    pub(crate) steps_max: u32,
    /// True if each crash and each partition has a random step before which it cannot begin.
    /// Without such steps, most outages would begin early in the run, because a crash or partition
    /// is possible at every step.
    pub(crate) has_onsets: bool,
    /// True in a search of all orders.
    pub(crate) is_search_of_all: bool,
}

/// The source of the steps of a run: a strategy or a list of moves.
pub(crate) enum Driver<'a> {
    /// A strategy chooses the steps, and the generator chooses the faults.
    Search(&'a mut dyn Strategy<Choice>, Rng),
    /// The recorded steps in a list are repeated. Steps that are not possible are skipped.
    Follow {
        moves: &'a [Move],
        then: Then,
        /// If true, each message whose delivery is not in the list arrives when it is due. If
        /// false, these messages are late.
        is_punctual: bool,
    },
}

/// Reason why a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing was left to do.
    Idle,
    /// The limit of steps was reached.
    Cut,
    /// The strategy has ended the run, or the list of moves has ended.
    Left,
    /// The faults have ceased before the end of the run.
    Ceased,
    /// A property is broken.
    Broken,
}

#[derive(Default)]
pub(crate) struct Observers<'o> {
    pub(crate) trace: Option<&'o mut Trace>,
    pub(crate) coverage: Option<&'o mut Coverage>,
    pub(crate) watchdog: Option<&'o Watchdog>,
}

/// Result of a run.
pub(crate) struct Outcome {
    pub(crate) broken: Option<Broken>,
    pub(crate) end: End,
    pub(crate) moves: Vec<Move>,
    /// Number of moves before the faults ceased, or before the end of the list that the run has
    /// followed. If neither happened, the number of all moves.
    pub(crate) before_calm: usize,
    /// True if each message has a time at which it arrives.
    pub(crate) has_times: bool,
    /// Hash of all choices, facts and results. Two runs with the same hash are almost certainly
    /// equal.
    pub(crate) hash: u64,
}

/// State of the execution of a run.
struct Execution<'s, 't> {
    sim: &'s mut Sim,
    schedule: Schedule,
    observers: Observers<'t>,
    limits: Limits,
    moves: Vec<Move>,
    /// Number of moves before the faults ceased, or before the end of the list that the run has
    /// followed. `None` until then.
    before_calm: Option<usize>,
    hash: u64,
    /// Number of recorded facts at the most recent check of the properties.
    checked: usize,
}

/// Executes a run that was set up, until it ends.
pub(crate) fn execute(
    sim: &mut Sim,
    mut driver: Driver<'_>,
    limits: Limits,
    mut observers: Observers<'_>,
) -> Outcome {
    if let Some(trace) = &mut observers.trace {
        trace.nodes = sim.node_names();
        trace.partitions = sim.partition_names();
    }
    if let Some(coverage) = &mut observers.coverage {
        coverage.begin();
    }
    sim.allow_copies();
    let schedule = Schedule::new(sim, limits.has_onsets, limits.is_search_of_all);
    let mut execution = Execution {
        sim,
        schedule,
        observers,
        limits,
        moves: Vec::new(),
        before_calm: None,
        hash: 0,
        checked: 0,
    };
    let (broken, end) = match execution.run(&mut driver) {
        Ok(end) => (None, end),
        Err(broken) => (Some(broken), End::Broken),
    };
    let facts = execution.sim.facts.borrow();
    let mut hash = mix(execution.hash ^ execution.sim.clock.now());
    hash = hashed(hash, execution.sim.disks.hash());
    for (_, text) in facts.texts(0) {
        for byte in text.bytes() {
            hash = hashed(hash, u64::from(byte));
        }
    }
    drop(facts);
    if let Some(watchdog) = execution.observers.watchdog {
        watchdog.end_run();
    }
    Outcome {
        broken,
        end,
        before_calm: execution.before_calm.unwrap_or(execution.moves.len()),
        has_times: execution.sim.delays().is_some(),
        moves: execution.moves,
        hash,
    }
}

impl Execution<'_, '_> {
    fn run(&mut self, driver: &mut Driver<'_>) -> Result<End, Broken> {
        self.sim.simulation.settle();
        self.check()?;
        let before = match driver {
            Driver::Search(..) => self.run_wild(driver, Mode::Faulty)?,
            Driver::Follow {
                moves,
                then,
                is_punctual,
            } => {
                if *is_punctual {
                    self.follow_punctually(moves)?;
                } else {
                    self.follow(moves)?;
                }
                self.before_calm = Some(self.moves.len());
                match then {
                    Then::Ends => End::Left,
                    Then::Calm => End::Ceased,
                    Then::GoesOn => self.run_wild(driver, Mode::Calm)?,
                }
            }
        };
        if before == End::Left {
            return Ok(before);
        }
        self.before_calm.get_or_insert(self.moves.len());
        let mut end = self.run_calmly(before)?;
        if before == End::Ceased && end != End::Idle && !self.sim.properties.awaits_any() {
            end = self.run_on(driver)?;
        }
        if end == End::Idle {
            self.sim.properties.check_end(&self.sim.facts.borrow())?;
        }
        Ok(end)
    }

    /// Repeats the recorded steps in a list, and skips those that are not possible.
    fn follow(&mut self, moves: &[Move]) -> Result<(), Broken> {
        for next in moves {
            self.wait_until(next.at);
            self.prepare(Mode::Following, None);
            let mut enabled = self.schedule.all_enabled(self.sim).iter();
            if let Some(index) = enabled.position(|choice| *choice == next.choice) {
                let fate = self.schedule.possible(self.sim, index, next.fate);
                self.take(index, fate)?;
            }
        }
        Ok(())
    }

    /// Repeats the recorded steps in a list. Between these steps, other steps happen at the times
    /// at which they are due.
    fn follow_punctually(&mut self, moves: &[Move]) -> Result<(), Broken> {
        for next in moves {
            for _ in 0..self.limits.steps_max {
                self.schedule.prepare_now(self.sim, |sim| {
                    absorb(sim, self.observers.trace.as_deref_mut(), &mut None);
                });
                let enabled = self.schedule.all_enabled(self.sim);
                let wanted = enabled.iter().position(|choice| *choice == next.choice);
                let is_time = self.sim.clock.now() >= next.at;
                if let Some(index) = wanted.filter(|_| is_time) {
                    let fate = self.schedule.possible(self.sim, index, next.fate);
                    self.take(index, fate)?;
                    break;
                }
                if let Some((index, fate)) = default_of(enabled) {
                    self.take(index, fate)?;
                } else if !self.schedule.let_time_pass_until(self.sim, next.at) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Runs the steps that the driver chooses. Faults are possible if the mode is [`Mode::Faulty`].
    fn run_wild(&mut self, driver: &mut Driver<'_>, mode: Mode) -> Result<End, Broken> {
        let is_faulty = mode == Mode::Faulty;
        for _ in 0..self.limits.steps_max {
            self.prepare(mode, Some(driver));
            let is_over = self.schedule.have_faults_ceased(self.sim, self.moves.len());
            if is_faulty && is_over {
                return Ok(End::Ceased);
            }
            let enabled = self.schedule.enabled(self.sim);
            if enabled.is_empty() {
                return Ok(End::Idle);
            }
            let chosen = match driver {
                Driver::Search(strategy, rng) => strategy.choose(enabled).map(|index| {
                    let draws = is_faulty.then(|| self.schedule.draw(self.sim, rng, index));
                    (index, draws.unwrap_or(Fate::Happens))
                }),
                Driver::Follow { .. } => default_of(enabled),
            };
            let Some((index, fate)) = chosen else {
                return Ok(End::Left);
            };
            self.take(index, fate)?;
        }
        Ok(End::Cut)
    }

    /// Runs without faults until one of these things happens: nothing is left to do, all properties
    /// that must become true have been true, or the time limit of one of these properties has
    /// passed. A run with times is cut off if it has too many steps before. `before` is the reason
    /// why the part with faults has ended.
    fn run_calmly(&mut self, before: End) -> Result<End, Broken> {
        let facts = std::rc::Rc::clone(&self.sim.facts);
        let now = self.sim.clock.now();
        self.sim.properties.begin_calm(&facts.borrow(), now)?;
        if !self.sim.properties.awaits_any() && before != End::Ceased {
            return Ok(before);
        }
        self.repair()?;
        let now = self.sim.clock.now();
        self.sim.properties.begin_limits(now);
        let mut rng = Rng::new(CALM_SEED);
        self.sim.disks.calm();
        let mut left = self.limits.steps_max;
        loop {
            self.prepare(Mode::Calm, None);
            let Some(index) = choose_calmly(&mut rng, self.schedule.enabled(self.sim)) else {
                break;
            };
            let now = self.sim.clock.now();
            self.sim.properties.check_overdue(now)?;
            if !self.sim.properties.awaits_any() {
                break;
            }
            if left == 0 {
                // With times, the run is cut off: a property that still has time is not broken.
                // Without times, the program goes round in circles.
                if self.sim.delays().is_some() {
                    return Ok(End::Cut);
                }
                break;
            }
            left -= 1;
            self.take(index, Fate::Happens)?;
        }
        self.sim.properties.check_awaited()?;
        self.prepare(Mode::Calm, None);
        let is_idle = self.schedule.enabled(self.sim).is_empty();
        Ok(if is_idle { End::Idle } else { End::Cut })
    }

    /// Heals all partitions, and starts all crashed nodes that are to restart.
    fn repair(&mut self) -> Result<(), Broken> {
        loop {
            self.prepare(Mode::Calm, None);
            let mut enabled = self.schedule.all_enabled(self.sim).iter();
            let Some(index) = enabled.position(|choice| is_repair(*choice)) else {
                return Ok(());
            };
            self.take(index, Fate::Happens)?;
        }
    }

    /// Continues the run without faults, to its end.
    fn run_on(&mut self, driver: &mut Driver<'_>) -> Result<End, Broken> {
        if !self.limits.is_search_of_all {
            return self.run_wild(driver, Mode::Calm);
        }
        // The search of all orders does not know the steps since the faults have ceased.
        let moves = &mut Driver::Follow {
            moves: &[],
            then: Then::GoesOn,
            is_punctual: false,
        };
        self.run_wild(moves, Mode::Calm)
    }

    /// Finds the choices that can be taken now. Tells the strategy which choices the latest step
    /// has created.
    fn prepare(&mut self, mode: Mode, mut driver: Option<&mut Driver<'_>>) {
        let trace = &mut self.observers.trace;
        self.schedule.prepare(self.sim, mode, |sim| {
            absorb(sim, trace.as_deref_mut(), &mut driver);
        });
    }

    /// Lets time pass until `time`. Called only while the run follows a list of moves.
    fn wait_until(&mut self, time: Nanos) {
        let trace = &mut self.observers.trace;
        self.schedule.wait_until(self.sim, time, |sim| {
            absorb(sim, trace.as_deref_mut(), &mut None);
        });
    }

    /// Executes the enabled choice at an index.
    fn take(&mut self, index: usize, fate: Fate) -> Result<(), Broken> {
        let (at, choice) = self.schedule.take(self.sim, index, fate);
        let step = self.moves.len() as u32;
        self.sim.step.set(step);
        self.moves.push(Move {
            choice,
            fate,
            at: self.sim.clock.now(),
        });
        let fate = if self.schedule.is_cut_off(self.sim, at) {
            Fate::Lost
        } else {
            fate
        };
        self.hash = hash_step(self.hash, choice, fate);
        if let Some(watchdog) = self.observers.watchdog {
            watchdog.begin_step(self.sim.seed(), step);
        }
        let misplaced = stage::are_any()
            .then(|| stage::check_sender(&self.sim.simulation, at, |node| self.sim.name_of(node)))
            .flatten();
        let about = self.circumstances(at);
        let has_disks = self.sim.disks.are_any();
        if has_disks {
            self.sim
                .disks
                .set_in_turn(!matches!(choice, Choice::Other(_)));
        }
        let undone = match choice {
            Choice::Other(number) => {
                self.do_event(Event::of_number(number));
                false
            }
            _ => self.sim.simulation.step(at, fate).undone,
        };
        if has_disks {
            self.sim.disks.set_in_turn(false);
            self.crash_lost_node();
        }
        if let Some(coverage) = &mut self.observers.coverage
            && let (Choice::Deliver { to, .. }, Some((about, _))) = (choice, &about)
        {
            coverage.add(self.sim.seed(), to, about, fate, undone);
        }
        if let Some(trace) = &mut self.observers.trace {
            let facts = self.sim.facts.borrow();
            let new = facts.texts(self.checked).map(|(_, text)| text).collect();
            trace.add_step(self.sim.clock.now(), choice, fate, undone, about, new);
        }
        misplaced.map_or_else(|| self.check(), Err)
    }

    /// Returns the circumstances of a choice, such as its message, and the label of its receiver.
    /// Returns `None` if no observer needs them.
    fn circumstances(&self, at: usize) -> Option<(Circumstances, Option<String>)> {
        let has_trace = self.observers.trace.is_some();
        if !has_trace && self.observers.coverage.is_none() {
            return None;
        }
        let about = self.sim.simulation.circumstances(at)?;
        let label = has_trace.then(|| self.sim.simulation.label(at)).flatten();
        Some((about, label))
    }

    /// Records the faults of disks as facts. If a node has crashed at a disk operation of the turn
    /// that has just ended, drops the actors of this node.
    fn crash_lost_node(&mut self) {
        let lost = self.sim.disks.lost();
        self.sim.add_disk_faults();
        if let Some(name) = lost {
            let node = self.sim.node_index(&name);
            self.schedule.happen(self.sim, Event::Crash(node));
            self.sim.add_fact(Crashed(name));
            self.sim.add_disk_faults();
        }
    }

    fn do_event(&mut self, event: Event) {
        // A node that starts may note facts, which come after the fact that it starts.
        match event {
            Event::Restart(node) => self
                .sim
                .add_fact(Restarted(self.sim.name_at(node).to_owned())),
            Event::Heal(index) => self.sim.add_fact(Healed(self.sim.partition_name(index))),
            _ => {}
        }
        self.schedule.happen(self.sim, event);
        match event {
            Event::Crash(node) => self
                .sim
                .add_fact(Crashed(self.sim.name_at(node).to_owned())),
            Event::Cut(index) => self.sim.add_fact(Cut(self.sim.partition_name(index))),
            _ => {}
        }
    }

    /// Checks that no actor has failed. If facts were recorded since the last call, checks the
    /// properties, too.
    fn check(&mut self) -> Result<(), Broken> {
        if let Some(failure) = self.sim.take_failure() {
            return Err(failure);
        }
        let facts = self.sim.facts.borrow();
        if facts.len() > self.checked {
            self.checked = facts.len();
            let now = self.sim.clock.now();
            self.sim.properties.check_step(&facts, now)?;
        }
        Ok(())
    }
}

/// Tells the strategy which choices have become possible, and tells the trace which tasks were
/// created.
fn absorb(sim: &mut Sim, trace: Option<&mut Trace>, driver: &mut Option<&mut Driver<'_>>) {
    let caused = sim.simulation.caused();
    if let Some(Driver::Search(strategy, _)) = driver {
        for &choice in caused.iter() {
            strategy.caused(choice);
        }
    }
    caused.clear();
    if let Some(trace) = trace {
        trace.add_births(&sim.births_with_nodes());
    }
    sim.simulation.births().clear();
}

/// Chooses at random among the enabled choices, but lets time pass only if nothing else can happen.
/// Returns `None` if there are no choices.
fn choose_calmly(rng: &mut Rng, enabled: &[Choice]) -> Option<usize> {
    if enabled.len() < 2 {
        return enabled.first().map(|_| 0);
    }
    let index = rng.below(enabled.len());
    let is_time = Event::of(enabled[index]) == Some(Event::Time);
    Some(if is_time {
        (index + 1) % enabled.len()
    } else {
        index
    })
}

/// Returns the index of the first choice that begins no fault. The step of this choice happens as
/// usual.
fn default_of(enabled: &[Choice]) -> Option<(usize, Fate)> {
    let index = enabled.iter().position(|choice| !is_fault(*choice))?;
    Some((index, Fate::Happens))
}

/// Mixes `number` into `hash`, and returns the result.
fn hashed(hash: u64, number: u64) -> u64 {
    (hash.rotate_left(5) ^ number).wrapping_mul(HASH_FACTOR)
}

/// Mixes a step into `hash`, and returns the result.
fn hash_step(hash: u64, choice: Choice, fate: Fate) -> u64 {
    let hash = hashed(hash, fate as u64);
    match choice {
        Choice::Start { task } => hashed(hash, task.get()),
        Choice::Deliver { from, to } => hashed(hashed(hash, from.get()), to.get()),
        Choice::Other(number) => hashed(hash, u64::from(number)),
    }
}
