//! CPU time of an idle system.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use garrick::System;
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use super::actors::send_in;
use super::child;
use super::idle_memory::Crowd;

pub(super) const IDLE_CPU: Scenario = Scenario {
    name: "idle-cpu",
    operation: "one second in which a pool of 2 workers with 1 million idle actors has nothing to \
                do; CPU time is that of the whole process; the process is fresh, so no earlier \
                scenario has left memory that is still being returned",
    contenders,
};

/// Hidden subcommand with which this scenario starts its child process.
pub(crate) const CHILD: &str = "measure-idle-cpu";

const ACTORS: u64 = 1_000_000;

const WORKERS: usize = 2;

/// Duration of the measurement, in seconds.
const SECONDS: u64 = 5;

const SECONDS_QUICK: u64 = 1;

/// Time for the last actors to handle their messages, and for the workers to go to sleep.
const SETTLING: Duration = Duration::from_millis(100);

fn contenders(effort: &Effort) -> Vec<Contender> {
    let seconds = effort.pick(SECONDS, SECONDS_QUICK);
    vec![
        Contender::fixed("garrick", move || child::measured(CHILD, &[seconds]))
            .with("actors", ACTORS)
            .with("workers", WORKERS)
            .with("seconds", seconds)
            .rounds(1),
    ]
}

/// Measures the CPU time of an idle system in this process, for `seconds` seconds.
///
/// # Errors
/// Fails if the system cannot start its threads.
pub(crate) fn in_this_process(seconds: u64) -> Result<Measured> {
    let system = System::builder().workers(WORKERS).start()?;
    let (done, waiting) = mpsc::channel();
    let crowd = system.spawn(Crowd::new(done))?;
    send_in(&crowd, Crowd::turns_for(ACTORS));
    waiting.recv()?;
    thread::sleep(SETTLING);
    let watch = Stopwatch::start(Clock::Process);
    thread::sleep(Duration::from_secs(seconds));
    Ok(Measured::new(seconds, watch.stop()))
}
