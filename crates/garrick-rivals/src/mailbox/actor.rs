//! An actor's mailbox from end to end: a value is sent to an address, and the actor takes it from
//! the mailbox in a turn.

use std::sync::mpsc;

use garrick::{Actor, Address, Context, Local, Next, System};
use garrick_measure::{Clock, Measured, Result, Span, Stopwatch};

use super::tally::{Tally, value};
use super::{BATCH, Side};
use crate::crowd::Crowd;

/// An actor that counts the values that it receives, and reports when all have arrived.
struct Counter {
    tally: Tally,
    /// Sender for the report that all values have arrived.
    done: mpsc::Sender<()>,
}

impl Counter {
    /// Creates a counter that expects `each` values from each of `producers` producers, and the
    /// receiver of its report.
    fn new(producers: u64, each: u64) -> (Self, mpsc::Receiver<()>) {
        let (done, waiting) = mpsc::channel();
        let tally = Tally::new(producers, each);
        (Self { tally, done }, waiting)
    }
}

impl Actor for Counter {
    type Msg = u64;
    type Outcome = Next;
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, value: u64, _: &mut Context<'_, u64>) -> Next {
        self.tally.count(value);
        // If the receiver is no longer waiting, it has already reported an error.
        if self.tally.is_complete() && self.done.send(()).is_err() {
            return Next::Stop;
        }
        Next::Continue
    }
}

/// Sends a value.
///
/// # Panics
/// Panics if the actor has stopped. The actor stops early if a value is missing.
#[inline]
fn offer(to: &Address<u64>, value: u64) {
    assert!(
        to.send(value).is_ok(),
        "the actor takes values until all have arrived"
    );
}

/// Alternately sends a batch and runs the actor, both on this thread. Measures either the sending
/// or the running.
pub(super) fn one_side(side: Side, ops: u64) -> Result<Measured> {
    let batches = ops.div_ceil(BATCH);
    let local = Local::new()?;
    let (counter, complete) = Counter::new(1, batches * BATCH);
    let counter = local.spawn(counter);
    let (mut offered, mut taken) = (Span::default(), Span::default());
    for batch in 0..batches {
        let watch = Stopwatch::start(Clock::Thread);
        for number in batch * BATCH..(batch + 1) * BATCH {
            offer(&counter, value(0, number));
        }
        offered += watch.stop();
        let watch = Stopwatch::start(Clock::Thread);
        local.run();
        taken += watch.stop();
    }
    complete.try_recv()?;
    Ok(Measured::new(batches * BATCH, side.of(offered, taken)))
}

/// Alternately sends a value and runs the actor, both on this thread.
pub(super) fn pair(ops: u64) -> Result<Measured> {
    let local = Local::new()?;
    let (counter, complete) = Counter::new(1, ops);
    let counter = local.spawn(counter);
    let watch = Stopwatch::start(Clock::Thread);
    for number in 0..ops {
        offer(&counter, value(0, number));
        local.run();
    }
    let span = watch.stop();
    complete.try_recv()?;
    Ok(Measured::new(ops, span))
}

/// Makes threads send as fast as they can to an actor on a separate worker. All threads begin at
/// the same time.
pub(super) fn threads(producers: u64, ops: u64) -> Result<Measured> {
    let each = ops.div_ceil(producers);
    let system = System::builder().name("mailbox").workers(1).start()?;
    let (counter, complete) = Counter::new(producers, each);
    let counter = system.spawn(counter)?;
    let crowd = Crowd::gather(producers, |producer| {
        let counter = counter.clone();
        move || (0..each).for_each(|number| offer(&counter, value(producer, number)))
    })?;
    let watch = crowd.begin();
    complete.recv()?;
    let span = watch.stop();
    crowd.disperse();
    Ok(Measured::new(producers * each, span))
}
