//! Placements on NATS. Each test has its own server.

use std::time::{Duration, Instant};

use garrick_actor::System;
use garrick_cluster::nats::{NatsNet, NatsPlacement, permissions};
use garrick_cluster::placement::Outcome;

use crate::checks::{User, check};
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
    proxy.hold(&[]);
    proxy.cut();
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
