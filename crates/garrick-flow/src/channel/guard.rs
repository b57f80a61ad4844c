//! Guards for reading and writing batches in place. When a guard frees slots or sends values, it
//! moves the position in the ring, and then updates the gate (the counter that wakes waiting
//! stages).

use std::fmt;
use std::ops::Deref;

use garrick_core::ring::{self, Full};

use super::link::Link;

/// A guard for reading the values in a channel in place. Created by
/// [`Receiver::peek`](crate::Receiver::peek).
///
/// The guard dereferences to [`ring::Peek`], which has the methods for reading. Values stay in the
/// channel until [`advance`](Self::advance) drops them.
pub struct Peek<'a, T> {
    /// The guard for reading the ring buffer of the channel.
    pub(super) ring: ring::Peek<'a, T>,
    /// The part of the channel end that counts the taken values and wakes the sender.
    pub(super) link: &'a mut Link,
}

impl<T> Peek<'_, T> {
    /// Drops the `count` oldest values in place and frees their slots. If the sender is waiting for
    /// these slots, it is woken. Call this method once per batch rather than once per value.
    ///
    /// # Panics
    ///
    /// Panics if the guard contains fewer than `count` values.
    ///
    /// Panics if the `Drop` of a value panics. In this case, all `count` slots are freed
    /// nevertheless, and the sender is notified. If the `Drop` of another of these values panics,
    /// too, the process aborts, as it does for a [`Vec`].
    #[inline]
    #[track_caller]
    pub fn advance(&mut self, count: usize) {
        // The gate is moved at the end of the scope, even if a panic unwinds.
        let advance = Advance {
            before: self.ring.len(),
            peek: self,
        };
        advance.peek.ring.advance(count);
    }
}

/// A guard that exists during a call to [`Peek::advance`]. `Drop` counts the freed slots, even if
/// the call panics.
struct Advance<'g, 'a, T> {
    peek: &'g mut Peek<'a, T>,
    /// Number of values in `peek` before the call to `advance`.
    before: usize,
}

impl<T> Drop for Advance<'_, '_, T> {
    #[inline]
    fn drop(&mut self) {
        let count = self.before - self.peek.ring.len();
        if count > 0 {
            self.peek.link.move_by(count);
        }
    }
}

impl<'a, T> Deref for Peek<'a, T> {
    type Target = ring::Peek<'a, T>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.ring
    }
}

impl<T: fmt::Debug> fmt::Debug for Peek<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ring.fmt(f)
    }
}

/// A guard for writing values into the free slots of a channel, in place and in order. Created by
/// [`Sender::poke`](crate::Sender::poke).
///
/// The guard dereferences to [`ring::Poke`], which counts the written values and the remaining
/// slots. If the guard is dropped without [`commit`](Self::commit), the written values are dropped
/// and not sent.
///
/// The ring buffer's own guard cannot be borrowed mutably. Otherwise the guards of two channels
/// could be swapped, and each channel would count the values of the other:
///
/// ```compile_fail,E0596
/// let mut graph = garrick_flow::Graph::new();
/// let (mut small, _small) = graph.channel::<u32>(1).unwrap();
/// let (mut large, _large) = graph.channel::<u32>(64).unwrap();
/// let (mut one, mut other) = (small.poke(1), large.poke(64));
/// std::mem::swap(&mut *one, &mut *other);
/// ```
#[must_use = "written values are sent only by `commit`"]
pub struct Poke<'a, T> {
    /// The guard for writing into the ring buffer of the channel.
    pub(super) ring: ring::Poke<'a, T>,
    /// The part of the channel end that counts the sent values and wakes the receiver.
    pub(super) link: &'a mut Link,
}

impl<T> Poke<'_, T> {
    /// Writes `value` into the next slot.
    ///
    /// # Errors
    ///
    /// Returns the value in [`Full`] if all slots of this guard have been written.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), Full<T>> {
        self.ring.push(value)
    }

    /// Calls `make` for each slot that is not yet written, and writes the result into the slot.
    /// Returns the number of slots written.
    #[inline]
    pub fn fill_with(&mut self, make: impl FnMut() -> T) -> usize {
        self.ring.fill_with(make)
    }

    /// Writes the items of `values` into the slots that are not yet written, until there are no
    /// more items or no more slots. Returns the number of items written.
    ///
    /// The iterator is advanced only if there is a slot for its next item. To keep the remaining
    /// items, pass `&mut iterator`.
    #[inline]
    pub fn extend(&mut self, values: impl IntoIterator<Item = T>) -> usize {
        self.ring.extend(values)
    }

    /// Writes copies of the first elements of `values` into the slots that are not yet written, as
    /// many as fit. Returns the number of values written.
    #[inline]
    pub fn write_slice(&mut self, values: &[T]) -> usize
    where
        T: Copy,
    {
        self.ring.write_slice(values)
    }

    /// Sends the written values, and returns their number. If the receiver is waiting for these
    /// values, it is woken.
    #[inline]
    pub fn commit(self) -> usize {
        let written = self.ring.commit();
        if written > 0 {
            self.link.move_by(written);
        }
        written
    }
}

/// A [`Poke`] whose written values are sent when it is dropped, even if a panic unwinds.
pub(super) struct Kept<'a, T>(pub(super) Option<Poke<'a, T>>);

impl<T> Drop for Kept<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.take().map(Poke::commit);
    }
}

impl<'a, T> Deref for Poke<'a, T> {
    type Target = ring::Poke<'a, T>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.ring
    }
}

impl<T> fmt::Debug for Poke<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ring.fmt(f)
    }
}
