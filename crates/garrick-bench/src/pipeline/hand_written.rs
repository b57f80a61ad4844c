//! Plain loops that perform the pipeline's work over the same rings, for comparison with the
//! stages.

use std::thread;
use std::time::{Duration, Instant};

use garrick_core::ring::{self, Consumer, Producer};

use super::{Config, Counts, Message, Mode, Totals};

/// Maximum size of a batch in bytes: an eighth of a second-level cache of 512 KiB. A graph of
/// stages has the same limit on a machine with a cache of this size.
const BATCH_BYTES_MAX: usize = 64 * 1024;
/// Number of rounds of a loop between two checks of the clock.
const ROUNDS: u32 = 16;

/// Performs the pipeline's work in plain loops without stages: in one loop if `one_core` is set,
/// and otherwise in two loops on two threads. Of the two loops, the first one generates the numbers
/// and their names, and the second one counts the names. The number of heartbeats is computed from
/// the clock.
///
/// # Panics
///
/// Panics if the capacity is invalid.
pub fn hand_written(config: &Config<'_>) -> Totals {
    let (values_out, values) = ring::channel(config.capacity);
    let (messages_out, messages) = ring::channel(config.capacity);
    let mut front = Front::new(config, values_out, values, messages_out);
    let began = Instant::now();
    let counts = if config.one_core {
        one_loop(config, began, front, messages)
    } else {
        thread::scope(|scope| {
            let batch = front.batches[1];
            let logger = scope.spawn(move || log(messages, batch));
            while !is_over(config, began) {
                if (0..ROUNDS).filter(|_| front.round() > 0).count() == 0 {
                    thread::yield_now();
                }
            }
            let sent = front.finish();
            let counts = logger.join();
            (
                sent,
                counts.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            )
        })
    };
    totals(config, began.elapsed(), counts)
}

/// The generator and the worker in one loop.
struct Front {
    values_out: Producer<u64>,
    values: Consumer<u64>,
    messages_out: Producer<Message>,
    /// Buffer for the worker's batches, in double-buffer mode.
    buffer: Option<Vec<u64>>,
    /// Count of the numbers generated so far.
    generated: u64,
    /// Batch sizes of the generator and of the worker.
    batches: [usize; 2],
}

impl Front {
    fn new(
        config: &Config<'_>,
        values_out: Producer<u64>,
        values: Consumer<u64>,
        messages_out: Producer<Message>,
    ) -> Self {
        let half = (values_out.capacity() / 2).max(1);
        let batches = [
            half.min(BATCH_BYTES_MAX / 8),
            half.min(BATCH_BYTES_MAX / size_of::<Message>()),
        ];
        let buffer = (config.mode == Mode::DoubleBuffer).then(|| vec![0; batches[1]]);
        Self {
            values_out,
            values,
            messages_out,
            buffer,
            generated: 0,
            batches,
        }
    }

    /// Generates a batch of numbers. Then converts numbers into names, until no number is left or
    /// the next ring is full. Returns the count of new names.
    #[inline]
    fn round(&mut self) -> usize {
        let next = self.generated;
        self.generated +=
            self.values_out
                .produce_batch(self.batches[0], |index| next + index as u64) as u64;
        let mut called = 0;
        while let count @ 1.. = self.call() {
            called += count;
        }
        called
    }

    #[inline]
    fn call(&mut self) -> usize {
        let call = |number: &u64| Message::of(*number);
        let Some(buffer) = &mut self.buffer else {
            return ring::map_batch(
                &mut self.values,
                &mut self.messages_out,
                self.batches[1],
                call,
            );
        };
        let max = self.batches[1].min(self.messages_out.free());
        let count = self.values.pop_slice(&mut buffer[..max]);
        self.messages_out
            .push_iter(buffer[..count].iter().map(call))
    }

    /// Converts the remaining numbers into names. Returns the total count of generated numbers.
    fn finish(mut self) -> u64 {
        while self.values.readable() > 0 {
            if self.call() == 0 {
                thread::yield_now();
            }
        }
        self.generated
    }
}

/// Runs the whole pipeline on one thread.
fn one_loop(
    config: &Config<'_>,
    began: Instant,
    mut front: Front,
    mut messages: Consumer<Message>,
) -> (u64, Counts) {
    let mut counts = Counts::default();
    while !is_over(config, began) {
        for _ in 0..ROUNDS {
            front.round();
            messages.consume_batch(usize::MAX, |batch| counts.add(batch));
        }
    }
    // The last round left no numbers behind, because there was room for all of them.
    (front.generated, counts)
}

/// Number of consecutive checks that find too few messages in a ring, after which a thread yields
/// its core instead of spinning.
const SPINS_MAX: u32 = 1 << 10;

/// Counts messages until the ring is closed and empty. The loop waits for a whole batch of
/// messages. If the loop took a few messages at a time, the two threads would often pass a cache
/// line back and forth.
fn log(mut messages: Consumer<Message>, batch: usize) -> Counts {
    let mut counts = Counts::default();
    let mut spins = 0;
    while !messages.is_finished() {
        if messages.readable() < batch && !messages.is_closed() {
            // If both threads share a core, spinning would prevent the other thread from working.
            spins += 1;
            if spins < SPINS_MAX {
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
            continue;
        }
        spins = 0;
        messages.consume_batch(usize::MAX, |batch| counts.add(batch));
    }
    counts
}

fn is_over(config: &Config<'_>, began: Instant) -> bool {
    began.elapsed() >= config.duration() || config.is_stopped()
}

fn totals(config: &Config<'_>, elapsed: Duration, (generated, counts): (u64, Counts)) -> Totals {
    let beats = elapsed.as_millis().checked_div(u128::from(config.rate_ms));
    let heartbeats = beats.map_or(config.beats, |beats| config.beats.min(beats as u64));
    Totals {
        elapsed,
        generated,
        heartbeats,
        values: generated,
        messages: counts.total(),
        counts,
    }
}
