//! Tests of batches of messages: their order, batches in undone turns, and the number of messages
//! that a stopped receiver rejects.
#![forbid(unsafe_code)]

mod common;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::channel;

use common::settle;
use garrick_actor::{Actor, Address, Context, Local, Next, SendError, System, behavior};
use garrick_testkit::{fail, silence_panics};

/// Records the numbers that it receives, and stops at zero.
struct Listener(Rc<RefCell<Vec<u32>>>);

impl Actor for Listener {
    type Msg = u32;
    type Outcome = Next;

    fn receive(&mut self, n: u32, _: &mut Context<'_, u32>) -> Next {
        self.0.borrow_mut().push(n);
        if n == 0 { Next::Stop } else { Next::Continue }
    }
}

fn listener(local: &Local) -> (Address<u32>, Rc<RefCell<Vec<u32>>>) {
    let heard = Rc::default();
    (local.spawn(Listener(Rc::clone(&heard))), heard)
}

#[test]
fn a_batch_arrives_in_order_between_what_was_sent_before_and_after() {
    let (_, local) = common::local();
    let (to, heard) = listener(&local);
    let sender = local.spawn(behavior(move |(): (), cx| {
        cx.send(&to, 1).unwrap();
        assert_eq!(cx.send_batch(&to, 2..1_000).unwrap(), 998);
        cx.send(&to, 1_000).unwrap();
        Next::Continue
    }));
    sender.send(()).unwrap();
    settle(&local);
    assert_eq!(heard.take(), (1..=1_000).collect::<Vec<_>>());
}

#[test]
fn a_batch_of_a_turn_that_fails_vanishes() {
    silence_panics();
    let (_, local) = common::local();
    let (to, heard) = listener(&local);
    let sender = local.spawn(behavior(move |fails: bool, cx| {
        assert_eq!(cx.send_batch(&to, 1..1_000).unwrap(), 999);
        if fails { fail() } else { Next::Undo }
    }));
    sender.send(false).unwrap();
    sender.send(true).unwrap();
    settle(&local);
    assert_eq!(heard.take(), []);
}

#[test]
fn a_receiver_that_has_stopped_gives_everything_back() {
    let (_, local) = common::local();
    let (to, heard) = listener(&local);
    to.send(0).unwrap();
    settle(&local);
    let of_turn = to.clone();
    let sender = local.spawn(behavior(move |(): (), cx| {
        let error = cx.send_batch(&of_turn, vec![7, 8, 9]).unwrap_err();
        assert_eq!(error.accepted, 0);
        assert_eq!(error.into_iter().collect::<Vec<_>>(), [7, 8, 9]);
        Next::Continue
    }));
    sender.send(()).unwrap();
    settle(&local);
    let error = to.send_batch(vec![1, 2]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the receiver accepted only 0 of these messages")
    );
    assert_eq!((error.accepted, error.refused), (0, 1));
    assert_eq!(error.rest.collect::<Vec<_>>(), [2]);
    assert_eq!(heard.take(), [0]);
    assert_eq!(local.handle().failures(), 0);
}

#[test]
fn what_was_accepted_before_the_receiver_stopped_is_counted() {
    let (_, local) = common::local();
    let (to, heard) = listener(&local);
    // The iterator runs the receiver, which stops at the third message.
    let msgs = [3, 2, 0, 4, 5].into_iter().inspect(|_| local.run());
    let error = to.send_batch(msgs).unwrap_err();
    assert_eq!(error.accepted, 3);
    assert_eq!(error.refused, 4);
    assert_eq!(error.rest.count(), 1);
    assert_eq!(heard.take(), [3, 2, 0]);
    assert_eq!(local.handle().dead_letters(), 0);
}

#[test]
fn nothing_is_a_batch_too() {
    let (_, local) = common::local();
    let (to, _) = listener(&local);
    assert_eq!(to.send_batch([]).unwrap(), 0);
    to.send(0).unwrap();
    local.run();
    assert_eq!(to.send_batch([]).unwrap(), 0);
}

#[test]
fn a_plain_thread_sends_batches_in_order() {
    let system = System::builder().workers(2).start().unwrap();
    let (told, heard) = channel();
    let to = system
        .spawn(behavior(move |n: u32, _| {
            told.send(n).unwrap();
            Next::Continue
        }))
        .unwrap();
    for first in [0, 100, 200] {
        assert_eq!(to.send_batch(first..first + 100).unwrap(), 100);
    }
    system.shutdown();
    assert_eq!(
        heard.iter().collect::<Vec<_>>(),
        (0..300).collect::<Vec<_>>()
    );
}

#[test]
fn an_unbounded_mailbox_is_never_full_and_a_stopped_actor_gives_the_message_back() {
    let (_, local) = common::local();
    let (to, heard) = listener(&local);
    (1..100_000).for_each(|n| to.send(n).unwrap());
    to.send(0).unwrap();
    to.send(7).unwrap();
    settle(&local);
    assert_eq!(heard.take().len(), 100_000);
    assert_eq!(local.handle().dead_letters(), 1);
    assert_eq!(to.send(8), Err(SendError(8)));
    assert_eq!(local.handle().dead_letters(), 1);
}
