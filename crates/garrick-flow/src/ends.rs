//! Stages that consist of channel ends and a closure, and that declare these ends to their graph.

use std::fmt;

use crate::{Cx, Ends, Stage, Wait, Wiring};

/// A stage that consists of channel ends and a closure. Created by [`with_ends`].
pub struct WithEnds<E, F> {
    /// Channel ends, passed to the closure by reference.
    ends: E,
    /// Closure that takes a step with the ends.
    step: F,
}

/// Creates a stage from channel ends and a closure that borrows them.
///
/// The stage works like a closure that owns its ends. In addition, it declares these ends to its
/// graph, as described in [`Stage::wiring`]. So [`Graph::start`](crate::Graph::start) can detect
/// cycles, and the stage can be part of a loop, as described in
/// [`Graph::feedback`](crate::Graph::feedback).
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, Wait, map_batch, stages, with_ends};
///
/// let mut graph = Graph::new();
/// let (numbers, input) = graph.channel::<u64>(64)?;
/// let (output, squares) = graph.channel::<u64>(64)?;
/// graph.source("numbers", stages::produce(numbers, 0..100));
/// graph.stage("square", with_ends((input, output), |(input, output), _| {
///     map_batch(input, output, 16, |n| n * n);
///     if input.is_finished() || output.is_closed() {
///         return Wait::done();
///     }
///     Wait::readable(input, 1).and(Wait::free(output, 1))
/// }));
/// graph.stage("read", stages::consume(squares, |_| ()));
/// assert_eq!(graph.start()?.join().channels()[1].taken, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_ends<E, F>(ends: E, step: F) -> WithEnds<E, F>
where
    E: Ends,
    F: FnMut(&mut E, &mut Cx<'_>) -> Wait,
{
    WithEnds { ends, step }
}

impl<E, F> Stage for WithEnds<E, F>
where
    E: Ends + Send + 'static,
    F: FnMut(&mut E, &mut Cx<'_>) -> Wait + Send + 'static,
{
    fn step(&mut self, cx: &mut Cx<'_>) -> Wait {
        (self.step)(&mut self.ends, cx)
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.ends);
    }
}

impl<E: fmt::Debug, F> fmt::Debug for WithEnds<E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithEnds")
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}
