//! Messages between two actors of one worker.

use garrick_sched::{Address, Flow, Task, Turn};

use super::actors::{BURST, Counter, measure_here, send_in, sent};
use crate::scenario::{Contender, Effort, Measured, Result, Scenario};

pub(super) const TELL: Scenario = Scenario {
    name: "tell",
    operation: "one message from an actor to another on the same worker, sent and handled; the sender sends \
                256 a turn, then goes on by a message to itself",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", |ops| tell(ops, BURST)).with("burst", BURST)],
};

pub(super) const TELL_ONE: Scenario = Scenario {
    name: "tell-one",
    operation: "one turn that sends one message to another actor on the same worker, which handles it, and \
                one to itself, which is the next turn: two messages",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", |ops| tell(ops, 1)).with("burst", 1)],
};

/// Sends `burst` messages a turn, for as many turns as it is told.
struct Teller {
    /// Who counts them.
    to: Address<u64>,
    /// Messages a turn.
    burst: u64,
}

impl Task for Teller {
    type Message = u64;

    #[inline]
    fn receive(&mut self, turns_left: u64, turn: &Turn<'_, u64>) -> Flow {
        for number in 0..self.burst {
            if turn.send(&self.to, number).is_err() {
                return Flow::Stop;
            }
        }
        if turns_left == 1 {
            return Flow::Continue;
        }
        sent(turn.send(&turn.address(), turns_left - 1))
    }
}

fn tell(ops: u64, burst: u64) -> Result<Measured> {
    let turns = ops.div_ceil(burst);
    let (counter, done) = Counter::new(turns * burst);
    let measured = measure_here(turns * burst, |here| {
        let to = here.spawn(counter);
        send_in(&here.spawn(Teller { to, burst }), turns);
    });
    assert!(done.try_recv().is_ok(), "every message is counted");
    measured
}
