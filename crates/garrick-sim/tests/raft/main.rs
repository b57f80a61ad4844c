//! The consensus algorithm Raft as actors (Ongaro and Ousterhout, "In search of an understandable
//! consensus algorithm (extended version)", 2014). The simulation checks the five safety properties
//! of the paper, with servers that crash and links that lose messages.
//!
//! The search must find each mistake within 1,000 seeds, shorten the run, and repeat it, and must
//! not complain about the algorithm of the paper.

mod client;
mod cluster;
mod directory;
mod disk;
mod facts;
mod log;
mod mutation;
mod properties;
mod server;

use std::cell::Cell;
use std::rc::Rc;

use garrick_sim::{Check, Failed, Restarted, Sim};

use cluster::Times;
use facts::{Applied, Led};
use mutation::Mutation;
use properties::{ELECTION_SAFETY, LEADER_COMPLETENESS, STATE_MACHINE_SAFETY};

/// Number of seeds within which a mistake must be found.
const SEEDS: u64 = 1000;

/// Number of seeds with which the algorithm of the paper is checked. The environment variable
/// `GARRICK_SIM_RIGHT` sets another number.
const RIGHT_SEEDS: u64 = 80;

/// Number of steps of a run. Raft has timers without end, so all runs are cut.
const STEPS: u32 = 300;

/// Asserts that the search finds a mistake, which breaks one of `properties`, that the shortened
/// run has at most `steps_max` steps, and that its choices break the property again.
#[track_caller]
fn assert_found(mutation: Mutation, properties: &[&str], steps_max: usize) {
    let failed = find(mutation, 0);
    println!("{failed}");
    assert!(
        properties.contains(&failed.broken().property.as_str()),
        "{failed}"
    );
    assert!(failed.steps() <= steps_max, "{failed}");
    let again = find(mutation, failed.seed());
    assert_eq!(again.seed(), failed.seed());
    assert_eq!(again.moves(), failed.moves());
    assert_eq!(again.trace().to_string(), failed.trace().to_string());
}

/// Returns the first failure from seed number `first` on.
#[track_caller]
fn find(mutation: Mutation, first: u64) -> Box<Failed> {
    let times = Times::AnyOrder;
    check_of(mutation, times)
        .first_seed(first)
        .seeds(SEEDS)
        .run(|sim| cluster::set_up(sim, 3, mutation, times))
        .expect_err("the search finds the mistake")
}

fn check_of(mutation: Mutation, times: Times) -> Check {
    let steps = match times {
        Times::AnyOrder => STEPS,
        Times::Latency => 3 * STEPS,
    };
    Check::new(format!("raft, {mutation:?}, {times:?}")).steps(steps)
}

/// Asserts that no property of a cluster is broken, and that its runs are not idle.
#[track_caller]
fn assert_right(servers: usize, times: Times) {
    let seeds = std::env::var("GARRICK_SIM_RIGHT").ok();
    let seeds = seeds.and_then(|seeds| seeds.parse().ok());
    let (led, applied, restarted) = <(Counter, Counter, Counter)>::default();
    let result = check_of(Mutation::None, times)
        .seeds(seeds.unwrap_or(RIGHT_SEEDS))
        .run(|sim| {
            cluster::set_up(sim, servers, Mutation::None, times);
            count::<Led>(sim, &led);
            count::<Applied>(sim, &applied);
            count::<Restarted>(sim, &restarted);
        });
    match result {
        Ok(report) => println!(
            "{servers} servers, {times:?}: {report}; {} leaders, {} applied, {} restarts",
            led.get(),
            applied.get(),
            restarted.get()
        ),
        Err(failed) => panic!("{failed}"),
    }
    for counter in [led, applied, restarted] {
        assert!(counter.get() > 0, "the runs check too little");
    }
}

type Counter = Rc<Cell<usize>>;

/// Adds the number of the facts of a type to a counter after each step that notes some.
fn count<F: 'static>(sim: &mut Sim, counter: &Counter) {
    let (counter, mut seen) = (Rc::clone(counter), 0);
    sim.always(std::any::type_name::<F>(), move |facts| {
        let new = facts.seen::<F>().len();
        counter.set(counter.get() + new - std::mem::replace(&mut seen, new));
        true
    });
}

#[test]
fn a_cluster_of_three_is_right() {
    assert_right(3, Times::AnyOrder);
    assert_right(3, Times::Latency);
}

#[test]
fn a_cluster_of_five_is_right() {
    assert_right(5, Times::Latency);
}

#[test]
fn a_vote_for_any_log_is_found() {
    let properties = [LEADER_COMPLETENESS, STATE_MACHINE_SAFETY];
    assert_found(Mutation::VotesForAnyLog, &properties, 45);
}

#[test]
fn a_commit_of_an_entry_of_an_earlier_term_is_found() {
    let properties = [LEADER_COMPLETENESS, STATE_MACHINE_SAFETY];
    assert_found(Mutation::CommitsOldTerms, &properties, 150);
}

#[test]
fn a_forgotten_vote_is_found() {
    assert_found(Mutation::ForgetsVote, &[ELECTION_SAFETY], 30);
}

#[test]
fn a_log_that_an_old_message_cuts_is_found() {
    let properties = [LEADER_COMPLETENESS, STATE_MACHINE_SAFETY];
    assert_found(Mutation::AlwaysTruncates, &properties, 45);
}

#[test]
fn an_unchecked_commit_index_is_found() {
    assert_found(Mutation::CommitsUnchecked, &[STATE_MACHINE_SAFETY], 60);
}
