//! The execution of one run.

use garrick_core::random::mix;
use garrick_sched::{Choice, Circumstances, Fate};

use crate::coverage::Coverage;
use crate::facts::{Crashed, Restarted};
use crate::property::Broken;
use crate::schedule::{Schedule, TIME, crash_or_restart, is_crash};
use crate::search::{Rng, Strategy};
use crate::sim::Sim;
use crate::stage;
use crate::trace::Trace;
use crate::watchdog::Watchdog;

/// Odd number with irregular bits: the fractional part of the golden ratio.
const HASH_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Seed of the generator for the calm end of a run. It is the same in all runs, so that a shortened
/// list of moves leads to the same end.
const CALM_SEED: u64 = 0x6361_6c6d;

/// A step of a run: a choice and what it led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Move {
    /// The choice that was taken.
    pub choice: Choice,
    /// Result of the choice.
    pub fate: Fate,
}

/// Limits of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Maximum number of steps with faults, and maximum number of steps of the calm end.
    pub(crate) steps_max: u32,
    /// True if each crash waits for a step that is drawn. Otherwise, most crashes would come at the
    /// beginning, because they are always possible.
    pub(crate) delays_crashes: bool,
}

/// Chooser of the steps of a run.
pub(crate) enum Driver<'a> {
    /// A strategy chooses, and the generator draws the faults.
    Search(&'a mut dyn Strategy<Choice>, Rng),
    /// A list of moves is followed. Moves that are not possible are skipped. After the list, the
    /// first choice is taken if `goes_on` is true, and otherwise the run ends.
    Follow { moves: &'a [Move], goes_on: bool },
}

/// Reason why a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing was left to do.
    Idle,
    /// The limit of steps was reached.
    Cut,
    /// The strategy or the list has ended the run.
    Left,
    /// A property is broken.
    Broken,
}

/// Observers of a run.
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
    /// Hash of everything that was chosen, noted and reached. Two runs with the same hash are most
    /// likely the same.
    pub(crate) hash: u64,
}

/// State of the execution of a run.
struct Execution<'s, 't> {
    sim: &'s mut Sim,
    schedule: Schedule,
    observers: Observers<'t>,
    limits: Limits,
    moves: Vec<Move>,
    hash: u64,
    /// Number of facts at the last check of the properties.
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
    }
    if let Some(coverage) = &mut observers.coverage {
        coverage.begin();
    }
    let schedule = Schedule::new(sim, limits.delays_crashes);
    let mut execution = Execution {
        sim,
        schedule,
        observers,
        limits,
        moves: Vec::new(),
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
        moves: execution.moves,
        hash,
    }
}

impl Execution<'_, '_> {
    fn run(&mut self, driver: &mut Driver<'_>) -> Result<End, Broken> {
        self.sim.simulation.settle();
        self.check()?;
        let end = self.run_wild(driver)?;
        if end == End::Left {
            return Ok(end);
        }
        let end = self.run_calmly(end)?;
        if end == End::Idle {
            self.sim.properties.check_end(&self.sim.facts.borrow())?;
        }
        Ok(end)
    }

    /// Runs with faults, as the driver chooses.
    fn run_wild(&mut self, driver: &mut Driver<'_>) -> Result<End, Broken> {
        let mut at = 0;
        for _ in 0..self.limits.steps_max {
            self.prepare(true, Some(driver));
            let enabled = self.schedule.enabled(self.sim);
            if enabled.is_empty() {
                return Ok(End::Idle);
            }
            let chosen = match driver {
                Driver::Search(strategy, rng) => strategy
                    .choose(enabled)
                    .map(|index| (index, self.schedule.draw(self.sim, rng, index))),
                Driver::Follow { moves, goes_on } => next_of(moves, &mut at, enabled)
                    .or_else(|| goes_on.then(|| default_of(enabled)).flatten()),
            };
            let Some((index, fate)) = chosen else {
                return Ok(End::Left);
            };
            self.take(index, fate)?;
        }
        Ok(End::Cut)
    }

    /// Runs without faults until nothing is left to do, or until each property that is awaited has
    /// had enough time. `before` is the end of the part with faults.
    fn run_calmly(&mut self, before: End) -> Result<End, Broken> {
        let Some(within) = self.sim.properties.awaited() else {
            return Ok(before);
        };
        let until = self.sim.clock.now().saturating_add(within);
        let mut rng = Rng::new(CALM_SEED);
        self.sim.disks.calm();
        for _ in 0..self.limits.steps_max {
            self.prepare(false, None);
            let Some(index) = choose_calmly(&mut rng, self.schedule.enabled(self.sim)) else {
                break;
            };
            if self.sim.properties.awaited().is_none() || self.sim.clock.now() > until {
                break;
            }
            self.take(index, Fate::Happens)?;
        }
        self.sim.properties.check_awaited()?;
        self.prepare(false, None);
        let is_idle = self.schedule.enabled(self.sim).is_empty();
        Ok(if is_idle { End::Idle } else { End::Cut })
    }

