//! A source.

use std::fmt;
use std::iter::Fuse;

use crate::{Cx, Restarts, Sender, Stage, Wait, Wiring, restarting};

/// A source that sends what an iterator yields; from [`produce`].
pub struct Produce<I: Iterator> {
    output: Sender<I::Item>,
    values: Fuse<I>,
    /// How many free slots are worth a wake-up.
    wanted: usize,
}

/// Makes a source that sends what `values` yields, and ends with it.
///
/// It sends a batch of the channel at a time. An iterator that waits for its values holds back those of the batch that it
/// has yielded: give its channel batches of one ([`Slots::batch`](crate::Slots::batch)), or use
/// [`from_stream`](crate::stages::from_stream).
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

/// Makes a source that begins anew when its iterator panics: `make` is told how many values were sent so far, and
/// makes an iterator of those that follow. It ends when such an iterator does.
///
/// What an iterator has yielded is sent before its panic goes on, so none is lost and none sent twice, if `make`
/// keeps its word.
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
        |values: &mut Fuse<I::IntoIter>, output, _| step(output, values),
    );
    stage.policy(policy).telling()
}

/// A step: sends a batch, as far as there is room.
#[inline]
fn step<I: Iterator>(output: &mut Sender<I::Item>, values: &mut Fuse<I>) -> Wait {
    let room = output.free().min(output.batch());
    // What it yields before a panic is sent.
    let count = output.push_iter(values.by_ref().take(room));
    // With room left, it was the iterator that ended.
    if count < room || output.is_closed() {
        return Wait::done();
    }
    super::next(count, Wait::free(output, 1))
}

impl<I: Iterator> Produce<I> {
    /// Rests until `slots` slots are free, once the channel is full.
    #[must_use]
    pub fn wait_for(mut self, slots: usize) -> Self {
        self.wanted = slots;
        self
    }

    /// Rests until half a batch has room, once the channel is full: fewer wake-ups for a flow that is steady.
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
    fn step(&mut self, _: &mut Cx<'_>) -> Wait {
        let mut poke = self.output.poke(self.output.batch());
        poke.extend(&mut self.values);
        let has_room = poke.remaining() > 0;
        let count = poke.commit();
        // With room left, it was the iterator that ended.
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
