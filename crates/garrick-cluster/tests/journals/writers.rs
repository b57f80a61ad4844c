//! Several writers of one journal.

use garrick_cluster::nats::{NatsLog, NatsLogOptions, NatsNet, permissions};
use garrick_journal::{Group, JournalError, Log};

use crate::events::{STATE, append, event, read_all, start};
use crate::server::Server;
use crate::store::open;

#[test]
fn the_second_of_two_writers_is_refused_and_nothing_of_it_is_stored() {
    let Some(server) = Server::start("") else {
        return;
    };
    let [one, other] = [(); 2].map(|()| open(&server, NatsLogOptions::new(), "test"));
    let (a, b) = (start(&one, "a").journal, start(&one, "b").journal);
    let (other_a, other_b) = (start(&other, "a").journal, start(&other, "b").journal);
    assert!(append(&one, &[(a, event(1, b"one"))]).is_empty());
    // It does not know of that event.
    let events = [
        (other_a, event(1, b"other")),
        (other_a, event(2, b"other")),
        (other_b, event(1, b"b")),
    ];
    let refused = append(&other, &events);
    let [refused] = &refused[..] else {
        panic!("{refused:?}")
    };
    assert_eq!(refused.journal, other_a);
    let is_conflict = matches!(
        &refused.error,
        JournalError::Conflict { journal, expected: 2, found: 1 } if journal == "a"
    );
    assert!(is_conflict, "{refused:?}");
    // Also with the right number, as long as it has not started again.
    assert_eq!(append(&other, &[(other_a, event(2, b"other"))]).len(), 1);
    assert_eq!(start(&other, "a").newest, 1);
    assert!(append(&other, &[(other_a, event(2, b"two"))]).is_empty());
    assert_eq!(append(&one, &[(a, event(2, b"one"))]).len(), 1);
    // The other journals of the groups are there.
    let contents = |log: &dyn Log, name| -> Vec<Vec<u8>> {
        let read = read_all(log, start(log, name).journal);
        read.into_iter().map(|(_, payload)| payload).collect()
    };
    assert_eq!(contents(&one, "a"), [b"one", b"two"]);
    assert_eq!(contents(&one, "b"), [b"b"]);
    let _ = b;
    assert!(!one.is_broken() && !other.is_broken());
}

#[test]
fn a_start_with_a_fence_ends_the_earlier_writer() {
    let Some(server) = Server::start("") else {
        return;
    };
    let fencing = || open(&server, NatsLogOptions::new().fence_at_start(), "test");
    let (one, other) = (fencing(), fencing());
    let a = start(&one, "a").journal;
    assert!(append(&one, &[(a, event(1, b"one"))]).is_empty());
    let found = start(&other, "a");
    assert_eq!((found.oldest, found.newest), (1, 1));
    // The other one has appended no event.
    let refused = append(&one, &[(a, event(2, b"late"))]);
    assert!(matches!(
        refused[0].error,
        JournalError::Conflict {
            expected: 2,
            found: 2,
            ..
        }
    ));
    assert!(append(&other, &[(found.journal, event(2, b"two"))]).is_empty());
    let mut group = Group::new();
    other.read(found.journal, 1, &mut group).unwrap();
    let payloads: Vec<_> = group.events().map(|(_, event)| event.payload).collect();
    assert_eq!(payloads, [&b"one"[..], b"two"]);
}

#[test]
fn a_user_with_the_permissions_of_a_node_can_do_all_of_it() {
    let permissions = permissions("test", "node").unwrap();
    let config = format!(
        "authorization {{ users = [ {{ user: node, password: secret, permissions {permissions} }} ] }}"
    );
    let Some(server) = Server::start(&config) else {
        return;
    };
    let servers = NatsNet::builder(server.address()).user("node", "secret");
    let options = NatsLogOptions::new().fence_at_start();
    let log = options.open(servers.clone(), "test", "node").unwrap();
    let a = start(&log, "a/b c").journal;
    for number in 1..=6 {
        assert!(append(&log, &[(a, event(number, b""))]).is_empty());
        if number % 2 == 0 {
            log.save(a, number, STATE, b"state").unwrap();
        }
        log.tend();
    }
    let found = start(&log, "a/b c");
    assert_eq!((found.oldest, found.newest), (5, 6));
    assert!(log.take_notices().is_empty());
    // It has no permission for other clusters.
    let error = NatsLog::open(servers, "other", "node").unwrap_err();
    assert!(matches!(error, JournalError::Engine { .. }), "{error:?}");
}

#[test]
fn writers_that_race_append_each_event_once() {
    const EACH: u64 = 40;
    let Some(server) = Server::start("") else {
        return;
    };
    let logs = [(); 3].map(|()| open(&server, NatsLogOptions::new(), "test"));
    std::thread::scope(|scope| {
        for (writer, log) in (0_u8..).zip(&logs) {
            scope.spawn(move || {
                let mut appended = 0;
                let mut found = start(log, "a");
                while appended < EACH {
                    let payload = [writer];
                    let next = (found.journal, event(found.newest + 1, &payload));
                    if append(log, &[next]).is_empty() {
                        appended += 1;
                        found.newest += 1;
                    } else {
                        found = start(log, "a");
                    }
                }
            });
        }
    });
    let found = start(&logs[0], "a");
    assert_eq!(found.newest, 3 * EACH);
    let read = read_all(&logs[0], found.journal);
    for writer in 0..3 {
        let is_of = |event: &&(u64, Vec<u8>)| event.1 == [writer];
        assert_eq!(read.iter().filter(is_of).count() as u64, EACH);
    }
}
