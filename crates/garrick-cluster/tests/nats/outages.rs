//! Short outages of the server.

use std::time::{Duration, Instant};

use garrick_cluster::nats::NatsNet;

use crate::place::{Msg, Place, noted, until};
use crate::server::Server;

/// Time for which the server is away.
const AWAY_FOR: Duration = Duration::from_secs(2);

/// Number of messages.
const COUNT: u64 = 10_000;

#[test]
fn what_is_sent_while_the_server_is_away_for_two_seconds_is_not_lost() {
    let Some(mut server) = Server::start("") else {
        return;
    };
    let address = server.address();
    let place = |name| Place::new(NatsNet::builder(&address), "test", name);
    let (there, here) = (place("there"), place("here"));
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
