//! Threads that meet another node, send to it, and drop its addresses at the same time.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use garrick_actor::{Address, Handle, System};
use garrick_cluster::Node;

use crate::forged::SESSION;
use crate::pair::{Counter, Msg};
use crate::spy::Spy;

/// Joins a node with a counter as the service `counter`.
fn join(handle: &Handle, spy: &Spy, name: &str) -> Node {
    let node = Node::join(handle, spy.clone(), "test", name).unwrap();
    node.offer("counter", &handle.spawn(Counter::default()).unwrap());
    node
}

#[test]
fn the_release_of_an_address_comes_after_the_last_message_to_it() {
    let (there, here, spy) = (
        System::new().unwrap(),
        System::new().unwrap(),
        Spy::default(),
    );
    let server = join(&there.handle(), &spy, "server");
    let client = join(&here.handle(), &spy, "client");
    let far: Address<Msg> = client.service("server", "counter").unwrap();
    for _ in 0..100 {
        let children = far.ask(|reply| Msg::Children(100, reply)).wait().unwrap();
        for child in children {
            child.send(Msg::Add(1)).unwrap();
            drop(child);
        }
    }
    assert_eq!(far.ask(Msg::Get).wait(), Ok(0));
    let sample = server.sample();
    assert_eq!((sample.refused, sample.refusal), (0, None));
    assert_eq!(client.sample().frames_lost, 0);
}

#[test]
fn the_release_of_an_address_comes_after_the_watch_of_it() {
    let (there, here, spy) = (
        System::new().unwrap(),
        System::new().unwrap(),
        Spy::default(),
    );
    drop(join(&there.handle(), &spy, "server"));
    let client = join(&here.handle(), &spy, "client");
    let far: Address<Msg> = client.service("server", "counter").unwrap();
    let ended = Arc::new(AtomicU64::new(0));
    for _ in 0..100 {
        let children = far.ask(|reply| Msg::Keeps(100, reply)).wait().unwrap();
        for child in children {
            let ended = Arc::clone(&ended);
            child.watch(move |_| {
                ended.fetch_add(1, SeqCst);
            });
            drop(child);
        }
    }
    // The answer comes behind what the server tells of the watches.
    assert_eq!(far.ask(Msg::Get).wait(), Ok(0));
    assert_eq!(client.sample().losses, 0);
    assert_eq!(
        ended.load(SeqCst),
        0,
        "watches of actors that go on have ended"
    );
}

#[test]
fn threads_that_meet_a_node_at_once_share_a_session() {
    let (there, here) = (System::new().unwrap(), System::new().unwrap());
    for _ in 0..500 {
        let spy = Spy::default();
        let server = join(&there.handle(), &spy, "server");
        let client = join(&here.handle(), &spy, "client");
        let arrived = AtomicU64::new(0);
        let meet = || {
            let far: Address<Msg> = client.service("server", "counter").unwrap();
            // All go on at once, which a barrier that wakes them does not achieve.
            arrived.fetch_add(1, SeqCst);
            while arrived.load(SeqCst) < 2 {
                spin_loop();
            }
            far.send(Msg::Add(1)).unwrap();
            assert!(far.ask(Msg::Get).wait().is_ok());
        };
        thread::scope(|scope| {
            scope.spawn(meet);
            scope.spawn(meet);
        });
        let session = |frame: Vec<u8>| frame[SESSION..SESSION + 8].to_vec();
        let mut sessions: Vec<_> = spy.frames("server").into_iter().map(session).collect();
        sessions.sort_unstable();
        sessions.dedup();
        assert_eq!(sessions.len(), 1);
        assert_eq!((client.sample().losses, server.sample().losses), (0, 0));
        client.leave();
        server.leave();
    }
}
