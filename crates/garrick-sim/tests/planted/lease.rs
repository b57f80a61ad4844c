//! A server lends a lock for some seconds. One version of the client takes the end of the lease
//! from the server's clock, and compares it with its own clock. Such a client may still work when
//! another client has the lock.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context};
use garrick_sim::Sim;

use crate::{assert_found, assert_right};

/// Duration of a lease in nanoseconds on the clock of the server.
const LEASE: u64 = 2_000_000_000;

const PROPERTY: &str = "no client works with an old lock";

/// Time between two pieces of work, and time after which a client tries again.
const PAUSE: Duration = Duration::from_millis(350);

/// A fact: a client works with the lock that has this number.
#[derive(Debug)]
struct Works(u64);

/// The version of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    /// The client believes that both clocks show the same time.
    SameTime,
    /// The client measures the time of the lease on its own clock, beginning with its request.
    SameRate,
    /// The client also gives up a quarter of the lease, because its clock may be slow.
    Cautious,
}

struct Server {
    number: u64,
    ends_at: u64,
}

/// A request for the lock, with the time of the request on the client's clock.
struct Request(Address<ToClient>, u64);

impl Actor for Server {
    type Msg = Request;
    type Outcome = ();

    fn receive(&mut self, Request(client, asked_at): Request, cx: &mut Context<'_, Request>) {
        if cx.now() < self.ends_at {
            return;
        }
        self.number += 1;
        self.ends_at = cx.now() + LEASE;
        let _ = cx.send(
            &client,
            ToClient::Lent {
                number: self.number,
                ends_at: self.ends_at,
                asked_at,
            },
        );
    }
}

struct Client {
    server: Address<Request>,
    version: Version,
    /// Number of times that the client asks for the lock.
    tries: u32,
    /// Number of the lock, and the end of the lease on the client's clock.
    lease: Option<(u64, u64)>,
}

enum ToClient {
    Go,
    Lent {
        number: u64,
        ends_at: u64,
        asked_at: u64,
    },
}

impl Actor for Client {
    type Msg = ToClient;
    type Outcome = ();

    fn receive(&mut self, message: ToClient, cx: &mut Context<'_, ToClient>) {
        let now = cx.now();
        match message {
            ToClient::Lent {
                number,
                ends_at,
                asked_at,
            } => {
                let ends_at = match self.version {
                    Version::SameTime => ends_at,
                    Version::SameRate => asked_at + LEASE,
                    Version::Cautious => asked_at + LEASE - LEASE / 4,
                };
                self.lease = Some((number, ends_at));
                if now < ends_at {
                    cx.note(Works(number));
                }
            }
            ToClient::Go => {
                match self.lease {
                    Some((number, ends_at)) if now < ends_at => cx.note(Works(number)),
                    _ if self.tries == 0 => return,
                    _ => {
                        self.tries -= 1;
                        let _ = cx.send(&self.server, Request(cx.address(), now));
                    }
                }
                let _ = cx.send_after(PAUSE, &cx.address(), ToClient::Go);
            }
        }
    }
}

fn leases(sim: &mut Sim, version: Version) {
    sim.latency(Duration::from_millis(1)..Duration::from_millis(50));
    if version == Version::SameTime {
        sim.clocks().ahead("server", Duration::ZERO..PAUSE * 5);
    } else {
        // The clock of a client may be slower by a quarter.
        sim.clocks().drifts("client 0", -250_000..0);
    }
    let server = Server {
        number: 0,
        ends_at: 0,
    };
    let server = sim.node("server").spawn(server).unwrap();
    for name in ["client 0", "client 1"] {
        let client = sim.node(name).spawn(Client {
            server: server.clone(),
            version,
            tries: 10,
            lease: None,
        });
        client.unwrap().send(ToClient::Go).unwrap();
    }
    sim.always(PROPERTY, |facts| {
        let works: Vec<_> = facts.seen::<Works>().collect();
        works.is_sorted_by_key(|Works(number)| number)
    });
}

#[test]
fn a_client_that_trusts_the_clock_of_another_node_is_found() {
    assert_found("lease", PROPERTY, |sim| leases(sim, Version::SameTime));
}

#[test]
fn a_client_that_trusts_the_rate_of_its_clock_is_found() {
    assert_found("lease", PROPERTY, |sim| leases(sim, Version::SameRate));
}

#[test]
fn a_client_that_gives_up_a_part_of_its_lease_is_right() {
    assert_right("lease", |sim| leases(sim, Version::Cautious));
}
