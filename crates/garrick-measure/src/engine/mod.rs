//! The measuring engine. It is a small dataflow of actors, modeled on the benchmark actors of
//! TActors.
//!
//! ```text
//!    +----> Sweep            the next set: a scenario, or a point of a sweep
//!    |        : lay out
//!    |     WarmUp            how many operations fill the time
//!    |        | set          |  ^
//!    |     Rounds            v  | trials
//!    |      | | samples     Timer
//!    +------+ |              :
//!     over   Median          :    - - - - the desk: below it no turn is running - - - -
//!             | rows         :
//!          Normaliser      Bench  contenders and the yardstick
//!             | rows
//!           Table            all rows so far
//! ```
//!
//! The actors run in a [`Local`] of the measuring thread. The measured code must not run inside a
//! turn. In a turn, the sends of this code would be staged together with the sends of the turn.
//! Also, the code could not have its own `Local`. So `Timer` and `Sweep` only put a *job* on the
//! *desk*, which has room for one job. When no actor has work left, `Local::run` returns. Then
//! [`run`] takes the job, executes it, and sends the result to an actor. During a measurement no
//! actor of the engine runs, and no other thread could run one.
//!
//! A shared machine changes its speed from second to second. So all contenders are measured
//! alternately, round by round. Before and after each measurement of a contender, the yardstick is
//! measured: one uncontended atomic addition. A contender's ratio to the yardstick uses these two
//! measurements of the yardstick. The reported figure is the median of those ratios, not the ratio
//! of two medians.
//!
//! ```text
//!   round 1:  rmw  [garrick]  rmw  [recursion]  rmw
//!   round 2:  rmw  [garrick]  rmw  [recursion]  rmw  ...
//! ```

mod step;

mod timer;

mod table;

mod normaliser;

mod median;

mod rounds;
mod warm_up;

mod sweep;

use std::cell::RefCell;
use std::rc::Rc;

use garrick_actor::{Address, Local};

use crate::row::Row;
use crate::scenario::{Contender, Effort, Measured, Result};
use crate::stop::Stop;
use crate::yardstick;

use normaliser::Normaliser;
use rounds::Rounds;
use step::{Desk, Entrant, Job, Over, Set, Step, Trial, Who};
use sweep::Sweep;
use table::Table;
use timer::{Timer, Timing};
use warm_up::WarmUp;

/// Contenders that are measured alternately.
pub(crate) struct Plan<'a> {
    pub(crate) scenario: &'a str,
    /// Creates the contenders. Called just before they are measured, and possibly once more before
    /// that to get their names.
    pub(crate) contenders: Box<dyn Fn() -> Result<Vec<Contender>> + 'a>,
}

/// Number and duration of the measurements of each contender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pace {
    /// Number of measurements of each contender that has no fixed amount of work.
    pub(crate) rounds: usize,
    /// Approximate time of all measurements of a contender, in seconds.
    pub(crate) seconds_per_row: f64,
}

impl Pace {
    /// Returns the approximate time of one measurement, in seconds.
    fn slice_s(&self) -> f64 {
        self.seconds_per_row / self.rounds as f64
    }
}

impl From<&Effort> for Pace {
    fn from(effort: &Effort) -> Self {
        Self {
            rounds: effort.rounds(),
            seconds_per_row: effort.seconds_per_row,
        }
    }
}

/// Progress of a run, for display.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress<'a> {
    /// Index of the current plan, which is a set of contenders that are measured alternately.
    pub(crate) plan: usize,
    pub(crate) scenario: &'a str,
    /// Name of the contender being measured.
    pub(crate) contender: &'a str,
    /// Finished part of the plan, from 0 to 1.
    pub(crate) done: f64,
}

