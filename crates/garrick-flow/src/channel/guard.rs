//! Guards for reading and writing batches in place. When a guard frees slots or sends values, it
//! moves the position in the ring, and then updates the gate (the counter that wakes waiting
//! stages).

use std::fmt;
use std::ops::{Deref, DerefMut};

use garrick_core::ring;

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
    /// nevertheless, and the sender is notified.
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
/// The guard dereferences to [`ring::Poke`], which has the methods for writing: `push`, `extend`,
/// `fill_with` and `write_slice`. If the guard is dropped without [`commit`](Self::commit), the
/// written values are dropped and not sent.
#[must_use = "written values are sent only by `commit`"]
pub struct Poke<'a, T> {
    /// The guard for writing into the ring buffer of the channel.
    pub(super) ring: ring::Poke<'a, T>,
    /// The part of the channel end that counts the sent values and wakes the receiver.
    pub(super) link: &'a mut Link,
}

impl<T> Poke<'_, T> {
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

impl<'a, T> Deref for Poke<'a, T> {
    type Target = ring::Poke<'a, T>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.ring
    }
}

impl<T> DerefMut for Poke<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.ring
    }
}

impl<T> fmt::Debug for Poke<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ring.fmt(f)
    }
}
