//! Services of three nodes in simulations. The network and the placement lose and delay messages.
//! Nodes are cut off, crash, restart and leave.
#![forbid(unsafe_code)]

mod desks;
mod news;

mod callers;
mod leaders;

mod program;

use std::time::Duration;

use garrick_sim::{Check, Sim};
use garrick_testkit::seeds;
use program::{FAULTS_END, Plan, program};

/// Number of seeds of each check in an optimized build. `GARRICK_CLUSTER_SEEDS` sets another
/// number.
const SEEDS: u64 = 250;

/// Runs the program that the plan describes, with faults.
#[track_caller]
fn check(name: &str, plan: Plan, faults: fn(&mut Sim)) {
    let seeds = seeds("GARRICK_CLUSTER_SEEDS", SEEDS);
    let run = move |sim: &mut Sim| {
        program(sim, plan);
        faults(sim);
        sim.faults().cease_after(FAULTS_END);
    };
    match Check::new(name).seeds(seeds).run(run) {
        Ok(report) => println!("{name}: {report}"),
        Err(failed) => panic!("{failed}"),
    }
}

fn no_faults(_: &mut Sim) {}

/// Lets a node crash and restart.
fn crashes(sim: &mut Sim, node: &str, times: u32) {
    let after = Duration::ZERO..Duration::from_secs(8);
    sim.faults().crash_and_restart(node, times, after);
}

/// Cuts a node off from all others.
fn cuts(sim: &mut Sim, node: &str, times: u32) {
    let lasts = Duration::from_millis(100)..Duration::from_secs(12);
    sim.faults().partition([node], times, lasts);
}

#[test]
fn on_a_good_network_all_nodes_find_the_same() {
    check("calm", Plan::calm(), no_faults);
}

#[test]
fn what_a_node_that_leaves_has_served_is_removed() {
    check("leaving", Plan::leaving(), |sim| {
        sim.links().all().loses(50);
    });
}

#[test]
fn what_a_crashed_node_has_served_is_removed() {
    check("crashing", Plan::rough(), |sim| crashes(sim, "node-1", 2));
}

#[test]
fn a_node_that_was_cut_off_finds_the_same_again() {
    check("cut", Plan::rough(), |sim| cuts(sim, "node-1", 3));
}

#[test]
fn without_the_placement_the_nodes_know_what_they_have_known() {
    check("without placement", Plan::rough(), |sim| {
        cuts(sim, "store", 3);
    });
}

#[test]
fn lost_messages_are_sent_again() {
    check("lossy", Plan::rough(), |sim| {
        sim.links().all().loses(100);
    });
}

#[test]
fn all_at_once() {
    check("all at once", Plan::rough(), |sim| {
        sim.links().all().loses(50);
        crashes(sim, "node-2", 1);
        cuts(sim, "node-1", 1);
        cuts(sim, "store", 1);
    });
}
