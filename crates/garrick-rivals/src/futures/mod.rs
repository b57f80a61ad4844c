//! Long-running actors that await, in Garrick and on tokio: the first benchmark of
//! async-rust-benchmarks by chainbound.
//!
//! ```text
//!   sender --- tasks ---> actor [ tasks in flight, 10 us each ] --- results ---> reader
//! ```
//!
//! Everything runs on one thread. The sender marks each task with the current time. The actor lets
//! the task sleep, and reports the task when it is done. A round is over when the reader has all
//! results. Four of the actors run on tokio. The first is a hand-written future that polls its
//! tasks before its mailbox. The second is the same future without tokio's budget. The others are a
//! loop around a random `select!` and a loop around a biased `select!`. The contenders run
//! alternately, round by round. The cost of each poll is measured in separate rounds. [`budget`]
//! shows why the first actor is slow with the budget.

mod budget;
mod load;
mod rounds;

mod garrick;
mod table;
mod tokio;

use garrick_measure::{Measured, Result, Scenario, Section, Span, Study};
use rounds::{Contender, Round, Sizes, measure};

/// The contenders, in the order of the tables.
const CONTENDERS: [Contender; 5] = [
    Contender {
        name: "garrick",
        round: garrick::round,
    },
    Contender {
        name: "FutureActor",
        round: tokio::future,
    },
    Contender {
        name: "FutureActorUnconstrained",
        round: tokio::unconstrained,
    },
    Contender {
        name: "RandomSelectActor",
        round: tokio::random_select,
    },
    Contender {
        name: "BiasedSelectActor",
        round: tokio::biased_select,
    },
];

/// The study of async actors, which is run by the subcommand `async`.
pub(super) const ASYNC: Study = Study {
    name: "async",
    about: "Async actors compared with tokio's: latency, throughput, load, and the cost of tokio's \
            budget",
    sections: &[Section { name: "async", run }],
};

pub(crate) const THROUGHPUT: Scenario = Scenario {
    name: "async-throughput",
    operation: "one task of a round of 50,000 tasks on one thread: it is sent to an actor that \
                awaits, sleeps for 10 us, and its result is read; wall time is the duration of the \
                round divided by its tasks",
    contenders: |_| scenario(Sizes::FULL.tasks, in_all),
};

pub(crate) const LATENCY: Scenario = Scenario {
    name: "async-latency",
    operation: "one task of the same rounds; wall time is the time from sending the task to its \
                result minus its sleep of 10 us, as the median of the round; CPU time is that of \
                the round divided by its tasks",
    contenders: |_| scenario(Sizes::FULL.tasks, of_one),
};

/// Returns the contenders for a scenario. Each measurement is one round.
fn scenario(
    tasks: usize,
    measured: fn(usize, &Round) -> Measured,
) -> Vec<garrick_measure::Contender> {
    let by = |contender: Contender| {
        garrick_measure::Contender::fixed(contender.name, move || {
            Ok(measured(tasks, &(contender.round)(tasks, None)))
        })
    };
    CONTENDERS.map(by).into()
}

/// Returns the measurement of a whole round of `tasks` tasks.
fn in_all(tasks: usize, round: &Round) -> Measured {
    let span = Span {
        cpu: round.cpu,
        wall: round.duration,
    };
    Measured::new(tasks as u64, span)
}

/// Returns the measurement of an average task of the round: the median latency as the wall time,
/// and the mean CPU time.
fn of_one(tasks: usize, round: &Round) -> Measured {
    let mut latencies = round.latencies.clone();
    latencies.sort_unstable();
    let span = Span {
        cpu: round.cpu.div_f64(tasks as f64),
        wall: table::quantile(&latencies, 0.5),
    };
    Measured::new(1, span)
}

/// Runs all measurements, and returns the tables.
fn run(quick: bool) -> Result<String> {
    let sizes = if quick { Sizes::QUICK } else { Sizes::FULL };
    let measured = measure(&CONTENDERS, sizes);
    let bursts = budget::measure(budget::SIZES);
    Ok(format!(
        "{} tasks per round, each with a sleep of 10 us; {} rounds of each contender, and {} for \
         the load\n\nLatency\n{}\n\nThroughput\n{}\n\nLoad\n{}\n\nSleeps of one actor that are due \
         at once\n{}",
        sizes.tasks,
        sizes.rounds,
        sizes.rounds_of_load,
        table::latency(&measured),
        table::throughput(&measured),
        table::load(&measured),
        table::bursts(&bursts),
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_contender_brings_every_result_back() {
        let sizes = Sizes {
            tasks: 500,
            rounds: 2,
            rounds_of_load: 1,
        };
        for measured in measure(&CONTENDERS, sizes) {
            assert_eq!(measured.latencies.len(), 1_000, "{}", measured.name);
            assert_eq!(measured.durations.len(), 2);
            assert!((1..=500).contains(&measured.pending_max));
            assert!(measured.load.polls > 0, "{}", measured.name);
        }
    }

    #[test]
    fn a_round_is_measured_as_a_whole_and_as_a_task_in_the_middle() {
        for mut contender in scenario(500, in_all) {
            assert_eq!((contender.measure)(0).unwrap().ops, 500);
        }
        let latencies = [5, 1, 9].map(Duration::from_micros);
        let round = Round {
            latencies: latencies.into(),
            cpu: Duration::from_nanos(600),
            ..Round::default()
        };
        let one = of_one(3, &round);
        assert_eq!((one.ops, one.cpu_ns, one.wall_ns), (1, 200.0, 5_000.0));
    }

    #[test]
    fn a_spent_budget_of_tokio_has_children_polled_in_vain_and_ours_has_not() {
        for burst in budget::measure(&[500]) {
            let in_vain = burst.polls - 2 * 500;
            if burst.name == "tokio" {
                assert!(in_vain > 500, "{burst:?}");
            } else {
                assert_eq!(in_vain, 0, "{burst:?}");
            }
        }
    }
}
