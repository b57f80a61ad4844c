//! Three servers, one of which is killed.

use std::net::{Ipv4Addr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use garrick_cluster::nats::{NatsLog, NatsLogOptions, NatsNet};
use garrick_journal::{Group, JournalError, JournalId, Log};
use garrick_testkit::HANGS_AFTER;

use crate::events::{event, read_all, start};
use crate::server::Server;

/// Names of the servers.
const NAMES: [&str; 3] = ["one", "two", "three"];

/// Number of journals in a group.
const JOURNALS: u64 = 8;

/// Returns ports that are currently free.
fn free_ports() -> [u16; 3] {
    let bind = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let listeners: [TcpListener; 3] = std::array::from_fn(bind);
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// Starts a cluster of three servers.
fn cluster() -> Option<Vec<Server>> {
    let ports = free_ports();
    let routes = ports
        .map(|port| format!("nats://127.0.0.1:{port}"))
        .join(", ");
    let start = |(name, port): (&str, u16)| {
        let config =
            format!("cluster {{ name: c, listen: \"127.0.0.1:{port}\", routes: [ {routes} ] }}");
        Server::start_named(name, &config)
    };
    NAMES.into_iter().zip(ports).map(start).collect()
}

/// Opens a log on all servers. The servers need some seconds to elect a leader.
fn open(servers: &[Server]) -> NatsLog {
    let addresses: Vec<_> = servers.iter().map(Server::address).collect();
    let servers = NatsNet::builder(addresses.join(", ")).replicas(3);
    let options = NatsLogOptions::new().answer_within(HANGS_AFTER * 3 / 4);
    let began = Instant::now();
    loop {
        match options.clone().open(servers.clone(), "test", "node") {
            Ok(log) => return log,
            Err(error) => assert!(began.elapsed() < HANGS_AFTER, "{error:?}"),
        }
        thread::park_timeout(Duration::from_millis(100));
    }
}

/// Returns the name of the leader of the stream of events.
fn leader(server: &Server) -> Option<String> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.address()).await.ok()?;
        let context = async_nats::jetstream::new(client);
        let stream = context.get_stream("g_test_events").await.ok()?;
        stream.cached_info().cluster.clone()?.leader
    })
}

/// Appends the event `number` to each journal. Tries again until the append to each journal was
/// acknowledged. Returns the number of attempts.
fn append_all(log: &NatsLog, number: u64) -> u32 {
    let mut missing: Vec<u64> = (0..JOURNALS).collect();
    for attempt in 1.. {
        let mut group = Group::new();
        for journal in &missing {
            let id = number_of(*journal);
            group.add(id, event(number, &number.to_le_bytes())).unwrap();
        }
        match log.append(&group) {
            Ok(refused) => {
                let is_refused = |journal: &u64| {
                    let id = number_of(*journal);
                    refused.iter().any(|refused| refused.journal == id)
                };
                missing.retain(is_refused);
                for refused in &refused {
                    let error = &refused.error;
                    assert!(matches!(error, JournalError::Engine { .. }), "{error:?}");
                }
            }
            Err(error) => assert!(matches!(error, JournalError::Engine { .. }), "{error:?}"),
        }
        if missing.is_empty() {
            return attempt;
        }
    }
    unreachable!("attempts have no end")
}

/// Returns the number of a journal. The first journals are numbered in the order in which they were
/// started.
fn number_of(journal: u64) -> JournalId {
    JournalId::new(journal + 1)
}

#[test]
fn the_death_of_the_leader_loses_nothing_that_was_acknowledged() {
    let Some(mut servers) = cluster() else {
        return;
    };
    let log = open(&servers);
    for journal in 0..JOURNALS {
        let found = start(&log, &journal.to_string());
        assert_eq!(found.journal, number_of(journal));
    }
    let mut number = 0;
    let mut append = |count: u64| {
        (0..count)
            .map(|_| {
                number += 1;
                let began = Instant::now();
                append_all(&log, number);
                began.elapsed()
            })
            .max()
            .unwrap()
    };
    append(50);
    let leader = leader(&servers[0]).expect("there is one");
    let place = NAMES.iter().position(|name| *name == leader).unwrap();
    servers[place].kill();
    let longest = append(50);
    println!("no acknowledgement for {longest:?}");
    servers[place].start_again();
    append(50);
    assert!(!log.is_broken());
    let again = open(&servers);
    for journal in 0..JOURNALS {
        let found = start(&again, &journal.to_string());
        assert_eq!(found.newest, 150);
        let read = read_all(&again, found.journal);
        let numbers = read.into_iter().map(|(number, payload)| {
            assert_eq!(payload, number.to_le_bytes());
            number
        });
        assert!(numbers.eq(1..=150));
    }
}
