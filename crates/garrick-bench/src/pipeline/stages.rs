//! Stages of the pipeline.

use garrick_core::count::Group;
use garrick_flow::{Buffer, Cx, Receiver, Sender, Stage, Wait, Wiring, map_batch};

use super::{Counts, Message};

/// Divisor of a channel's capacity. A stage whose output channel is full waits until
/// `capacity / FREE_PART` slots are free, so that the stage is woken less often and works longer
/// each time. A stage whose input channel is empty is woken by the first batch. Such a stage sleeps
/// so briefly that its thread does not leave the core.
const FREE_PART: usize = 4;

/// The generator, which sends the numbers 0, 1, 2 and so on.
#[derive(Debug)]
pub(super) struct Generator {
    pub(super) output: Sender<u64>,
}

impl Stage for Generator {
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        let next = self.output.sent();
        let count = self
            .output
            .produce_batch(self.output.batch(), |index| next + index as u64);
        if self.output.is_closed() {
            return Wait::done();
        }
        if count > 0 {
            Wait::again()
        } else {
            Wait::free(&self.output, self.output.capacity() / FREE_PART)
        }
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.output);
    }
}

/// A stage that sends the heartbeats, and then stops the graph.
#[derive(Debug)]
pub(super) struct Heartbeat {
    pub(super) output: Sender<u64>,
    /// Number of heartbeats to send.
    pub(super) beats: u64,
    /// Time between two heartbeats, in nanoseconds.
    pub(super) rate: u64,
    /// Start time in nanoseconds. `None` before the first step.
    pub(super) began: Option<u64>,
}

impl Stage for Heartbeat {
    fn step(&mut self, cx: &mut Cx<'_>) -> Wait {
        let now = cx.now();
        let began = *self.began.get_or_insert(now);
        // Beat number n is due n intervals after the start, independent of the other beats.
        let due = |number: u64| began.saturating_add((number + 1).saturating_mul(self.rate));
        while self.output.sent() < self.beats && due(self.output.sent()) <= now {
            if self.output.try_push(now).is_err() {
                return Wait::free(&self.output, 1);
            }
        }
        if self.output.sent() >= self.beats {
            cx.stop();
            return Wait::done();
        }
        Wait::until(due(self.output.sent()))
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.output);
    }
}

/// A stage that converts numbers into FizzBuzz names.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) values: Receiver<u64>,
    pub(super) beats: Receiver<u64>,
    pub(super) output: Sender<Message>,
    /// Buffer for the batches of a worker in double-buffer mode. `None` in zero-copy mode.
    pub(super) buffer: Option<Buffer<u64>>,
}

impl Worker {
    /// Handles a batch, and returns its size.
    #[inline]
    fn work(&mut self) -> usize {
        let batch = self.values.batch().min(self.output.batch());
        let (values, output) = (&mut self.values, &mut self.output);
        let call = |number: &u64| Message::of(*number);
        match &mut self.buffer {
            Some(buffer) => buffer.map_batch(values, output, batch, call),
            None => map_batch(values, output, batch, call),
        }
    }

    fn rest(&self) -> Wait {
        let free = Wait::free(&self.output, self.output.capacity() / FREE_PART);
        Wait::readable(&self.values, self.values.batch()).and(free)
    }
}

impl Stage for Worker {
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        let count = self.work();
        self.beats.consume_batch(usize::MAX, |_| ());
        if self.output.is_closed() {
            return Wait::done();
        }
        match (self.values.is_finished(), self.beats.is_finished()) {
            (true, true) => Wait::done(),
            (true, false) => Wait::readable(&self.beats, 1),
            (false, _) if count > 0 => Wait::again(),
            (false, true) => self.rest(),
            (false, false) => self.rest().or(Wait::readable(&self.beats, 1)),
        }
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.values).has(&self.beats).has(&self.output);
    }
}

/// Group of the four counters that a [`Logger`] publishes, one for each kind of message.
pub(super) type Log = Group<4>;

/// A stage that counts the FizzBuzz names by kind.
#[derive(Debug)]
pub(super) struct Logger {
    pub(super) input: Receiver<Message>,
    pub(super) counts: Counts,
    pub(super) log: Log,
}

impl Stage for Logger {
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        let counts = &mut self.counts;
        let count = self
            .input
            .consume_batch(self.input.batch(), |messages| counts.add(messages));
        for (index, count) in [counts.fizz, counts.buzz, counts.fizz_buzz, counts.value]
            .into_iter()
            .enumerate()
        {
            self.log.set(index, count);
        }
        self.log.publish();
        if self.input.is_finished() {
            return Wait::done();
        }
        if count > 0 {
            Wait::again()
        } else {
            Wait::readable(&self.input, self.input.batch())
        }
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.input);
    }
}
