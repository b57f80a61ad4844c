//! The digits as messages of Garrick's actors.

use garrick::prelude::*;
use garrick::sim::Sim;

/// The digits in the order in which they have arrived.
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

pub(super) fn order(sim: &mut Sim) {
    let node = sim.node("one");
    let sees = node.spawn(Sees(0)).unwrap();
    for digit in 1..=4 {
        let sends = node.spawn(Sends(sees.clone(), digit)).unwrap();
        sends.send(()).unwrap();
    }
    sim.always("not 3142", |facts| {
        facts.last::<Digits>().is_none_or(|digits| digits.0 != 3142)
    });
}
