//! Limits for the messages of one turn, and for waiting messages.

use std::sync::mpsc::{Sender, channel};

use garrick_actor::{Actor, Address, Context, Ended, NoReply, SendError};
use garrick_cluster::{JoinError, LinkState, Node, SERVICE_NAME_BYTES_MAX};

use crate::pair::{Counter, Msg, Much, Pair, ready};

/// Maximum number of bytes that one turn may send to a node. The next constant is the maximum
/// number of bytes under way to a node.
const TURN_BYTES: u64 = 4 << 20;
const WINDOW: u64 = 4 << 20;

/// Number of bytes waiting for a node at which answers are refused.
const ANSWERS: u64 = 32 << 20;

/// Number of unanswered questions to a node at which further questions are refused.
const QUESTIONS: usize = 65_536;

/// Maximum size of a frame that each network must carry.
const FRAMES_OF: usize = 65_536;

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

/// An actor that calls functions, each in one turn.
struct OneTurn;

impl Actor for OneTurn {
    type Msg = Box<dyn FnOnce() + Send>;
    type Outcome = ();

    fn receive(&mut self, call: Self::Msg, _: &mut Context<'_, Self::Msg>) {
        call();
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

/// Maximum size of a frame in the tests below. With this maximum, a message has at most 480 KiB,
/// and so have the messages of a turn.
const FRAME: usize = 1 << 20;

/// Checks that a turn of the server can answer `questions` questions with texts of `length` bytes
/// each, send `texts` texts before and after them, and watch an actor `watches` times.
fn check_turn(questions: u64, length: u64, texts: u64, watches: u64) {
    let pair = Pair::with_frames_of(FRAME);
    // The messages of the turn go to a counter of the client.
    let (near, sums) = (pair.local.spawn(Counter::default()), texts * 2 * 1_000);
    let asks: Vec<_> = (0..questions)
        .map(|_| pair.far.ask(Msg::WaitText))
        .collect();
    pair.far.send(Msg::Keep(near.clone())).unwrap();
    pair.run();
    let much = Much {
        to: near.clone(),
        texts,
        answer: length,
        watches,
    };
    pair.far.send(Msg::Much(much)).unwrap();
    pair.run();
    pair.pass(4);
    for ask in asks {
        let answer = ready(ask).expect("the turn is over");
        assert_eq!(answer.map(|text| text.len() as u64), Ok(length));
    }
    // `Keep` has added 1.
    assert_eq!(pair.get(&near), Some(Ok(sums + 1)));
    for node in [&pair.client, &pair.server] {
        let sample = node.sample();
        assert_eq!((sample.losses, sample.refused), (0, 0), "{sample:?}");
        let link = node.links().remove(0);
        assert_eq!(
            (link.frames_waiting, link.bytes_waiting),
            (0, 0),
            "{link:?}"
        );
    }
    assert_eq!(pair.spy.refused(), 0);
    // All messages of the turn are in one frame.
    let frames = pair.spy.frames("client");
    let text = b"t".repeat(1_000);
    let has_text = |frame: &&Vec<u8>| frame.windows(1_000).any(|part| part == text);
    assert_eq!(frames.iter().filter(has_text).count() as u64, texts.min(1));
    pair.check();
}

#[test]
fn the_answers_of_a_turn_may_be_larger_than_a_frame() {
    check_turn(1_000, 2_000, 0, 0);
}

#[test]
fn large_answers_of_a_turn_come_in_several_frames() {
    check_turn(10, 400_000, 0, 0);
}

#[test]
fn the_messages_of_a_turn_with_many_answers_stay_in_one_frame() {
    check_turn(1_000, 2_000, 200, 0);
}

#[test]
fn the_orders_of_a_turn_may_be_larger_than_a_frame() {
    check_turn(10, 200_000, 200, 20_000);
}

#[test]
fn the_addresses_of_a_message_count_as_part_of_it() {
    let pair = Pair::with_frames_of(FRAME);
    // The last one has a large number.
    let children: Vec<_> = (0..20).flat_map(|_| pair.children(1_000)).collect();
    let last = children.last().unwrap();
    // Their places in the message are below the limit, but not together with their numbers.
    pair.far
        .send(Msg::KeepAll(vec![last.clone(); 155_000]))
        .unwrap();
    pair.run();
    let sample = pair.client.sample();
    assert_eq!(sample.refused, 1);
    let why = sample.refusal.unwrap();
    assert!(why.contains("with its addresses"), "{why}");
    pair.far
        .send(Msg::KeepAll(vec![last.clone(); 30_000]))
        .unwrap();
    assert_eq!(pair.get(&pair.far), Some(Ok(0)));
    assert_eq!(pair.spy.refused(), 0);
    assert_eq!(pair.client.sample().refused, 1);
    pair.check();
}

#[test]
fn a_frame_that_has_become_too_large_is_dropped_and_the_session_continues() {
    let pair = Pair::met();
    let child = pair.children(1).pop().unwrap();
    let waits = pair.far.ask(Msg::Wait);
    let large = pair.far.ask(|reply| Msg::Large(300_000, reply));
    pair.run();
    assert_eq!(ready(large).map(|text| text.unwrap().len()), Some(300_000));
    // As if the transport had connected to another server.
    pair.spy.limit(100_000);
    let (small, large) = (
        pair.far.ask(Msg::Get),
        pair.far.ask(|reply| Msg::Large(300_000, reply)),
    );
    pair.run();
    assert_eq!(ready(large), Some(Err(NoReply::Refused)));
    assert_eq!(ready(small), Some(Ok(1)));
    let why = pair.server.sample().refusal.unwrap();
    assert!(
        why.contains("the transport carries at most 100000 bytes"),
        "{why}"
    );
    // A message, with a question and an address, in a frame with a watch.
    let (told, heard) = channel();
    let turn = pair.local.spawn(OneTurn);
    let (far, kept) = (pair.far.clone(), pair.counter.clone());
    let sends = Box::new(move || {
        far.send(Msg::Text("x".repeat(200_000))).unwrap();
        far.send(Msg::Keep(kept)).unwrap();
        told.send(far.ask(Msg::Get)).unwrap();
    });
    turn.send(sends).unwrap();
    pair.run();
    assert_eq!(ready(heard.recv().unwrap()), Some(Err(NoReply::Refused)));
    let sample = pair.client.sample();
    assert_eq!((sample.exported, sample.losses), (0, 0), "{sample:?}");
    assert!(sample.refused > 0);
    assert_eq!(pair.get(&child), Some(Ok(0)));
    pair.counter.send(Msg::Answer(7)).unwrap();
    pair.run();
    assert_eq!(ready(waits), Some(Ok(7)));
    assert_eq!(pair.spy.refused(), 0);
    pair.pass(30);
    assert_eq!(pair.client.sample().losses, 0);
    let link = pair.client.links().remove(0);
    assert_eq!(
        (link.frames_waiting, link.bytes_waiting),
        (0, 0),
        "{link:?}"
    );
    pair.check();
}

/// Maximum size of a frame that contains only small parts.
const SMALL_FRAME: usize = 40 << 10;

fn check_frames_are_small(pair: &Pair, to: &str) {
    let frames = pair.spy.frames(to);
    let largest = frames.iter().map(Vec::len).max();
    assert!(
        largest.is_some_and(|bytes| bytes <= SMALL_FRAME),
        "{largest:?}"
    );
}

#[test]
fn many_refusals_come_in_small_frames() {
    let pair = Pair::met();
    let nobody: Address<Msg> = pair.client.service("server", "nobody").unwrap();
    // They come in one frame.
    let (told, heard) = channel();
    let turn = pair.local.spawn(OneTurn);
    let ask = move || told.send(nobody.ask(Msg::Wait)).unwrap();
    turn.send(Box::new(move || (0..40_000).for_each(|_| ask())))
        .unwrap();

    pair.run();
    let asks: Vec<_> = heard.iter().collect();
    assert_eq!(asks.len(), 40_000);
    let is_refused = |ask| ready(ask) == Some(Err(NoReply::Refused));
    assert!(asks.into_iter().all(is_refused));
    check_frames_are_small(&pair, "client");
    pair.check();
}

#[test]
fn many_orders_that_have_waited_come_in_small_frames() {
    let pair = Pair::met();
    let children: Vec<_> = (0..40).flat_map(|_| pair.children(1_000)).collect();
    drop(children);
    pair.pass(10);
    assert_eq!(pair.server.sample().exported, 0);
    check_frames_are_small(&pair, "server");
    pair.check();
}

#[test]
fn a_transport_that_carries_only_tiny_frames_ends_the_session() {
    let pair = Pair::met();
    let asks: Vec<_> = (0..10_000).map(|_| pair.far.ask(Msg::WaitText)).collect();
    pair.run();
    // Smaller than a frame of refusals.
    pair.spy.limit(200);
    let much = Much {
        to: pair.counter.clone(),
        texts: 0,
        answer: 100,
        watches: 0,
    };
    pair.counter.send(Msg::Much(much)).unwrap();
    pair.run();
    assert_eq!(pair.server.sample().refused, 10_000);
    assert!(pair.spy.refused() > 0);
    pair.pass(30);
    assert_eq!(pair.server.sample().losses, 1);
    let is_lost = |ask| ready(ask) == Some(Err(NoReply::NodeLost));
    assert!(asks.into_iter().all(is_lost));
    pair.check_links();
}

#[test]
fn a_service_has_a_name_that_fits_into_each_frame() {
    let pair = Pair::with_frames_of(FRAMES_OF);
    let service = |name: &str| pair.client.service::<Msg>("server", name);
    let long = "s".repeat(SERVICE_NAME_BYTES_MAX + 1);
    let (bytes, bytes_max) = (long.len(), SERVICE_NAME_BYTES_MAX);
    let error = service(&long).unwrap_err();
    assert_eq!(error, JoinError::ServiceName { bytes, bytes_max });
    assert!(error.to_string().contains("1024"), "{error}");
    // A program that has a name on its own node is told so, too.
    assert!(pair.server.service::<Msg>("server", &long).is_err());
    pair.server.offer(&long, &pair.counter);
    let sample = pair.server.sample();
    assert_eq!(sample.refused, 1);
    assert_eq!(sample.refusal, Some(error.to_string().into()));
    // Requests with the longest name do not delay those behind them.
    let longest = &long[1..];
    pair.server.offer(longest, &pair.counter);
    let far = service(longest).unwrap();
    let (told, heard) = channel();
    for _ in 0..200 {
        far.watch(|_| ());
    }
    pair.far.watch(move |ended| told.send(ended).unwrap());
    far.stop();
    pair.run();
    assert_eq!(heard.try_recv(), Ok(Ended::Stopped));
    assert_eq!(pair.spy.refused(), 0);
}
