//! Durable entities on nodes that meet on a NATS server, each in its own process. Processes are
//! killed, or paused for some time, while threads call the entities. The history of the calls must
//! be linearizable. In another test, all processes are killed while entities have reminders.
//!
//! `GARRICK_CLUSTER_SECONDS` sets the duration of the calls.
#![cfg(unix)]
#![forbid(unsafe_code)]

#[path = "../entities/register.rs"]
mod register;
#[expect(dead_code, reason = "the tests of nodes use more of it")]
#[path = "../nats/server.rs"]
mod server;

mod alarms;
mod callers;
mod member;

use std::time::{Duration, Instant};

use garrick_cluster::KindOptions;
use garrick_testkit::{alone, setting};

use callers::Callers;
use member::Member;
use server::Server;

/// Number of members.
const MEMBERS: usize = 3;

/// Duration of the calls in seconds.
const SECONDS: u64 = 24;

/// Name of the test function, which also runs in the processes of the members.
const LINEARIZABLE: &str =
    "calls_of_entities_are_linearizable_while_processes_are_killed_and_stopped";

/// Name of another test function.
const CLAIMED: &str = "a_member_that_is_stopped_in_the_middle_of_its_claims_serves_nothing";

/// Number of answers that the test waits for between two faults, and before it lets a removed
/// member continue.
const ANSWERS: u64 = 1_000;

#[test]
fn calls_of_entities_are_linearizable_while_processes_are_killed_and_stopped() {
    if member::runs_here() {
        let options = KindOptions::new().shards(16);
        return member::run(|entities, journal| register::host(entities, journal, options, false));
    }
    // The processes of a test need all processors.
    let _alone = alone();
    let Some(server) = Server::start("") else {
        return;
    };
    let start = |number| Member::start(LINEARIZABLE, number, &server.address());
    let mut members: Vec<Member> = (0..MEMBERS).map(start).collect();
    members.iter_mut().for_each(Member::is_ready);
    let callers = Callers::start(&server.address());
    let seconds = setting("GARRICK_CLUSTER_SECONDS").unwrap_or(SECONDS);
    let until = Instant::now() + Duration::from_secs(seconds);
    for round in 0.. {
        callers.get_answers(ANSWERS);
        if Instant::now() >= until {
            break;
        }
        let number = round % MEMBERS;
        if round % 2 == 0 {
            println!("member {number} is killed");
            members[number].kill();
            members[number] = start(number);
            members[number].is_ready();
        } else {
            println!("member {number} is stopped until others have its shards");
            members[number].signal("STOP");
            callers.see_member(number, false);
            callers.get_answers(ANSWERS);
            members[number].signal("CONT");
        }
        callers.see_member(number, true);
    }
    callers.end();
    members.iter_mut().for_each(Member::end);
}

#[test]
fn a_member_that_is_stopped_in_the_middle_of_its_claims_serves_nothing() {
    if member::runs_here() {
        let options = KindOptions::new().shards(64);
        return member::run(|entities, journal| register::host(entities, journal, options, false));
    }
    let _alone = alone();
    let Some(server) = Server::start("") else {
        return;
    };
    let start = |number| Member::start(CLAIMED, number, &server.address());
    let mut members: Vec<Member> = (0..MEMBERS).map(start).collect();
    members.iter_mut().for_each(Member::is_ready);
    let callers = Callers::start(&server.address());
    (0..MEMBERS).for_each(|number| callers.see_shards(number));
    callers.get_answers(ANSWERS);
    members[0].kill();
    // From this moment on, the others claim the shards of the first member.
    callers.see_member(0, false);
    members[1].signal("STOP");
    // The last member takes over the other shards, too, also those that were claimed just now.
    callers.see_member(1, false);
    callers.get_answers(ANSWERS);
    members[1].signal("CONT");
    callers.see_member(1, true);
    callers.get_answers(ANSWERS);
    members[0] = start(0);
    members[0].is_ready();
    callers.end();
    members.iter_mut().for_each(Member::end);
}
