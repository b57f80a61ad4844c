//! Messages from a plain thread to an actor.

use garrick::{Actor, Context, Next};
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};
use std::hint::black_box;
use std::sync::mpsc;

use super::actors::{send_in, sent, worker};

pub(super) const TELL_OUTSIDE: Scenario = Scenario {
    name: "tell-outside",
    operation: "one message from a plain thread, by Address::send, to an actor on a separate \
                worker, sent and handled; the actor reports every 4096 messages, and the thread \
                waits when it is 4 such batches ahead",
    contenders: |_: &Effort| {
        vec![
            Contender::fitted("garrick", tell_outside)
                .with("batch", BATCH)
                .with("batches_open", BATCHES_OPEN),
        ]
    },
};

/// Number of messages between two reports of the receiver.
const BATCH: u64 = 4096;

/// Number of batches that may be in flight. This limit keeps the mailbox small.
const BATCHES_OPEN: u64 = 4;

/// An actor that counts messages, and reports once per batch.
struct Counter {
    /// Number of messages so far.
    count: u64,
    /// Sender for a notification after each batch.
    batches: mpsc::Sender<()>,
}

impl Actor for Counter {
    type Msg = u64;
    type Outcome = Next;
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, message: u64, _: &mut Context<'_, u64>) -> Next {
        black_box(message);
        self.count += 1;
        if self.count.is_multiple_of(BATCH) {
            return sent(&self.batches.send(()));
        }
        Next::Continue
    }
}

fn tell_outside(ops: u64) -> Result<Measured> {
    let batches = ops.div_ceil(BATCH);
    let system = worker("counter")?;
    let (said, heard) = mpsc::channel();
    let counter = system.spawn(Counter {
        count: 0,
        batches: said,
    })?;
    let watch = Stopwatch::start(Clock::Process);
    for batch in 0..batches {
        if batch >= BATCHES_OPEN {
            heard.recv()?;
        }
        for number in 0..BATCH {
            send_in(&counter, number);
        }
    }
    for _ in 0..batches.min(BATCHES_OPEN) {
        heard.recv()?;
    }
    Ok(Measured::new(batches * BATCH, watch.stop()))
}
