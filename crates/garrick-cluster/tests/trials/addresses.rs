//! Addresses of other nodes: their equality, their end, and their holders.

use std::sync::Arc;
use std::sync::mpsc::channel;

use garrick_actor::{Actor, Address, Context, Ended, NoReply, SendError};
use garrick_cluster::Node;

use crate::pair::{Msg, Pair, ready};

#[test]
fn addresses_of_one_service_are_equal() {
    let pair = Pair::new();
    let again: Address<Msg> = pair.client.service("server", "counter").unwrap();
    assert!(again == pair.far);
    let other: Address<Msg> = pair.client.service("server", "another").unwrap();
    assert!(other != pair.far);
    let elsewhere: Address<Msg> = pair.server.service("client", "counter").unwrap();
    assert!(elsewhere != pair.far);
}

#[test]
fn an_address_of_a_lost_session_is_over() {
    let pair = Pair::new();
    let child = pair.children(1).pop().unwrap();
    assert_eq!(pair.get(&child), Some(Ok(0)));
    pair.spy.cut(&["server", "client"]);
    pair.pass(14);
    pair.spy.cut(&[]);
    assert_eq!(pair.client.sample().losses, 1);
    assert!(child.is_stopped());
    assert!(matches!(
        child.send(Msg::Add(7)),
        Err(SendError(Msg::Add(7)))
    ));
    assert_eq!(pair.get(&child), Some(Err(NoReply::Dropped)));
    let (told, heard) = channel();
    child.watch(move |ended| told.send(ended).unwrap());
    pair.run();
    assert_eq!(heard.try_recv(), Ok(Ended::NodeLost("server".into())));
    // The service goes on.
    assert!(!pair.far.is_stopped());
    pair.check();
}

/// An actor that holds a value until the actor is dropped.
struct Guarded {
    _guard: Arc<()>,
}

impl Actor for Guarded {
    type Msg = Msg;
    type Outcome = ();

    fn receive(&mut self, _: Msg, _: &mut Context<'_, Msg>) {}
}

#[test]
fn what_a_lost_node_holds_is_released() {
    let pair = Pair::new();
    let guard = Arc::new(());
    let guarded = pair.local.spawn(Guarded {
        _guard: Arc::clone(&guard),
    });
    pair.far.send(Msg::Keep(guarded)).unwrap();
    pair.run();
    pair.pass(4);
    // Nobody else holds it.
    assert_eq!(
        (Arc::strong_count(&guard), pair.client.sample().exported),
        (2, 1)
    );
    pair.spy.cut(&["server", "client"]);
    pair.pass(14);
    assert_eq!(
        (Arc::strong_count(&guard), pair.client.sample().exported),
        (1, 0)
    );
    pair.check_links();
}

#[test]
fn an_address_in_a_message_that_is_refused_is_not_held() {
    let pair = Pair::new();
    let nobody: Address<Msg> = pair.client.service("server", "nobody").unwrap();
    for _ in 0..10 {
        nobody.send(Msg::Keep(pair.counter.clone())).unwrap();
        pair.run();
    }
    pair.pass(6);
    assert_eq!(pair.server.sample().refused, 10);
    assert_eq!(pair.client.sample().exported, 0);
}

#[test]
fn many_addresses_may_be_dropped_at_once() {
    let pair = Pair::new();
    let children: Vec<_> = (0..70).flat_map(|_| pair.children(1_000)).collect();
    pair.run();
    assert_eq!(pair.client.sample().imported, 70_000);
    assert_eq!(pair.server.sample().exported, 70_000);
    drop(children);
    pair.pass(10);
    assert_eq!(pair.client.sample().losses, 0);
    assert_eq!(pair.client.sample().imported, 0);
    assert_eq!(pair.server.sample().exported, 0);
}

#[test]
fn a_node_that_leaves_is_noticed_at_once() {
    // No time passes.
    let pair = Pair::new();
    let child = pair.children(1).pop().unwrap();
    let (told, heard) = channel();
    child.watch(move |ended| told.send(ended).unwrap());
    let question = pair.far.ask(Msg::Wait);
    pair.run();
    pair.server.leave();
    pair.run();
    assert_eq!(ready(question), Some(Err(NoReply::NodeLost)));
    assert_eq!(heard.try_recv(), Ok(Ended::NodeLost("server".into())));
    assert!(child.is_stopped());
    assert_eq!(pair.client.sample().imported, 0);
}

#[test]
fn frames_to_an_earlier_life_are_not_handled_twice() {
    let pair = Pair::met();
    let frames = pair.spy.frames("server");
    pair.server.leave();
    pair.run();
    let (handle, spy) = (pair.local.handle(), pair.spy.clone());
    let again = Node::join(&handle, spy, "test", "server").unwrap();
    again.offer("counter", &pair.counter);
    for frame in frames {
        pair.inject(frame);
    }
    assert_eq!(pair.server.sample().delivered, 1);
    assert_eq!(again.sample().delivered, 0);
    assert!(again.sample().frames_dropped > 0);
    // What comes now is handled.
    pair.far.send(Msg::Add(1)).unwrap();
    pair.run();
    assert_eq!(again.sample().delivered, 1);
}
