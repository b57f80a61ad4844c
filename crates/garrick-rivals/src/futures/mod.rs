//! Long-running actors that await, against tokio's: the first of the async-rust-benchmarks by chainbound (seed 003).
//!
//! ```text
//!   sender --- tasks ---> actor [ tasks in flight, 10 us each ] --- results ---> reader
//! ```
//!
//! Everything runs on one thread. The sender stamps each task with the time; the actor lets it sleep, and reports, when it is
//! done, how much longer it has taken. A round is over when the reader has all results. Four actors are tokio's: a future
//! written by hand that polls its tasks before its mailbox, the same freed of tokio's budget, and a loop around `select!`,
//! at random and biased. Contenders take turns, round by round; what each poll costs is looked at in rounds of their own.

mod garrick;
mod load;
mod rounds;
mod table;
mod tokio;

use std::process::ExitCode;

use rounds::{Contender, Sizes, measure};

/// Who takes part, in the order in which they are shown.
const CONTENDERS: [Contender; 5] = [
    Contender {
        name: "Garrick",
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

/// The arguments behind `async`, if that is the first one.
pub(super) fn asked_for(mut arguments: impl Iterator<Item = String>) -> Option<Vec<String>> {
    (arguments.next()? == "async").then(|| arguments.collect())
}

/// Runs it all, and prints the tables.
pub(super) fn main(arguments: &[String]) -> ExitCode {
    let sizes = match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        [] => Sizes::FULL,
        ["--quick"] => Sizes::QUICK,
        _ => {
            eprintln!("error: after `async` comes `--quick` or nothing");
            return ExitCode::from(2);
        }
    };
    let measured = measure(&CONTENDERS, sizes);
    println!(
        "{} tasks a round, 10 us each; {} rounds of each contender, and {} for the load",
        sizes.tasks, sizes.rounds, sizes.rounds_of_load
    );
    println!("\nLatency\n{}", table::latency(&measured));
    println!("\nThroughput\n{}", table::throughput(&measured));
    println!("\nLoad\n{}", table::load(&measured));
    println!("\n{}", garrick_bench::provenance());
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
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
    fn only_its_own_word_is_taken() {
        let words = |words: &[&str]| asked_for(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(
            words(&["async", "--quick"]),
            Some(vec!["--quick".to_owned()])
        );
        assert_eq!(words(&["tasks"]), None);
        assert_eq!(words(&[]), None);
    }
}
