//! The reading end of a channel.

use std::fmt;
use std::sync::Arc;

use garrick_core::ring;

use super::guard::Peek;
use super::line::{Line, Side};
use super::link::Link;
use super::moving::Moving;

/// The reading end of a channel; from [`Graph::channel`](crate::Graph::channel).
///
/// Dropping it closes the channel: the sender sees [`is_closed`](crate::Sender::is_closed). Each method that
/// takes costs one fence, whatever the number of values: take batches.
pub struct Receiver<T> {
    /// The ring's half.
    ring: ring::Consumer<T>,
    /// Our side of the gates.
    link: Link,
}

impl<T> Receiver<T> {
    pub(super) fn new(ring: ring::Consumer<T>, link: Link) -> Self {
        Self { ring, link }
    }

    /// Takes the oldest value, if there is one.
    #[inline]
    pub fn try_pop(&mut self) -> Option<T> {
        self.moving().try_pop()
    }

    /// Copies the oldest values into `values` and takes them, and says how many: the first that many of
    /// `values` are overwritten.
    #[inline]
    pub fn pop_slice(&mut self, values: &mut [T]) -> usize
    where
        T: Copy,
    {
        self.moving().pop_slice(values)
    }

    /// Takes up to `max` values, oldest first, hands each to `each`, and says how many.
    ///
    /// If `each` panics, what it was given is gone and the rest stays.
    #[inline]
    pub fn pop_each(&mut self, max: usize, each: impl FnMut(T)) -> usize {
        self.moving().pop_each(max, each)
    }

    /// Shows up to `max` values to `each`, oldest first, drops them, and says how many.
    ///
    /// `each` gets one slice, or two where the values wrap. If it panics, the slice that it was given stays in
    /// the channel.
    #[inline]
    pub fn consume_batch(&mut self, max: usize, each: impl FnMut(&[T])) -> usize {
        self.moving().consume_batch(max, each)
    }

    /// Opens all values that are there for reading in place.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut graph = garrick_flow::Graph::new();
    /// let (mut sender, mut receiver) = graph.channel(4)?;
    /// sender.push_slice(&[1, 2, 3]);
    ///
    /// let mut peek = receiver.peek();
    /// assert_eq!(peek.iter().sum::<i32>(), 6);
    /// peek.advance(2);
    /// assert_eq!(receiver.try_pop(), Some(3));
    /// # Ok::<(), garrick_flow::CapacityError>(())
    /// ```
    #[inline]
    pub fn peek(&mut self) -> Peek<'_, T> {
        Peek {
            ring: self.ring.peek(),
            link: &mut self.link,
        }
    }

    /// How many values can be taken now; soon there may be more, never less.
    #[inline]
    pub fn readable(&mut self) -> usize {
        self.ring.readable()
    }

    /// The number of slots.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// How many values a batch has, by the graph's choice or yours: what stays in the cache, but no more
    /// than half of the channel.
    #[inline]
    pub fn batch(&self) -> usize {
        self.link.line.batch
    }

    /// How many values were taken since the channel was made.
    #[inline]
    pub fn taken(&self) -> u64 {
        self.link.mover.count()
    }

    /// Whether the sender is gone, or the graph has closed a [feedback](crate::Graph::feedback) channel: what is there now is
    /// all that will come.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.link.line.is_over_for(Side::Receiver)
    }

    /// Whether the sender is gone and everything it sent was taken: nothing will come.
    #[inline]
    pub fn is_finished(&mut self) -> bool {
        // In this order: values seen before the close might not be the last ones.
        self.is_closed() && self.ring.readable() == 0
    }

    /// The ring's half, and the gate behind it.
    #[inline]
    pub(super) fn moving(&mut self) -> Moving<'_, ring::Consumer<T>> {
        Moving::new(&mut self.ring, &mut self.link)
    }

    pub(crate) fn line(&self) -> &Line {
        &self.link.line
    }

    pub(crate) fn shared_line(&self) -> &Arc<Line> {
        &self.link.line
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.link.close(self.ring.position());
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(self.line()).finish()
    }
}
