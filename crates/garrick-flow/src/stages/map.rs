//! A stage that maps values from one channel to another.

use std::fmt;

use super::Buffered;
use crate::{Buffer, Cx, Receiver, Restarts, Sender, Stage, Wait, Wiring, map_batch, restarting};

/// A stage that maps each value of one channel, and sends the result to another channel. Created by
/// [`map`].
pub struct Map<In, Out, F> {
    input: Receiver<In>,
    output: Sender<Out>,
    each: F,
    /// Minimum number of values in the input, and of free slots in a full output, at which the
    /// stage is woken.
    wanted: usize,
}

/// Creates a stage that calls `each` with every value of `input`, and sends the results to
/// `output`.
///
/// The stage reads the values and writes the results in place, in the slots of both channels.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, stages};
///
/// let mut graph = Graph::new();
/// let (numbers, numbers_in) = graph.channel(64)?;
/// let (texts, texts_in) = graph.channel(64)?;
/// graph.source("numbers", stages::produce(numbers, 0..10u32));
/// graph.stage("print", stages::map(numbers_in, texts, |n| n.to_string()));
/// graph.stage("check", stages::consume(texts_in, |texts: &[String]| {
///     assert!(texts.iter().all(|text| text.len() == 1));
/// }));
/// assert!(graph.start()?.join().failures().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn map<In, Out, F>(input: Receiver<In>, output: Sender<Out>, each: F) -> Map<In, Out, F>
where
    F: FnMut(&In) -> Out,
{
    Map {
        input,
        output,
        each,
        wanted: 1,
    }
}

impl<In, Out, F> Map<In, Out, F> {
    /// Makes the stage wait for `count` values when it has nothing to do, and for `count` free
    /// slots when the output is full. The default is 1.
    #[must_use]
    pub fn wait_for(mut self, count: usize) -> Self {
        self.wanted = count;
        self
    }

    /// Makes the stage wait for half a batch of values when it has nothing to do, and for the same
    /// number of free slots when the output is full.
    ///
    /// With a steady flow of values, the stage is then woken less often. Values can stay in the
    /// channel until half a batch has arrived or the sender is gone.
    #[must_use]
    pub fn half_full(self) -> Self {
        let half = self.input.batch().min(self.output.batch()) / 2;
        self.wait_for(half)
    }

    /// Makes the stage copy each batch from the channel into a buffer before it maps the values,
    /// instead of working in place. The documentation of [`Buffer`] describes when a buffer is
    /// useful.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_flow::{Graph, stages};
    ///
    /// let mut graph = Graph::new();
    /// let (numbers, numbers_in) = graph.channel(64)?;
    /// let (squares, squares_in) = graph.channel(64)?;
    /// graph.source("numbers", stages::produce(numbers, 0..1000u64));
    /// graph.stage("square", stages::map(numbers_in, squares, |n| n * n).half_full().buffered());
    /// graph.stage("read", stages::consume(squares_in, |_| ()));
    /// assert_eq!(graph.start()?.join().channels()[1].taken, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn buffered(self) -> Buffered<In, Out, F>
    where
        In: Copy,
    {
        Buffered {
            input: self.input,
            output: self.output,
            each: self.each,
            buffer: Buffer::new(),
            wanted: self.wanted,
        }
    }

    /// Makes the stage restart when the closure panics. Each restart begins with a new clone of the
    /// closure in its initial state. No value is lost or sent twice: the value for which the
    /// closure panicked is mapped again.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_flow::{Graph, Restarts, stages};
    ///
    /// let mut graph = Graph::new();
    /// let (numbers, numbers_in) = graph.channel(64)?;
    /// let (places, places_in) = graph.channel(64)?;
    /// let mut place = 0;
    /// let place = stages::map(numbers_in, places, move |_: &u8| {
    ///     place += 1;
    ///     assert!(place <= 10, "full");
    ///     place
    /// });
    /// graph.source("numbers", stages::produce(numbers, 0..25));
    /// graph.stage("place", place.restarting(Restarts::default()));
    /// graph.stage("end", stages::consume(places_in, |_| ()));
    /// let report = graph.start()?.join();
    /// assert_eq!((report.channels()[1].taken, report.stages()[1].restarts), (25, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restarting(self, policy: Restarts) -> impl Stage
    where
        In: Send + 'static,
        Out: Send + 'static,
        F: FnMut(&In) -> Out + Clone + Send + 'static,
    {
        let wanted = self.wanted;
        let each = self.each;
        let stage = restarting(
            (self.input, self.output),
            move |_| each.clone(),
            move |each: &mut F, (input, output), _| step(input, output, each, wanted),
        );
        stage.policy(policy).telling()
    }
}

/// Takes a step: maps a batch, if there is one.
#[inline]
fn step<In, Out>(
    input: &mut Receiver<In>,
    output: &mut Sender<Out>,
    each: &mut impl FnMut(&In) -> Out,
    wanted: usize,
) -> Wait {
    let batch = input.batch().min(output.batch());
    let count = map_batch(input, output, batch, each);
    if input.is_finished() || output.is_closed() {
        return Wait::done();
    }
    if count > 0 {
        return Wait::again();
    }
    Wait::readable(input, wanted).and(super::room(output, wanted))
}

impl<In, Out, F> Stage for Map<In, Out, F>
where
    In: Send + 'static,
    Out: Send + 'static,
    F: FnMut(&In) -> Out + Send + 'static,
{
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        step(
            &mut self.input,
            &mut self.output,
            &mut self.each,
            self.wanted,
        )
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.input).has(&self.output);
    }
}

impl<In, Out, F> fmt::Debug for Map<In, Out, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map")
            .field("input", &self.input)
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}
