//! Writing of a batch of values directly into the slots of a ring.
use std::fmt;

use super::{Full, Producer};
use crate::copy;

/// Free slots of a ring, for writing in place and in order. Created by [`Producer::poke`].
///
/// [`commit`](Self::commit) publishes the written values with one store. Without a commit, the ring
/// stays unchanged: dropping the `Poke` drops the written values, and forgetting it
/// ([`std::mem::forget`]) leaks them.
#[must_use = "only `commit` publishes the written values"]
pub struct Poke<'a, T> {
    /// Producer whose free slots were opened for writing.
    producer: &'a mut Producer<T>,
    /// Number of slots that were opened for writing, beginning at `Producer::tail`. At most
    /// `Producer::free_seen`.
    room: usize,
    /// Number of slots that were opened for writing and already have a value. At most `room`.
    written: usize,
}

impl<'a, T> Poke<'a, T> {
    #[inline]
    pub(super) fn new(producer: &'a mut Producer<T>, room: usize) -> Self {
        debug_assert!(room <= producer.free_seen(), "only free slots are opened");
        Self {
            producer,
            room,
            written: 0,
        }
    }

    /// Writes `value` into the next slot.
    ///
    /// # Errors
    ///
    /// Returns the value in [`Full`] if all slots of this `Poke` have been written.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), Full<T>> {
        if self.written == self.room {
            return Err(Full(value));
        }
        let slot = self.producer.tail.wrapping_add(self.written);
        // SAFETY:
        // - free and ours: below `tail + room`, and we hold the producer by `&mut`.
        unsafe { self.producer.slots.write(slot, value) };
        self.written += 1;
        Ok(())
    }

    /// Calls `make` for each slot that is not yet written, and writes the result into the slot.
    /// Returns the number of slots written.
    #[inline]
    pub fn fill_with(&mut self, mut make: impl FnMut() -> T) -> usize {
        self.write_while(|_| Some(make()))
    }

    /// Writes the items of `values` into the slots that are not yet written, until there are no
    /// more items or no more slots. Returns the number of items written.
    ///
    /// The iterator is advanced only if there is a slot for its next item. Pass `&mut iterator` to
    /// keep the remaining items.
    #[inline]
    pub fn extend(&mut self, values: impl IntoIterator<Item = T>) -> usize {
        let mut values = values.into_iter();
        self.write_while(|_| values.next())
    }

    /// Writes copies of the first elements of `values` into the slots that are not yet written, as
    /// many as fit. Returns the number of values written.
    #[inline]
    pub fn write_slice(&mut self, values: &[T]) -> usize
    where
        T: Copy,
    {
        let count = values.len().min(self.remaining());
        let start = self.producer.tail.wrapping_add(self.written);
        let slots = &self.producer.slots;
        let (first, second) = values[..count].split_at(slots.run_len(start, count));
        // SAFETY:
        // - free and ours: `count` slots from `tail + written` on end at `tail + room` at most, and
        //   we hold the producer by `&mut`.
        // - no wrap: `first` ends where the slots wrap, and `second` starts at slot 0.
        unsafe {
            copy::fill(slots.writable(start, first.len()), first);
            let start = start.wrapping_add(first.len());
            copy::fill(slots.writable(start, second.len()), second);
        }
        self.written += count;
        count
    }

    /// Publishes the written values with one store. Returns the number of values published.
    #[inline]
    pub fn commit(mut self) -> usize {
        let written = self.written;
        // From here on the values are the consumer's. The `Drop` of the guard must not see them.
        self.written = 0;
        if written > 0 {
            self.producer.publish(written);
        }
        written
    }

    /// Returns the number of values written so far.
    #[inline]
    pub fn written(&self) -> usize {
        self.written
    }

    /// Returns the number of slots of this `Poke` that are not yet written.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.room - self.written
    }

    #[inline]
    fn write_while(&mut self, next: impl FnMut(usize) -> Option<T>) -> usize {
        let before = self.written;
        // SAFETY:
        // - free: `room <= free_seen`, the invariant of `Poke`.
        // - nobody else: we hold the producer by `&mut`.
        unsafe {
            self.producer
                .write_while(&mut self.written, self.room, next);
        }
        self.written - before
    }
}

impl<T> Drop for Poke<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.written > 0 {
            let (tail, slots) = (self.producer.tail, &self.producer.slots);
            // SAFETY:
            // - full and ours: we wrote `written` slots from `tail` on, and `tail` was not
            //   published past them. Afterwards nobody counts them as full.
            unsafe { slots.drop_range(tail, self.written) }
        }
    }
}

impl<T> fmt::Debug for Poke<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poke")
            .field("written", &self.written)
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}
