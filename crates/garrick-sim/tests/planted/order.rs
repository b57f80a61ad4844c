//! A program that is wrong in one of 120 orders.

use garrick_actor::{Actor, Address, Context};
use garrick_sim::{Check, Choosing, Sim};

use crate::{assert_all_right, assert_found};

/// A fact: the digits, in the order in which they have arrived.
#[derive(Debug)]
struct Digits(u32);

struct Sees(u32);

impl Actor for Sees {
    type Msg = u32;
    type Outcome = ();

    fn receive(&mut self, digit: u32, cx: &mut Context<'_, u32>) {
        self.0 = 10 * self.0 + digit;
        cx.note(Digits(self.0));
    }
}

struct Sends(Address<u32>, u32);

impl Actor for Sends {
    type Msg = ();
    type Outcome = ();

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        let _ = cx.send(&self.0, self.1);
    }
}

fn order(sim: &mut Sim) {
    senders(sim);
    sim.at_end("not 35142", |facts| {
        facts
            .last()
            .is_none_or(|digits: &Digits| digits.0 != 35_142)
    });
}

fn senders(sim: &mut Sim) {
    let node = sim.node("one");
    let sees = node.spawn(Sees(0)).unwrap();
    for digit in 1..=5 {
        let sends = node.spawn(Sends(sees.clone(), digit)).unwrap();
        sends.send(()).unwrap();
    }
}

#[test]
fn a_rare_order_is_found() {
    assert_found("order", "not 35142", order);
}

#[test]
fn all_orders_are_tried_with_few_redundant_runs() {
    assert_all_right("order, all orders", 325, senders);
}

#[test]
fn a_rare_order_is_found_among_all() {
    let found = Check::new("order, all")
        .strategy(Choosing::All)
        .seeds(325)
        .run(order);
    let failed = found.expect_err("it is one of the orders");
    assert!(failed.report().redundant * 10 <= failed.report().runs);
}
