//! Placements on NATS. Each test has its own server.

use std::time::{Duration, Instant};

use garrick_actor::System;
use garrick_cluster::Node;
use garrick_cluster::nats::{NatsNet, NatsPlacement, permissions};
use garrick_cluster::placement::Outcome;
use garrick_testkit::HANGS_AFTER;

use crate::checks::{User, check};
use crate::names_come_and_go;
use crate::proxy::{Proxy, To};
use crate::server::Server;

/// Time limit of a change, with a margin for a busy machine.
const LIMIT: Duration = Duration::from_secs(12);

fn open(system: &System, address: &str, node: &str) -> NatsPlacement {
    let servers = NatsNet::builder(address);
    NatsPlacement::open(&system.handle(), servers, "test", node).unwrap()
}

#[test]
fn a_placement_on_nats_keeps_the_rules() {
    let permissions = ["one", "other"].map(|node| {
        let permissions = permissions("test", node).unwrap();
        format!("{{ user: {node}, password: secret, permissions {permissions} }}")
    });
    let config = format!("authorization {{ users = [ {} ] }}", permissions.join(", "));
    let Some(server) = Server::start(&config) else {
        return;
    };
    let system = System::new().unwrap();
    let [one, other] = ["one", "other"].map(|node| {
        let servers = NatsNet::builder(server.address()).user(node, "secret");
        NatsPlacement::open(&system.handle(), servers, "test", node).unwrap()
    });
    check(&system.handle(), &one, &other);
}

#[test]
fn an_outage_is_unknown_and_what_was_stored_stays() {
    let Some(mut server) = Server::start("") else {
        return;
    };
    let system = System::new().unwrap();
    let placement = open(&system, &server.address(), "node");
    let mut user = User::new(&system.handle(), &placement);
    let first = user.must_change("a", 0, Some(b"1"));
    let state = user.read_until(0, first);
    server.kill();
    let began = Instant::now();
    let outcome = user.change("a", first, Some(b"2"));
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
    assert!(began.elapsed() < LIMIT);
    assert_eq!(user.read(0), state);
    server.start_again();
    // The change may have been made later.
    let until = Instant::now() + LIMIT;
    let second = loop {
        let (records, ..) = user.read(0);
        match user.change("a", records[0].revision, Some(b"3")) {
            Outcome::Changed(revision) => break revision,
            Outcome::Unknown(_) | Outcome::Refused => assert!(Instant::now() < until),
            other => panic!("{other:?}"),
        }
    };
    let (records, revision, is_whole) = user.read_until(0, second);
    assert!(is_whole && revision == second && records.len() == 1);
    assert_eq!(records[0].value.as_deref(), Some(&b"3"[..]));
}

#[test]
fn what_is_deleted_while_a_node_is_cut_off_is_noticed() {
    let Some(server) = Server::start("") else {
        return;
    };
    let proxy = Proxy::start(&server.address());
    let system = System::new().unwrap();
    let here = open(&system, &server.address(), "here");
    let cut_off = open(&system, &proxy.address(), "cut-off");
    let mut here = User::new(&system.handle(), &here);
    let mut cut_off = User::new(&system.handle(), &cut_off);
    let kept = here.must_change("kept", 0, Some(b"1"));
    let deleted = here.must_change("deleted", 0, Some(b"1"));
    let purged = here.must_change("purged", 0, Some(b"1"));
    let (records, before, _) = cut_off.read_until(0, purged);
    assert_eq!(records.len(), 3);
    proxy.hold(&[To::Server, To::Client]);
    here.must_change("deleted", deleted, None);
    here.must_change("purged", purged, None);
    // Somebody has removed the trace of the deletion.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.address()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let stream = context.get_stream("KV_g_test_place").await.unwrap();
        stream
            .purge()
            .filter("$KV.g_test_place.purged")
            .await
            .unwrap();
    });
    let last = here.must_change("kept", kept, Some(b"2"));
    // It has the old state, and cannot change anything.
    assert_eq!(cut_off.read(0).1, before);
    let outcome = cut_off.change("kept", kept, Some(b"late"));
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
    // Only a new watch comes through, and not what the server has told the earlier one.
    proxy.cut();
    proxy.hold(&[]);
    let (records, _, is_whole) = cut_off.read_until(before, last);
    assert!(is_whole);
    let records: Vec<_> = records
        .iter()
        .map(|record| (&*record.key, record.revision, record.value.as_deref()))
        .collect();
    assert_eq!(records, [("kept", last, Some(&b"2"[..]))]);
    assert_eq!(cut_off.change("kept", kept, None), Outcome::Refused);
    cut_off.must_change("purged", 0, Some(b"again"));
    cut_off.must_change("deleted", 0, Some(b"again"));
}

