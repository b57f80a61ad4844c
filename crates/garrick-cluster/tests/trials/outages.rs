//! Networks that refuse frames for a while.

use garrick_actor::NoReply;

use crate::pair::{Msg, Pair, ready};

/// Number of bytes waiting for a node at which messages are refused.
const WAITING: usize = 16 << 20;

/// Number of frames that may be refused in a second.
const REFUSED_MAX: usize = 40;

#[test]
fn what_is_refused_for_a_while_comes_in_its_order() {
    for halves in 1..=8 {
        let pair = Pair::met();
        pair.spy.refuse(Some(0));
        let mut asks = Vec::new();
        for _ in 0..halves {
            for _ in 0..20 {
                pair.far.send(Msg::Add(1)).unwrap();
                asks.push(pair.far.ask(Msg::Get));
                pair.run();
            }
            pair.pass(1);
        }
        assert_eq!(pair.server.sample().delivered, 1);
        let refused = pair.spy.refused();
        assert!(refused <= REFUSED_MAX * (halves + 1), "{refused}");
        pair.spy.refuse(None);
        pair.pass(1);
        for (number, ask) in (2..).zip(asks) {
            assert_eq!(ready(ask), Some(Ok(number)), "after {halves} halves");
        }
        let sample = pair.client.sample();
        assert_eq!((sample.frames_lost, sample.losses), (0, 0));
        pair.check();
    }
}

#[test]
fn the_answers_of_a_node_that_is_cut_off_come_late() {
    let pair = Pair::met();
    let ask = pair.far.ask(Msg::Wait);
    pair.run();
    pair.spy.refuse(Some(0));
    pair.counter.send(Msg::Answer(7)).unwrap();
    pair.pass(4);
    pair.spy.refuse(None);
    pair.pass(1);
    assert_eq!(ready(ask), Some(Ok(7)));
    pair.check();
}

#[test]
fn nothing_is_sent_before_the_other_node_is_there_again() {
    let pair = Pair::met();
    pair.spy.refuse(Some(0));
    pair.far.send(Msg::Add(1)).unwrap();
    pair.pass(2);
    // The client is connected again before the server.
    pair.spy.refuse(None);
    pair.spy.cut(&["client", "server"]);
    pair.pass(3);
    pair.spy.cut(&[]);
    pair.pass(1);
    assert_eq!(pair.get(&pair.far), Some(Ok(2)));
    assert_eq!(pair.client.sample().frames_lost, 0);
    pair.check();
}

#[test]
fn a_long_outage_ends_the_session() {
    let pair = Pair::met();
    pair.spy.refuse(Some(0));
    let ask = pair.far.ask(Msg::Get);
    pair.run();
    pair.pass(9);
    assert_eq!(pair.client.sample().losses, 0);
    pair.pass(2);
    assert_eq!(pair.client.sample().losses, 1);
    assert_eq!(ready(ask), Some(Err(NoReply::NodeLost)));
    pair.spy.refuse(None);
    pair.far.send(Msg::Add(1)).unwrap();
    pair.run();
    pair.pass(1);
    assert_eq!(pair.get(&pair.far), Some(Ok(2)));
    pair.check();
}

#[test]
fn a_frame_that_is_refused_for_ever_ends_the_session_of_a_node_that_is_heard() {
    let pair = Pair::met();
    pair.spy.refuse(Some(1_000));
    pair.far.send(Msg::Text("x".repeat(2_000))).unwrap();
    let ask = pair.far.ask(Msg::Get);
    pair.run();
    pair.pass(19);
    assert_eq!(pair.client.sample().losses, 0);
    pair.pass(4);
    assert_eq!(pair.client.sample().losses, 1);
    assert_eq!(ready(ask), Some(Err(NoReply::NodeLost)));
    pair.pass(1);
    assert_eq!(pair.get(&pair.far), Some(Ok(1)));
    pair.check();
}

#[test]
fn what_is_refused_has_a_bound() {
    let pair = Pair::met();
    pair.spy.refuse(Some(0));
    let (text, mut sent) = ("x".repeat(100_000), 0);
    while pair.far.send(Msg::Text(text.clone())).is_ok() {
        sent += text.len();
        assert!(sent <= WAITING + text.len());
        pair.run();
    }
    assert!(sent + text.len() > WAITING);
    pair.spy.refuse(None);
    pair.pass(2);
    assert_eq!(pair.get(&pair.far), Some(Ok(1 + sent as u64)));
    pair.check();
}

#[test]
fn a_node_that_leaves_in_an_outage_leaves() {
    let pair = Pair::met();
    pair.spy.refuse(Some(0));
    pair.far.send(Msg::Add(1)).unwrap();
    pair.run();
    pair.spy.refuse(None);
    pair.client.leave();
    pair.run();
    // It has told what waited, and that it leaves.
    assert_eq!(pair.server.sample().delivered, 2);
    assert_eq!(pair.server.sample().losses, 1);
    pair.check_links();
}

#[test]
fn a_node_that_leaves_while_its_window_is_full_is_noticed_at_once() {
    let pair = Pair::met();
    // Confirmations do not arrive.
    pair.spy.cut(&["client"]);
    for _ in 0..20 {
        pair.far.send(Msg::Text("x".repeat(500_000))).unwrap();
    }
    pair.run();
    let delivered = pair.server.sample().delivered;
    assert!((5..20).contains(&delivered), "the window is not full");
    pair.client.leave();
    pair.run();
    let sample = pair.server.sample();
    assert_eq!((sample.losses, sample.delivered), (1, delivered));
    pair.check_links();
}
