//! A source.

use std::fmt;
use std::iter::Fuse;

use crate::{Cx, Sender, Stage, Wait};

/// A source that sends what an iterator yields; from [`produce`].
pub struct Produce<I: Iterator> {
    output: Sender<I::Item>,
    values: Fuse<I>,
    /// How many free slots are worth a wake-up.
    wanted: usize,
}

/// Makes a source that sends what `values` yields, and ends with it.
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
}

impl<I: Iterator> fmt::Debug for Produce<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Produce")
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}
