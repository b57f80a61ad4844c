//! Saved states: of keepers whose turns record only reminders, states that cannot be decoded, and
//! states that cannot be saved.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::{Address, Reply};
#[cfg(feature = "sqlite")]
use garrick_journal::SqliteLog;
use garrick_journal::conformance::sum::{Number, Sum};
use garrick_journal::{
    Decide, Due, Durable, Journal, JournalError, Keeper, Log, MemoryLog, Options,
};
use garrick_sim::testing::Kit;
#[cfg(feature = "sqlite")]
use garrick_testkit::Place;
use garrick_testkit::silence_panics;

/// A keeper of a number, with a reminder.
struct Clock;

enum Order {
    Set(u64, Reply<()>),
    /// Sets the reminder again. Returns the number.
    Wind(Reply<u64>),
    Ring,
}

impl Keeper for Clock {
    type Msg = Order;
    type State = Number;
    type Outcome = ();

    fn receive(
        &self,
        number: &mut Durable<'_, Number>,
        order: Order,
        cx: &mut Decide<'_, '_, Self>,
    ) {
        match order {
            Order::Set(new, reply) => {
                number.0 = new;
                reply.send(());
            }
            Order::Wind(reply) => {
                cx.remind_after("ring", Duration::from_secs(60));
                reply.send(number.0);
            }
            Order::Ring => cx.note("ring"),
        }
    }

    fn due(_: Due) -> Option<Order> {
        Some(Order::Ring)
    }
}

fn clock(kit: &mut Kit) -> Address<Order> {
    let files: Arc<dyn Files> = Arc::new(kit.disk());
    let (journal, _) = Journal::open_files(kit.node().handle(), files).unwrap();
    let clock = kit.spawn(journal.entity("clock", Clock).unwrap()).unwrap();
    kit.run();
    clock
}

/// Returns the numbers of the oldest and of the newest event of the clock.
fn events(kit: &mut Kit) -> (u64, u64) {
    let (log, _) = Options::new().inspect(Arc::new(kit.disk())).unwrap();
    let journal = log.find("clock").unwrap();
    (log.oldest(journal), log.newest(journal))
}

#[test]
fn a_keeper_whose_turns_only_set_reminders_keeps_few_events() {
    let mut kit = Kit::new();
    let mut set = 0;
    for round in 0..3 {
        let one = clock(&mut kit);
        for _ in 0..2_500 {
            assert_eq!(kit.answer(one.ask(Order::Wind)), Ok(set));
        }
        let (oldest, newest) = events(&mut kit);
        assert!(newest > 2_500 * (round + 1) - 10, "{newest}");
        assert!(newest - oldest < 2_100, "{oldest} {newest}");
        if round == 1 {
            // Each of these events makes the earlier ones unnecessary.
            set = 7;
            assert_eq!(kit.answer(one.ask(|reply| Order::Set(7, reply))), Ok(()));
            assert_eq!(events(&mut kit), (newest + 1, newest + 1));
        }
        kit.crash();
    }
    clock(&mut kit);
    kit.advance(Duration::from_secs(61));
    let rung = kit.facts(|facts| facts.seen::<&str>().len());
    assert!(rung > 0, "the reminder is there");
}

/// Opens a log again and again, whose newest saved state cannot be decoded.
fn an_older_state_is_used<L: Log>(open: impl Fn(&mut Kit) -> L) {
    let mut kit = Kit::new();
    for (added, sum) in [(0, 0), (23, 23), (0, 23)] {
        let log = open(&mut kit);
        let journal = Journal::new(kit.handle(), log).unwrap();
        let account = kit.spawn(journal.entity("a", Sum).unwrap()).unwrap();
        for _ in 0..added {
            assert!(kit.answer(account.ask(|reply| (1, reply))).is_ok());
        }
        assert_eq!(kit.answer(account.ask(|reply| (0, reply))), Ok(sum));
        let notices = journal.take_notices();
        if added == 0 && sum > 0 {
            let [JournalError::Event { number: 20, .. }] = &notices[..] else {
                panic!("{notices:?}");
            };
            assert_eq!(journal.sample().recovered, 13);
            drop((journal, account));
            kit.run();
            let log = open(&mut kit);
            let start = log.start("a", true).unwrap().unwrap();
            assert_eq!(start.oldest, 11, "the others were removed");
            assert_eq!(start.snapshot.map(|saved| saved.number), Some(20));
            let before = |number| {
                let saved = log.saved_before(start.journal, number).unwrap();
                saved.map(|saved| saved.number)
            };
            assert_eq!(
                [20, 11, 10, 0].map(before),
                [Some(10), Some(10), None, None]
            );
        } else {
            assert!(notices.is_empty(), "{notices:?}");
            drop((journal, account));
            kit.run();
        }
    }
}

#[test]
fn an_older_state_in_segments_is_used_if_the_newest_one_cannot_be_decoded() {
    an_older_state_is_used(|kit| {
        let files: Arc<dyn Files> = Arc::new(kit.disk());
        Mutex::new(Options::new().open(files).unwrap().0)
    });
}

#[test]
fn an_older_state_in_memory_is_used_if_the_newest_one_cannot_be_decoded() {
    let log = MemoryLog::new();
    an_older_state_is_used(|_| log.clone());
}

#[cfg(feature = "sqlite")]
#[test]
fn an_older_state_in_a_database_is_used_if_the_newest_one_cannot_be_decoded() {
    let place = Place::new("saved");
    an_older_state_is_used(|_| SqliteLog::open(place.path().join("journal.sqlite")).unwrap());
}

#[test]
fn a_state_that_cannot_be_saved_is_a_notice() {
    silence_panics();
    let mut kit = Kit::new();
    let log = MemoryLog::new();
    let journal = Journal::new(kit.handle(), log.clone()).unwrap();
    let account = kit.spawn(journal.entity("a", Sum).unwrap()).unwrap();
    assert_eq!(kit.answer(account.ask(|reply| (100, reply))), Ok(100));
    for number in 1..=25 {
        assert_eq!(
            kit.answer(account.ask(|reply| (1, reply))),
            Ok(100 + number)
        );
    }
    let notices = journal.take_notices();
    let texts: Vec<_> = notices.iter().map(ToString::to_string).collect();
    let text = |number| {
        format!(
            "the state after event {number} of the journal \"a\" cannot be saved: it is too large"
        )
    };
    assert_eq!(texts, [text(10), text(20)]);
    let sample = journal.sample();
    assert_eq!((sample.notices, sample.saved, sample.events), (2, 0, 26));
}
