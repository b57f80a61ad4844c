//! Durable entities on nodes in processes of their own, on a NATS server. Processes are killed, or
//! stopped for some time, while threads call the entities. The history of the calls must be
//! linearizable.
//!
//! `GARRICK_CLUSTER_SECONDS` sets the time for which the calls go on.
#![cfg(unix)]
#![forbid(unsafe_code)]

#[path = "../entities/register.rs"]
mod register;
#[expect(dead_code, reason = "the tests of nodes use more of it")]
#[path = "../nats/server.rs"]
mod server;

mod callers;
mod member;

use std::thread;
use std::time::{Duration, Instant};

use garrick_testkit::setting;

use callers::Callers;
use member::Member;
use server::Server;

/// Number of members.
const MEMBERS: usize = 3;

/// Time for which the entities are called.
const SECONDS: u64 = 24;

/// Time between the end of a fault and the next one: the members come to rest.
const REST: Duration = Duration::from_secs(4);

/// Time for which a member is stopped. Others take its shards over meanwhile.
const STOPPED: Duration = Duration::from_secs(8);

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
        thread::sleep(REST);
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
            println!("member {number} is stopped for {STOPPED:?}");
            members[number].signal("STOP");
            thread::sleep(STOPPED);
            members[number].signal("CONT");
        }
    }
    callers.end();
    members.iter_mut().for_each(Member::end);
}
