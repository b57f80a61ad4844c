//! The check of a program: many runs, the search for a short failing run, and the report.

use std::cell::Cell;
use std::env;
use std::fmt::Debug;
use std::fs;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use garrick_core::random::mix;
use garrick_sched::Choice;

use crate::files::{self, Recorded};
use crate::property::Broken;
use crate::quiet::Quiet;
use crate::report::{Failed, Report};
use crate::run::{Driver, End, Limits, Move, Observers, Outcome, Then, execute};
use crate::search::{
    Coverage, Exhaustive, Pct, Portfolio, Pos, Reduction, Rng, Strategy, Walk, shrink,
};
use crate::settings::{Amount, Choosing, Settings};
use crate::sim::Sim;
use crate::trace::Trace;
use crate::watchdog::Watchdog;

/// A run whose seed is a multiple of this number is executed twice, to check that runs are
/// deterministic.
const TWICE_EVERY: u64 = 64;

/// Only runs whose seeds are multiples of this number contribute to the coverage, because recording
/// a message takes longer than delivering it.
const COVERED_EVERY: u64 = 8;

/// Default time limit of a step.
const STEP_TIME: Duration = Duration::from_secs(10);

/// Number of times that a failing run is repeated, to check that all its repetitions are equal.
const REPEATS: usize = 2;

/// Maximum number of runs that are made to shorten a failing run.
const SHRINK_RUNS: u64 = 5_000;

/// Maximum total number of steps in the runs that are made to shorten a failing run. Limits on runs
/// and steps, unlike a time limit, have the same effect on machines of any speed.
const SHRINK_STEPS: usize = 1_000_000;

/// Time limit for shortening a failing run. Only programs with slow steps reach this limit.
const SHRINK_TIME: Duration = Duration::from_secs(60);

/// The strategy PCT changes priorities at random steps whose index is below this constant. The
/// constant is the same for all runs, so that a run depends only on its seed.
const PCT_STEPS: u64 = 64;

/// A number that makes the random generator of faults differ from the random generator of the
/// strategy.
const FAULTS: u64 = 0x6661_756c_7473;

/// Environment variable with the settings of the search.
const SETTINGS_VARIABLE: &str = "GARRICK_SIM";
/// Environment variable with the seed of a single run.
const SEED_VARIABLE: &str = "GARRICK_SIM_SEED";
/// Environment variable with the path of a file that contains the choices of a run.
const MOVES_VARIABLE: &str = "GARRICK_SIM_CHOICES";

/// The result of a setup: nothing, or an error that stops the check.
pub trait Setup {
    /// Converts the error of the setup, if there is one, into a text.
    ///
    /// # Errors
    /// Returns the text of the error if the setup has failed.
    fn into_result(self) -> Result<(), String>;
}

