//! Servers that are killed, full or unusable.

use std::thread;
use std::time::{Duration, Instant};

use garrick_cluster::nats::{NatsLog, NatsLogOptions, NatsNet};
use garrick_journal::{Group, JournalError, JournalId, Log};

use crate::events::{STATE, append, event, read_all, start};
use crate::server::Server;
use crate::store::{hasty, open};

/// Time limit of the calls of [`hasty`], with a margin for a busy machine.
const LIMIT: Duration = Duration::from_secs(12);

fn try_append(log: &NatsLog, journal: JournalId, number: u64) -> Result<bool, JournalError> {
    let mut group = Group::new();
    group.add(journal, event(number, &number.to_le_bytes()))?;
    log.append(&group).map(|refused| refused.is_empty())
}

#[test]
fn what_is_acknowledged_is_there_after_kills_of_the_server() {
    let Some(mut server) = Server::start("") else {
        return;
    };
    let log = open(&server, NatsLogOptions::new(), "test");
    let journal = start(&log, "a").journal;
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut number = 0;
            while number < 3_000 {
                // The server is away for a shorter time than the limit.
                match try_append(&log, journal, number + 1) {
                    Ok(true) => number += 1,
                    // A message that got no answer was replaced by a fence.
                    Err(JournalError::Engine { .. }) => {}
                    other => panic!("{number}: {other:?}"),
                }
                if number % 100 == 0 {
                    thread::park_timeout(Duration::from_millis(5));
                }
            }
            number
        });
        for _ in 0..3 {
            thread::park_timeout(Duration::from_millis(300));
            server.kill();
            thread::park_timeout(Duration::from_millis(200));
            server.start_again();
        }
        assert_eq!(writer.join().unwrap(), 3_000);
    });
    assert!(!log.is_broken());
    let numbers: Vec<u64> = read_all(&log, journal)
        .into_iter()
        .map(|(number, _)| number)
        .collect();
    assert!(numbers.into_iter().eq(1..=3_000));
    // Another process reads the same.
    let again = open(&server, NatsLogOptions::new(), "test");
    assert_eq!(start(&again, "a").newest, 3_000);
}

#[test]
fn a_call_ends_with_an_error_if_the_server_stays_away() {
    let Some(mut server) = Server::start("") else {
        return;
    };
    let log = open(&server, hasty(), "test");
    let journal = start(&log, "a").journal;
    assert!(try_append(&log, journal, 1).unwrap());
    server.kill();
    let began = Instant::now();
    let error = log.start("b", true).unwrap_err();
    assert!(matches!(error, JournalError::Engine { .. }), "{error:?}");
    assert!(began.elapsed() < LIMIT);
    let began = Instant::now();
    let error = log.save(journal, 1, STATE, b"one").unwrap_err();
    assert!(matches!(error, JournalError::Engine { .. }), "{error:?}");
    assert!(began.elapsed() < LIMIT);
    assert_eq!(
        log.start("b", false).unwrap().map(|start| start.newest),
        None
    );
    // What was perhaps stored breaks the log.
    let began = Instant::now();
    let error = try_append(&log, journal, 2).unwrap_err();
    assert!(matches!(error, JournalError::Broken), "{error:?}");
    assert!(began.elapsed() < LIMIT);
    assert!(log.is_broken());
    assert!(log.sample(true).unwrap().cause.is_some());
    server.start_again();
    for broken in [
        log.start("a", true).err(),
        log.start("a", false).err(),
        try_append(&log, journal, 2).err(),
        log.save(journal, 1, STATE, b"one").err(),
    ] {
        assert!(matches!(broken, Some(JournalError::Broken)), "{broken:?}");
    }
    drop(log);
    // The event is there or not.
    let log = open(&server, NatsLogOptions::new(), "test");
    let found = start(&log, "a");
    assert!(found.newest == 1 || found.newest == 2);
    assert!(try_append(&log, found.journal, found.newest + 1).unwrap());
}

