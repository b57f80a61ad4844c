//! Savina: the micro and concurrency benchmarks of a suite for actor libraries. Each file contains
//! one benchmark.
//!
//! The source is Shams Imam and Vivek Sarkar, "Savina - An Actor Benchmark Suite", AGERE 2014. The
//! parameters, the creation of actors and the flow of messages follow the sources of the suite for
//! the JVM. The code is written as users of `garrick` would write it. The documentation of each
//! file describes the computations, and the differences from the original.
//!
//! ```text
//!   contenders -- size, workers --> run: Local or System -- makes, sends --> actors
//!                                    ^                                         |
//!                 time, if right  <- check <---------------- reports ----------+
//! ```
//!
//! The following rules apply to all benchmarks. One repetition is one whole run of the given size.
//! Its time begins before the first actor is created. With one worker, the time ends when no actor
//! has work left. With several workers, the wall time ends with the last report. The original's
//! time also includes the start and the shutdown of the actor system.
//!
//! The original's actors must each stop themselves, so the original sends every actor a stop
//! message at the end. Here the actors stop with their system, and only actors that have to report
//! something receive a stop message. A wrong result is an error, and no time is reported.

mod run;
mod work;

mod bank;
mod barber;
mod big;
mod bounded_buffer;
mod chameneos;
mod counting;
mod dictionary;
mod fork_join_create;
mod fork_join_throughput;
mod logistic_map;
mod philosophers;
mod ping_pong;
mod smokers;
mod sorted_list;
mod thread_ring;

use garrick_measure::Scenario;

/// The micro and concurrency benchmarks of Savina, a benchmark suite for actor libraries. Each of
/// the first benchmarks uses a single mechanism. In the later ones, many actors compete for a
/// resource.
pub static SCENARIOS: &[Scenario] = &[
    ping_pong::PING_PONG,
    counting::COUNTING,
    fork_join_create::FORK_JOIN_CREATE,
    fork_join_throughput::FORK_JOIN_THROUGHPUT,
    thread_ring::THREAD_RING,
    chameneos::CHAMENEOS,
    big::BIG,
    dictionary::DICTIONARY,
    sorted_list::SORTED_LIST,
    bounded_buffer::BOUNDED_BUFFER,
    philosophers::PHILOSOPHERS,
    barber::BARBER,
    smokers::SMOKERS,
    logistic_map::LOGISTIC_MAP,
    bank::BANK,
];

#[cfg(test)]
mod tests {
    use super::*;
    use garrick_measure::Effort;

    #[test]
    fn all_are_of_one_family_and_have_one_worker_and_two() {
        assert_eq!(SCENARIOS.len(), 15);
        for quick in [false, true] {
            let effort = Effort {
                quick,
                seconds_per_row: 1.0,
            };
            for scenario in SCENARIOS {
                assert!(scenario.name.starts_with("savina-"), "{}", scenario.name);
                let contenders = (scenario.contenders)(&effort);
                let workers = contenders.iter().map(|one| &one.params["workers"]);
                assert!(workers.eq([&1.into(), &2.into()] as [&serde_json::Value; 2]));
                let sized = contenders.iter().all(|one| one.params.len() > 1);
                assert!(sized, "{} says how much is done", scenario.name);
            }
        }
    }
}
