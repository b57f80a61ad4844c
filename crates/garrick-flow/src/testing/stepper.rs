//! Runs a graph step by step.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use garrick_core::random::mix;
use garrick_sched::{Nanos, nanos};

use super::Seen;
use crate::graph::{AnyStage, Graph, Opened, Report, Sample};
use crate::stage::{Clock, Runner};
use crate::wait::Verdict;

/// Number of steps after which [`Stepper::run_until_idle`] panics, because the graph probably never
/// becomes idle.
pub const STEPS_MAX: u64 = 10_000_000;

/// A tool that runs a graph step by step on the calling thread, with a clock set by the test.
///
/// Stages take steps round-robin in the order in which they were added, or in a random order
/// ([`seeded`](Self::seeded)). Teams and cores have no effect in a stepper.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, Restarts, stages};
/// use garrick_flow::testing::Stepper;
///
/// let mut graph = Graph::new();
/// let (numbers, input) = graph.channel(4)?;
/// let (output, doubles) = graph.channel(4)?;
/// graph.source("numbers", stages::produce(numbers, 0..6));
/// let double = stages::map(input, output, |n| n * 2);
/// graph.stage("double", double.restarting(Restarts::default()));
/// graph.stage("end", stages::consume(doubles, |_| ()));
///
/// let mut stepper = Stepper::new(graph);
/// assert_eq!(stepper.step(), Some("numbers"));
/// assert_eq!(stepper.fill(0), 2);
///
/// stepper.inject_panic("double", "on purpose")?;
/// stepper.run_until_idle();
///
/// let report = stepper.finish();
/// assert_eq!((report.channels()[1].taken, report.stages()[1].restarts), (6, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Stepper {
    /// The stages, indexed by their ids. An entry is `None` if the stage has ended.
    stages: Vec<Option<Runner<AnyStage>>>,
    /// State that the stages share.
    opened: Opened,
    /// The current time of the stepper's clock.
    now: Nanos,
    /// The order in which stages take steps.
    order: Order,
}

/// The rule by which a [`Stepper`] chooses the next stage.
enum Order {
    /// Round-robin. The next stage is the first due stage whose id is at least the contained
    /// number. If there is no such stage, the next stage is the first due stage.
    Turns(usize),
    /// Random. The contained value is the state of the random number generator.
    Chance(u64),
}

/// The error returned if no stage has the given name, or if the stage with that name has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSuchStage {
    /// The name for which no stage was found.
    pub name: String,
    /// Names of the stages that have not ended.
    pub there_are: Vec<String>,
}

impl Stepper {
    /// Creates a stepper for `graph`. No stage has taken a step yet, and the clock starts at 0.
    ///
    /// # Panics
    ///
    /// Panics if stages form a cycle without a feedback channel, or if a feedback channel does not
    /// lead back. [`Graph::start`] would return an error for such a graph.
    #[track_caller]
    pub fn new(graph: Graph) -> Self {
        let (opened, stages) = match Opened::by_hand(graph) {
            Ok(opened) => opened,
            Err(error) => panic!("{error}"),
        };
        let stages = stages
            .into_iter()
            .map(|(stage, env)| Some(Runner::new(stage, env)))
            .collect();
        Self {
            stages,
            opened,
            now: 0,
            order: Order::Turns(0),
        }
    }