/// Returns the number of messages in the stream of a bucket, and the last sequence of the stream.
fn stored(server: &Server, bucket: &str) -> (u64, u64) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.address()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let stream = context.get_stream(format!("KV_{bucket}")).await.unwrap();
        let state = stream.get_info().await.unwrap().state;
        (state.messages, state.last_sequence)
    })
}

/// Waits until the stream of a bucket has only `messages` messages.
fn until_stored(server: &Server, bucket: &str, messages: u64) {
    let until = Instant::now() + HANGS_AFTER;
    while stored(server, bucket).0 > messages {
        assert!(Instant::now() < until, "the server forgets the deletions");
        std::thread::park_timeout(Duration::from_millis(100));
    }
}

#[test]
fn deleted_names_are_forgotten_by_the_server() {
    let Some(server) = Server::start("") else {
        return;
    };
    let proxy = Proxy::start(&server.address());
    let system = System::new().unwrap();
    let [here, cut_off] = [server.address(), proxy.address()].map(|address| {
        let servers = NatsNet::builder(address).deleted_for(Duration::from_secs(4));
        NatsPlacement::open(&system.handle(), servers, "test", "node").unwrap()
    });
    let mut here = User::new(&system.handle(), &here);
    let mut cut_off = User::new(&system.handle(), &cut_off);
    here.must_change("stays", 0, Some(b"1"));
    let name = here.must_change("name.0", 0, Some(b"first"));
    let (records, before, _) = cut_off.read_until(0, name);
    assert_eq!(records.len(), 2);
    // It does not learn of the deletions before the server has forgotten them.
    proxy.hold(&[To::Server, To::Client]);
    let deleted = here.must_change("name.0", name, None);
    names_come_and_go(&mut here, 100);
    until_stored(&server, "g_test_place", 1);
    for expected in [name, deleted] {
        // The revisions of a name that was forgotten are never valid again.
        let outcome = here.change("name.0", expected, Some(b"late"));
        assert_eq!(outcome, Outcome::Refused);
    }
    proxy.cut();
    proxy.hold(&[]);
    let last = here.must_change("name.1", 0, Some(b"again"));
    assert!(last > deleted + 200);
    let (records, _, is_whole) = cut_off.read_until(before, last);
    let mut keys: Vec<_> = records.iter().map(|record| &*record.key).collect();
    keys.sort_unstable();
    assert_eq!((keys, is_whole), (vec!["name.1", "stays"], true));
    assert_eq!(cut_off.change("name.0", name, None), Outcome::Refused);
    cut_off.must_change("name.0", 0, Some(b"again"));
}

#[test]
fn the_names_of_nodes_that_have_left_are_forgotten_by_the_server() {
    let Some(server) = Server::start("") else {
        return;
    };
    let join = |name: &str| {
        let servers = NatsNet::builder(server.address()).deleted_for(Duration::from_secs(1));
        let (system, net) = (System::new().unwrap(), servers.start().unwrap());
        let node = Node::join(&system.handle(), net.clone(), "test", name).unwrap();
        node.leave();
        assert!(net.close(HANGS_AFTER));
        stored(&server, "g_test_nodes").1
    };
    let lasts = ["one", "two", "three"].map(join);
    until_stored(&server, "g_test_nodes", 0);
    // The life of a node is the sequence of its first record, which is never used again.
    assert!(join("one") > lasts[2]);
}

#[test]
fn an_empty_placement_answers() {
    let Some(server) = Server::start("") else {
        return;
    };
    let system = System::new().unwrap();
    let placement = open(&system, &server.address(), "node");
    let user = User::new(&system.handle(), &placement);
    assert_eq!(user.read(0), (Vec::new(), 0, true));
    assert_eq!(user.read(77), (Vec::new(), 0, false));
}

#[test]
fn many_changes_are_read_in_states_that_were_there() {
    const ROUNDS: u8 = 100;
    let Some(server) = Server::start("") else {
        return;
    };
    let system = System::new().unwrap();
    let [one, other] = ["one", "other"].map(|node| open(&system, &server.address(), node));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut user = User::new(&system.handle(), &one);
            let (mut a, mut b) = (0, 0);
            for round in 1..=ROUNDS {
                // The record `b` is never ahead of `a`.
                a = user.must_change("a", a, Some(&[round]));
                b = user.must_change("b", b, Some(&[round]));
            }
            b
        });
        let reader = User::new(&system.handle(), &other);
        let mut last = 0;
        loop {
            let (records, revision, _) = reader.read(0);
            assert!(revision >= last);
            let value = |key: &str| {
                let record = records.iter().find(|record| &*record.key == key);
                record.map_or(0, |record| record.value.as_ref().unwrap()[0])
            };
            let (a, b) = (value("a"), value("b"));
            assert!(a == b || a == b + 1, "{a} {b}");
            last = revision;
            if b == ROUNDS {
                break;
            }
        }
        assert_eq!(writer.join().unwrap(), last);
    });
}
