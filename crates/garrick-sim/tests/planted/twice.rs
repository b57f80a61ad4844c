//! A link repeats messages. A till that books repeated messages twice is wrong. A till that
//! recognizes the number of a booking is right.

use std::collections::BTreeSet;

use garrick_actor::{Actor, Address, Context};
use garrick_sim::{Check, Choosing, Fate, Sim};

use crate::{assert_found, assert_right, find};

/// A fact: the sum of the bookings after a new booking.
#[derive(Debug)]
struct Sum(u32);

/// A fact: a booking with this number has arrived.
#[derive(Debug)]
struct Came(u32);

#[derive(Clone)]
struct Booking {
    number: u32,
    amount: u32,
}

struct Till {
    booked: BTreeSet<u32>,
    sum: u32,
    recognizes: bool,
}

impl Actor for Till {
    type Msg = Booking;
    type Outcome = ();

    fn receive(&mut self, booking: Booking, cx: &mut Context<'_, Booking>) {
        cx.note(Came(booking.number));
        if self.booked.insert(booking.number) || !self.recognizes {
            self.sum += booking.amount;
            cx.note(Sum(self.sum));
        }
    }
}

/// An actor whose messages are numbers. For each message, it sends that number of bookings.
struct Shop(Address<Booking>);

impl Actor for Shop {
    type Msg = u32;
    type Outcome = ();

    fn receive(&mut self, count: u32, cx: &mut Context<'_, u32>) {
        for number in 0..count {
            let _ = cx.send(&self.0, Booking { number, amount: 5 });
        }
    }
}

fn till(sim: &mut Sim, till_node: &str, recognizes: bool, count: u32) {
    let till = sim.node(till_node).spawn(Till {
        booked: BTreeSet::new(),
        sum: 0,
        recognizes,
    });
    let shop = sim.node("shop").spawn(Shop(till.unwrap())).unwrap();
    shop.send(count).unwrap();
    sim.at_end("each booking counts once", move |facts| {
        facts.last::<Sum>().is_some_and(|sum| sum.0 == 5 * count)
    });
}

fn repeating(sim: &mut Sim, recognizes: bool, per_mille: u32) {
    till(sim, "till", recognizes, 2);
    sim.links().all().duplicates::<Booking>(per_mille);
}

#[test]
fn a_message_that_comes_twice_is_found() {
    assert_found("twice", "each booking counts once", |sim| {
        repeating(sim, false, 50);
    });
    let failed = find("twice", |sim| repeating(sim, false, 50));
    let copied = failed.moves().iter().any(|made| made.fate == Fate::Doubled);
    assert!(copied, "{failed}");
    let text = failed.trace().to_string();
    assert!(
        text.contains("COPIED") && text.contains("(again)"),
        "{text}"
    );
    assert!(failed.trace().mermaid().contains("COPIED"), "{failed}");
}

#[test]
fn a_till_that_recognizes_bookings_is_right() {
    assert_right("twice that is recognized", |sim| repeating(sim, true, 300));
    assert_right("twice that is recognized, with times", |sim| {
        let millis = std::time::Duration::from_millis;
        sim.latency(millis(1)..millis(9));
        repeating(sim, true, 300);
    });
}

#[test]
fn a_message_within_a_node_never_comes_twice() {
    assert_right("twice, within a node", |sim| {
        till(sim, "shop", false, 2);
        sim.links().all().duplicates::<Booking>(1000);
    });
}

#[test]
fn all_orders_of_copies_are_tried() {
    let all = Check::new("twice, all orders").strategy(Choosing::All);
    let report = all.run(|sim| repeating(sim, true, 1000));
    let report = report.unwrap_or_else(|failed| panic!("{failed}"));
    println!("{report}");
    // The two orders of two originals and two copies.
    assert!(report.complete, "{report}");
    assert_eq!(report.runs - report.redundant, 2, "{report}");
}

#[test]
fn copies_come_after_their_originals_and_in_their_order() {
    let all_comes = |sim: &mut Sim| {
        repeating(sim, true, 1000);
        sim.at_end("four messages come", |facts| {
            let came: Vec<u32> = facts.seen::<Came>().map(|came| came.0).collect();
            [vec![0, 0, 1, 1], vec![0, 1, 0, 1]].contains(&came)
        });
    };
    assert_right("twice, order", all_comes);
    for order in [[0, 0, 1, 1], [0, 1, 0, 1]] {
        let found = Check::new("twice, both orders").seeds(100).run(|sim| {
            repeating(sim, true, 1000);
            sim.at_end("another order", move |facts| {
                !facts.seen::<Came>().map(|came| came.0).eq(order)
            });
        });
        assert!(found.is_err(), "{order:?} occurs");
    }
}

#[test]
#[should_panic(expected = "a probability of 1001 per mille")]
fn a_probability_above_one_is_refused() {
    let _ = Check::new("too often").seeds(1).run(|sim| {
        sim.links().all().duplicates::<Booking>(1001);
    });
}
