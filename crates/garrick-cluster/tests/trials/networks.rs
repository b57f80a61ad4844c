//! Networks that lose frames in one direction, refuse them, or delay them.

use garrick_actor::{Address, NoReply};
use garrick_cluster::Node;
use garrick_core::random::mix;
use garrick_testkit::seeds;

use crate::forged::PEER;
use crate::pair::{Msg, Pair, ready};

/// Number of networks that lose frames at random, in an optimized build. `GARRICK_CLUSTER_SEEDS`
/// sets another number.
const SEEDS: u64 = 1_000;

/// Maximum number of frames that two nodes should send within some minutes.
const FRAMES_MAX: usize = 4_000;

#[test]
fn nodes_that_have_lost_each_other_do_not_argue() {
    let pair = Pair::new();
    // The client hears nothing.
    pair.spy.cut(&["client"]);
    pair.far.send(Msg::Add(1)).unwrap();
    pair.run();
    pair.pass(9);
    // Its word of the loss is lost, too.
    pair.spy.cut(&["client", "server"]);
    pair.pass(1);
    pair.spy.cut(&[]);
    pair.pass(1);
    let before = pair.spy.count();
    let _ = pair.far.send(Msg::Add(1));
    pair.run();
    let frames = pair.spy.count() - before;
    assert!(frames < 20, "{frames} frames");
    pair.check();
}

#[test]
fn nodes_that_have_lost_each_other_meet_at_the_first_frame_that_arrives() {
    let pair = Pair::met();
    pair.spy.cut(&["client", "server"]);
    pair.pass(14);
    assert_eq!(pair.client.sample().losses, 1);
    assert_eq!(pair.server.sample().losses, 1);
    let ask = pair.far.ask(Msg::Get);
    pair.run();
    pair.spy.cut(&[]);
    pair.pass(1);
    assert_eq!(ready(ask), Some(Ok(1)));
    pair.check();
}

#[test]
fn a_node_that_has_started_again_does_not_end_its_first_session_because_of_its_earlier_life() {
    let pair = Pair::met();
    // The server ends, and the client does not hear of it.
    pair.spy.cut(&["client"]);
    pair.server.leave();
    pair.run();
    pair.spy.cut(&[]);
    // The reports of the client that the session of the server is lost come late.
    pair.spy.delay();
    pair.pass(14);
    assert_eq!(pair.client.sample().losses, 1);
    let waits = pair.far.ask(Msg::Get);
    pair.pass(2);
    let server = Node::join(&pair.local.handle(), pair.spy.clone(), "test", "server").unwrap();
    server.offer("counter", &pair.counter);
    let back: Address<Msg> = server.service("client", "counter").unwrap();
    back.send(Msg::Add(5)).unwrap();
    let ask = back.ask(Msg::Get);
    pair.run();
    pair.spy.hasten();
    pair.run();
    pair.pass(2);
    assert_eq!(ready(ask), Some(Ok(6)));
    assert!(matches!(ready(waits), Some(Ok(_))));
    assert_eq!(server.sample().losses, 0);
    assert_eq!(pair.client.sample().losses, 1);
    pair.check_links();
}

#[test]
fn nodes_that_know_only_earlier_lives_of_each_other_meet() {
    let pair = Pair::met();
    let greetings = ["server", "client"].map(|to| pair.forge(to, 0).with(PEER, 0).sign());
    pair.spy.cut(&["client", "server"]);
    pair.server.leave();
    pair.client.leave();
    pair.run();
    let [server, client] = ["server", "client"].map(|name| {
        let node = Node::join(&pair.local.handle(), pair.spy.clone(), "test", name).unwrap();
        node.offer("counter", &pair.counter);
        node
    });
    // Frames of the first lives come late.
    for (to, greeting) in ["server", "client"].into_iter().zip(greetings) {
        pair.spy.inject(to, greeting);
    }
    pair.run();
    for node in [&server, &client] {
        assert_eq!(node.links()[0].life, 1);
    }
    pair.spy.cut(&[]);
    let before = pair.spy.count();
    let far: Address<Msg> = client.service("server", "counter").unwrap();
    let _ = far.send(Msg::Add(1));
    pair.run();
    // A session with an earlier life ends at the latest after some seconds of silence.
    pair.pass(14);
    let frames = pair.spy.count() - before;
    assert!(frames < 100, "{frames} frames");
    let ask = far.ask(Msg::Get);
    pair.run();
    assert!(matches!(ready(ask), Some(Ok(_))));
    for node in [&server, &client] {
        assert_eq!(node.links()[0].life, 2);
    }
    pair.check_links();
}

