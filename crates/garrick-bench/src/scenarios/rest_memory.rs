//! Memory that remains in use after cancelled timers, and after questions that were answered before
//! their time limit.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use garrick::{Handle, System};
use garrick_measure::{
    Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch, resident_bytes,
};

use super::actors::send_in;
use super::ask::{Answerer, Asker, WITHIN};
use super::child;
use super::timer::{BURST, Starter};

pub(crate) const TIMER_MEMORY: Scenario = Scenario {
    name: "timer-memory",
    operation: "one timer of an hour that an actor starts for a message to itself and cancels, in \
                a fresh process: a number of timers (at_once) are started, 64 per turn, and then \
                all are cancelled in one turn; bytes_per_actor is the growth of the process's \
                resident memory per timer, when all timers have been cancelled and the runtime has \
                had up to 10 s, or 1 s in a quick run, to return memory; the measurement fails \
                unless there are as many actors as before",
    contenders: timers,
};

pub(crate) const ASK_MEMORY: Scenario = Scenario {
    name: "ask-memory",
    operation: "one ask as in 'ask-within' that is answered at once, one of many in a row, on the \
                worker of a fresh process; bytes_per_actor is the growth of the process's resident \
                memory per ask after the first 100,000 asks, when the runtime has had up to 10 s, \
                or 1 s in a quick run, to return memory; the measurement fails unless there are \
                as many actors as before",
    contenders: asks,
};

/// Number of timers in a full run.
const TIMERS: u64 = 1_000_000;

/// Number of timers in a quick run.
const TIMERS_QUICK: u64 = 100_000;

/// Number of asks in a full run.
const ASKS: u64 = 10_000_000;

/// Number of asks in a quick run.
const ASKS_QUICK: u64 = 100_000;

/// Number of operations before memory is measured for the first time.
const WARM_UP: u64 = 100_000;

/// Hidden subcommand that measures the memory in use after timers have been cancelled.
pub(crate) const CHILD_TIMERS: &str = "measure-timer-memory";
/// Hidden subcommand that measures the memory in use after questions have been answered.
pub(crate) const CHILD_ASKS: &str = "measure-ask-memory";

/// Number of operations for each byte of tolerated growth. If the memory in use has grown by at
/// most `ops / OPS_A_BYTE` bytes, the measurement no longer waits for memory to be returned.
const OPS_A_BYTE: u64 = 10;

/// Maximum time to wait for memory to be returned. The wait for the end of the measurement's actors
/// has the same limit.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum time to wait for memory to be returned after a quick run. A quick run has at most
/// [`OPS_QUICK_MAX`] operations.
const PATIENCE_QUICK: Duration = Duration::from_secs(1);
/// Maximum number of operations in a quick run.
const OPS_QUICK_MAX: u64 = 500_000;

/// Time between two measurements of the resident memory.
const INTERVAL: Duration = Duration::from_millis(20);

fn timers(effort: &Effort) -> Vec<Contender> {
    let timers = effort.pick(TIMERS, TIMERS_QUICK);
    let contender = |at_once| {
        Contender::fixed("garrick", move || {
            child::measured(CHILD_TIMERS, &[timers, at_once])
        })
        .with("timers", timers)
        .with("at_once", at_once)
        .rounds(1)
    };
    vec![contender(BURST), contender(timers)]
}

fn asks(effort: &Effort) -> Vec<Contender> {
    let asks = effort.pick(ASKS, ASKS_QUICK);
    vec![
        Contender::fixed("garrick", move || child::measured(CHILD_ASKS, &[asks]))
            .with("asks", asks)
            .rounds(1),
    ]
}

/// Starts and cancels at least `timers` timers in this process, `at_once` at a time. Measures the
/// growth of the process's resident memory per timer.
///
/// # Errors
/// Fails if the system cannot start its thread, if the operating system does not report the
/// resident memory, or if some actors do not stop.
pub(crate) fn timers_in_this_process(timers: u64, at_once: u64) -> Result<Measured> {
    let system = system()?;
    let actors = living(&system.handle());
    let run = |timers: u64, at_once: u64| -> Result<()> {
        let (done, over) = mpsc::channel();
        let rounds = timers.div_ceil(at_once);
        send_in(&system.spawn(Starter::new(at_once, rounds, done))?, ());
        Ok(over.recv()?)
    };
    run(WARM_UP, BURST)?;
    let timers = timers.next_multiple_of(at_once);
    left(&system.handle(), actors, timers, || run(timers, at_once))
}

