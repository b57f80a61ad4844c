//! The writing end of a channel.

use std::fmt;
use std::sync::Arc;

use garrick_core::ring::{self, Full};

use super::guard::{Kept, Poke};
use super::line::{Line, Side};
use super::link::Link;
use super::moving::Moving;

/// The writing end of a channel. Created by [`Graph::channel`](crate::Graph::channel).
///
/// Dropping the sender closes the channel. The receiver can still take the values that were sent.
/// When all of them have been taken, [`Receiver::is_finished`](crate::Receiver::is_finished)
/// returns true. Each method that sends values costs one memory fence, regardless of the number of
/// values. So send values in batches.
pub struct Sender<T> {
    /// The sending half of the channel's ring.
    ring: ring::Producer<T>,
    /// The part of the channel end that counts the sent values and wakes the receiver.
    link: Link,
}

impl<T> Sender<T> {
    pub(super) fn new(ring: ring::Producer<T>, link: Link) -> Self {
        Self { ring, link }
    }

    /// Sends `value` if a slot is free.
    ///
    /// A closed channel still accepts values until it is full, but these values will not be read.
    /// To check whether the channel is closed, call [`is_closed`](Self::is_closed).
    ///
    /// # Errors
    ///
    /// Returns [`Full`] with the value if no slot is free.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), Full<T>> {
        self.moving().try_push(value)
    }

    /// Sends copies of the values in `values`, in order, until all are sent or the channel is full.
    /// Returns the number of values sent.
    #[inline]
    pub fn push_slice(&mut self, values: &[T]) -> usize
    where
        T: Copy,
    {
        self.moving().push_slice(values)
    }

    /// Sends the values of an iterator until it ends or the channel is full. Returns the number of
    /// values sent.
    ///
    /// A value is requested from the iterator only if a slot is free for it. To keep the remaining
    /// values, pass `&mut iterator`. If the iterator panics, the values that it has already yielded
    /// are sent.
    #[inline]
    pub fn push_iter(&mut self, values: impl IntoIterator<Item = T>) -> usize {
        self.moving().push_iter(values)
    }

    /// Sends `make(0)`, `make(1)`, and so on until the channel is full, but at most `max` values.
    /// Returns the number of values sent.
    ///
    /// If `make` panics, the values that it has already returned are sent.
    #[inline]
    pub fn produce_batch(&mut self, max: usize, make: impl FnMut(usize) -> T) -> usize {
        self.moving().produce_batch(max, make)
    }

    /// Returns a guard for writing up to `max` values in place, into free slots.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut graph = garrick_flow::Graph::new();
    /// let (mut sender, mut receiver) = graph.channel(4)?;
    ///
    /// let mut poke = sender.poke(3);
    /// poke.extend(["a", "b", "c", "no room"]);
    /// assert_eq!(poke.commit(), 3);
    /// assert_eq!(receiver.readable(), 3);
    /// # Ok::<(), garrick_flow::CapacityError>(())
    /// ```
    #[inline]
    pub fn poke(&mut self, max: usize) -> Poke<'_, T> {
        self.spread_if_due();
        Poke {
            ring: self.ring.poke(max),
            link: &mut self.link,
        }
    }

    /// Calls `write` with a guard for up to `max` values, and sends the values that `write` has
    /// written. Returns their number, and the result of `write`. If `write` panics, the values that
    /// it has written before are sent.
    #[inline]
    pub(crate) fn send_written<R>(
        &mut self,
        max: usize,
        write: impl FnOnce(&mut Poke<'_, T>) -> R,
    ) -> (usize, R) {
        let mut kept = Kept(Some(self.poke(max)));
        let poke = kept.0.as_mut().expect("the guard has just been made");
        let result = write(poke);
        (kept.0.take().map_or(0, Poke::commit), result)
    }

    /// Returns the number of values that can be sent now. The number can grow at any time, but
    /// shrinks only when values are sent.
    #[inline]
    pub fn free(&mut self) -> usize {
        self.ring.free()
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

    /// Returns the number of values sent since the channel was created.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.link.mover.count()
    }

    /// Returns true if the receiver is gone, or if this is a [feedback](crate::Graph::feedback)
    /// channel that the graph has closed. Values that are sent to a closed channel will not be
    /// read.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.link.line.is_over_for(Side::Sender)
    }

    /// Returns a guard with the sending half of the ring. The guard counts the values that are sent
    /// through it.
    #[inline]
    pub(super) fn moving(&mut self) -> Moving<'_, ring::Producer<T>> {
        self.spread_if_due();
        Moving::new(&mut self.ring, &mut self.link)
    }

    /// Uses all slots of the ring from now on, if the sender and the receiver have been used on
    /// different threads.
    #[inline]
    fn spread_if_due(&mut self) {
        if self.link.spread_due {
            self.link.spread_due = false;
            self.ring.spread();
        }
    }

    /// Returns true if the values cycle through all allocated slots of the ring. The ring may have
    /// more slots than its capacity.
    #[cfg(test)]
    pub(super) fn is_spread(&self) -> bool {
        self.ring.is_spread()
    }

    pub(crate) fn line(&self) -> &Line {
        &self.link.line
    }

    pub(crate) fn shared_line(&self) -> &Arc<Line> {
        &self.link.line
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.link.close(self.ring.position());
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sender").field(self.line()).finish()
    }
}
