//! Two actors that answer each other.

use std::sync::mpsc;

use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::actors::{Pass, builder, measure_here, ring_of, send_in, worker};

pub(crate) const PING_PONG: Scenario = Scenario {
    name: "ping-pong",
    operation: "one round trip between two actors on the same worker: two messages, each sent by \
                the handler of the other",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", ping_pong)],
};

pub(super) const PING_PONG_CROSS: Scenario = Scenario {
    name: "ping-pong-cross",
    operation: "one round trip between two actors on two workers: two messages, each sent by the \
                handler of the other",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", ping_pong_cross)],
};

pub(super) const PING_PONG_SPLIT: Scenario = Scenario {
    name: "ping-pong-split",
    operation: "one round trip between two actors that the main thread has spawned, one after the \
                other, in a system of 2 workers: two messages, each sent by the handler of the \
                other",
    contenders: |_: &Effort| vec![Contender::fitted("garrick", ping_pong_split)],
};

fn ping_pong(ops: u64) -> Result<Measured> {
    let (done, waiting) = mpsc::channel();
    let measured = measure_here(ops, |local| {
        let ping = ring_of(2, &done, |_, relay| local.spawn(relay));
        send_in(&ping, Pass::Token(2 * ops));
    });
    assert!(waiting.try_recv().is_ok(), "the last pong came back");
    measured
}

pub(crate) fn ping_pong_cross(ops: u64) -> Result<Measured> {
    let systems = [worker("ping")?, worker("pong")?];
    let (done, waiting) = mpsc::channel();
    let ping = ring_of(2, &done, |index, relay| {
        systems[index]
            .spawn(relay)
            .expect("the system was just started")
    });
    let watch = Stopwatch::start(Clock::Process);
    send_in(&ping, Pass::Token(2 * ops));
    waiting.recv()?;
    Ok(Measured::new(ops, watch.stop()))
}

fn ping_pong_split(ops: u64) -> Result<Measured> {
    let system = builder().workers(2).start()?;
    let (done, waiting) = mpsc::channel();
    let ping = ring_of(2, &done, |_, relay| {
        system.spawn(relay).expect("the system was just started")
    });
    let watch = Stopwatch::start(Clock::Process);
    send_in(&ping, Pass::Token(2 * ops));
    waiting.recv()?;
    Ok(Measured::new(ops, watch.stop()))
}