    /// Finds the choices that can be taken now, and tells the strategy what was caused.
    fn prepare(&mut self, with_faults: bool, mut driver: Option<&mut Driver<'_>>) {
        let trace = &mut self.observers.trace;
        self.schedule.prepare(self.sim, with_faults, |sim| {
            let caused = sim.simulation.caused();
            if let Some(Driver::Search(strategy, _)) = &mut driver {
                for &choice in caused.iter() {
                    strategy.caused(choice);
                }
            }
            caused.clear();
            if let Some(trace) = trace {
                trace.add_births(&sim.births_with_nodes());
            }
            sim.simulation.births().clear();
        });
    }

    /// Takes the step with an index in the enabled choices.
    fn take(&mut self, index: usize, fate: Fate) -> Result<(), Broken> {
        let (at, choice) = self.schedule.take(self.sim, index);
        let step = self.moves.len() as u32;
        self.sim.step.set(step);
        self.moves.push(Move { choice, fate });
        self.hash = hash_step(self.hash, choice, fate);
        if let Some(watchdog) = self.observers.watchdog {
            watchdog.begin_step(self.sim.seed(), step);
        }
        let misplaced = stage::are_any()
            .then(|| stage::check_sender(&self.sim.simulation, at, |node| self.sim.name_of(node)))
            .flatten();
        let about = self.circumstances(at);
        let undone = match choice {
            Choice::Other(number) => {
                self.do_other(number);
                false
            }
            _ if self.sim.disks.are_any() => {
                self.sim.disks.set_in_turn(true);
                let undone = self.sim.simulation.step(at, fate).undone;
                self.sim.disks.set_in_turn(false);
                undone
            }
            _ => self.sim.simulation.step(at, fate).undone,
        };
        if self.sim.disks.are_any() {
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

    /// Returns the circumstances of a choice and the label of its receiver, if an observer needs
    /// them.
    fn circumstances(&self, at: usize) -> Option<(Circumstances, Option<String>)> {
        let has_trace = self.observers.trace.is_some();
        if !has_trace && self.observers.coverage.is_none() {
            return None;
        }
        let about = self.sim.simulation.circumstances(at)?;
        let label = has_trace.then(|| self.sim.simulation.label(at)).flatten();
        Some((about, label))
    }

    /// Notes the faults of disks, and crashes the node that has crashed within the turn.
    fn crash_lost_node(&mut self) {
        let lost = self.sim.disks.lost();
        self.sim.add_disk_faults();
        if let Some(name) = lost {
            self.schedule.crash(self.sim, self.sim.node_index(&name));
            self.sim.add_fact(Crashed(name));
            self.sim.add_disk_faults();
        }
    }

    fn do_other(&mut self, number: u32) {
        if number == TIME {
            self.schedule.advance(self.sim);
            return;
        }
        let (node, is_crash) = crash_or_restart(number);
        let name = self.sim.name_at(node).to_owned();
        if is_crash {
            self.schedule.crash(self.sim, node);
            self.sim.add_fact(Crashed(name));
        } else {
            self.sim.add_fact(Restarted(name));
            self.schedule.restart(self.sim, node);
        }
    }

    /// Checks the properties.
    fn check(&mut self) -> Result<(), Broken> {
        if let Some(failure) = self.sim.take_failure() {
            return Err(failure);
        }
        let facts = self.sim.facts.borrow();
        if facts.len() > self.checked {
            self.checked = facts.len();
            self.sim.properties.check_step(&facts)?;
        }
        Ok(())
    }
}

/// Chooses at random among the enabled choices, but lets time pass only if nothing else can happen.
/// Returns `None` if there are no choices.
fn choose_calmly(rng: &mut Rng, enabled: &[Choice]) -> Option<usize> {
    if enabled.len() < 2 {
        return enabled.first().map(|_| 0);
    }
    let index = rng.below(enabled.len());
    let is_time = enabled[index] == Choice::Other(TIME);
    Some(if is_time {
        (index + 1) % enabled.len()
    } else {
        index
    })
}

/// Returns the first choice that is no crash.
fn default_of(enabled: &[Choice]) -> Option<(usize, Fate)> {
    let index = enabled.iter().position(|choice| !is_crash(*choice))?;
    Some((index, Fate::Happens))
}

/// Returns the index and the fate of the next move of a list that is possible.
fn next_of(moves: &[Move], at: &mut usize, enabled: &[Choice]) -> Option<(usize, Fate)> {
    while let Some(next) = moves.get(*at) {
        *at += 1;
        if let Some(index) = enabled.iter().position(|choice| *choice == next.choice) {
            return Some((index, next.fate));
        }
    }
    None
}

/// Adds a number to a hash.
fn hashed(hash: u64, number: u64) -> u64 {
    (hash.rotate_left(5) ^ number).wrapping_mul(HASH_FACTOR)
}

/// Adds a step to a hash.
fn hash_step(hash: u64, choice: Choice, fate: Fate) -> u64 {
    let hash = hashed(hash, fate as u64);
    match choice {
        Choice::Start { task } => hashed(hash, task.get()),
        Choice::Deliver { from, to } => hashed(hashed(hash, from.get()), to.get()),
        Choice::Other(number) => hashed(hash, u64::from(number)),
    }
}
