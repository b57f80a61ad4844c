//! The reading end of a channel.

use std::fmt;
use std::sync::Arc;

use garrick_core::ring;

use super::guard::Peek;
use super::line::{Line, Side};
use super::link::Link;
use super::moving::Moving;

/// The reading end of a channel. Created by [`Graph::channel`](crate::Graph::channel).
///
/// Dropping the receiver closes the channel: [`Sender::is_closed`](crate::Sender::is_closed)
/// returns true from then on. Each method that takes values costs one memory fence, regardless of
/// the number of values. So take values in batches.
pub struct Receiver<T> {
    /// The receiving half of the channel's ring.
    ring: ring::Consumer<T>,
    /// The part of the channel end that counts the taken values and wakes the sender.
    link: Link,
}

impl<T> Receiver<T> {
    pub(super) fn new(ring: ring::Consumer<T>, link: Link) -> Self {
        Self { ring, link }
    }

    /// Takes the oldest value. Returns `None` if the channel is empty.
    #[inline]
    pub fn try_pop(&mut self) -> Option<T> {
        self.moving().try_pop()
    }

    /// Takes up to `values.len()` values, oldest first, and copies them to the front of `values`.
    /// Returns the number of values taken.
    #[inline]
    pub fn pop_slice(&mut self, values: &mut [T]) -> usize
    where
        T: Copy,
    {
        self.moving().pop_slice(values)
    }

    /// Takes up to `max` values, oldest first, and passes each of them to `each`. Returns the
    /// number of values taken.
    ///
    /// If `each` panics, the values already passed to it are lost. The other values stay in the
    /// channel.
    #[inline]
    pub fn pop_each(&mut self, max: usize, each: impl FnMut(T)) -> usize {
        self.moving().pop_each(max, each)
    }

    /// Passes up to `max` values to `each`, oldest first, and drops them afterwards. Returns the
    /// number of values dropped.
    ///
    /// If the values are contiguous in memory, `each` is called once, with all of them in one
    /// slice. Otherwise `each` is called twice, with two slices. If there are no values, `each` is
    /// not called. If `each` panics, the values of its slice and all later values stay in the
    /// channel.
    ///
    /// If the `Drop` of a value panics, the other values of its slice are dropped nevertheless. If
    /// the `Drop` of another of these values panics, too, the process aborts, as it does for a
    /// [`Vec`].
    #[inline]
    pub fn consume_batch(&mut self, max: usize, each: impl FnMut(&[T])) -> usize {
        self.moving().consume_batch(max, each)
    }

    /// Returns a guard for reading all values in the channel in place.
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

    /// Returns the number of values that can be taken now. The number can grow at any time, but
    /// shrinks only when values are taken.
    #[inline]
    pub fn readable(&mut self) -> usize {
        self.ring.readable()
    }

    /// Returns the number of slots of the channel.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Returns the channel's batch size, as a number of values. Set the batch size with
    /// [`Slots::batch`](crate::Slots::batch). By default, a batch takes up an eighth of a core's
    /// second-level cache (at least 16 KiB, at most 256 KiB), but no more than half of the channel.
    #[inline]
    pub fn batch(&self) -> usize {
        self.link.line.batch
    }

    /// Returns the number of values taken since the channel was created.
    #[inline]
    pub fn taken(&self) -> u64 {
        self.link.mover.count()
    }

    /// Returns true if the sender is gone, or if this is a [feedback](crate::Graph::feedback)
    /// channel that the graph has closed. The values in a closed channel can still be taken, but no
    /// more values will arrive.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.link.line.is_over_for(Side::Receiver)
    }

    /// Returns true if the channel is closed and all its values have been taken, so that no more
    /// values will arrive.
    #[inline]
    pub fn is_finished(&mut self) -> bool {
        // In this order: values seen before the close might not be the last ones.
        self.is_closed() && self.ring.readable() == 0
    }

    /// Returns a guard with the receiving half of the ring. The guard counts the values that are
    /// taken through it.
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
