//! Messages between two actors of one worker.

use garrick::{Actor, Address, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Point, Result, Scenario, Swept};

use super::actors::{BURST, Counter, measure_here, send_in, sent};

pub(crate) const TELL: Scenario = Scenario {
    name: "tell",
    operation: "one message from an actor to another on the same worker, sent and handled; the \
                sender sends 256 or 64 messages per turn (burst), and continues by a message to \
                itself; with 64 the receiver keeps up, with 256 it may fall behind",
    contenders: |effort: &Effort| at(effort, &Point::default()),
};

pub(super) const SWEPT: Swept = Swept {
    scenario: TELL.name,
    parameters: &[("burst", 1..=65_536)],
    contenders: at,
};

fn at(_: &Effort, point: &Point) -> Vec<Contender> {
    let bursts = point
        .get("burst")
        .map_or(vec![BURST, BURST_SMALL], |burst| vec![burst]);
    let of = |burst| Contender::fitted("garrick", move |ops| tell(ops, burst)).with("burst", burst);
    bursts.into_iter().map(of).collect()
}

/// Number of messages per turn, small enough that one activation of the receiver handles all of
/// them. With larger bursts, the mailbox grows.
const BURST_SMALL: u64 = 64;

pub(crate) const TELL_ONE: Scenario = Scenario {
    name: "tell-one",
    operation: "one turn that sends a message to another actor on the same worker, which handles \
                it, and a message to the sender itself, which starts its next turn: two messages",
    contenders: |_: &Effort| {
        vec![Contender::fitted("garrick", |ops| tell(ops, 1)).with("burst", 1)]
    },
};

/// An actor that sends `burst` messages per turn, in several turns. Each message that the actor
/// receives contains the number of remaining turns.
pub(super) struct Teller {
    /// Actor that counts the messages.
    to: Address<u64>,
    /// Number of messages per turn.
    burst: u64,
}

impl Teller {
    /// Creates a teller, which begins to send at its first message.
    pub(super) fn new(to: Address<u64>, burst: u64) -> Self {
        Self { to, burst }
    }
}

impl Actor for Teller {
    type Msg = u64;
    type Outcome = Next;
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, turns_left: u64, cx: &mut Context<'_, u64>) -> Next {
        for number in 0..self.burst {
            if cx.send(&self.to, number).is_err() {
                return Next::Stop;
            }
        }
        if turns_left == 1 {
            return Next::Continue;
        }
        sent(&cx.send(&cx.address(), turns_left - 1))
    }
}

pub(crate) fn tell(ops: u64, burst: u64) -> Result<Measured> {
    let turns = ops.div_ceil(burst);
    let (counter, done) = Counter::new(turns * burst);
    let measured = measure_here(turns * burst, |local| {
        let to = local.spawn(counter);
        send_in(&local.spawn(Teller::new(to, burst)), turns);
    });
    assert!(done.try_recv().is_ok(), "every message is counted");
    measured
}
