//! Memory use of a flood of messages, and the memory that remains in use after the messages have
//! been handled.

use std::sync::mpsc;

use garrick::{Next, System, behavior};
use garrick_measure::{
    Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch, resident_bytes,
};

use super::child;
use super::rest_memory::lowest;

pub(crate) const FLOOD_MEMORY: Scenario = Scenario {
    name: "flood-memory",
    operation: "one message of 64 bytes that another thread sends to an actor that handles no \
                message until all are sent, in a fresh process; bytes_per_actor is the growth of \
                the process's resident memory per message: `peak` when all messages are waiting, \
                `rest` when all have been handled and the runtime has had up to 10 s, or 1 s in a quick run, to return \
                memory",
    contenders,
};

/// Number of messages in a full run.
const MESSAGES: u64 = 5_000_000;

/// Number of messages in a quick run.
const MESSAGES_QUICK: u64 = 500_000;

/// Hidden subcommand that measures memory while all messages are waiting.
pub(crate) const CHILD_PEAK: &str = "measure-flood-peak";
/// Hidden subcommand that measures memory after all messages have been handled.
pub(crate) const CHILD_REST: &str = "measure-flood-rest";

fn contenders(effort: &Effort) -> Vec<Contender> {
    let messages = effort.pick(MESSAGES, MESSAGES_QUICK);
    [("peak", CHILD_PEAK), ("rest", CHILD_REST)]
        .into_iter()
        .map(|(name, word)| {
            Contender::fixed(name, move || child::measured(word, &[messages]))
                .with("messages", messages)
                .rounds(1)
        })
        .collect()
}

/// The moment at which memory is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Peak,
    Rest,
}

/// Sends this many messages in this process. Measures the growth of the process's resident memory
/// per message.
///
/// # Errors
/// Fails if the system cannot start its thread, or if the operating system does not report the
/// resident memory.
pub(crate) fn in_this_process(messages: u64, when: When) -> Result<Measured> {
    let system = System::builder().workers(1).start()?;
    let (go, gate) = mpsc::channel::<()>();
    let (over, all) = mpsc::channel();
    let dam = system.spawn(behavior(move |message: [u64; 8], _| {
        if message[0] == 1 && gate.recv().is_err() {
            return Next::Stop;
        }
        if message[0] == messages {
            return super::actors::sent(&over.send(()));
        }
        Next::Continue
    }))?;
    let before = resident_bytes()?;
    let watch = Stopwatch::start(Clock::Process);
    for n in 1..=messages {
        dam.send([n; 8])?;
    }
    let mut resident = resident_bytes()?;
    go.send(())?;
    all.recv()?;
    let span = watch.stop();
    if when == When::Rest {
        resident = lowest(before, messages)?;
    }
    system.shutdown();
    let grown = resident.saturating_sub(before);
    let mut measured = Measured::new(messages, span);
    measured.bytes_per_actor = Some(grown as f64 / messages as f64);
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_messages_are_sent() {
        let measured = in_this_process(10_000, When::Peak).unwrap();
        assert_eq!(measured.ops, 10_000);
        // The amount is only meaningful in a process without other tests.
        assert!(measured.bytes_per_actor.is_some_and(f64::is_finite));
    }
}
