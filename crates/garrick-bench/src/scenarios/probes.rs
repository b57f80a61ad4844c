//! Costs of probes, which are counters for each type of actor. Measures operations without and with
//! probes, and the time to read the counters.

use std::hint::black_box;
use std::sync::mpsc;
use std::thread;

use garrick::System;
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::actors::{probed, send_in};
use super::idle_memory::Crowd;
use super::rest_memory::living;
use super::{
    ask, ask_tokio, fan_in, fork_bomb, ping_pong, ring, spawn, tell, tell_cross, tell_outside,
    tell_ways, timer,
};

pub(super) const PROBES: Scenario = Scenario {
    name: "probes",
    operation: "one operation of the named row: once without probes (garrick), and once in a \
                system with probes, as telemetry turns them on (garrick-probes)",
    contenders: |effort: &Effort| ROWS.iter().flat_map(|row| pairs(row, effort)).collect(),
};

pub(super) const SAMPLE: Scenario = Scenario {
    name: "sample",
    operation: "one sample of a system of 2 workers with probes and 200,000 idle actors (fewer in a \
                quick run), as telemetry takes one each second; CPU time is that of the whole \
                process",
    contenders: |effort: &Effort| {
        let actors = effort.pick(ACTORS, ACTORS_QUICK);
        vec![
            Contender::fitted("garrick", move |ops| sample(ops, actors))
                .with("actors", actors)
                .with("workers", WORKERS),
        ]
    },
};

/// Scenarios that are measured with and without probes.
const ROWS: &[&Scenario] = &[
    &tell::TELL,
    &tell::TELL_ONE,
    &tell_ways::TELL_NAMED,
    &tell_ways::TELL_SUPERVISED,
    &tell_ways::TELL_BOUNDED,
    &tell_ways::TELL_ASYNC,
    &tell_cross::TELL_CROSS,
    &tell_outside::TELL_OUTSIDE,
    &fan_in::FAN_IN,
    &ping_pong::PING_PONG,
    &ping_pong::PING_PONG_SPLIT,
    &ask::ASK,
    &ask::ASK_OUTSIDE,
    &ask::CALL_OUTSIDE,
    &ask::CALL_CROWD,
    &ask::ASK_WITHIN,
    &ask::ASK_ONCE,
    &ask::ASK_ALL,
    &ask_tokio::ASK_TOKIO,
    &timer::TIMER_CANCEL,
    &spawn::SPAWN,
    &ring::RING,
    &fork_bomb::FORK_BOMB,
];

const ACTORS: u64 = 200_000;

const ACTORS_QUICK: u64 = 10_000;

const WORKERS: usize = 2;

/// Returns two contenders for each contender of `row` with the name `garrick`: one without probes,
/// and one with probes.
fn pairs(row: &Scenario, effort: &Effort) -> Vec<Contender> {
    let contenders = || {
        let all = (row.contenders)(effort).into_iter();
        all.filter(|contender| contender.name == "garrick")
    };
    let with = contenders().map(|mut contender| {
        let mut measure = contender.measure;
        contender.name = "garrick-probes";
        contender.measure = Box::new(move |ops| probed(|| measure(ops)));
        contender
    });
    contenders()
        .zip(with)
        .flat_map(<[Contender; 2]>::from)
        .map(|contender| contender.with("row", row.name))
        .collect()
}

/// Reads all counters of a system `ops` times. The system has at least `actors` actors.
fn sample(ops: u64, actors: u64) -> Result<Measured> {
    let system = System::builder().workers(WORKERS).probes(true).start()?;
    let (done, waiting) = mpsc::channel();
    let crowd = system.spawn(Crowd::new(done))?;
    send_in(&crowd, Crowd::turns_for(actors));
    waiting.recv()?;
    let handle = system.handle();
    // The workers add the last new actors a moment later.
    while living(&handle) <= actors {
        thread::yield_now();
    }
    let watch = Stopwatch::start(Clock::Process);
    for _ in 0..ops {
        black_box(handle.sample());
    }
    Ok(Measured::new(ops, watch.stop()))
}
