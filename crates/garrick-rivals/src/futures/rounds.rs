//! The rounds of the measurement, and their results.

use std::sync::Arc;
use std::time::{Duration, Instant};

use garrick_measure::{Clock, Stopwatch};

use super::load::{Load, Loads};

/// Duration of the sleep of each task.
pub(super) const DELAY: Duration = Duration::from_micros(10);

/// The benchmark's number of tasks, and its numbers of rounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) tasks: usize,
    /// Number of rounds of each contender.
    pub(super) rounds: usize,
    /// Number of additional rounds of each contender, in which the polls of its actor are measured.
    pub(super) rounds_of_load: usize,
}

impl Sizes {
    /// The numbers of tasks and rounds in the original benchmark.
    pub(super) const FULL: Self = Self {
        tasks: 50_000,
        rounds: 100,
        rounds_of_load: 10,
    };

    /// The numbers of tasks and rounds in a run that takes a few seconds.
    pub(super) const QUICK: Self = Self {
        rounds: 10,
        rounds_of_load: 2,
        ..Self::FULL
    };
}

/// The results of one round.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Latency of each task, without the time for which the task sleeps.
    pub(super) latencies: Vec<Duration>,
    /// Maximum number of tasks that were in flight at the same time.
    pub(super) pending_max: usize,
    /// Time from sending the first task to reading the last result.
    pub(super) duration: Duration,
    /// CPU time of the thread during the round.
    pub(super) cpu: Duration,
}

impl Round {
    /// Creates a round of `tasks` tasks. Allocates the list of their latencies, so that the
    /// measurement does not include the allocation.
    pub(super) fn of(tasks: usize) -> Self {
        Self {
            latencies: Vec::with_capacity(tasks),
            ..Self::default()
        }
    }
}

/// A running measurement of a round. The measurement begins when the first task is sent.
pub(super) struct Timing {
    began: Instant,
    watch: Stopwatch,
}

impl Timing {
    pub(super) fn start() -> Self {
        Self {
            began: Instant::now(),
            watch: Stopwatch::start(Clock::Thread),
        }
    }

    pub(super) fn stop(self, round: &mut Round) {
        round.duration = self.began.elapsed();
        round.cpu = self.watch.stop().cpu;
    }
}

#[derive(Clone, Copy)]
pub(super) struct Contender {
    pub(super) name: &'static str,
    /// Function that runs one round of the given number of tasks, and optionally measures the
    /// actor's polls.
    pub(super) round: fn(usize, Option<Arc<Loads>>) -> Round,
}

/// The results of all rounds of a contender.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) name: &'static str,
    /// Latencies of all rounds, shortest first.
    pub(super) latencies: Vec<Duration>,
    /// Duration of each round, shortest first.
    pub(super) durations: Vec<Duration>,
    pub(super) cpu: Duration,
    pub(super) pending_max: usize,
    pub(super) tasks: usize,
    pub(super) load: Load,
    /// Number of rounds whose polls are added up in `load`.
    pub(super) rounds_of_load: usize,
}

impl Measured {
    /// Returns the mean CPU time per task.
    pub(super) fn cpu_per_task(&self) -> Duration {
        self.cpu.div_f64((self.tasks * self.durations.len()) as f64)
    }
}

/// Runs all rounds. In each round, the contenders run one after another.
pub(super) fn measure(contenders: &[Contender], sizes: Sizes) -> Vec<Measured> {
    let mut rounds: Vec<Vec<Round>> = contenders.iter().map(|_| Vec::new()).collect();
    for number in 0..sizes.rounds {
        for place in 0..contenders.len() {
            // Rotate the order, so that a contender does not always follow the same other
            // contender.
            let index = (place + number) % contenders.len();
            rounds[index].push((contenders[index].round)(sizes.tasks, None));
        }
    }
    let with_rounds = contenders.iter().zip(rounds);
    with_rounds
        .map(|(contender, rounds)| sum_up(*contender, rounds, sizes))
        .collect()
}

fn sum_up(contender: Contender, rounds: Vec<Round>, sizes: Sizes) -> Measured {
    let loads = Arc::<Loads>::default();
    for _ in 0..sizes.rounds_of_load {
        (contender.round)(sizes.tasks, Some(loads.clone()));
    }
    let mut measured = Measured {
        name: contender.name,
        latencies: Vec::with_capacity(sizes.tasks * sizes.rounds),
        durations: rounds.iter().map(|round| round.duration).collect(),
        cpu: rounds.iter().map(|round| round.cpu).sum(),
        pending_max: rounds
            .iter()
            .map(|round| round.pending_max)
            .max()
            .unwrap_or(0),
        tasks: sizes.tasks,
        load: loads.sum(),
        rounds_of_load: sizes.rounds_of_load,
    };
    for round in rounds {
        measured.latencies.extend(round.latencies);
    }
    measured.latencies.sort_unstable();
    measured.durations.sort_unstable();
    measured
}
