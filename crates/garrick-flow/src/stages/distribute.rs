//! A stage that sends the batches of its input to several outputs, round-robin.

use std::fmt;

use crate::{Cx, Receiver, Senders, Stage, Wait, Wiring, map_batch_owned};

/// A stage that distributes the batches of its input over several outputs, round-robin. Created by
/// [`distribute`].
pub struct Distribute<T> {
    input: Receiver<T>,
    outputs: Senders<T>,
    /// Index of the output that is tried first in the next step.
    next: usize,
    /// The stage is woken when the input has at least this many values. If all outputs were full,
    /// one of them must also have at least this many free slots.
    wanted: usize,
}

/// Creates a stage that sends each batch of `input` to one of the outputs, round-robin. Use this
/// stage to distribute work over several stages of the same kind.
///
/// A full output is skipped, so it does not block the other outputs, and a faster receiver gets
/// more values. An output whose receiver is gone is always skipped. The stage ends when all
/// receivers are gone. Values are moved directly from channel to channel.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, stages};
///
/// let mut graph = Graph::new();
/// let (numbers, numbers_in) = graph.channel(64)?;
/// let (work, work_in) = graph.bundle::<u64>(2, 64)?;
/// let (results, results_in) = graph.bundle::<u64>(2, 64)?;
/// let (all, all_in) = graph.channel(64)?;
/// graph.source("numbers", stages::produce(numbers, 0..1000));
/// graph.stage("deal", stages::distribute(numbers_in, work));
/// for (work, results) in work_in.into_iter().zip(results) {
///     graph.stage("square", stages::map(work, results, |n| n * n));
/// }
/// graph.stage("gather", stages::merge(results_in, all));
/// graph.stage("read", stages::consume(all_in, |_| ()));
/// assert_eq!(graph.start()?.join().channels().last().unwrap().taken, 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn distribute<T>(input: Receiver<T>, outputs: Senders<T>) -> Distribute<T> {
    Distribute {
        input,
        outputs,
        next: 0,
        wanted: 1,
    }
}

impl<T> Distribute<T> {
    /// Makes the stage wait for `count` values when it has nothing to do, and for `count` free
    /// slots in one output when all outputs are full. The default is 1.
    #[must_use]
    pub fn wait_for(mut self, count: usize) -> Self {
        self.wanted = count;
        self
    }

    /// Sends a batch to the next output with a free slot, and returns the size of the batch.
    fn deal(&mut self) -> usize {
        let outputs = self.outputs.len();
        for _ in 0..outputs {
            let to = &mut self.outputs[self.next];
            self.next = (self.next + 1) % outputs;
            if to.is_closed() {
                continue;
            }
            let batch = self.input.batch().min(to.batch());
            let count = map_batch_owned(&mut self.input, to, batch, |value| value);
            if count > 0 {
                return count;
            }
        }
        0
    }
}

impl<T: Send + 'static> Stage for Distribute<T> {
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        let count = self.deal();
        if self.input.is_finished() || self.outputs.iter().all(|to| to.is_closed()) {
            return Wait::done();
        }
        if count > 0 {
            return Wait::again();
        }
        let readable = Wait::readable(&self.input, self.wanted);
        readable.and(super::room_in_any(&mut self.outputs, self.wanted))
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.input).has(&self.outputs);
    }
}

impl<T> fmt::Debug for Distribute<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Distribute")
            .field("input", &self.input)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}
