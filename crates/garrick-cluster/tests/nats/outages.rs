//! Short outages of the server.

use std::time::{Duration, Instant};

use garrick_actor::Ended;
use garrick_cluster::nats::{NameState, NatsNet};
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