/// Measures all plans, and calls `progress` before each trial of a contender. If `stop` is
/// requested, returns the rows measured so far.
pub(crate) fn run(
    plans: Vec<Plan<'_>>,
    pace: Pace,
    reference: Option<&str>,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Row>> {
    let local = Local::new()?;
    let engine = Engine::assemble(&local, plans.len(), pace, reference);
    let mut bench = Bench::new(plans);
    send(&engine.sweep, Over)?;
    local.run();
    while let Some(job) = engine.desk.take() {
        if stop.is_wanted() {
            engine.stop(&local)?;
            break;
        }
        match job {
            Job::Lay(plan) => {
                let set = bench.lay(plan, &engine.sweep)?;
                send(&engine.warm_up, Step::Begin(set))?;
            }
            Job::Try(trial) => match bench.perform(trial, progress) {
                Ok(measured) => send(&engine.timer, Timing::Took(measured))?,
                // Ctrl-C also ends a process that the contender has started.
                Err(_) if stop.is_wanted() => {
                    engine.stop(&local)?;
                    break;
                }
                Err(error) => return Err(error),
            },
        }
        local.run();
    }
    let rows = engine.table.ask(table::Message::Take);
    local.run();
    Ok(rows.wait()?)
}

/// The actors to which [`run`] sends messages.
struct Engine {
    sweep: Address<Over>,
    warm_up: Address<Step>,
    rounds: Address<Step>,
    timer: Address<Timing>,
    table: Address<table::Message>,
    desk: Rc<Desk>,
}

impl Engine {
    fn assemble(local: &Local, plans: usize, pace: Pace, reference: Option<&str>) -> Self {
        let desk = Rc::new(Desk(RefCell::new(None)));
        let table = local.spawn(Table::default());
        let normaliser = local.spawn(Normaliser::new(reference, table.clone()));
        let median = local.spawn(median::Median::new(normaliser));
        let timer = local.spawn(Timer::new(desk.clone()));
        let rounds = local.spawn(Rounds::new(timer.clone(), median));
        let warm_up = local.spawn(WarmUp::new(pace, timer.clone(), rounds.clone()));
        let sweep = local.spawn(Sweep::new(plans, desk.clone()));
        Self {
            sweep,
            warm_up,
            rounds,
            timer,
            table,
            desk,
        }
    }

    /// Ends the current set of contenders, so that the table gets the measurements made so far.
    fn stop(&self, local: &Local) -> Result<()> {
        send(&self.rounds, Step::Stop)?;
        local.run();
        Ok(())
    }
}

/// Sends a message to an actor of the engine.
fn send<M: 'static>(to: &Address<M>, message: M) -> Result<()> {
    to.send(message)
        .map_err(|_| "an actor of the measuring engine failed".into())
}

/// The data of the thread that creates and measures the contenders. This thread works outside of
/// the turns of actors.
struct Bench<'a> {
    /// Plans that have not been started yet.
    plans: Vec<Option<Plan<'a>>>,
    /// Index of the current plan, which is a set of contenders that are measured alternately.
    plan: usize,
    /// Name of the current scenario.
    scenario: &'a str,
    /// Contenders of the current plan.
    contenders: Vec<Contender>,
}

impl<'a> Bench<'a> {
    fn new(plans: Vec<Plan<'a>>) -> Self {
        Self {
            plans: plans.into_iter().map(Some).collect(),
            plan: 0,
            scenario: "",
            contenders: Vec::new(),
        }
    }

    /// Drops the contenders of the previous plan, and creates the contenders of the plan with the
    /// index `number`. The old contenders are dropped first, so that they can stop their threads.
    fn lay(&mut self, number: usize, over: &Address<Over>) -> Result<Set> {
        self.contenders.clear();
        let plan = self.plans[number]
            .take()
            .ok_or("a plan of the measuring engine was started twice")?;
        (self.plan, self.scenario) = (number, plan.scenario);
        self.contenders = (plan.contenders)()?;
        Ok(Set {
            scenario: self.scenario.to_owned(),
            entrants: self.contenders.iter().map(Entrant::of).collect(),
            additions: 0,
            yardsticks: Vec::new(),
            over: over.clone(),
        })
    }

    fn perform(
        &mut self,
        trial: Trial,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Measured> {
        match trial.who {
            Who::Yardstick => Ok(yardstick::measure(trial.ops)),
            Who::Entrant(index) => {
                let contender = &mut self.contenders[index];
                progress(Progress {
                    plan: self.plan,
                    scenario: self.scenario,
                    contender: contender.name,
                    done: trial.done,
                });
                let measured = (contender.measure)(trial.ops)?;
                measured.check(self.scenario, contender.name)?;
                Ok(measured)
            }
        }
    }
}

#[cfg(test)]
mod tests;