#[test]
fn a_full_stream_refuses_events_and_keeps_those_that_it_has() {
    let Some(server) = Server::start("") else {
        return;
    };
    let log = open(&server, NatsLogOptions::new().max_bytes(1 << 20), "test");
    let (a, b) = (start(&log, "a").journal, start(&log, "b").journal);
    let payload = vec![7; 50_000];
    let mut newest = 0;
    let error = loop {
        let mut group = Group::new();
        group.add(a, event(newest + 1, &payload)).unwrap();
        match log.append(&group) {
            Ok(refused) => assert!(refused.is_empty()),
            Err(error) => break error,
        }
        newest += 1;
        assert!(newest < 30, "the stream is not full");
    };
    let JournalError::Full { file } = error else {
        panic!("{error:?}")
    };
    assert_eq!(file, "g_test_events");
    assert!(newest > 10 && !log.is_broken());
    // Others may have room, and the next attempt has the same number.
    let mut group = Group::new();
    group.add(a, event(newest + 1, &payload)).unwrap();
    group.add(b, event(1, b"small")).unwrap();
    let refused = log.append(&group).unwrap();
    assert_eq!(refused.len(), 1);
    assert!(matches!(refused[0].error, JournalError::Full { .. }));
    assert_eq!(
        (start(&log, "a").newest, start(&log, "b").newest),
        (newest, 1)
    );
    assert_eq!(read_all(&log, a).len() as u64, newest);
    // Two states make room.
    for number in [newest - 1, newest] {
        log.save(a, number, STATE, b"state").unwrap();
    }
    let began = Instant::now();
    loop {
        log.tend();
        if log.append(&group).is_ok_and(|refused| refused.len() == 1) {
            // That of `b` is refused: it has the event already.
            break;
        }
        assert!(began.elapsed() < LIMIT, "nothing was removed");
        thread::park_timeout(Duration::from_millis(10));
    }
    assert_eq!(start(&log, "a").newest, newest + 1);
    assert!(log.take_notices().is_empty());
}

#[test]
fn what_does_not_fit_into_a_message_is_refused_alone() {
    let Some(server) = Server::start("") else {
        return;
    };
    let log = open(&server, NatsLogOptions::new(), "test");
    let (a, b) = (start(&log, "a").journal, start(&log, "b").journal);
    let large = vec![1; 1 << 20];
    let refused = append(&log, &[(a, event(1, &large)), (b, event(1, b"small"))]);
    assert_eq!(refused.len(), 1);
    let JournalError::TooLarge { bytes, limit, .. } = refused[0].error else {
        panic!("{refused:?}")
    };
    assert_eq!(bytes, 1 << 20);
    let fits = vec![2; limit];
    assert!(append(&log, &[(a, event(1, &fits))]).is_empty());
    let error = log.save(a, 1, STATE, &large).unwrap_err();
    assert!(matches!(error, JournalError::TooLarge { .. }), "{error:?}");
    assert_eq!((start(&log, "a").newest, start(&log, "b").newest), (1, 1));
}

#[test]
fn whole_events_replace_the_messages_before() {
    let Some(server) = Server::start("") else {
        return;
    };
    // Without removal, the stream would be full.
    let log = open(&server, NatsLogOptions::new().max_bytes(1 << 20), "test");
    let a = start(&log, "a").journal;
    let payload = vec![3; 4_000];
    let began = Instant::now();
    let mut newest = 0;
    while newest < 1_000 {
        let mut group = Group::new();
        let whole = garrick_journal::Event {
            is_whole: true,
            ..event(newest + 1, &payload)
        };
        group.add(a, whole).unwrap();
        match log.append(&group) {
            Ok(refused) => newest += u64::from(refused.is_empty()),
            Err(JournalError::Full { .. }) => thread::park_timeout(Duration::from_millis(1)),
            Err(error) => panic!("{error:?}"),
        }
        log.tend();
        assert!(began.elapsed() < 5 * LIMIT, "nothing is removed");
    }
    let found = start(&log, "a");
    assert_eq!((found.oldest, found.newest), (1_000, 1_000));
    assert_eq!(read_all(&log, a).len(), 1);
    assert!(log.take_notices().is_empty());
}

#[test]
fn a_stream_that_would_lose_events_is_foreign() {
    let Some(server) = Server::start("") else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.address()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let config = async_nats::jetstream::stream::Config {
            name: "g_test_events".to_owned(),
            subjects: vec!["g.test.e.>".to_owned()],
            max_age: Duration::from_secs(60),
            discard: async_nats::jetstream::stream::DiscardPolicy::New,
            ..Default::default()
        };
        context.create_stream(config).await.unwrap();
    });
    let opened = NatsLog::open(NatsNet::builder(server.address()), "test", "node");
    let error = opened.unwrap_err();
    assert!(matches!(error, JournalError::Foreign { .. }), "{error:?}");
    assert!(error.to_string().contains("max_age"), "{error}");
}

#[test]
fn what_cannot_be_opened_is_named() {
    let Some(server) = Server::start("") else {
        return;
    };
    let open = |cluster, node, replicas| {
        let servers = NatsNet::builder(server.address()).replicas(replicas);
        NatsLog::open(servers, cluster, node).map(|_| ())
    };
    for (cluster, node, replicas, why) in [
        ("a.b", "node", 1, "not a valid name for a cluster"),
        ("test", "a b", 1, "a b"),
        // There is one server.
        ("test", "node", 3, "replicas"),
    ] {
        let error = open(cluster, node, replicas).unwrap_err();
        let mut text = error.to_string();
        let source = std::error::Error::source(&error);
        text.extend(source.map(ToString::to_string));
        assert!(text.contains(why), "{text}");
    }
    open("test", "node", 1).unwrap();
}