impl Setup for () {
    fn into_result(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Debug> Setup for Result<(), E> {
    fn into_result(self) -> Result<(), String> {
        self.map_err(|error| format!("{error:?}"))
    }
}

/// A check of a program in many simulated runs. [`Sim::check`] runs a check with the default
/// settings.
///
/// # Examples
/// Two tellers read a balance, add to it, and write it back. One of the two deposits may be lost:
/// ```
/// use garrick_actor::{Actor, Address, Context, Reply};
/// use garrick_sim::Check;
///
/// #[derive(Debug)]
/// struct Balance(u32);
///
/// #[derive(Default)]
/// struct Account(u32);
///
/// enum Request {
///     Read(Reply<u32>),
///     Write(u32),
/// }
///
/// impl Actor for Account {
///     type Msg = Request;
///     type Outcome = ();
///
///     fn receive(&mut self, request: Request, cx: &mut Context<'_, Request>) {
///         match request {
///             Request::Read(reply) => reply.send(self.0),
///             Request::Write(balance) => {
///                 self.0 = balance;
///                 cx.note(Balance(balance));
///             }
///         }
///     }
/// }
///
/// struct Teller(Address<Request>);
///
/// enum Task {
///     Deposit,
///     Add(u32),
/// }
///
/// impl Actor for Teller {
///     type Msg = Task;
///     type Outcome = ();
///
///     fn receive(&mut self, task: Task, cx: &mut Context<'_, Task>) {
///         match task {
///             Task::Deposit => {
///                 cx.ask(&self.0, Request::Read, |read| Task::Add(read.unwrap_or(0)));
///             }
///             Task::Add(balance) => drop(cx.send(&self.0, Request::Write(balance + 1))),
///         }
///     }
/// }
///
/// let found = Check::new("lost update").seeds(100).run(|sim| {
///     let bank = sim.node("bank");
///     let account = bank.spawn(Account::default()).unwrap();
///     for _ in 0..2 {
///         let teller = bank.spawn(Teller(account.clone())).unwrap();
///         teller.send(Task::Deposit).unwrap();
///     }
///     sim.at_end("both deposits count", |facts| {
///         facts.last::<Balance>().is_some_and(|balance| balance.0 == 2)
///     });
/// });
/// let failed = found.unwrap_err();
/// assert_eq!(failed.broken().property, "both deposits count");
/// ```
#[derive(Debug, Clone)]
pub struct Check {
    name: String,
    settings: Settings,
    first_seed: u64,
    only_seed: Option<u64>,
    moves: Option<PathBuf>,
    folder: Option<PathBuf>,
    step_limit: Duration,
}

impl Check {
    /// Creates a check named `name`. If a property is broken, the check writes files that describe
    /// the failure. The names of these files contain `name`.
    ///
    /// # Panics
    /// Panics if one of the environment variables `GARRICK_SIM`, `GARRICK_SIM_SEED` and
    /// `GARRICK_SIM_CHOICES` is set and has a wrong form.
    #[must_use]
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Self {
        let settings = variable(SETTINGS_VARIABLE).map(|text| {
            text.parse()
                .unwrap_or_else(|error| panic!("{SETTINGS_VARIABLE}: {error}"))
        });
        let only_seed = variable(SEED_VARIABLE).map(|text| {
            files::parse_seed(&text).unwrap_or_else(|| {
                panic!("{SEED_VARIABLE}={text}: expected a seed such as `17` or `0x1f`")
            })
        });
        Self {
            name: name.into(),
            settings: settings.unwrap_or_default(),
            first_seed: 0,
            only_seed,
            moves: variable(MOVES_VARIABLE).map(PathBuf::from),
            folder: None,
            step_limit: STEP_TIME,
        }
    }

    /// Sets the number of runs. The environment variable `GARRICK_SIM` takes precedence.
    #[must_use]
    pub fn seeds(self, seeds: u64) -> Self {
        self.unless_set(|settings| settings.amount = Amount::Runs(seeds))
    }

    /// Sets the first seed. The default is 0.
    #[must_use]
    pub fn first_seed(mut self, seed: u64) -> Self {
        self.first_seed = seed;
        self
    }

    /// Sets the number of steps after which a run is cut off. The default is 10,000. The
    /// environment variable `GARRICK_SIM` takes precedence.
    #[must_use]
    pub fn steps(self, steps: u32) -> Self {
        self.unless_set(|settings| settings.steps_max = steps)
    }

    /// Sets the strategy. The default is a portfolio, which is a mixture of strategies. The
    /// environment variable `GARRICK_SIM` takes precedence.
    #[must_use]
    pub fn strategy(self, strategy: Choosing) -> Self {
        self.unless_set(|settings| settings.strategy = strategy)
    }

    /// Sets the folder for the files that describe a failure. The default is `garrick-sim` in the
    /// target folder.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets the time after which a turn counts as endless. The process is then aborted, with a
    /// message that names the step. The default is 10 seconds.
    #[must_use]
    pub fn turn_limit(mut self, limit: Duration) -> Self {
        self.step_limit = limit;
        self
    }

    /// Executes only the run with this seed.
    #[must_use]
    pub fn only(mut self, seed: u64) -> Self {
        self.only_seed = Some(seed);
        self
    }

    /// Makes the check repeat a single run. `path` is the path of a file that an earlier check has
    /// written. The file contains the choices of the run.
    #[must_use]
    pub fn replay(mut self, path: impl Into<PathBuf>) -> Self {
        self.moves = Some(path.into());
        self
    }

    fn unless_set(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        if variable(SETTINGS_VARIABLE).is_none() {
            set(&mut self.settings);
        }
        self
    }

    /// Runs the program until a property is broken, or until all runs are finished. `setup` sets up
    /// a run: it opens nodes, spawns actors and declares properties. `setup` is called for each
    /// run. Each call must do the same, except for the parts that depend on [`Sim::seed`].
    ///
    /// # Errors
    /// If a property is broken, shortens the failing run, and returns the failure.
    ///
    /// # Panics
    /// Panics if the setup panics or contains a mistake, such as a rule for an unknown node, or if
    /// the thread already runs another simulation. Panics also if the program was built to abort on
    /// panics, because turns that fail need unwinding.
    #[track_caller]
    pub fn run<S: Setup>(
        &self,
        mut setup: impl FnMut(&mut Sim) -> S,
    ) -> Result<Report, Box<Failed>> {
        if cfg!(panic = "abort") {
            panic!(
                "a simulation makes turns fail by panics, but `panic = \"abort\"` is set in the \
                 profile"
            );
        }
        let place = Location::caller();
        let runner = Runner {
            check: self,
            setup: &mut |sim| setup(sim).into_result(),
            report: Report::default(),
            place,
            watchdog: Watchdog::begin(&self.name, self.step_limit),
        };
        if let Some(path) = &self.moves {
            return runner.replay(path);
        }
        runner.search()
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

impl Sim {
    /// Checks a program in many runs. `setup` sets up each run, as in [`Check::run`]. The check
    /// gets the name of the calling thread, which in a test is the name of the test.
    ///
    /// # Panics
    /// Panics with a report if a property is broken. Panics also for the reasons of
    /// [`Check::run`].
    #[track_caller]
    pub fn check<S: Setup>(setup: impl FnMut(&mut Self) -> S) {
        let thread = thread::current();
        let name = thread.name().unwrap_or("simulation");
        if let Err(failed) = Check::new(name).run(setup) {
            panic!("{failed}");
        }
    }
}

/// The state of a check while it is executed.
struct Runner<'a> {
    check: &'a Check,
    setup: &'a mut dyn FnMut(&mut Sim) -> Result<(), String>,
    report: Report,
    place: &'static Location<'static>,
    watchdog: Watchdog,
}

impl Runner<'_> {
    fn search(mut self) -> Result<Report, Box<Failed>> {
        if self.check.settings.strategy == Choosing::All {
            return self.search_all();
        }
        let began = Instant::now();
        let mut seed = self.check.only_seed.unwrap_or(self.check.first_seed);
        let mut done = 0;
        loop {
            let is_over = match self.check.settings.amount {
                _ if self.check.only_seed.is_some() => done > 0,
                Amount::Runs(runs) => done >= runs,
                Amount::Time(limit) => began.elapsed() >= limit,
            };
            if is_over {
                self.report.time = began.elapsed();
                return Ok(self.report);
            }
            let outcome = self.run_seed(seed);
            if seed.is_multiple_of(TWICE_EVERY) {
                self.compare(seed, &outcome);
            }
            self.report.add(&outcome);
            if let Some(broken) = outcome.broken.clone() {
                for _ in 0..REPEATS {
                    self.compare(seed, &outcome);
                }
                self.report.time = began.elapsed();
                return Err(self.fail(seed, outcome, broken));
            }
            (seed, done) = (seed.wrapping_add(1), done + 1);
        }
    }

    /// Executes the run with the seed `seed`.
    fn run_seed(&mut self, seed: u64) -> Outcome {
        let mut strategy = strategy_of(self.check.settings.strategy, seed, PCT_STEPS);
        strategy.begin();
        let driver = Driver::Search(&mut *strategy, Rng::new(mix(seed) ^ FAULTS));
        self.run(seed, driver, None)
    }

    fn set_up(&mut self, seed: u64) -> Sim {
        let mut sim = Sim::new(seed);
        let set_up = (self.setup)(&mut sim).and_then(|()| sim.check_setup());
        if let Err(error) = set_up {
            drop(sim);
            panic!(
                "the setup of the simulation at {} failed: {error}",
                self.place
            );
        }
        sim
    }

    /// Sets up a run with the seed `seed`, and executes it. `driver` chooses the steps.
    fn run(&mut self, seed: u64, driver: Driver<'_>, trace: Option<&mut Trace>) -> Outcome {
        let is_search_of_all =
            matches!(driver, Driver::Search(..)) && self.check.settings.strategy == Choosing::All;
        let limits = Limits {
            steps_max: self.check.settings.steps_max,
            // A search of all orders includes all times of crashes, and a list has its own.
            has_onsets: matches!(driver, Driver::Search(..)) && !is_search_of_all,
            is_search_of_all,
        };
        let mut sim = self.set_up(seed);
        let _quiet = Quiet::begin();
        let is_covered = trace.is_none() && seed.is_multiple_of(COVERED_EVERY);
        let observers = Observers {
            trace,
            coverage: is_covered.then_some(&mut self.report.coverage),
            watchdog: Some(&self.watchdog),
        };
        let outcome = execute(&mut sim, driver, limits, observers);
        if sim.simulation.strangers() > 0 {
            drop(sim);
            panic!(
                "another thread has spawned an actor on a node of the simulation at {}: only the \
                 setup and the actors may do that, or runs differ",
                self.place
            );
        }
        outcome
    }

    /// Executes the run with the seed `seed` once more. Panics if this run differs from the first
    /// run, whose outcome is `first`.
    fn compare(&mut self, seed: u64, first: &Outcome) {
        let second = self.run_seed(seed);
        if first.hash == second.hash {
            return;
        }
        let differs = |(one, other): (&Move, &Move)| one != other;
        let at = first.moves.iter().zip(&second.moves).position(differs);
        let at = at.unwrap_or(first.moves.len().min(second.moves.len()));
        panic!(
            "two runs of seed {seed} differ from step {at} on ({:?} and {:?}), so the program does \
             not depend on the simulation alone. Usual causes are the order of a `HashMap` with \
             random hashes, the system's clock, random numbers, other threads, and values that are \
             kept from one run to the next",
            first.moves.get(at),
            second.moves.get(at),
        );
    }

    /// Shortens a failing run, and writes the files that describe the failure.
    fn fail(mut self, seed: u64, outcome: Outcome, broken: Broken) -> Box<Failed> {
        let began = Instant::now();
        let (mut moves, then) = (outcome.moves, Then::after(&broken));
        let before = moves.len();
        if then == Then::Calm {
            // What happens without faults follows from the moves before.
            moves.truncate(outcome.before_calm);
        }
        let steps = Cell::new(0);
        let shrunk = shrink(
            moves,
            SHRINK_RUNS,
            || steps.get() > SHRINK_STEPS || began.elapsed() > SHRINK_TIME,
            |moves| self.still_fails(seed, moves, &broken, &steps),
        );
        let mut trace = Trace::default();
        let driver = Driver::Follow {
            moves: &shrunk.list,
            then,
            is_punctual: false,
        };
        let outcome = self.run(seed, driver, Some(&mut trace));
        let found = outcome.broken.filter(|found| found.is_same(&broken));
        let broken = found.unwrap_or(broken);
        let failed = Failed {
            name: self.check.name.clone(),
            seed,
            broken,
            before,
            moves: shrunk.list,
            steps: outcome.moves.len(),
            shrink_runs: shrunk.runs,
            shrink_time: began.elapsed(),
            trace,
            report: self.report,
            folder: None,
        };
        failed.write_files(self.check.folder.as_deref())
    }

    /// Tries all orders of the steps, one after another.
    fn search_all(mut self) -> Result<Report, Box<Failed>> {
        let began = Instant::now();
        let runs_max = match self.check.settings.amount {
            Amount::Runs(runs) => runs,
            Amount::Time(_) => u64::MAX,
        };
        let seed = self.check.only_seed.unwrap_or(self.check.first_seed);
        let mut search = Exhaustive::new(self.reduction(seed));
        self.report.complete = true;
        while search.begin() {
            let is_late = matches!(self.check.settings.amount, Amount::Time(limit) if began.elapsed() >= limit);
            if self.report.runs >= runs_max || is_late {
                self.report.complete = false;
                break;
            }
            let driver = Driver::Search(&mut search, Rng::new(mix(seed) ^ FAULTS));
            let outcome = self.run(seed, driver, None);
            self.report.add(&outcome);
            if let Some(broken) = outcome.broken.clone() {
                self.report.complete = false;
                self.report.time = began.elapsed();
                return Err(self.fail(seed, outcome, broken));
            }
            // A run that was cut has an end that was not tried.
            self.report.complete &= outcome.end != End::Cut;
        }
        if let Coverage::Diverged(step) = search.statistics().coverage {
            panic!(
                "equal choices have led to different ones at step {step}, so the program does not \
                 depend on the simulation alone"
            );
        }
        self.report.time = began.elapsed();
        Ok(self.report)
    }

    /// Returns the method that reduces the number of runs in a search of all orders.
    /// [`Reduction::Optimal`] finds new orders only from the steps of earlier runs, so it would
    /// miss a crash that no earlier run contains. If nodes may crash, if partitions may begin, or
    /// if the faults end before the run ends, returns [`Reduction::Sleep`] instead.
    fn reduction(&mut self, seed: u64) -> Reduction {
        let sim = self.set_up(seed);
        if sim.faults_and_links().0.have_outages() {
            Reduction::Sleep
        } else {
            Reduction::Optimal
        }
    }

    /// Executes one run that follows the recorded choices in a file.
    fn replay(mut self, path: &Path) -> Result<Report, Box<Failed>> {
        let text = fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{MOVES_VARIABLE}={}: {error}", path.display()));
        let recorded = Recorded::parse(&text)
            .unwrap_or_else(|error| panic!("{MOVES_VARIABLE}={}: {error}", path.display()));
        let mut trace = Trace::default();
        let driver = Driver::Follow {
            moves: &recorded.moves,
            then: recorded.then,
            is_punctual: false,
        };
        let outcome = self.run(recorded.seed, driver, Some(&mut trace));
        let types = files::hash_of_types(trace.types());
        let is_same = types == recorded.types;
        self.report.add(&outcome);
        match outcome.broken.clone() {
            Some(broken) => Err(self.fail(recorded.seed, outcome, broken)),
            None if is_same => Ok(self.report),
            None => panic!(
                "{} was recorded by another build: it has other types of actors, so the choices do \
                 not fit",
                path.display()
            ),
        }
    }

    /// Executes one or two runs that follow `moves`, and adds the number of steps of these runs to
    /// `steps`. If each run breaks the property that `broken` names, returns the moves that were
    /// possible in the first run.
    fn still_fails(
        &mut self,
        seed: u64,
        moves: &[Move],
        broken: &Broken,
        steps: &Cell<usize>,
    ) -> Option<Vec<Move>> {
        let then = Then::after(broken);
        let mut follow = |is_punctual| {
            let driver = Driver::Follow {
                moves,
                then,
                is_punctual,
            };
            let outcome = self.run(seed, driver, None);
            steps.set(steps.get() + outcome.moves.len());
            let breaks = |other: &Broken| other.is_same(broken);
            let is_same = outcome.broken.as_ref().is_some_and(breaks);
            is_same.then_some(outcome)
        };
        let outcome = follow(false)?;
        // A message that is left out may be later than a delay allows. The failure is real if it
        // also occurs when all messages are in time.
        if outcome.has_times {
            follow(true)?;
        }
        let mut made = outcome.moves;
        // What was made after the list is not part of it.
        made.truncate(outcome.before_calm);
        Some(made)
    }
}

fn pct(seed: u64, depth: u32, steps: u64) -> Pct {
    let depth = usize::try_from(depth).unwrap_or(usize::MAX);
    Pct::new(seed).with_depth(depth).with_length(steps)
}

/// Returns the strategy for a seed. `steps` is the expected number of steps of a run.
fn strategy_of(choosing: Choosing, seed: u64, steps: u64) -> Box<dyn Strategy<Choice>> {
    match choosing {
        Choosing::Portfolio => Box::new(Portfolio::new(seed, steps)),
        Choosing::Walk => Box::new(Walk::new(seed)),
        Choosing::Pct(depth) => Box::new(pct(seed, depth, steps)),
        Choosing::Pos => Box::new(Pos::new(seed)),
        Choosing::All => Box::new(Exhaustive::new(Reduction::Optimal)),
    }
}
