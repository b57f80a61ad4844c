//! Older saved states, and journals that are forgotten.

use std::thread;

use garrick_cluster::nats::NatsLogOptions;
use garrick_journal::conformance::sum::Sum;
use garrick_journal::{Group, Journal, JournalError, Log};
use garrick_sim::testing::Kit;

use crate::events::{STATE, append, event, read_all, start};
use crate::lost::Pair;
use crate::proxy::To;
use crate::server::Server;
use crate::store::{open, until_stored};

#[test]
fn an_older_state_is_used_if_the_newest_one_cannot_be_decoded() {
    let Some(server) = Server::start("") else {
        return;
    };
    let mut kit = Kit::new();
    for (added, sum) in [(23, 23), (0, 23)] {
        let log = open(&server, NatsLogOptions::new(), "test");
        let journal = Journal::new(kit.handle(), log).unwrap();
        let account = kit.spawn(journal.entity("a", Sum).unwrap()).unwrap();
        for _ in 0..added {
            assert!(kit.answer(account.ask(|reply| (1, reply))).is_ok());
        }
        assert_eq!(kit.answer(account.ask(|reply| (0, reply))), Ok(sum));
        let notices = journal.take_notices();
        if added > 0 {
            assert!(notices.is_empty(), "{notices:?}");
        } else {
            let is_it = matches!(&notices[..], [JournalError::Event { number: 20, .. }]);
            assert!(is_it, "{notices:?}");
            assert_eq!(journal.sample().recovered, 13);
        }
        drop((journal, account));
        kit.run();
    }
}

/// Publishes a message that is no saved state, as a state of the journal `a`.
fn publish_damage(server: &Server) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.address()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let sent = context.publish("g.test.s.a", "damaged".into()).await;
        sent.unwrap().await.unwrap();
    });
}

#[test]
fn a_damaged_older_state_is_an_error() {
    let Some(server) = Server::start("") else {
        return;
    };
    let log = open(&server, NatsLogOptions::new(), "test");
    let a = start(&log, "a").journal;
    for number in 1..=4 {
        assert!(append(&log, &[(a, event(number, b"event"))]).is_empty());
    }
    publish_damage(&server);
    assert!(start(&log, "a").snapshot.is_none());
    log.save(a, 4, STATE, b"state").unwrap();
    let older = log.saved_before(a, 4);
    let is_damage = matches!(&older, Err(JournalError::DamagedRow { row, .. })
        if row == "a state before event 4 of the journal \"a\"");
    assert!(is_damage, "{older:?}");
    // The newest state is damaged, and the older one is returned by `start`.
    publish_damage(&server);
    let saved = start(&log, "a").snapshot.map(|saved| saved.number);
    assert_eq!(saved, Some(4));
    assert_eq!(log.saved_before(a, 4).unwrap(), None);
}

#[test]
fn a_journal_whose_first_event_is_under_way_is_not_forgotten() {
    let Some(pair) = Pair::new() else { return };
    let (a, b) = (start(&pair.log, "a").journal, start(&pair.log, "b").journal);
    let mut group = Group::new();
    group.add(a, event(1, b"one")).unwrap();
    thread::scope(|scope| {
        pair.proxy.hold(&[To::Client]);
        let appending = scope.spawn(|| pair.log.append(&group));
        pair.until_stored(1);
        assert!(!pair.log.forget("a") && !pair.log.forget("b"));
        pair.proxy.hold(&[]);
        assert!(appending.join().unwrap().unwrap().is_empty());
    });
    assert!(pair.log.forget("a") && pair.log.forget("b"));
    assert_eq!(start(&pair.log, "a").journal, a);
    assert_ne!(start(&pair.log, "b").journal, b);
}

#[test]
fn the_fences_of_journals_without_events_do_not_stay_on_the_server() {
    let Some(server) = Server::start("") else {
        return;
    };
    let options = NatsLogOptions::new().fence_at_start();
    let [log, other] = [(); 2].map(|()| open(&server, options.clone(), "test"));
    let kept = start(&log, "kept").journal;
    assert!(append(&log, &[(kept, event(1, b"event"))]).is_empty());
    for number in 0..100 {
        let name = format!("probed/{number}");
        start(&log, &name);
        assert!(log.forget(&name));
    }
    // The fence and the event of the journal that is used.
    until_stored(&server, 2);
    // The fence of a later writer stays, although the earlier one forgets the journal later.
    start(&log, "a");
    let a = start(&other, "a").journal;
    assert!(log.forget("a") && log.forget("kept"));
    until_stored(&server, 3);
    assert!(append(&other, &[(a, event(1, b"one"))]).is_empty());
    assert!(append(&log, &[(kept, event(2, b"event"))]).is_empty());
    assert_eq!(
        (start(&log, "a").newest, start(&log, "kept").newest),
        (1, 2)
    );
    assert!(log.take_notices().is_empty() && other.take_notices().is_empty());
}

#[test]
fn two_damaged_states_are_an_error_only_if_their_events_are_gone() {
    let Some(server) = Server::start("") else {
        return;
    };
    let log = open(&server, NatsLogOptions::new(), "test");
    let a = start(&log, "a").journal;
    for number in 1..=4 {
        let first = garrick_journal::Event {
            is_whole: number == 1,
            ..event(number, b"event")
        };
        assert!(append(&log, &[(a, first)]).is_empty());
    }
    for _ in 0..2 {
        publish_damage(&server);
    }
    // All events are there.
    let found = start(&log, "a");
    assert!(found.snapshot.is_none());
    assert_eq!((found.oldest, found.newest), (1, 4));
    assert_eq!(read_all(&log, a).len(), 4);
    assert_eq!(log.take_notices().len(), 1);
    // The next states replace the damaged ones.
    for number in [2, 4] {
        log.save(a, number, STATE, b"state").unwrap();
    }
    assert_eq!(start(&log, "a").snapshot.map(|saved| saved.number), Some(4));
    assert!(log.take_notices().is_empty());
    log.tend();
    until_stored(&server, 2);
    for _ in 0..2 {
        publish_damage(&server);
    }
    // The first events, and with them the whole one, were removed.
    let error = log.start("a", true).unwrap_err();
    let is_damage = matches!(&error, JournalError::DamagedRow { row, .. }
        if row == "the states of the journal \"a\"");
    assert!(is_damage, "{error:?}");
}
