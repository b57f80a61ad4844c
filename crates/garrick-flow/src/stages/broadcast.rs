//! Sends each value to all outputs.

use std::fmt;

use crate::channel::Poke;
use crate::{Cx, Receiver, Senders, Stage, Wait, Wiring};

/// A stage that sends each value to all of its outputs. Created by [`broadcast`].
pub struct Broadcast<T> {
    input: Receiver<T>,
    outputs: Senders<T>,
    /// Minimum number of values in the input, and of free slots in a full output, at which the
    /// stage is woken.
    wanted: usize,
}

/// Creates a stage that sends each value of `input` to all outputs, in order.
///
/// The slowest output sets the pace: while one output is full, no output receives values. An output
/// whose receiver is gone is ignored. The stage ends when all receivers are gone. With `n` outputs,
/// a value is cloned `n - 1` times and moved once. To share large values, send `Arc`s.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, stages};
///
/// let mut graph = Graph::new();
/// let (numbers, numbers_in) = graph.channel(64)?;
/// let (copies, copies_in) = graph.bundle::<u64>(3, 64)?;
/// graph.source("numbers", stages::produce(numbers, 0..1000));
/// graph.stage("to all", stages::broadcast(numbers_in, copies));
/// for copy in copies_in {
///     graph.stage("read", stages::consume(copy, |_| ()));
/// }
/// let report = graph.start()?.join();
/// assert!(report.channels().iter().all(|channel| channel.taken == 1000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn broadcast<T: Clone>(input: Receiver<T>, outputs: Senders<T>) -> Broadcast<T> {
    Broadcast {
        input,
        outputs,
        wanted: 1,
    }
}

impl<T: Clone> Broadcast<T> {
    /// Makes the stage wait for `count` values when it has nothing to do, and for `count` free
    /// slots when an output is full. The default is 1.
    #[must_use]
    pub fn wait_for(mut self, count: usize) -> Self {
        self.wanted = count;
        self
    }

    /// Sends a batch to all outputs, and returns the size of the batch.
    fn copy(&mut self) -> usize {
        let open = self.outputs.iter_mut().filter(|to| !to.is_closed());
        let batch = self.input.batch();
        let mut pokes: Vec<Poke<'_, T>> = open.map(|to| to.poke(batch)).collect();
        let room = pokes.iter().map(|poke| poke.remaining()).min();
        let count = room.unwrap_or(0).min(self.input.readable());
        let Some((last, others)) = pokes.split_last_mut() else {
            return 0;
        };
        {
            let peek = self.input.peek();
            for to in others {
                to.extend(peek.iter().take(count).cloned());
            }
        }
        self.input.pop_each(count, |value| {
            let pushed = last.push(value);
            debug_assert!(pushed.is_ok(), "each of them has room for `count`");
        });
        for poke in pokes {
            poke.commit();
        }
        count
    }
}

impl<T: Clone + Send + 'static> Stage for Broadcast<T> {
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        let count = self.copy();
        if self.input.is_finished() || self.outputs.iter().all(|to| to.is_closed()) {
            return Wait::done();
        }
        if count > 0 {
            return Wait::again();
        }
        let readable = Wait::readable(&self.input, self.wanted);
        readable.and(super::room_in_all(&mut self.outputs, self.wanted))
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.input).has(&self.outputs);
    }
}

impl<T> fmt::Debug for Broadcast<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broadcast")
            .field("input", &self.input)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}
