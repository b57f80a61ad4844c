//! A source that sends the values of an iterator.

use std::fmt;
use std::iter::Fuse;

use crate::{Cx, Restarts, Sender, Stage, Wait, Wiring, restarting};

/// A source that sends the values of an iterator. Created by [`produce`].
pub struct Produce<I: Iterator> {
    output: Sender<I::Item>,
    values: Fuse<I>,
    /// Number of free slots at which the stage is woken.
    wanted: usize,
}

/// Creates a source that sends the values of an iterator, and ends when the iterator ends.
///
/// The source sends values in batches. If the iterator blocks, the values that it has already
/// yielded for the current batch are delayed. For an iterator that can block, set the batch size of
/// the channel to 1 with [`Slots::batch`](crate::Slots::batch), or use
/// [`from_stream`](crate::stages::from_stream). If the iterator panics, the values that it has
/// already yielded are sent, and the source fails.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, stages};
///
/// let mut graph = Graph::new();
/// let (letters, letters_in) = graph.channel(64)?;
/// graph.source("letters", stages::produce(letters, 'a'..='z'));
/// graph.stage("count", stages::consume(letters_in, |_: &[char]| ()));
/// assert_eq!(graph.start()?.join().channels()[0].taken, 26);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn produce<I: IntoIterator>(output: Sender<I::Item>, values: I) -> Produce<I::IntoIter> {
    Produce {
        output,
        values: values.into_iter().fuse(),
        wanted: 1,
    }
}

/// Creates a source that sends the values of an iterator, and restarts when the iterator panics.
///
/// `make` is called at the start and after each panic. The argument of `make` is the number of
/// values sent so far. `make` returns an iterator over the values that have not been sent yet. The
/// source ends when an iterator ends.
///
/// The values that an iterator yielded before a panic are sent. So if each iterator starts with the
/// first value that has not been sent yet, no value is lost or sent twice.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, Restarts, stages};
///
/// let mut graph = Graph::new();
/// let (numbers, numbers_in) = graph.channel(64)?;
/// graph.source("numbers", stages::produce_from(numbers, Restarts::default(), |sent| {
///     (sent..1000).inspect(move |n| assert!(n - sent < 400, "it breaks off"))
/// }));
/// let mut next = 0;
/// graph.stage("check", stages::consume(numbers_in, move |numbers: &[u64]| {
///     for number in numbers {
///         assert_eq!(*number, next);
///         next += 1;
///     }
/// }));
/// let report = graph.start()?.join();
/// assert_eq!((report.channels()[0].taken, report.stages()[0].restarts), (1000, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn produce_from<I, M>(output: Sender<I::Item>, policy: Restarts, mut make: M) -> impl Stage
where
    I: IntoIterator<Item: Send + 'static, IntoIter: Send + 'static>,
    M: FnMut(u64) -> I + Send + 'static,
{
    let stage = restarting(
        output,
        move |output: &mut Sender<I::Item>| make(output.sent()).into_iter().fuse(),
        |values: &mut Fuse<I::IntoIter>, output, cx| {
            prepare(output, cx);
            step(output, values)
        },
    );
    stage.policy(policy).telling()
}

/// Prepares a step that calls an iterator, which may block if the batches of the channel have one
/// value.
#[inline]
fn prepare<T>(output: &Sender<T>, cx: &Cx<'_>) {
    if output.line().is_prompt {
        cx.settle();
    }
}

/// Takes a step: sends a batch, or as much of it as there is room for.
#[inline]
fn step<I: Iterator>(output: &mut Sender<I::Item>, values: &mut Fuse<I>) -> Wait {
    let room = output.free().min(output.batch());
    // The values yielded before a panic are sent.
    let count = output.push_iter(values.by_ref().take(room));
    // There is room left, so the iterator has ended.
    if count < room || output.is_closed() {
        return Wait::done();
    }
    super::next(count, Wait::free(output, 1))
}

impl<I: Iterator> Produce<I> {
    /// Sets how many free slots the stage waits for when the channel is full. The default is 1.
    #[must_use]
    pub fn wait_for(mut self, slots: usize) -> Self {
        self.wanted = slots;
        self
    }

    /// Makes the stage wait for half a batch of free slots when the channel is full. With a steady
    /// flow of values, the stage is then woken less often.
    #[must_use]
    pub fn half_full(self) -> Self {
        let half = self.output.batch() / 2;
        self.wait_for(half)
    }
}

impl<I> Stage for Produce<I>
where
    I: Iterator<Item: Send> + Send + 'static,
{
    fn step(&mut self, cx: &mut Cx<'_>) -> Wait {
        prepare(&self.output, cx);
        let (values, batch) = (&mut self.values, self.output.batch());
        let (count, has_room) = self.output.send_written(batch, |poke| {
            poke.extend(values);
            poke.remaining() > 0
        });
        // There is room left, so the iterator has ended.
        if has_room || self.output.is_closed() {
            return Wait::done();
        }
        super::next(count, Wait::free(&self.output, self.wanted))
    }

    fn wiring(&self, wiring: &mut Wiring) {
        wiring.has(&self.output);
    }
}

impl<I: Iterator> fmt::Debug for Produce<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Produce")
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}
