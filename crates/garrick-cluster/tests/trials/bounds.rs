//! Limits for the messages of one turn, and for waiting messages.

use std::sync::mpsc::{Sender, channel};

use garrick_actor::{Actor, Address, Context, NoReply, SendError};
use garrick_cluster::{LinkState, Node};

use crate::pair::{Msg, Pair, ready};

/// Maximum number of bytes that one turn may send to a node. The next constant is the maximum
/// number of bytes under way to a node.
const TURN_BYTES: u64 = 4 << 20;
const WINDOW: u64 = 4 << 20;

/// Number of bytes waiting for a node at which answers are refused.
const ANSWERS: u64 = 32 << 20;

/// Number of unanswered questions to a node at which further questions are refused.
const QUESTIONS: usize = 65_536;

/// An actor that sends texts of a given length in one turn until one is refused, and reports how
/// many were accepted.
struct Floods {
    to: Address<Msg>,
    taken: Sender<u64>,
}

impl Actor for Floods {
    type Msg = usize;
    type Outcome = ();

    fn receive(&mut self, length: usize, cx: &mut Context<'_, usize>) {
        let mut taken = 0;
        let returned = loop {
            match cx.send(&self.to, Msg::Text("x".repeat(length))) {
                Ok(()) => taken += 1,
                Err(SendError(returned)) => break returned,
            }
            assert!(taken < 100, "nothing comes back");
        };
        assert!(matches!(returned, Msg::Text(text) if text.len() == length));
        self.taken.send(taken).unwrap();
    }
}

#[test]
fn a_turn_sends_a_bounded_number_of_bytes_and_all_of_them_in_one_frame() {
    let pair = Pair::new();
    let (told, heard) = channel();
    let floods = Floods {
        to: pair.far.clone(),
        taken: told,
    };
    let floods = pair.local.spawn(floods);
    for turn in 1..=3 {
        floods.send(500_000).unwrap();
        pair.run();
        let taken = heard.try_recv().unwrap();
        assert_eq!(taken, TURN_BYTES.div_ceil(500_000));
        assert_eq!(pair.get(&pair.far), Some(Ok(turn * taken * 500_000)));
        let frames = pair.spy.frames("server");
        let large = frames.iter().filter(|frame| frame.len() > 500_000);
        let is_whole = |frame: &Vec<u8>| frame.len() as u64 > taken * 500_000;
        assert_eq!(large.clone().count() as u64, turn);
        assert!(large.clone().all(is_whole));
    }
    assert_eq!(pair.client.sample().refused, 0);
}

#[test]
fn answers_to_a_node_that_hears_nothing_wait_up_to_a_bound() {
    let pair = Pair::met();
    let large = |reply| Msg::Large(200_000, reply);
    let asks: Vec<_> = (0..2_000).map(|_| pair.far.ask(large)).collect();
    pair.spy.cut(&["client"]);
    let before = pair.server.sample().bytes_sent;
    pair.run();
    let early = pair.server.sample().bytes_sent - before;
    assert!(early < WINDOW + 300_000, "{early} bytes were sent at once");
    pair.spy.cut(&[]);
    pair.pass(4);
    let sent = pair.server.sample().bytes_sent - before;
    assert!(sent > ANSWERS, "{sent} bytes were sent");
    let bound = ANSWERS + WINDOW + 500_000;
    assert!(sent < bound, "{sent} bytes were sent");
    // All questions end.
    let answers: Vec<_> = asks.into_iter().map(ready).collect();
    assert!(answers.iter().all(Option::is_some));
    let is_good = |answer: &&Option<Result<String, _>>| matches!(answer, Some(Ok(_)));
    let good = answers.iter().filter(is_good).count() as u64;
    assert!((100..=bound / 200_000).contains(&good), "{good} answers");
    assert_eq!(pair.client.sample().losses, 0);
    pair.check();
}

#[test]
fn a_question_that_is_refused_at_the_bound_costs_no_frame() {
    let pair = Pair::met();
    let waits: Vec<_> = (0..QUESTIONS).map(|_| pair.far.ask(Msg::Wait)).collect();
    pair.run();
    let check_link = |node: &Node| {
        let link = node.links().remove(0);
        assert_eq!((link.frames_lost, link.frames_missing), (0, 0), "{link:?}");
        assert_eq!(
            (link.frames_waiting, link.bytes_waiting),
            (0, 0),
            "{link:?}"
        );
        assert_eq!(link.state, LinkState::Up);
    };
    check_link(&pair.client);
    let frames = pair.spy.count();
    for _ in 0..3 {
        assert_eq!(pair.get(&pair.far), Some(Err(NoReply::Refused)));
    }
    assert_eq!(pair.client.sample().refused, 3);
    assert_eq!(pair.spy.count(), frames);
    // Frames of the beats contain the number of the last frame.
    pair.pass(2);
    for node in [&pair.client, &pair.server] {
        check_link(node);
    }
    pair.counter.send(Msg::Answer(7)).unwrap();
    pair.run();
    assert!(waits.into_iter().all(|wait| ready(wait) == Some(Ok(7))));
    pair.check();
}

#[test]
fn questions_that_are_refused_before_the_other_node_is_known_leave_nothing() {
    let pair = Pair::new();
    pair.spy.cut(&["server"]);
    let waits: Vec<_> = (0..QUESTIONS).map(|_| pair.far.ask(Msg::Wait)).collect();
    pair.run();
    let waiting = pair.client.links()[0].bytes_waiting;
    assert!(waiting > 0);
    for _ in 0..3 {
        assert_eq!(pair.get(&pair.far), Some(Err(NoReply::Refused)));
    }
    assert_eq!(pair.client.links()[0].bytes_waiting, waiting);
    pair.spy.cut(&[]);
    pair.pass(1);
    pair.counter.send(Msg::Answer(7)).unwrap();
    pair.run();
    assert!(waits.into_iter().all(|wait| ready(wait) == Some(Ok(7))));
    pair.check();
}
