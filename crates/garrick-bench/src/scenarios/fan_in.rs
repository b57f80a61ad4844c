//! Messages to one actor from four others.

use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::actors::{BURST, Counter, builder, send_in};
use super::tell::Teller;

pub(super) const FAN_IN: Scenario = Scenario {
    name: "fan-in",
    operation: "one message from one of four actors to the same fifth actor, all on two workers, \
                sent and handled; each of the four sends 256 messages per turn, and continues by a \
                message to itself",
    contenders: |_: &Effort| {
        vec![
            Contender::fitted("garrick", fan_in)
                .with("senders", SENDERS)
                .at_most(FLOOD_MAX),
        ]
    },
};

const SENDERS: u64 = 4;

/// Maximum number of messages in a repetition. There is a maximum because all messages may wait at
/// the same time, which takes memory.
const FLOOD_MAX: u64 = 1 << 18;

fn fan_in(ops: u64) -> Result<Measured> {
    let turns = ops.div_ceil(SENDERS * BURST);
    let ops = SENDERS * turns * BURST;
    let system = builder().workers(2).start()?;
    let (counter, done) = Counter::new(ops);
    let counter = system.spawn(counter)?;
    let mut tellers = Vec::new();
    for _ in 0..SENDERS {
        tellers.push(system.spawn(Teller::new(counter.clone(), BURST))?);
    }
    let watch = Stopwatch::start(Clock::Process);
    for teller in &tellers {
        send_in(teller, turns);
    }
    done.recv()?;
    Ok(Measured::new(ops, watch.stop()))
}
