//! Durable entities on nodes that meet on a NATS server, each in its own process. Processes are
//! killed, or paused for some time, while threads call the entities. The history of the calls must
//! be linearizable.
//!
//! `GARRICK_CLUSTER_SECONDS` sets the duration of the calls.
#![cfg(unix)]
#![forbid(unsafe_code)]

#[path = "../entities/register.rs"]
mod register;
#[expect(dead_code, reason = "the tests of nodes use more of it")]
#[path = "../nats/server.rs"]
mod server;

mod callers;
mod member;

use std::time::{Duration, Instant};

use garrick_testkit::setting;

use callers::Callers;
use member::Member;
use server::Server;

/// Number of members.
const MEMBERS: usize = 3;

/// Duration of the calls in seconds.
const SECONDS: u64 = 24;

/// Number of answers that the test waits for between two faults, and before it lets a removed
/// member continue.
const ANSWERS: u64 = 1_000;

#[test]
fn calls_of_entities_are_linearizable_while_processes_are_killed_and_stopped() {
    if member::runs_here() {
        return member::run();
    }
    let Some(server) = Server::start("") else {
        return;
    };
    let mut members: Vec<Member> = (0..MEMBERS)
        .map(|number| Member::start(number, &server.address()))
        .collect();
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
            members[number] = Member::start(number, &server.address());
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
