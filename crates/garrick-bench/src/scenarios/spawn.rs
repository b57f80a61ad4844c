//! Actors that live for one message.

use std::hint::black_box;

use garrick_sched::{Flow, Task, Turn};

use super::actors::{measure_here, send_in, sent};
use crate::scenario::{Contender, Effort, Measured, Result, Scenario};

pub(super) const SPAWN: Scenario = Scenario {
    name: "spawn",
    operation: "one actor with 8 bytes of state that is spawned by another on the same worker, gets one \
                message, handles it, and is dropped because nobody has its address; 64 are spawned a turn",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", spawn).with("spawned_per_turn", LITTER)],
};

/// Actors that are spawned in one turn.
const LITTER: u64 = 64;

/// Lives for one message.
struct Mayfly(u64);

impl Task for Mayfly {
    type Message = u64;

    #[inline]
    fn receive(&mut self, message: u64, _: &Turn<'_, u64>) -> Flow {
        self.0 += message;
        black_box(&self.0);
        Flow::Continue
    }
}

/// Spawns for as many turns as it is told.
struct Spawner;

impl Task for Spawner {
    type Message = u64;

    #[inline]
    fn receive(&mut self, turns_left: u64, turn: &Turn<'_, u64>) -> Flow {
        for number in 0..LITTER {
            if turn.send(&turn.spawn(Mayfly(number)), number).is_err() {
                return Flow::Stop;
            }
        }
        if turns_left == 1 {
            return Flow::Continue;
        }
        sent(turn.send(&turn.address(), turns_left - 1))
    }
}

fn spawn(ops: u64) -> Result<Measured> {
    let turns = ops.div_ceil(LITTER);
    measure_here(turns * LITTER, |here| send_in(&here.spawn(Spawner), turns))
}
