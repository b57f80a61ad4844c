//! Makes sure that all values that pass through the ring of a channel are counted in a gate
//! (counter) of the channel, even if a panic unwinds.

use std::ops::{Deref, DerefMut};

use garrick_core::ring;

use super::link::Link;

/// The sending or receiving half of a channel's ring.
pub(super) trait Half {
    /// Returns the number of values that this half of the ring has published or taken. The number
    /// wraps around.
    fn position(&self) -> usize;
}

impl<T> Half for ring::Producer<T> {
    #[inline]
    fn position(&self) -> usize {
        self.position()
    }
}

impl<T> Half for ring::Consumer<T> {
    #[inline]
    fn position(&self) -> usize {
        self.position()
    }
}

/// A half of a ring that is in use. Even during a panic, `Drop` updates the gate (the counter that
/// the other end checks), so that the gate counts all values that the half has published or taken.
pub(super) struct Moving<'a, H: Half> {
    /// The sending or receiving half of the ring.
    ring: &'a mut H,
    /// The part of the channel end that counts the sent or taken values.
    link: &'a mut Link,
}

impl<'a, H: Half> Moving<'a, H> {
    #[inline]
    pub(super) fn new(ring: &'a mut H, link: &'a mut Link) -> Self {
        Self { ring, link }
    }
}

impl<H: Half> Deref for Moving<'_, H> {
    type Target = H;

    #[inline]
    fn deref(&self) -> &H {
        self.ring
    }
}

impl<H: Half> DerefMut for Moving<'_, H> {
    #[inline]
    fn deref_mut(&mut self) -> &mut H {
        self.ring
    }
}

impl<H: Half> Drop for Moving<'_, H> {
    #[inline]
    fn drop(&mut self) {
        self.link.move_to(self.ring.position());
    }
}
