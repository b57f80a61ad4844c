//! Actors that live for one message.

use std::hint::black_box;

use garrick::{Actor, Context, Next};

use super::actors::{measure_here, send_in, sent};
use crate::scenario::{Contender, Effort, Measured, Result, Scenario};

pub(super) const SPAWN: Scenario = Scenario {
    name: "spawn",
    operation: "one actor with 8 bytes of state that is spawned by another on the same worker, gets one \
                message, handles it, and is dropped because nobody has its address; 64 are spawned a turn",
    contenders: |_: &Effort| {
        vec![Contender::fitted("garrick", spawn).with("spawned_per_turn", LITTER)]
    },
};

/// Actors that are spawned in one cx.
const LITTER: u64 = 64;

/// Lives for one message.
struct Mayfly(u64);

impl Actor for Mayfly {
    type Msg = u64;

    #[inline]
    fn receive(&mut self, message: u64, _: &mut Context<'_, u64>) -> Next {
        self.0 += message;
        black_box(&self.0);
        Next::Continue
    }
}

/// Spawns for as many turns as it is told.
struct Spawner;

impl Actor for Spawner {
    type Msg = u64;

    #[inline]
    fn receive(&mut self, turns_left: u64, cx: &mut Context<'_, u64>) -> Next {
        for number in 0..LITTER {
            if cx.send(&cx.spawn(Mayfly(number)), number).is_err() {
                return Next::Stop;
            }
        }
        if turns_left == 1 {
            return Next::Continue;
        }
        sent(&cx.send(&cx.address(), turns_left - 1))
    }
}

fn spawn(ops: u64) -> Result<Measured> {
    let turns = ops.div_ceil(LITTER);
    measure_here(turns * LITTER, |local| {
        send_in(&local.spawn(Spawner), turns);
    })
}