/// Asks this number of questions in this process. Measures the growth of the process's resident
/// memory per question, after the first [`WARM_UP`] questions.
///
/// # Errors
/// Fails if the system cannot start its thread, if the operating system does not report the
/// resident memory, or if some actors do not stop.
pub(crate) fn asks_in_this_process(asks: u64) -> Result<Measured> {
    let system = system()?;
    let answerer = system.spawn(Answerer)?;
    let actors = living(&system.handle());
    let run = |asks| -> Result<()> {
        let (done, over) = mpsc::channel();
        let asker = Asker::<WITHIN>::new(answerer.clone(), asks, done);
        send_in(&system.spawn(asker)?, Ok(0));
        Ok(over.recv()?)
    };
    run(WARM_UP)?;
    left(&system.handle(), actors, asks, || run(asks))
}

/// Starts a system with one worker, and with probes, which count the system's actors.
fn system() -> Result<System> {
    Ok(System::builder().workers(1).probes(true).start()?)
}

/// Returns the current number of actors of a system with probes, including actors that the system
/// has created for itself.
pub(crate) fn living(system: &Handle) -> u64 {
    let kinds = system.sample().kinds.into_iter();
    kinds
        .map(|kind| kind.begun.saturating_sub(kind.ended))
        .sum()
}

/// Calls `work`, which performs `ops` operations, and measures how much more memory is in use
/// afterwards. Fails if the number of the system's actors does not return to `actors`.
fn left(
    system: &Handle,
    actors: u64,
    ops: u64,
    work: impl FnOnce() -> Result<()>,
) -> Result<Measured> {
    let before = resident_bytes()?;
    let watch = Stopwatch::start(Clock::Process);
    work()?;
    let span = watch.stop();
    let enough = before + ops / OPS_A_BYTE;
    let grown = lowest(enough, ops)?.saturating_sub(before);
    let began = Instant::now();
    while living(system) != actors {
        if began.elapsed() > PATIENCE {
            let left = living(system);
            return Err(format!(
                "there were {actors} actors before the measurement, and {left} after it"
            )
            .into());
        }
        thread::sleep(INTERVAL);
    }
    let mut measured = Measured::new(ops, span);
    measured.bytes_per_actor = Some(grown as f64 / ops as f64);
    Ok(measured)
}

/// Measures the resident memory repeatedly, and returns the lowest value. Stops when the value is
/// at most `enough`, or after [`PATIENCE`]. If `ops` is at most [`OPS_QUICK_MAX`], the time limit
/// is [`PATIENCE_QUICK`] instead.
pub(super) fn lowest(enough: u64, ops: u64) -> Result<u64> {
    let is_quick = ops <= OPS_QUICK_MAX;
    let patience = if is_quick { PATIENCE_QUICK } else { PATIENCE };
    let (began, mut lowest) = (Instant::now(), u64::MAX);
    while lowest > enough && began.elapsed() < patience {
        lowest = lowest.min(resident_bytes()?);
        thread::sleep(INTERVAL);
    }
    Ok(lowest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_timers_are_cancelled_and_all_asks_answered() {
        for (at_once, timers) in [(64, 1_024), (1_000, 1_000), (999, 1_998)] {
            let measured = timers_in_this_process(1_000, at_once).unwrap();
            assert_eq!(measured.ops, timers);
            // The amount is only meaningful in a process without other tests.
            assert!(measured.bytes_per_actor.is_some_and(f64::is_finite));
        }
        let measured = asks_in_this_process(10_000).unwrap();
        assert_eq!(measured.ops, 10_000);
    }

    #[test]
    fn actors_that_are_left_are_counted() {
        let system = system().unwrap();
        assert_eq!(living(&system.handle()), 0);
        let answerer = system.spawn(Answerer).unwrap();
        assert_eq!(living(&system.handle()), 1);
        drop(answerer);
    }
}
