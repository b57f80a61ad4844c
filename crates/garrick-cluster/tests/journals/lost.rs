//! Answers and messages that are lost or late.

use std::thread;
use std::time::{Duration, Instant};

use garrick_cluster::nats::{NatsLog, NatsNet};
use garrick_journal::{Group, JournalError, JournalId, Log};

use crate::events::{append, event, read_all, start};
use crate::proxy::{Proxy, To};
use crate::server::Server;
use crate::store::{hasty, open, until_stored};

/// Time limit of a call, with a margin for a busy machine.
const LIMIT: Duration = Duration::from_secs(12);

fn group(journal: JournalId, number: u64, payload: &[u8]) -> Group {
    let mut group = Group::new();
    group.add(journal, event(number, payload)).unwrap();
    group
}

/// A log whose connection runs through a proxy, and another log that reads the stored messages.
pub(crate) struct Pair {
    pub(crate) proxy: Proxy,
    pub(crate) log: NatsLog,
    other: NatsLog,
    /// The server. It is the last field, so that the server ends after its clients.
    _server: Server,
}

impl Pair {
    pub(crate) fn new() -> Option<Self> {
        let server = Server::start("")?;
        let proxy = Proxy::start(&server.address());
        let servers = NatsNet::builder(proxy.address());
        let log = hasty().open(servers, "test", "cut-off").unwrap();
        let other = open(&server, hasty(), "test");
        Some(Self {
            proxy,
            log,
            other,
            _server: server,
        })
    }

    /// Waits until the journal `a` has `newest` messages with events.
    pub(crate) fn until_stored(&self, newest: u64) {
        let began = Instant::now();
        while start(&self.other, "a").newest < newest {
            assert!(began.elapsed() < LIMIT);
        }
    }
}

#[test]
fn an_append_whose_acknowledgement_is_lost_is_acknowledged_later() {
    let Some(pair) = Pair::new() else { return };
    let a = start(&pair.log, "a").journal;
    assert!(append(&pair.log, &[(a, event(1, b"one"))]).is_empty());
    pair.proxy.hold(&[To::Client]);
    thread::scope(|scope| {
        let appending = scope.spawn(|| pair.log.append(&group(a, 2, b"two")));
        pair.until_stored(2);
        // The answer was under way, and is lost with the connection.
        pair.proxy.cut();
        pair.proxy.hold(&[]);
        let refused = appending.join().unwrap().unwrap();
        assert!(refused.is_empty(), "{refused:?}");
    });
    assert!(append(&pair.log, &[(a, event(3, b"three"))]).is_empty());
    let read = read_all(&pair.other, start(&pair.other, "a").journal);
    assert_eq!(read.len(), 3);
    assert!(!pair.log.is_broken());
}

#[test]
fn a_message_that_comes_after_it_was_given_up_is_not_stored() {
    let Some(pair) = Pair::new() else { return };
    let a = start(&pair.log, "a").journal;
    assert!(append(&pair.log, &[(a, event(1, b"one"))]).is_empty());
    pair.proxy.hold(&[To::Server]);
    let error = thread::scope(|scope| {
        let appending = scope.spawn(|| pair.log.append(&group(a, 2, b"too late")));
        // The message is on its way, and the next ones take another way.
        pair.proxy.until_held(b"too late");
        pair.proxy.pass_new();
        pair.proxy.cut();
        appending.join().unwrap().unwrap_err()
    });
    assert!(matches!(error, JournalError::Engine { .. }), "{error:?}");
    assert!(!pair.log.is_broken());
    // Now it comes.
    pair.proxy.hold(&[]);
    pair.proxy.until_one_is_left();
    assert_eq!(start(&pair.other, "a").newest, 1);
    assert!(append(&pair.log, &[(a, event(2, b"two"))]).is_empty());
    assert!(append(&pair.log, &[(a, event(3, b"three"))]).is_empty());
    let payloads = |log: &NatsLog| -> Vec<Vec<u8>> {
        let read = read_all(log, start(log, "a").journal);
        read.into_iter().map(|(_, payload)| payload).collect()
    };
    assert_eq!(payloads(&pair.other), [&b"one"[..], b"two", b"three"]);
    assert_eq!(payloads(&pair.log), payloads(&pair.other));
}

#[test]
fn events_that_are_missing_before_a_fence_are_an_error() {
    let Some(server) = Server::start("") else {
        return;
    };
    let options = hasty().fence_at_start();
    let log = open(&server, options.clone(), "test");
    let a = start(&log, "a").journal;
    for number in 1..=3 {
        assert!(append(&log, &[(a, event(number, b"event"))]).is_empty());
    }
    // Another process starts the journal, and appends its fence.
    let other = open(&server, options, "test");
    assert_eq!(start(&other, "a").newest, 3);
    // The server loses all messages but the fence.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.address()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let stream = context.get_stream("g_test_events").await.unwrap();
        stream.purge().keep(1).await.unwrap();
    });
    let read = log.read(a, 2, &mut Group::new());
    assert!(
        matches!(read, Err(JournalError::DamagedRow { .. })),
        "{read:?}"
    );
}

#[test]
fn a_message_that_comes_after_its_journal_was_forgotten_is_not_stored() {
    let Some(server) = Server::start("") else {
        return;
    };
    let proxy = Proxy::start(&server.address());
    let options = hasty().fence_at_start();
    let servers = NatsNet::builder(proxy.address());
    let log = options.clone().open(servers, "test", "cut-off").unwrap();
    let other = open(&server, options, "test");
    let a = start(&log, "a").journal;
    proxy.hold(&[To::Server]);
    let refused = thread::scope(|scope| {
        let appending = scope.spawn(|| log.append(&group(a, 1, b"too late")));
        proxy.until_held(b"too late");
        // Another node runs the entity for a short time, and it records no event.
        assert_eq!(start(&other, "a").newest, 0);
        assert!(other.forget("a"));
        until_stored(&server, 0);
        proxy.pass_new();
        proxy.cut();
        appending.join().unwrap()
    });
    let is_conflict = match &refused {
        Ok(refused) => matches!(refused[0].error, JournalError::Conflict { .. }),
        Err(_) => false,
    };
    assert!(is_conflict, "{refused:?}");
    assert!(!log.is_broken());
    // Now it comes.
    proxy.hold(&[]);
    proxy.until_one_is_left();
    let a = start(&other, "a");
    assert_eq!(a.newest, 0);
    assert!(append(&other, &[(a.journal, event(1, b"one"))]).is_empty());
    assert_eq!(start(&log, "a").newest, 1);
}