#[test]
fn frames_that_come_late_cause_no_storm() {
    for seconds in [1, 3, 5, 7, 9, 11, 12, 13, 16, 20] {
        let pair = Pair::met();
        pair.spy.delay();
        for _ in 0..seconds {
            let _ = pair.far.send(Msg::Add(1));
            pair.pass(2);
        }
        let before = pair.spy.count();
        pair.spy.hasten();
        pair.run();
        let frames = pair.spy.count() - before;
        assert!(frames < 10 * (seconds + 10), "{seconds} s: {frames} frames");
        pair.pass(12);
        assert!(
            pair.get(&pair.far).is_some_and(|got| got.is_ok()),
            "{seconds} s"
        );
        assert_eq!(pair.client.sample().questions, 0);
        pair.check();
    }
}

#[test]
fn a_new_session_does_not_take_an_answer_of_an_earlier_one() {
    let pair = Pair::met();
    let first = pair.far.ask(Msg::Wait);
    pair.run();
    // The client ends the session because of a frame that it cannot read. The server does not hear
    // of it.
    pair.spy.cut(&["server"]);
    let frame = pair.forge("client", 50).entries(1, &[99]).sign();
    pair.spy.inject("client", frame);
    pair.run();
    assert_eq!(pair.client.sample().losses, 1);
    assert_eq!(ready(first), Some(Err(NoReply::NodeLost)));
    let second = pair.far.ask(Msg::Get);
    pair.run();
    pair.counter.send(Msg::Answer(77)).unwrap();
    pair.run();
    pair.spy.cut(&[]);
    pair.pass(24);
    let got = ready(second).expect("the question has ended");
    assert!(got == Ok(1) || got == Err(NoReply::NodeLost), "{got:?}");
    assert_eq!(pair.client.sample().questions, 0);
    pair.check();
}

/// A generator of random numbers from a seed.
struct Chance {
    seed: u64,
    count: u64,
}

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.count += 1;
        mix(self.seed << 32 | self.count) % end
    }
}

/// Loses all frames in a random direction, or refuses all frames, for about two minutes, while both
/// nodes ask each other. Returns the number of frames, and the number of questions without a
/// result.
fn cut_at_random(seed: u64) -> (usize, u64) {
    let pair = Pair::new();
    let mut chance = Chance { seed, count: 0 };
    let back: Address<Msg> = pair.server.service("client", "counter").unwrap();
    let (mut asks, mut cut) = (Vec::new(), Vec::new());
    for _ in 0..60 {
        if chance.below(6) == 0 {
            cut.clear();
        }
        for node in ["server", "client"] {
            if chance.below(8) == 0 {
                cut.push(node);
            }
        }
        pair.spy.cut(&cut);
        pair.spy.refuse((chance.below(8) == 0).then_some(0));
        for _ in 0..chance.below(3) {
            let to = [&pair.far, &back][chance.below(2) as usize];
            asks.push(to.ask(Msg::Get));
        }
        pair.run();
        pair.pass(1 + chance.below(3) as u32);
    }
    pair.spy.cut(&[]);
    pair.spy.refuse(None);
    pair.pass(30);
    let questions = pair.client.sample().questions + pair.server.sample().questions;
    let unanswered = asks.into_iter().map(ready).filter(Option::is_none).count();
    pair.check();
    (pair.spy.count(), questions + unanswered as u64)
}

#[test]
fn losses_and_outages_at_random_leave_no_question_and_cause_no_storm() {
    for seed in 0..seeds("GARRICK_CLUSTER_SEEDS", SEEDS) {
        let (frames, questions) = cut_at_random(seed);
        assert!(frames < FRAMES_MAX, "{seed}: {frames} frames");
        assert_eq!(questions, 0, "{seed}");
    }
}
