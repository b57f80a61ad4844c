//! The three queues of `garrick_steal` that allow many senders, compared with the standard
//! library's channel.

use std::hint::black_box;
use std::thread;

use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};
use garrick_steal::queue::{Banker, Chunked, Locked};

use crate::channel::{Channel, Ours, Parked, Std};

pub(super) const QUEUE: Scenario = Scenario {
    name: "queue",
    operation: "one push and one pop of 8 bytes; with threads=1, one thread alternates between 64 \
                pushes and 64 pops; with threads=2, one thread pushes as fast as it can, and \
                another thread pops, and parks when the queue is empty",
    contenders,
};

/// Number of values that one thread pushes before it pops them.
const BATCH: u64 = 64;

/// Maximum number of values that one producer pushes in a repetition. There is a maximum because
/// all values may wait in the queue at the same time.
const FLOOD_MAX: u64 = 1 << 20;

fn contenders(_: &Effort) -> Vec<Contender> {
    [
        pair::<Ours<Banker>>("garrick", "banker"),
        pair::<Ours<Chunked>>("garrick", "chunked"),
        pair::<Ours<Locked>>("garrick", "locked"),
        pair::<Std>("std", "mpsc"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns two contenders for a queue: one on one thread, and one on two threads.
fn pair<C: Parked>(contender: &'static str, queue: &'static str) -> [Contender; 2] {
    [
        Contender::fitted(contender, one_thread::<C>)
            .with("queue", queue)
            .with("threads", 1),
        Contender::fitted(contender, two_threads::<C>)
            .with("queue", queue)
            .with("threads", 2)
            .at_most(FLOOD_MAX),
    ]
}

fn one_thread<C: Channel>(ops: u64) -> Result<Measured> {
    let batches = ops.div_ceil(BATCH);
    let (sender, mut receiver) = C::open();
    let watch = Stopwatch::start(Clock::Thread);
    for _ in 0..batches {
        for value in 0..BATCH {
            C::push(&sender, black_box(value));
        }
        for _ in 0..BATCH {
            black_box(C::try_pop(&mut receiver));
        }
    }
    let span = watch.stop();
    assert_eq!(C::try_pop(&mut receiver), None, "every value was popped");
    Ok(Measured::new(batches * BATCH, span))
}

fn two_threads<C: Parked>(ops: u64) -> Result<Measured> {
    let (sender, mut receiver) = C::open();
    let watch = Stopwatch::start(Clock::Process);
    let producer = thread::Builder::new()
        .name("producer".to_owned())
        .spawn(move || (0..ops).for_each(|value| C::push(&sender, value)))?;
    for expected in 0..ops {
        assert_eq!(
            C::wait_pop(&mut receiver),
            Some(expected),
            "values come in order"
        );
    }
    let span = watch.stop();
    producer.join().expect("pushing does not panic");
    Ok(Measured::new(ops, span))
}
