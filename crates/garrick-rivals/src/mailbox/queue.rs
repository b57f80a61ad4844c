//! Measurements of a queue, on one thread and between several threads.

use std::hint;
use std::thread;

use garrick_bench::Channel;
use garrick_measure::{Clock, Measured, Result, Span, Stopwatch};

use super::tally::{Tally, value};
use super::{BATCH, Side};
use crate::crowd::Crowd;

/// Maximum number of times that the consumer spins on an empty queue. After that, the consumer
/// yields its core before each further attempt. This way of waiting works with every queue, whereas
/// only some queues can park their consumer.
const SPINS_MAX: u32 = 64;

/// Fills a queue and empties it, batch by batch. Measures either the filling or the emptying.
pub(super) fn one_side<C: Channel>(side: Side, ops: u64) -> Result<Measured> {
    let batches = ops.div_ceil(BATCH);
    let (sender, mut receiver) = C::open();
    let mut tally = Tally::new(1, batches * BATCH);
    let (mut offered, mut taken) = (Span::default(), Span::default());
    for batch in 0..batches {
        let watch = Stopwatch::start(Clock::Thread);
        for number in batch * BATCH..(batch + 1) * BATCH {
            C::push(&sender, value(0, number));
        }
        offered += watch.stop();
        let watch = Stopwatch::start(Clock::Thread);
        while let Some(value) = C::try_pop(&mut receiver) {
            tally.count(value);
        }
        taken += watch.stop();
    }
    assert!(tally.is_complete(), "every value was taken");
    Ok(Measured::new(batches * BATCH, side.of(offered, taken)))
}

/// Alternately pushes a value and takes it again, both on this thread.
pub(super) fn pair<C: Channel>(ops: u64) -> Result<Measured> {
    let (sender, mut receiver) = C::open();
    let mut tally = Tally::new(1, ops);
    let watch = Stopwatch::start(Clock::Thread);
    for number in 0..ops {
        C::push(&sender, value(0, number));
        if let Some(value) = C::try_pop(&mut receiver) {
            tally.count(value);
        }
    }
    let span = watch.stop();
    assert!(tally.is_complete(), "every value was taken");
    Ok(Measured::new(ops, span))
}

/// Makes threads offer values as fast as they can, and takes the values on this thread. All threads
/// begin at the same time.
pub(super) fn threads<C: Channel>(producers: u64, ops: u64) -> Result<Measured> {
    let each = ops.div_ceil(producers);
    let (sender, mut receiver) = C::open();
    let mut tally = Tally::new(producers, each);
    let crowd = Crowd::gather(producers, |producer| {
        let sender = sender.clone();
        move || (0..each).for_each(|number| C::push(&sender, value(producer, number)))
    })?;
    let watch = crowd.begin();
    let mut spins = 0;
    while !tally.is_complete() {
        match C::try_pop(&mut receiver) {
            Some(value) => {
                tally.count(value);
                spins = 0;
            }
            None if spins < SPINS_MAX => {
                spins += 1;
                hint::spin_loop();
            }
            None => thread::yield_now(),
        }
    }
    let span = watch.stop();
    crowd.disperse();
    assert_eq!(
        C::try_pop(&mut receiver),
        None,
        "no value has arrived twice"
    );
    Ok(Measured::new(producers * each, span))
}
