//! A stage that maps values from one channel to another through its own buffer.

use std::fmt;

use crate::{Buffer, Cx, Receiver, Sender, Stage, Wait, Wiring};

/// A stage that copies a batch from one channel into its buffer, maps the batch, and sends the
/// results to another channel. Created by [`Map::buffered`](super::Map::buffered).
pub struct Buffered<In, Out, F> {
    pub(super) input: Receiver<In>,
    pub(super) output: Sender<Out>,
    pub(super) each: F,
    pub(super) buffer: Buffer<In>,
    /// Minimum number of values in the input, and of free slots in a full output, at which the
    /// stage is woken.
    pub(super) wanted: usize,
}

impl<In, Out, F> Stage for Buffered<In, Out, F>
where
    In: Copy + Send + 'static,
    Out: Send + 'static,
    F: FnMut(&In) -> Out + Send + 'static,
{
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        let batch = self.input.batch().min(self.output.batch());
        let (input, output) = (&mut self.input, &mut self.output);
        let count = self.buffer.map_batch(input, output, batch, &mut self.each);
        let is_over = self.buffer.left() == 0 && input.is_finished();
        if is_over || output.is_closed() {
            return Wait::done();
        }
        if count > 0 {
            return Wait::again();
        }
        Wait::readable(input, self.wanted).and(super::room(output, self.wanted))
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.input).has(&self.output);
    }
}

impl<In, Out, F> fmt::Debug for Buffered<In, Out, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffered")
            .field("input", &self.input)
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}
