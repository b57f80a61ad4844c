//! A mistake that occurs only if messages have times. Most messages of the program do not
//! contribute to the mistake.

use std::time::Duration;

use garrick_actor::{Actor, Address, Context};
use garrick_sim::{Check, Sim};

use crate::{assert_found, find};

/// A fact: a message with this number has arrived.
#[derive(Debug)]
struct Came(u32);

/// An actor that reduces each number by 1, sends the result to the next actor, and later sends it
/// to itself. Ignores the number 0.
struct Chatter(Option<Address<u32>>);

impl Actor for Chatter {
    type Msg = u32;
    type Outcome = ();

    fn receive(&mut self, number: u32, cx: &mut Context<'_, u32>) {
        if let Some(other) = self.0.as_ref().filter(|_| number > 0) {
            let _ = cx.send(other, number - 1);
            let pause = Duration::from_millis(3);
            let _ = cx.send_after(pause, &cx.address(), number - 1);
        }
    }
}

/// An actor that sends one message through the actor `slow`, and a later message directly.
struct Source {
    goal: Address<u32>,
    slow: Address<u32>,
}

impl Actor for Source {
    type Msg = u32;
    type Outcome = ();

    fn receive(&mut self, number: u32, cx: &mut Context<'_, u32>) {
        if number == 0 {
            let _ = cx.send(&self.slow, 1);
            let pause = Duration::from_millis(15);
            let _ = cx.send_after(pause, &cx.address(), 2);
        } else {
            let _ = cx.send(&self.goal, number);
        }
    }
}

/// An actor that passes numbers on.
struct Relay(Address<u32>);

impl Actor for Relay {
    type Msg = u32;
    type Outcome = ();

    fn receive(&mut self, number: u32, cx: &mut Context<'_, u32>) {
        let _ = cx.send(&self.0, number);
    }
}

struct Goal;

impl Actor for Goal {
    type Msg = u32;
    type Outcome = ();

    fn receive(&mut self, number: u32, cx: &mut Context<'_, u32>) {
        cx.note(Came(number));
    }
}

fn race(sim: &mut Sim) {
    let millis = Duration::from_millis;
    sim.latency(millis(1)..millis(10));
    let noise = sim.node("noise");
    for _ in 0..3 {
        let quiet = noise.spawn(Chatter(None)).unwrap();
        let loud = noise.spawn(Chatter(Some(quiet))).unwrap();
        loud.send(30).unwrap();
    }
    let node = sim.node("race");
    let goal = node.spawn(Goal).unwrap();
    let slow = node.spawn(Relay(goal.clone())).unwrap();
    let source = node.spawn(Source { goal, slow }).unwrap();
    source.send(0).unwrap();
    sim.always("the first message comes first", |facts| {
        facts.seen::<Came>().next().is_none_or(|came| came.0 == 1)
    });
}

#[test]
fn what_has_nothing_to_do_with_a_failure_is_left_out_in_spite_of_times() {
    // Seven steps are needed: three starts, and four deliveries.
    assert_found("delays", "the first message comes first", race);
    let failed = find("delays", race);
    assert!(failed.steps() <= 7, "{failed}");
}

#[test]
fn delays_do_not_depend_on_the_order_of_steps() {
    // Orders of the steps differ by strategy, and the times of the messages do not.
    let times = |check: Check| {
        let failed = check.only(3).run(|sim: &mut Sim| {
            race(sim);
            sim.at_end("times", |facts| {
                let times: Vec<u64> = facts.timed::<Came>().map(|(at, _)| at).collect();
                panic!("{times:?}");
            });
        });
        failed.unwrap_err().broken().why.clone()
    };
    let walk = times(Check::new("walk").strategy(garrick_sim::Choosing::Walk));
    let pos = times(Check::new("pos").strategy(garrick_sim::Choosing::Pos));
    assert_eq!(walk, pos);
}
