//! The consensus algorithm Raft as actors. The simulation checks the five safety properties of the
//! paper, and finds mistakes that are known from the paper and from practice.
//!
//! Servers and clients set new timers forever, so no run ends before it is cut off. No violation is
//! missed, because the five properties are checked after each step.
//!
//! The searches for mistakes allow any order of messages, because there are then more orders to
//! try.

#[path = "../common/mod.rs"]
mod common;

mod client;
mod cluster;
mod directory;
mod disk;
mod facts;
mod log;
mod mutation;
mod properties;
mod server;

use std::time::Duration;

use cluster::{Settings, await_progress, set_up};
use garrick_sim::{Check, Sim};
use mutation::Mutation;
use properties::{
    ELECTION_SAFETY, LEADER_APPEND_ONLY, LEADER_COMPLETENESS, LOG_MATCHING, STATE_MACHINE_SAFETY,
};

/// Number of seeds within which a mistake must be found.
const SEEDS: u64 = 1000;

/// Number of seeds with which the right algorithm is checked here. The environment variable
/// `GARRICK_SIM_RIGHT` sets another number.
const RIGHT_SEEDS: u64 = 150;

/// Maximum number of steps of a shortened run.
const STEPS_MAX: usize = 100;

/// Asserts that the search finds the mistake of a cluster, that the shortened run is short, and
/// that a search with its seed finds the mistake again.
#[track_caller]
fn assert_found(property: &str, settings: Settings) {
    let name = format!("raft that {:?}", settings.mutation);
    let find = |first| {
        let check = Check::new(&name).first_seed(first).seeds(SEEDS);
        let found = check
            .steps(settings.steps_max)
            .run(|sim| set_up(sim, &settings));
        found.expect_err("the search finds the planted mistake")
    };
    common::assert_found(&[property], STEPS_MAX, find);
}

/// Asserts that no property of a cluster is broken.
#[track_caller]
fn assert_right(name: &str, steps_max: u32, setup: impl Fn(&mut Sim)) {
    common::assert_right(name, Check::new(name).steps(steps_max), RIGHT_SEEDS, setup);
}

/// Asserts that a cluster with delays, losses and crashes is safe, and makes progress after these
/// faults have ceased.
#[track_caller]
fn assert_recovers(name: &str, settings: Settings) {
    assert_right(name, settings.steps_max, |sim| {
        sim.latency(Duration::from_millis(1)..Duration::from_millis(20));
        set_up(sim, &settings);
        await_progress(sim, &settings);
    });
}

#[test]
fn a_cluster_is_safe_in_any_order() {
    let settings = Settings {
        clients: 2,
        lost_per_mille: 50,
        crashes: (3, 2),
        steps_max: 200,
        ..Settings::default()
    };
    assert_right("raft in any order", settings.steps_max, |sim| {
        set_up(sim, &settings);
    });
}

#[test]
fn a_cluster_of_three_recovers() {
    let settings = Settings {
        clients: 2,
        lost_per_mille: 100,
        crashes: (3, 2),
        steps_max: 300,
        ..Settings::default()
    };
    assert_recovers("raft with delays", settings);
}

#[test]
fn a_cluster_of_five_recovers() {
    let settings = Settings {
        servers: 5,
        repeats: 2,
        lost_per_mille: 100,
        crashes: (5, 2),
        steps_max: 400,
        ..Settings::default()
    };
    assert_recovers("raft of five servers with delays", settings);
}

#[test]
fn a_cluster_recovers_from_partitions() {
    let settings = Settings {
        servers: 5,
        repeats: 2,
        lost_per_mille: 50,
        crashes: (2, 1),
        steps_max: 2000,
        ..Settings::default()
    };
    let millis = Duration::from_millis;
    assert_right("raft with partitions", settings.steps_max, |sim| {
        sim.latency(millis(1)..millis(20));
        set_up(sim, &settings);
        await_progress(sim, &settings);
        sim.faults().cease_after(Duration::from_secs(2));
        for side in [["s0", "s1"], ["s2", "s3"]] {
            sim.faults().partition(side, 2, millis(50)..millis(1000));
        }
    });
}

#[test]
fn a_cluster_without_faults_confirms_commands() {
    let settings = Settings {
        steps_max: 100,
        ..Settings::default()
    };
    assert_recovers("raft without faults", settings);
}

#[test]
fn a_vote_for_a_log_that_is_behind_is_found() {
    let settings = Settings {
        mutation: Mutation::VotesForAnyLog,
        ..Settings::default()
    };
    assert_found(LEADER_COMPLETENESS, settings);
}

#[test]
fn a_commit_of_an_earlier_term_is_found() {
    let settings = Settings {
        mutation: Mutation::CommitsOldTerms,
        ..Settings::default()
    };
    assert_found(LEADER_COMPLETENESS, settings);
}

#[test]
fn a_vote_that_a_crash_forgets_is_found() {
    let settings = Settings {
        mutation: Mutation::ForgetsVote,
        // Elections are enough.
        clients: 0,
        repeats: 2,
        crashes: (2, 4),
        steps_max: 100,
        ..Settings::default()
    };
    assert_found(ELECTION_SAFETY, settings);
}

#[test]
fn a_vote_that_a_crash_forgets_is_found_in_spite_of_delays() {
    let settings = Settings {
        mutation: Mutation::ForgetsVote,
        clients: 0,
        repeats: 2,
        crashes: (3, 4),
        steps_max: 150,
        ..Settings::default()
    };
    let find = |first| {
        let check = Check::new("raft that forgets, with delays").first_seed(first);
        let found = check.seeds(SEEDS).steps(settings.steps_max).run(|sim| {
            sim.latency(Duration::from_millis(1)..Duration::from_millis(50));
            set_up(sim, &settings);
        });
        found.expect_err("the search finds the planted mistake")
    };
    common::assert_found(&[ELECTION_SAFETY], STEPS_MAX, find);
}

#[test]
fn entries_that_are_removed_without_need_are_found() {
    let settings = Settings {
        mutation: Mutation::AlwaysTruncates,
        ..Settings::default()
    };
    assert_found(LEADER_COMPLETENESS, settings);
}

#[test]
fn a_commit_of_unchecked_entries_is_found() {
    let settings = Settings {
        mutation: Mutation::CommitsUnchecked,
        lost_per_mille: 100,
        ..Settings::default()
    };
    assert_found(STATE_MACHINE_SAFETY, settings);
}

#[test]
fn entries_behind_an_unchecked_term_are_found() {
    let settings = Settings {
        mutation: Mutation::IgnoresPreviousTerm,
        ..Settings::default()
    };
    assert_found(LOG_MATCHING, settings);
}

#[test]
fn a_leader_that_removes_entries_is_found() {
    let settings = Settings {
        mutation: Mutation::DiscardsAsLeader,
        ..Settings::default()
    };
    assert_found(LEADER_APPEND_ONLY, settings);
}
