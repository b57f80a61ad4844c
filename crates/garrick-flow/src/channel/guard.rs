//! Batches in place: the ring's guards, which move the gate as well.

use std::fmt;
use std::ops::{Deref, DerefMut};

use garrick_core::ring;

use super::link::Link;

/// The values of a channel that are there, open for reading in place; from
/// [`Receiver::peek`](crate::Receiver::peek).
///
/// The guard derefs to [`ring::Peek`]. Values that are not advanced over stay in the channel.
pub struct Peek<'a, T> {
    /// The guard of the ring's half.
    pub(super) ring: ring::Peek<'a, T>,
    /// The end's side of the gates.
    pub(super) link: &'a mut Link,
}

impl<T> Peek<'_, T> {
    /// Drops the `count` oldest values in place and frees their slots. Wakes the sender if it waits
    /// for them, so call it once per batch rather than once per value.
    ///
    /// # Panics
    ///
    /// Panics if fewer than `count` values are open.
    ///
    /// Panics if the `Drop` of a value panics. All `count` slots are free nevertheless, and the
    /// sender is notified.
    #[inline]
    #[track_caller]
    pub fn advance(&mut self, count: usize) {
        // The gate follows at the end of the scope, also when a panic unwinds.
        let advance = Advance {
            before: self.ring.len(),
            peek: self,
        };
        advance.peek.ring.advance(count);
    }
}

/// An advance under way.
struct Advance<'g, 'a, T> {
    peek: &'g mut Peek<'a, T>,
    /// Number of values that were open before.
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

/// Free slots of a channel, open for writing in order; from [`Sender::poke`](crate::Sender::poke).
///
/// The guard derefs to [`ring::Poke`]: write with `push`, `extend`, `fill_with` or `write_slice`. A
/// guard that is dropped without [`commit`](Self::commit) takes back what was written.
#[must_use = "what is written is sent by `commit` only"]
pub struct Poke<'a, T> {
    /// The guard of the ring's half.
    pub(super) ring: ring::Poke<'a, T>,
    /// The end's side of the gates.
    pub(super) link: &'a mut Link,
}

impl<T> Poke<'_, T> {
    /// Sends the written values, wakes the receiver if it waits for them, and returns their number.
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
