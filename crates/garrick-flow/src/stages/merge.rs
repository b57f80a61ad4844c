//! A stage that moves the values of several channels into one.

use std::fmt;

use crate::{Cx, Receivers, Sender, Stage, Wait, Wiring, map_batch_owned};

/// A stage that moves the values of several channels into one channel. Created by [`merge`].
pub struct Merge<T> {
    inputs: Receivers<T>,
    output: Sender<T>,
    /// Index of the input that is read first in the next step.
    next: usize,
    /// Minimum number of values in at least one input, and of free slots in a full output, at which
    /// the stage is woken.
    wanted: usize,
}

/// Creates a stage that moves the values of all `inputs` into `output`. The values of each input
/// keep their order.
///
/// The stage reads one batch from each input in turn, and skips empty inputs. So between two
/// batches from the same input, the stage moves at most one batch from every other input. While the
/// output is full, all inputs wait. The stage ends when all inputs are finished.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, stages};
///
/// let mut graph = Graph::new();
/// let (parts, parts_in) = graph.bundle::<u64>(3, 64)?;
/// let (all, all_in) = graph.channel(64)?;
/// for part in parts {
///     graph.source("numbers", stages::produce(part, 0..100));
/// }
/// graph.stage("gather", stages::merge(parts_in, all));
/// graph.stage("read", stages::consume(all_in, |_| ()));
/// assert_eq!(graph.start()?.join().stage("read").unwrap().messages_in, 300);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge<T>(inputs: Receivers<T>, output: Sender<T>) -> Merge<T> {
    Merge {
        inputs,
        output,
        next: 0,
        wanted: 1,
    }
}

impl<T> Merge<T> {
    /// Makes the stage wait for `count` values in at least one input when it has nothing to do, and
    /// for `count` free slots when the output is full. The default is 1.
    #[must_use]
    pub fn wait_for(mut self, count: usize) -> Self {
        self.wanted = count;
        self
    }

    /// Moves up to one batch from each input while there is room. Returns the number of values
    /// moved.
    fn gather(&mut self) -> usize {
        let (mut total, inputs) = (0, self.inputs.len());
        for _ in 0..inputs {
            if self.output.free() == 0 {
                break;
            }
            let from = &mut self.inputs[self.next];
            self.next = (self.next + 1) % inputs;
            let batch = from.batch().min(self.output.batch());
            total += map_batch_owned(from, &mut self.output, batch, |value| value);
        }
        total
    }
}

impl<T: Send + 'static> Stage for Merge<T> {
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        let count = self.gather();
        if self.output.is_closed() || self.inputs.iter_mut().all(|from| from.is_finished()) {
            return Wait::done();
        }
        if count > 0 {
            return Wait::again();
        }
        let readable = Wait::any_readable(&self.inputs, self.wanted);
        readable.and(super::room(&mut self.output, self.wanted))
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.inputs).has(&self.output);
    }
}

impl<T> fmt::Debug for Merge<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merge")
            .field("inputs", &self.inputs)
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}
