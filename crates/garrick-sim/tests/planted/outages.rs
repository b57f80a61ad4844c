//! A search of all orders with outages shows everything that random runs show.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use garrick_actor::{Actor, Address, Context};
use garrick_sim::{Check, Choosing, Sim};

/// A fact: an actor has received this number. Contains the name of the actor.
#[derive(Debug, Clone)]
#[expect(dead_code, reason = "formatted")]
struct Got(&'static str, u32);

/// An actor that records each number it receives. Sends each number above 0, reduced by 1, to the
/// next actor.
struct Passes(&'static str, Option<Address<u32>>);

impl Actor for Passes {
    type Msg = u32;
    type Outcome = ();

    fn receive(&mut self, number: u32, cx: &mut Context<'_, u32>) {
        cx.note(Got(self.0, number));
        if let Some(next) = self.1.as_ref().filter(|_| number > 0) {
            let _ = cx.send(next, number - 1);
        }
    }
}

/// Sets up three nodes in a row.
fn row(sim: &mut Sim) {
    let third = sim.node("third").spawn(Passes("third", None)).unwrap();
    let second = Passes("second", Some(third.clone()));
    let second = sim.node("second").spawn(second).unwrap();
    let first = Passes("first", Some(second));
    let first = sim.node("first").spawn(first).unwrap();
    first.send(2).unwrap();
    first.send(1).unwrap();
    third.send(9).unwrap();
}

/// Returns the different sequences of facts that the runs of a check have recorded, and the report.
fn ends(check: &Check, faults: impl Fn(&mut Sim)) -> (BTreeSet<String>, garrick_sim::Report) {
    let ends = Rc::<RefCell<BTreeSet<String>>>::default();
    let report = check.run(|sim| {
        row(sim);
        faults(sim);
        let ends = Rc::clone(&ends);
        sim.at_end("recorded", move |facts| {
            // The order of what different nodes have received is not part of a partial order.
            let mut got: Vec<Got> = facts.seen::<Got>().cloned().collect();
            got.sort_by_key(|got| got.0);
            ends.borrow_mut().insert(format!("{got:?}"));
            true
        });
    });
    let report = report.unwrap_or_else(|failed| panic!("{failed}"));
    (ends.take(), report)
}

#[track_caller]
fn compare(name: &str, faults: impl Fn(&mut Sim) + Copy) {
    let all = Check::new(name).strategy(Choosing::All).seeds(200_000);
    let (all, report) = ends(&all, faults);
    assert!(report.complete, "{report}");
    let random = Check::new(name).strategy(Choosing::Walk).seeds(3000);
    let (random, _) = ends(&random, faults);
    println!("{name}: {} of {} ends, {report}", random.len(), all.len());
    let missing: Vec<_> = random.difference(&all).collect();
    assert!(missing.is_empty(), "{name}: {missing:?}");
    assert!(random.len() > 1, "{random:?}");
}

const LASTS: std::ops::Range<Duration> = Duration::ZERO..Duration::from_secs(1);

#[test]
fn all_moments_of_a_crash_are_tried() {
    compare("outages, crash", |sim| {
        // What a crash loses of what was sent is drawn once for a seed.
        sim.faults().crash("second").crash_loses_sent(0);
    });
}

#[test]
fn all_moments_of_a_partition_that_loses_are_tried() {
    compare("outages, cut", |sim| {
        sim.faults().partition(["second"], 1, LASTS);
    });
}

#[test]
fn all_moments_of_a_partition_that_holds_are_tried() {
    compare("outages, held", |sim| {
        sim.faults().partition(["third"], 1, LASTS).holds_messages();
        sim.at_end("nothing is lost", |facts| facts.seen::<Got>().len() == 6);
    });
}

#[test]
fn all_orders_of_copies_are_tried() {
    compare("outages, copies", |sim| {
        sim.links()
            .between("first", "second")
            .duplicates::<u32>(1000);
    });
}
