//! Entities on three nodes in simulations. The network and the placement lose and delay messages.
//! Nodes are cut off, crash, restart and leave.
#![forbid(unsafe_code)]

mod alarms;
mod bank;
mod counters;
mod register;

mod full;
mod registers;
mod silence;
mod stuck;

mod astray;
mod limits;

mod program;

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use garrick_sim::{Check, Sim};
use garrick_testkit::seeds;
use program::{NODES, Plan, program};

/// Number of seeds of each check in an optimized build. `GARRICK_CLUSTER_SEEDS` sets another
/// number.
const SEEDS: u64 = 100;

/// Runs the program that the plan describes, with faults.
#[track_caller]
fn check(name: &str, plan: Plan, faults: fn(&mut Sim)) {
    check_program(name, move |sim| {
        program(sim, plan);
        faults(sim);
    });
}

#[track_caller]
fn check_program(name: &str, run: impl Fn(&mut Sim) + Send + Sync + 'static) {
    report(name, search(name).run(run));
}

fn search(name: &str) -> Check {
    Check::new(name).seeds(seeds("GARRICK_CLUSTER_SEEDS", SEEDS))
}

#[track_caller]
fn report(name: &str, searched: Result<impl Display, impl Display>) {
    match searched {
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

fn all_faults(sim: &mut Sim) {
    sim.links().all().loses(50);
    crashes(sim, "node-2", 1);
    cuts(sim, "node-1", 1);
    cuts(sim, "store", 1);
}

/// Maximum drift of a clock, in parts per million, at which leases hold: the rates of two clocks
/// then differ by less than 10 %.
const LEASES_HOLD: i32 = 47_000;

/// Runs the program that the plan describes on nodes whose clocks are wrong, with faults. Each
/// clock runs faster or slower by at most `drift` parts per million.
#[track_caller]
fn check_clocks(name: &str, plan: Plan, drift: i32, faults: fn(&mut Sim)) {
    check_program(name, move |sim| {
        for node in NODES {
            sim.clocks()
                .ahead(node, Duration::ZERO..Duration::from_secs(3600))
                .drifts(node, -drift..drift);
        }
        program(sim, plan);
        faults(sim);
    });
}

#[test]
fn on_a_good_network_each_message_is_handled() {
    check("calm", Plan::calm(), no_faults);
}

#[test]
fn when_nodes_come_and_leave_each_message_is_handled() {
    check("moving", Plan::moving(), no_faults);
}

#[test]
fn a_shard_moves_when_the_long_turns_of_its_entities_have_ended() {
    check("slow", Plan::moving().slow(), no_faults);
}

#[test]
fn a_turn_that_never_ends_harms_no_other_entity() {
    check_program("stuck", stuck::program);
}

#[test]
fn what_a_node_has_accepted_before_it_leaves_is_handled() {
    let plan = Plan::moving().slow().sending_to_the_end();
    check("sending to the end", plan, no_faults);
}

#[test]
fn nodes_leave_in_spite_of_losses() {
    check("leaving", Plan::leaving(), |sim| {
        sim.links().all().loses(150);
    });
}

#[test]
fn a_crashed_node_is_replaced() {
    check("crashing", Plan::rough(), |sim| crashes(sim, "node-1", 2));
}

#[test]
fn a_node_that_is_cut_off_does_nothing_that_is_seen() {
    check("cut", Plan::rough(), |sim| cuts(sim, "node-1", 3));
}

#[test]
fn a_placement_that_is_cut_off_moves_nothing() {
    check("without placement", Plan::without_placement(), |sim| {
        cuts(sim, "store", 3);
    });
}

#[test]
fn lost_messages_are_sent_again_or_told() {
    check("lossy", Plan::rough(), |sim| {
        sim.links().all().loses(100);
    });
}

#[test]
fn all_at_once() {
    check("all at once", Plan::rough(), all_faults);
}

#[test]
fn durable_entities_answer_all_calls_while_nodes_come_and_leave() {
    check("durable moving", Plan::moving().durable(), no_faults);
}

#[test]
fn durable_entities_of_a_crashed_node_are_linearizable() {
    check("durable crashing", Plan::rough().durable(), |sim| {
        crashes(sim, "node-1", 2);
    });
}

#[test]
fn durable_entities_of_a_node_that_is_cut_off_are_linearizable() {
    check("durable cut", Plan::rough().durable(), |sim| {
        cuts(sim, "node-1", 3);
    });
}

#[test]
fn durable_entities_are_linearizable_with_all_at_once() {
    check("durable all at once", Plan::rough().durable(), all_faults);
}

#[test]
fn fenced_entities_answer_all_calls_while_nodes_come_and_leave() {
    check("fenced moving", Plan::moving().fenced(), no_faults);
}

#[test]
fn fenced_entities_of_a_crashed_node_are_linearizable() {
    check("fenced crashing", Plan::rough().fenced(), |sim| {
        crashes(sim, "node-1", 2);
    });
}

#[test]
fn fenced_entities_of_a_node_that_is_cut_off_are_linearizable() {
    check("fenced cut", Plan::rough().fenced(), |sim| {
        cuts(sim, "node-1", 3);
    });
}

#[test]
fn fenced_entities_are_linearizable_with_all_at_once() {
    check("fenced all at once", Plan::rough().fenced(), all_faults);
}

#[test]
fn one_instance_runs_although_clocks_are_wrong() {
    check_clocks("clocks", Plan::rough(), LEASES_HOLD, |sim| {
        cuts(sim, "node-1", 3);
    });
}

#[test]
fn durable_entities_are_linearizable_although_clocks_are_wrong() {
    check_clocks(
        "durable clocks",
        Plan::rough().durable(),
        LEASES_HOLD,
        |sim| {
            cuts(sim, "node-1", 3);
            cuts(sim, "node-2", 1);
        },
    );
}

#[test]
fn fenced_entities_are_linearizable_however_wrong_clocks_are() {
    let plan = Plan::rough().fenced();
    check_clocks("fenced clocks", plan, 450_000, |sim| {
        cuts(sim, "node-1", 3);
        crashes(sim, "node-2", 1);
    });
}

#[test]
fn entities_of_a_node_that_falls_silent_are_silent_for_a_short_time() {
    for (name, is_fenced, seconds) in [("fenced silence", true, 3), ("silence", false, 7)] {
        let most = Arc::new(AtomicU64::new(0));
        let of_all = most.clone();
        let limit = Duration::from_secs(seconds);
        check_program(name, move |sim| {
            silence::program(sim, is_fenced, limit, &of_all);
        });
        let most = Duration::from_nanos(most.load(Relaxed));
        println!("{name}: {most:?}");
        assert!(most >= limit / 2, "some registers were there: {most:?}");
    }
}

#[test]
fn questions_end_in_time_while_the_placement_is_away() {
    check_program("limits", limits::program);
}

#[test]
fn payments_between_accounts_take_effect_once() {
    let refused = Arc::default();
    check_program("bank", move |sim| {
        bank::program(sim, bank::Way::Plain, &refused);
    });
}

#[test]
fn payments_between_accounts_that_are_listed_take_effect_once() {
    let refused = Arc::default();
    check_program("listed bank", move |sim| {
        bank::program(sim, bank::Way::Listed, &refused);
    });
}

#[test]
fn entities_with_reminders_and_letters_start_without_a_message() {
    let search = search("alarms").steps(alarms::STEPS_MAX);
    report("alarms", search.run(alarms::program));
}

#[test]
fn payments_between_accounts_with_full_mailboxes_take_effect_once() {
    let refused = Arc::new(AtomicU64::new(0));
    let of_all = refused.clone();
    check_program("full bank", move |sim| {
        bank::program(sim, bank::Way::Full, &of_all);
    });
    assert!(refused.load(Relaxed) > 0, "no mailbox was full");
}

#[test]
fn an_entity_that_is_passivated_with_a_full_mailbox_handles_what_it_has_accepted() {
    check_program("full", full::program);
}

#[test]
fn a_node_that_reaches_only_the_journals_does_nothing_that_is_not_linearizable() {
    for (name, is_fenced) in [("astray", false), ("fenced astray", true)] {
        check_program(name, move |sim| astray::program(sim, is_fenced));
    }
}
