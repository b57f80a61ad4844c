//! A stage without outputs that passes batches of values to a closure.

use std::fmt;

use crate::{Cx, Receiver, Restarts, Stage, Wait, Wiring, restarting};

/// A stage that passes its input to a closure, batch by batch. Created by [`consume`].
pub struct Consume<T, F> {
    input: Receiver<T>,
    each: F,
    /// Number of values in the input at which the stage is woken.
    wanted: usize,
}

/// Creates a stage that passes the values of `input` to `each`, batch by batch and in place. The
/// values are dropped after `each` has returned.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, stages};
///
/// let mut graph = Graph::new();
/// let (numbers, numbers_in) = graph.channel(64)?;
/// let mut next = 0;
/// graph.source("numbers", stages::produce(numbers, 0..1000));
/// graph.stage("check", stages::consume(numbers_in, move |batch: &[i32]| {
///     for number in batch {
///         assert_eq!(*number, next);
///         next += 1;
///     }
/// }));
/// assert!(graph.start()?.join().failures().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn consume<T, F>(input: Receiver<T>, each: F) -> Consume<T, F>
where
    F: FnMut(&[T]),
{
    Consume {
        input,
        each,
        wanted: 1,
    }
}

impl<T, F> Consume<T, F> {
    /// Makes the stage wait for `count` values when it has nothing to do. The default is 1.
    #[must_use]
    pub fn wait_for(mut self, count: usize) -> Self {
        self.wanted = count;
        self
    }

    /// Makes the stage wait for half a batch when it has nothing to do.
    ///
    /// With a steady flow of values, the stage is then woken less often. Values can stay in the
    /// channel until half a batch has arrived or the sender is gone.
    #[must_use]
    pub fn half_full(self) -> Self {
        let half = self.input.batch() / 2;
        self.wait_for(half)
    }

    /// Makes the stage restart when the closure panics. Each restart begins with a new clone of the
    /// closure in its initial state.
    ///
    /// After a restart, the closure is called again with the batch for which it panicked, so part
    /// of the work on this batch may be done twice. Variables that the closure owns are reset to
    /// their initial values. For state that outlives a panic, use [`restarting`].
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_flow::{Graph, Restarts, stages};
    ///
    /// let mut graph = Graph::new();
    /// let (numbers, numbers_in) = graph.channel(64)?;
    /// let mut batches = 0;
    /// let read = stages::consume(numbers_in, move |_: &[u64]| {
    ///     batches += 1;
    ///     assert!(batches < 4, "tired");
    /// });
    /// graph.source("numbers", stages::produce(numbers, 0..1000));
    /// graph.stage("read", read.restarting(Restarts::unlimited()));
    /// let report = graph.start()?.join();
    /// assert_eq!(report.channels()[0].taken, 1000);
    /// assert!(report.stages()[1].restarts > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restarting(self, policy: Restarts) -> impl Stage
    where
        T: Send + 'static,
        F: FnMut(&[T]) + Clone + Send + 'static,
    {
        let (each, wanted) = (self.each, self.wanted);
        let stage = restarting(
            self.input,
            move |_| each.clone(),
            move |each: &mut F, input, _| step(input, each, wanted),
        );
        stage.policy(policy).telling()
    }
}

/// Takes a step: passes a batch to `each`, if there is one.
#[inline]
fn step<T>(input: &mut Receiver<T>, each: &mut impl FnMut(&[T]), wanted: usize) -> Wait {
    let count = input.consume_batch(input.batch(), each);
    if input.is_finished() {
        return Wait::done();
    }
    super::next(count, Wait::readable(input, wanted))
}

impl<T, F> Stage for Consume<T, F>
where
    T: Send + 'static,
    F: FnMut(&[T]) + Send + 'static,
{
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        step(&mut self.input, &mut self.each, self.wanted)
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.input);
    }
}

impl<T, F> fmt::Debug for Consume<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consume")
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}
