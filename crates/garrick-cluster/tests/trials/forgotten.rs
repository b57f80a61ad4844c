//! Nodes that meet again after one of them has forgotten the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use garrick_actor::{Address, Ended, Local, System};
use garrick_cluster::Node;
use garrick_testkit::{ByHand, ms};

use crate::forged::has_entries;
use crate::pair::{Counter, Msg, Pair, ready};
use crate::spy::Spy;

/// Numbers of half seconds after which a silent node is lost, and after which the lost node is
/// forgotten.
const LOST: u32 = 12;
const FORGOTTEN: u32 = 122;

/// Returns two nodes that have forgotten each other.
fn forgotten() -> Pair {
    let pair = Pair::met();
    pair.spy.cut(&["server", "client"]);
    pair.pass(LOST);
    assert_eq!(pair.server.sample().losses, 1);
    assert_eq!(pair.server.sample().links, 1);
    pair.pass(FORGOTTEN);
    assert_eq!(pair.server.sample().links, 0);
    assert_eq!(pair.client.sample().links, 0);
    pair.spy.cut(&[]);
    pair
}

/// Checks that watching an actor of the other node, and releasing its address, work.
fn check_orders(pair: &Pair) {
    let child = pair.children(1).remove(0);
    let ends = Arc::<AtomicUsize>::default();
    let of_watch = ends.clone();
    child.watch(move |ended| {
        assert_eq!(ended, Ended::Stopped);
        of_watch.fetch_add(1, Relaxed);
    });
    child.stop();
    drop(child);
    pair.pass(4);
    assert_eq!(ends.load(Relaxed), 1);
    assert_eq!(pair.server.sample().exported, 0);
}

#[test]
fn a_node_that_was_forgotten_is_known_again() {
    let pair = forgotten();
    assert_eq!(pair.get(&pair.far), Some(Ok(1)));
    check_orders(&pair);
    pair.check();
}

#[test]
fn frames_of_a_forgotten_session_are_dropped() {
    let pair = forgotten();
    let old: Vec<_> = pair.spy.frames("server");
    assert!(old.iter().any(|frame| has_entries(frame)));
    let sample = pair.server.sample();
    for frame in old.iter().filter(|frame| has_entries(frame)) {
        pair.inject(frame.clone());
        assert_eq!(pair.server.sample().delivered, sample.delivered);
        assert!(pair.server.sample().frames_dropped > sample.frames_dropped);
    }
    pair.check();
    assert_eq!(pair.get(&pair.far), Some(Ok(1)));
    check_orders(&pair);
}

#[test]
fn a_session_that_the_other_node_has_begun_earlier_is_not_continued() {
    let pair = forgotten();
    let dropped = pair.server.sample().frames_dropped;
    // A frame without entries that asks for an answer, after five frames of which nothing is known.
    pair.inject(pair.forge("server", 5).sign());
    assert_eq!(pair.server.sample().frames_dropped, dropped + 1);
    pair.check();
    check_orders(&pair);
}

#[test]
fn a_node_that_has_slept_continues_no_session_that_the_other_has_forgotten() {
    let clocks = [ByHand::new(), ByHand::new()];
    let spy = Spy::default();
    let local =
        |clock: &Arc<ByHand>| -> Local { System::builder().world(clock.clone()).local().unwrap() };
    let [here, there] = [local(&clocks[0]), local(&clocks[1])];
    let client = Node::join(&here.handle(), spy.clone(), "test", "client").unwrap();
    let server = Node::join(&there.handle(), spy.clone(), "test", "server").unwrap();
    server.offer("counter", &there.spawn(Counter::default()));
    let far: Address<Msg> = client.service("server", "counter").unwrap();
    let run = || {
        for _ in 0..10 {
            here.run();
            there.run();
        }
    };
    // The server has sent frames with orders of its session, which the client has received.
    far.send(Msg::Add(1)).unwrap();
    let children = far.ask(|reply| Msg::Children(3, reply));
    run();
    assert_eq!(ready(children).unwrap().unwrap().len(), 3);
    run();
    // The server sleeps, and gets no frame of this time.
    spy.cut(&["server"]);
    for _ in 0..LOST + FORGOTTEN {
        clocks[0].advance(ms(500));
        here.run();
    }
    assert_eq!((client.sample().losses, client.sample().links), (1, 0));
    spy.cut(&[]);
    // It wakes up, and hears of the client before its clock tells it that it has slept.
    far.send(Msg::Add(1)).unwrap();
    run();
    assert_eq!(server.sample().losses, 1);
    for _ in 0..4 {
        for clock in &clocks {
            clock.advance(ms(500));
        }
        run();
    }
    let sum = far.ask(Msg::Get);
    run();
    assert_eq!(ready(sum), Some(Ok(2)));
    // Orders of both nodes are obeyed.
    let ends = Arc::<AtomicUsize>::default();
    let of_watch = ends.clone();
    let children = far.ask(|reply| Msg::Keeps(1, reply));
    run();
    let child = ready(children).unwrap().unwrap().remove(0);
    child.watch(move |_| {
        of_watch.fetch_add(1, Relaxed);
    });
    child.stop();
    drop(child);
    run();
    assert_eq!(ends.load(Relaxed), 1);
    assert_eq!(server.sample().exported, 0);
    assert_eq!(here.handle().failures() + there.handle().failures(), 0);
}
