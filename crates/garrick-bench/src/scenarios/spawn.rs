//! Actors that each handle one message.

use std::hint::black_box;

use garrick::{Actor, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::actors::{measure_here, send_in, sent};

pub(crate) const SPAWN: Scenario = Scenario {
    name: "spawn",
    operation: "one actor with 8 bytes of state that another actor spawns on the same worker; it \
                handles one message, and is dropped because its last address has been dropped; 64 \
                actors or 1 are spawned per turn, and the spawner continues by a message to itself",
    contenders: |_: &Effort| {
        let of = |litter| Contender::fitted("garrick", move |ops| spawn(ops, litter));
        LITTERS
            .map(|litter| of(litter).with("spawned_per_turn", litter))
            .into()
    },
};

/// Measured batch sizes: how many actors are spawned in one turn.
const LITTERS: [u64; 2] = [64, 1];

/// An actor that handles one message.
struct Mayfly(u64);

impl Actor for Mayfly {
    type Msg = u64;
    type Outcome = ();
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, message: u64, _: &mut Context<'_, u64>) {
        self.0 += message;
        black_box(&self.0);
    }
}

/// An actor that spawns other actors in several turns. Each message contains the number of
/// remaining turns.
struct Spawner {
    /// Number of actors that are spawned per turn.
    litter: u64,
}

impl Actor for Spawner {
    type Msg = u64;
    type Outcome = Next;
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, turns_left: u64, cx: &mut Context<'_, u64>) -> Next {
        for number in 0..self.litter {
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

fn spawn(ops: u64, litter: u64) -> Result<Measured> {
    let turns = ops.div_ceil(litter);
    measure_here(turns * litter, |local| {
        send_in(&local.spawn(Spawner { litter }), turns);
    })
}
