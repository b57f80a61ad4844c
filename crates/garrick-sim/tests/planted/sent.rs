//! A node crashes after it has sent its last messages. A protocol is wrong if it assumes that no
//! message arrives from a crashed node. A protocol that ignores the messages of earlier
//! incarnations is right.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context};
use garrick_sim::{Check, Choosing, Crashed, Facts, Sim};

use crate::{assert_found, assert_right, find};

/// A fact: the store has this value.
#[derive(Debug)]
struct Stored(u32);

/// A fact: a message with this number has arrived.
#[derive(Debug)]
struct Came(u32);

/// A value, with the number of the incarnation that writes it.
struct Write {
    incarnation: u32,
    value: u32,
}

struct Store {
    newest: u32,
    fences: bool,
}

impl Actor for Store {
    type Msg = Write;
    type Outcome = ();

    fn receive(&mut self, write: Write, cx: &mut Context<'_, Write>) {
        cx.note(Came(write.value));
        if self.fences && write.incarnation < self.newest {
            return;
        }
        self.newest = write.incarnation;
        cx.note(Stored(write.value));
    }
}

/// An actor that writes some values, together with the number of its incarnation.
struct Writer {
    store: Address<Write>,
    incarnation: u32,
    count: u32,
}

impl Actor for Writer {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        let incarnation = self.incarnation;
        for number in 0..self.count {
            let value = 10 * incarnation + number;
            let _ = cx.send(&self.store, Write { incarnation, value });
        }
    }
}

/// Sets up a store, and a writer that may crash once.
fn store(sim: &mut Sim, fences: bool, count: u32) {
    let store = Store { newest: 0, fences };
    let store = sim.node("store").spawn(store).unwrap();
    let mut incarnation = 0;
    sim.restarting("writer", move |node| {
        let writer = Writer {
            store: store.clone(),
            incarnation,
            count,
        };
        incarnation += 1;
        node.spawn(writer).unwrap().send(()).unwrap();
    });
    let after = Duration::ZERO..Duration::from_millis(10);
    sim.faults().crash_and_restart("writer", 1, after);
}

fn last_write_wins(sim: &mut Sim, fences: bool) {
    store(sim, fences, 1);
    sim.at_end("the last incarnation wins", |facts| {
        let crashes = facts.seen::<Crashed>().len() as u32;
        facts
            .last::<Stored>()
            .is_none_or(|stored| stored.0 == 10 * crashes)
    });
}

#[test]
fn a_message_that_outlives_its_sender_is_found() {
    assert_found("sent", "the last incarnation wins", |sim| {
        last_write_wins(sim, false);
    });
}

#[test]
fn a_store_that_ignores_earlier_incarnations_is_right() {
    assert_right("sent, fenced", |sim| last_write_wins(sim, true));
    let all = Check::new("sent, all orders")
        .strategy(Choosing::All)
        .seeds(10_000);
    let report = all.run(|sim| last_write_wins(sim, true));
    let report = report.unwrap_or_else(|failed| panic!("{failed}"));
    assert!(report.complete, "{report}");
    println!("{report}");
    // What has left the writer is lost or not, as the seed decides.
    let finds = |seed: u64| {
        let check = all.clone().first_seed(seed);
        check.run(|sim| last_write_wins(sim, false)).is_err()
    };
    assert!((0..8).any(finds) && !(0..8).all(finds));
}

#[test]
fn nothing_arrives_after_a_crash_that_loses_everything() {
    assert_right("sent, lost", |sim| {
        last_write_wins(sim, false);
        sim.faults().crash_loses_sent(1000);
    });
}

/// Returns the numbers of the messages of the first incarnation that have arrived.
fn came(facts: &Facts) -> Vec<u32> {
    let came = facts.seen::<Came>().map(|came| came.0);
    came.filter(|value| *value < 10).collect()
}

#[test]
fn what_arrives_has_no_gap() {
    assert_right("sent, order", |sim| {
        store(sim, true, 4);
        sim.always("no gap", |facts| {
            let came = came(facts);
            came.iter().copied().eq(0..came.len() as u32)
        });
    });
    for count in 0..=4 {
        let found = Check::new("sent, parts").seeds(1000).run(|sim| {
            store(sim, true, 4);
            sim.at_end("another part", move |facts| came(facts).len() != count);
        });
        assert!(found.is_err(), "a part of {count} messages arrives");
    }
}

#[test]
fn everything_arrives_if_nothing_is_lost() {
    let report = Check::new("sent, kept").seeds(1000).run(|sim| {
        store(sim, true, 2);
        sim.faults().crash_loses_sent(0);
        sim.at_end("both incarnations", |facts| {
            // The first incarnation may crash before it has written.
            [0, 2].contains(&came(facts).len())
        });
    });
    report.unwrap_or_else(|failed| panic!("{failed}"));
    let failed = find("sent, two incarnations", |sim| last_write_wins(sim, false));
    assert!(
        failed.trace().to_string().contains("writer crashes"),
        "{failed}"
    );
}
