//! Short outages of the server.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use garrick_actor::Ended;
use garrick_cluster::nats::{NameState, NatsError, NatsNet};
use garrick_testkit::wait;

use crate::place::{Msg, Place, ends, noted, until};
use crate::proxy::{Proxy, To};
use crate::server::Server;

/// Duration of an outage of the server.
const AWAY_FOR: Duration = Duration::from_secs(2);

/// Time limit within which both nodes notice a half-open connection, with a margin for a busy
/// machine.
const NOTICED_WITHIN: Duration = Duration::from_secs(20);

/// Number of messages.
const COUNT: u64 = 10_000;

#[test]
fn what_is_sent_while_the_server_is_away_for_two_seconds_is_not_lost() {
    let Some(mut server) = Server::start("") else {
        return;
    };
    let (there, here) = Place::pair(&server.address());
    let far = here.far("there");
    server.kill();
    let began = Instant::now();
    until("the node notices", || !here.net.sample().is_connected);
    let mut asks = Vec::new();
    for number in 0..COUNT {
        far.send(Msg::Note(number)).unwrap();
        if number % 100 == 99 {
            asks.push(far.ask(Msg::Count));
        }
    }
    until("the time has passed", || began.elapsed() > AWAY_FOR);
    server.start_again();
    let answers: Vec<_> = asks.into_iter().map(|ask| ask.wait()).collect();
    let noted = noted(&there.counter);
    println!(
        "{} of {COUNT} messages were lost",
        COUNT - noted.len() as u64
    );
    assert!(noted.into_iter().eq(0..COUNT));
    let expected = (1..=COUNT / 100).map(|hundreds| Ok(hundreds * 100));
    assert!(answers.into_iter().eq(expected));
    let sample = here.node.sample();
    assert_eq!((sample.frames_lost, sample.losses), (0, 0));
}

#[test]
fn a_half_open_connection_is_noticed_on_both_sides_and_made_again() {
    for held in [&[To::Server, To::Client][..], &[To::Server], &[To::Client]] {
        let Some(server) = Server::start("") else {
            return;
        };
        let proxy = Proxy::start(&server.address());
        let here = Place::new(NatsNet::builder(server.address()), "test", "here");
        let cut_off = Place::new(NatsNet::builder(proxy.address()), "test", "cut-off");
        let (far, back) = (here.far("cut-off"), cut_off.far("here"));
        let (end, end_of_here) = (ends(&far), ends(&back));
        let began = Instant::now();
        // Nothing is closed.
        proxy.hold(held);
        assert_eq!(wait(&end_of_here), Ended::NodeLost("here".into()));
        let lost_here = began.elapsed();
        assert_eq!(wait(&end), Ended::NodeLost("cut-off".into()));
        let lost_there = began.elapsed();
        until("the client notices", || !cut_off.net.sample().is_connected);
        let closed = began.elapsed();
        println!("{held:?}: nodes lost after {lost_here:?}, {lost_there:?}; closed: {closed:?}");
        assert!(closed < NOTICED_WITHIN && lost_there < NOTICED_WITHIN);
        // Others are not affected.
        assert!(here.net.sample().is_connected);
        assert_eq!(here.net.sample().name, NameState::Held);
        proxy.hold(&[]);
        until("they talk again", || {
            far.ask(Msg::Count).wait().is_ok() && back.ask(Msg::Count).wait().is_ok()
        });
        until("the name is held", || {
            cut_off.net.sample().name == NameState::Held
        });
        assert_eq!(cut_off.node.sample().frames_dropped, 0);
    }
}

#[test]
fn a_server_that_accepts_a_connection_and_says_nothing_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("nats://{}", silent.local_addr().unwrap());
    let limit = Duration::from_secs(2);
    let began = Instant::now();
    let started = NatsNet::builder(&address).join_within(limit).start();
    assert!(matches!(started, Err(NatsError::Unreachable { .. })));
    assert!(began.elapsed() < NOTICED_WITHIN);
}

/// Bounds in bytes: of the messages that wait for a node, and of the frames under way to it. Frames
/// may be one turn too large.
const WAITING: u64 = 16 << 20;
const WINDOW: u64 = 4 << 20;

/// Size of a large message.
const LARGE: usize = 100_000;

#[test]
fn what_waits_for_a_server_that_takes_no_data_has_a_bound() {
    let Some(server) = Server::start("") else {
        return;
    };
    let proxy = Proxy::start(&server.address());
    let here = Place::in_test(&server.address(), "here");
    let stuck = Place::in_test(&proxy.address(), "stuck");
    let (far, back) = (stuck.far("here"), here.far("stuck"));
    let (end, end_of_stuck) = (ends(&far), ends(&back));
    // The data of the server still arrives, so the client does not close the connection.
    proxy.hold(&[To::Server]);
    let began = Instant::now();
    let mut sent = 0;
    while far.send(Msg::Large(vec![7; LARGE])).is_ok() {
        sent += LARGE as u64;
        assert!(sent < 2 * (WAITING + WINDOW), "there is no bound");
    }
    assert!(sent > WAITING, "{sent}");
    let link = stuck.node.links();
    let waiting = link[0].bytes_waiting + link[0].bytes_unconfirmed;
    assert!(waiting < 2 * (WAITING + WINDOW), "{link:?}");
    assert!((stuck.net.sample().bytes_waiting as u64) < 2 * WINDOW);
    // Both nodes know that they are cut off.
    assert_eq!(wait(&end_of_stuck), Ended::NodeLost("stuck".into()));
    assert_eq!(wait(&end), Ended::NodeLost("here".into()));
    assert!(began.elapsed() < NOTICED_WITHIN);
    proxy.hold(&[]);
    until("they talk again", || {
        far.ask(Msg::Count).wait().is_ok() && back.ask(Msg::Count).wait().is_ok()
    });
}
