//! Entities on three nodes in simulations whose network and whose placement lose and delay
//! messages, and whose nodes are cut off, crash, restart and leave.
#![forbid(unsafe_code)]

mod counters;
mod register;

mod registers;

mod program;

use std::time::Duration;

use garrick_sim::{Check, Sim};
use program::{Plan, program};

/// Number of seeds of each check. More are checked if `GARRICK_CLUSTER_SEEDS` is set.
const SEEDS: u64 = 100;

#[track_caller]
fn check(name: &str, program: impl Fn(&mut Sim) + Send + Sync + 'static) {
    let seeds = std::env::var("GARRICK_CLUSTER_SEEDS").ok();
    let seeds = seeds.map_or(SEEDS, |seeds| seeds.parse().expect("it is a number"));
    match Check::new(name).seeds(seeds).run(program) {
        Ok(report) => println!("{name}: {report}"),
        Err(failed) => panic!("{failed}"),
    }
}

#[test]
fn on_a_good_network_each_message_is_handled() {
    check("calm", |sim| program(sim, Plan::calm()));
}

#[test]
fn when_nodes_come_and_leave_each_message_is_handled() {
    check("moving", |sim| program(sim, Plan::moving()));
}

#[test]
fn nodes_leave_in_spite_of_losses() {
    check("leaving", |sim| {
        program(sim, Plan::leaving());
        sim.links().all().loses(150);
    });
}

#[test]
fn a_crashed_node_is_replaced() {
    check("crashing", |sim| {
        program(sim, Plan::rough());
        let after = Duration::ZERO..Duration::from_secs(8);
        sim.faults().crash_and_restart("node-1", 2, after);
    });
}

#[test]
fn a_node_that_is_cut_off_does_nothing_that_is_seen() {
    check("cut", |sim| {
        program(sim, Plan::rough());
        let lasts = Duration::from_millis(100)..Duration::from_secs(12);
        sim.faults().partition(["node-1"], 3, lasts);
    });
}

#[test]
fn a_placement_that_is_cut_off_moves_nothing() {
    check("without placement", |sim| {
        program(sim, Plan::without_placement());
        let lasts = Duration::from_millis(100)..Duration::from_secs(12);
        sim.faults().partition(["store"], 3, lasts);
    });
}

#[test]
fn lost_messages_are_sent_again_or_told() {
    check("lossy", |sim| {
        program(sim, Plan::rough());
        sim.links().all().loses(100);
    });
}

#[test]
fn all_at_once() {
    check("all at once", |sim| {
        program(sim, Plan::rough());
        sim.links().all().loses(50);
        let after = Duration::ZERO..Duration::from_secs(8);
        sim.faults().crash_and_restart("node-2", 1, after);
        let lasts = Duration::from_millis(100)..Duration::from_secs(12);
        sim.faults().partition(["node-1"], 1, lasts.clone());
        sim.faults().partition(["store"], 1, lasts);
    });
}

#[test]
fn durable_entities_answer_all_calls_while_nodes_come_and_leave() {
    check("durable moving", |sim| {
        program(sim, Plan::moving().durable());
    });
}

#[test]
fn durable_entities_of_a_crashed_node_are_linearizable() {
    check("durable crashing", |sim| {
        program(sim, Plan::rough().durable());
        let after = Duration::ZERO..Duration::from_secs(8);
        sim.faults().crash_and_restart("node-1", 2, after);
    });
}

#[test]
fn durable_entities_of_a_node_that_is_cut_off_are_linearizable() {
    check("durable cut", |sim| {
        program(sim, Plan::rough().durable());
        let lasts = Duration::from_millis(100)..Duration::from_secs(12);
        sim.faults().partition(["node-1"], 3, lasts);
    });
}

#[test]
fn durable_entities_are_linearizable_with_all_at_once() {
    check("durable all at once", |sim| {
        program(sim, Plan::rough().durable());
        sim.links().all().loses(50);
        let after = Duration::ZERO..Duration::from_secs(8);
        sim.faults().crash_and_restart("node-2", 1, after);
        let lasts = Duration::from_millis(100)..Duration::from_secs(12);
        sim.faults().partition(["node-1"], 1, lasts.clone());
        sim.faults().partition(["store"], 1, lasts);
    });
}
