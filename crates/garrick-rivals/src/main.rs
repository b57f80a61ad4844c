//! The `garrick-rivals` command, which measures Garrick and other libraries with the same work in
//! one run.
//!
//! The command is separate from the `garrick` command, so that a build of Garrick does not need to
//! build its rivals.
#![forbid(unsafe_code)]

mod crowd;
#[cfg(any(feature = "far", feature = "journal"))]
mod jvm;
#[cfg(any(feature = "far", feature = "journal"))]
mod study;

#[cfg(not(all(feature = "far", feature = "journal")))]
mod absent;
mod actors;
#[cfg(feature = "far")]
mod far;
mod futures;
#[cfg(feature = "journal")]
mod journal;
mod latency;
mod lisp;
mod mailbox;
mod pipeline;
mod secure;
mod spsc;
mod steal;
mod tasks;
mod timers;

mod suites;

use std::process::ExitCode;

use garrick_measure::commands::{Subcommand, measure_or};
use garrick_measure::{Scenario, Study};

#[cfg(not(feature = "far"))]
use absent::FAR;
#[cfg(not(feature = "journal"))]
use absent::JOURNAL;
#[cfg(feature = "far")]
use far::FAR;
#[cfg(feature = "journal")]
use journal::JOURNAL;

/// All scenarios, in the order of the output.
static SCENARIOS: &[Scenario] = &[
    actors::TELL,
    actors::TELL_NAMED,
    actors::TELL_SUPERVISED,
    actors::TELL_ASYNC,
    actors::TIMER_CANCEL,
    actors::FAN_IN,
    actors::PING_PONG,
    actors::ASK,
    latency::ASK_TOKIO,
    actors::SPAWN,
    actors::IDLE_MEMORY,
    actors::RING,
    actors::FORK_BOMB,
    mailbox::OFFER,
    mailbox::TAKE,
    mailbox::PAIR,
    mailbox::ONE_PRODUCER,
    mailbox::FOUR_PRODUCERS,
    tasks::CREATED,
    tasks::REUSED,
    tasks::SINGLE,
    spsc::SPSC,
    pipeline::PIPELINE,
    steal::ROLES,
    steal::BOTH,
    steal::BATCHES,
    steal::IMBALANCED,
];

/// Studies, which print their own tables.
static STUDIES: &[Study] = &[
    futures::ASYNC,
    timers::TIMERS,
    latency::LATENCY,
    secure::SECURE,
    lisp::FORK_BOMB_LISP,
];

/// Studies that are subcommands with their own flags.
static MORE: &[Subcommand] = &[JOURNAL, FAR];

fn main() -> ExitCode {
    if let Some(code) = actors::child() {
        return code;
    }
    #[cfg(feature = "journal")]
    if let Some(code) = journal::child() {
        return code;
    }
    #[cfg(feature = "far")]
    if let Some(code) = far::child() {
        return code;
    }
    let about = "Measure Garrick and other libraries, alternately and compared with an atomic \
                 addition.";
    let name = "garrick-rivals";
    measure_or(name, about, SCENARIOS, STUDIES, suites::SUITES, MORE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use garrick_measure::Effort;

    #[test]
    fn names_are_unique_and_operations_are_stated() {
        for (index, scenario) in SCENARIOS.iter().enumerate() {
            assert!(
                SCENARIOS[..index]
                    .iter()
                    .all(|other| other.name != scenario.name)
            );
            assert!(scenario.operation.len() > 20, "{}", scenario.name);
        }
    }

    #[test]
    fn every_scenario_has_us_and_rivals() {
        let effort = Effort {
            quick: true,
            seconds_per_row: 0.1,
        };
        // Without the feature `steady`, the scenario `pipeline` has no rival.
        let has_rivals =
            |scenario: &&Scenario| cfg!(feature = "steady") || scenario.name != "pipeline";
        for scenario in SCENARIOS.iter().filter(has_rivals) {
            let contenders = (scenario.contenders)(&effort);
            let ours = contenders
                .iter()
                .filter(|contender| contender.name == "garrick")
                .count();
            assert!(0 < ours && ours < contenders.len(), "{}", scenario.name);
        }
    }

    /// Each contender counts its own input, and panics if the count is wrong.
    #[test]
    fn contenders_agree_on_counts() {
        let effort = Effort {
            quick: true,
            seconds_per_row: 0.1,
        };
        // These contenders choose their own numbers of operations. Separate tests check them.
        let sized = [
            actors::IDLE_MEMORY.name,
            actors::FORK_BOMB.name,
            latency::ASK_TOKIO.name,
        ];
        for scenario in SCENARIOS {
            if sized.contains(&scenario.name) {
                continue;
            }
            for ops in [1, 3] {
                let counts: Vec<u64> = (scenario.contenders)(&effort)
                    .iter_mut()
                    .map(|contender| (contender.measure)(ops).expect("threads are to be had").ops)
                    .collect();
                assert!(counts[0] >= ops, "{}", scenario.name);
                assert!(
                    counts.iter().all(|count| *count == counts[0]),
                    "{}: {counts:?}",
                    scenario.name
                );
            }
        }
    }
}
