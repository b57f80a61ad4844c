//! The same work in plain loops over the same rings, to compare the stages with.

use std::thread;
use std::time::{Duration, Instant};

use garrick_core::ring::{self, Consumer, Producer};

use super::{Config, Counts, Message, Mode, Totals};

/// What a batch takes of the cache at most: what the graph chooses with 512 KiB of second-level cache.
const BATCH_BYTES_MAX: usize = 64 * 1024;
/// Rounds between two looks at the clock.
const ROUNDS: u32 = 16;

/// Does the pipeline's work in one loop, or in two on two threads: the first generates and calls, the
/// second counts. The beats are read off the clock.
///
/// # Panics
///
/// If the capacity is impossible.
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

/// The generator and the worker.
struct Front {
    values_out: Producer<u64>,
    values: Consumer<u64>,
    messages_out: Producer<Message>,
    /// What the worker takes its batches out into, if it does.
    buffer: Option<Vec<u64>>,
    /// Numbers generated.
    generated: u64,
    /// Numbers of a generator's batch, and of a worker's.
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

    /// Generates a batch, and calls as much as there is and has room.
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

    /// Calls what was generated, and says how much that was in all.
    fn finish(mut self) -> u64 {
        while self.values.readable() > 0 {
            if self.call() == 0 {
                thread::yield_now();
            }
        }
        self.generated
    }
}

/// Everything on one thread.
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
    // The last round left nothing: what it generated had room.
    (front.generated, counts)
}

/// Looks at an unready ring before the core is offered to others.
const SPINS_MAX: u32 = 1 << 10;

/// Counts until the ring is finished. It waits for a whole batch, or the two threads would hand a cache line
/// to and fro for a few messages at a time.
fn log(mut messages: Consumer<Message>, batch: usize) -> Counts {
    let mut counts = Counts::default();
    let mut spins = 0;
    while !messages.is_finished() {
        if messages.readable() < batch && !messages.is_closed() {
            // Where the other thread has no core of its own, spinning would keep it from working.
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