    /// Makes the stepper choose the stage for each step at random. Steppers with the same seed make
    /// the same choices.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.order = Order::Chance(seed);
        self
    }

    /// Takes one step of a stage whose step is due, and returns the stage's name. If every stage
    /// rests or has ended, no step is due, and the method returns `None`.
    pub fn step(&mut self) -> Option<&str> {
        let mut due = self.due();
        if due.is_empty() {
            // On threads, a stage that is woken in vain checks whether its loop can stop.
            let (lines, post) = (self.opened.monitor.lines(), &self.opened.post);
            for each in self.opened.loops.iter() {
                each.look(lines, post);
            }
            due = self.due();
        }
        let stage = self.choose(&due)?;
        self.step_number(stage);
        Some(self.opened.monitor.name_of(stage))
    }

    /// Takes a step of the stage with the given name, even if no step is due, and returns the state
    /// of the stage after the step. A running graph may also take steps that are not due, so each
    /// stage must allow steps that are not due.
    ///
    /// # Errors
    ///
    /// Returns [`NoSuchStage`] if no stage has the name, or if the stage has ended.
    pub fn step_stage(&mut self, name: &str) -> Result<Seen, NoSuchStage> {
        let stage = self.find(name)?;
        Ok(self.step_number(stage))
    }

    /// Takes steps until no step is due, and returns the number of steps.
    ///
    /// # Panics
    ///
    /// Panics after [`STEPS_MAX`] steps. After so many steps, the graph probably has a source that
    /// never ends, or a stage that never sleeps.
    #[track_caller]
    pub fn run_until_idle(&mut self) -> u64 {
        let steps = self.run(STEPS_MAX);
        assert!(
            steps < STEPS_MAX,
            "the graph did not become idle within {STEPS_MAX} steps"
        );
        steps
    }

    /// Takes steps until no step is due, but at most `steps_max` steps. Returns the number of
    /// steps.
    pub fn run(&mut self, steps_max: u64) -> u64 {
        let mut steps = 0;
        while steps < steps_max && self.step().is_some() {
            steps += 1;
        }
        steps
    }

    /// Advances the clock by the time `by`.
    pub fn advance(&mut self, by: Duration) {
        let by = nanos(by);
        self.now = self.now.saturating_add(by);
        self.opened.monitor.set_time(self.now);
    }

    /// Makes the stage called `name` panic in its next step. The message of the panic is `words`. A
    /// [`restarting`](crate::restarting) stage panics at the start of its next step. Any other
    /// stage panics at the end of its next step.
    ///
    /// # Errors
    ///
    /// Returns [`NoSuchStage`] if no stage has the name, or if the stage has ended.
    pub fn inject_panic(&mut self, name: &str, words: &str) -> Result<(), NoSuchStage> {
        let stage = self.find(name)?;
        if let Some(runner) = &mut self.stages[stage]
            && let Some(env) = runner.env()
        {
            env.desk.set_fault(Some(words.to_owned()));
        }
        Ok(())
    }

    /// Asks all stages whether the graph may stop, like [`Running::stop`](crate::Running::stop).
    pub fn stop(&mut self) {
        self.opened.post.stop();
    }

    /// Stops the sources even if a stage vetoes, like
    /// [`Running::overrule`](crate::Running::overrule).
    pub fn overrule(&mut self) {
        let (lines, post) = (self.opened.monitor.lines(), &self.opened.post);
        for each in self.opened.loops.iter() {
            each.cut(lines, post);
        }
        post.overrule();
    }

    /// Returns the number of messages in the channel with the index `channel`. The channels are
    /// indexed from 0, in the order of their creation.
    ///
    /// # Panics
    ///
    /// Panics if there is no such channel.
    #[track_caller]
    pub fn fill(&self, channel: usize) -> u64 {
        self.opened.monitor.lines()[channel].readable()
    }

    /// Returns true if all stages have ended.
    pub fn has_ended(&self) -> bool {
        self.stages.iter().all(Option::is_none)
    }

    /// Returns the state and counters of all stages and channels.
    pub fn totals(&self) -> Sample {
        self.opened.monitor.sample()
    }

    /// Drops the stages that have not ended, and returns the report.
    pub fn finish(mut self) -> Report {
        self.stages.clear();
        self.opened.monitor.report()
    }

    /// Returns the stages whose step is due.
    fn due(&mut self) -> Vec<usize> {
        let stages = 0..self.stages.len();
        stages
            .filter(|stage| self.look_at(*stage) == Seen::Ready)
            .collect()
    }

    /// Returns the id of the stage with the given name, if this stage has not ended.
    fn find(&self, name: &str) -> Result<usize, NoSuchStage> {
        let name_of = |number| self.opened.monitor.name_of(number);
        let numbers = 0..self.stages.len();
        let mut alive = numbers.filter(|number| self.stages[*number].is_some());
        let found = alive.clone().find(|number| name_of(*number) == name);
        found.ok_or_else(|| NoSuchStage {
            name: name.to_owned(),
            there_are: alive
                .by_ref()
                .map(|number| name_of(number).to_owned())
                .collect(),
        })
    }

    /// Chooses one of the stages in `due`. Returns `None` if `due` is empty.
    fn choose(&mut self, due: &[usize]) -> Option<usize> {
        match &mut self.order {
            Order::Turns(next) => {
                let after = due.iter().find(|stage| **stage >= *next);
                let stage = *after.or(due.first())?;
                *next = stage + 1;
                Some(stage)
            }
            Order::Chance(state) => {
                let last = u64::try_from(due.len()).ok()?.checked_sub(1)?;
                *state = state.wrapping_add(1);
                Some(due[(mix(*state) % (last + 1)) as usize])
            }
        }
    }

    fn step_number(&mut self, stage: usize) -> Seen {
        let clock = Clock::Fixed(self.now);
        if let Some(runner) = &mut self.stages[stage]
            && !runner.step(clock)
        {
            self.stages[stage] = None;
        }
        let seen = self.look_at(stage);
        if let (Seen::Waits, Some(runner)) = (seen, &mut self.stages[stage]) {
            runner.rested(|| self.now);
        }
        seen
    }

    /// Returns the state of a stage. If the stage has no next step, drops it.
    fn look_at(&mut self, stage: usize) -> Seen {
        let Some(runner) = &mut self.stages[stage] else {
            return Seen::Done;
        };
        match runner.look(|| self.now) {
            Verdict::Due => Seen::Ready,
            Verdict::NotYet(_) => Seen::Waits,
            Verdict::Done => {
                runner.is_done(|| self.now);
                self.stages[stage] = None;
                Seen::Done
            }
        }
    }
}

impl fmt::Debug for Stepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stepper")
            .field("now", &self.now)
            .field("totals", &self.totals())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for NoSuchStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, there_are } = self;
        write!(
            f,
            "no stage with the name \"{name}\" is running; the stages that have not ended are {there_are:?}"
        )
    }
}

impl Error for NoSuchStage {}
