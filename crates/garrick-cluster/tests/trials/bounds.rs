//! Limits for the messages of one turn, and for waiting messages.

use std::sync::mpsc::{Sender, channel};

use garrick_actor::{Actor, Address, Context, SendError};

use crate::pair::{Msg, Pair, ready};

/// Maximum number of bytes that one turn may send to a node. The next constant is the maximum
/// number of bytes under way to a node.
const TURN_BYTES: u64 = 4 << 20;
const WINDOW: u64 = 4 << 20;

/// Number of bytes waiting for a node at which answers are refused.
const ANSWERS: u64 = 32 << 20;

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
