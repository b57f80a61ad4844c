//! The writing half of a ring.
use std::{fmt, mem::MaybeUninit};

use super::{
    Full, Poke,
    map::map_run,
    shared::Shared,
    slots::Slots,
    spread::{Spread, is_before},
};
use crate::prim::Arc;

/// The writing half of a ring.
///
/// Dropping the producer closes the ring. The consumer can still take all published values.
///
/// ```compile_fail
/// // A producer of `'static` references is not a producer of shorter references: the consumer
/// // would read the pushed values as `'static`.
/// use garrick_core::ring::Producer;
///
/// fn shorten<'a>(producer: Producer<&'static str>) -> Producer<&'a str> {
///     producer
/// }
/// ```
pub struct Producer<T> {
    /// State shared with the consumer. It owns the memory that `slots` points to.
    shared: Arc<Shared<T>>,

    /// The producer's view of the ring's slots.
    pub(super) slots: Slots<T>,

    /// Private copy of the shared tail. Always exact. The slots from `tail` to `tail_max` are free,
    /// and only the producer accesses them.
    pub(super) tail: usize,

    /// Tail at which the ring is full: the head that the producer read last, plus the capacity. The
    /// current head may be further ahead.
    tail_max: usize,

    /// Tells from which value on the values cycle through all slots of the ring. Earlier values use
    /// only the first `capacity` slots.
    spread: Spread,
}

// SAFETY:
// - one owner: the half is not `Sync`, since its view of the slots is not, so it moves as a whole.
// - what it points to is `Shared<T>`, which is `Send` and `Sync` for the same `T`.
unsafe impl<T: Send> Send for Producer<T> {}

impl<T> Producer<T> {
    pub(super) fn new(shared: Arc<Shared<T>>, slots: Slots<T>, start: usize) -> Self {
        Self {
            shared,
            tail: start,
            tail_max: start.wrapping_add(slots.capacity()),
            spread: Spread::No,
            slots,
        }
    }

    /// Appends `value`.
    ///
    /// A closed ring still accepts values until it is full. Check [`is_closed`](Self::is_closed) if
    /// this matters.
    ///
    /// # Examples
    ///
    /// ```
    /// use garrick_core::ring::{self, Full};
    ///
    /// let (mut producer, _consumer) = ring::channel(1);
    /// assert_eq!(producer.try_push(1), Ok(()));
    /// assert_eq!(producer.try_push(2), Err(Full(2)));
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the value in [`Full`] if no slot is free.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), Full<T>> {
        if self.free_seen() == 0 && self.free() == 0 {
            return Err(Full(value));
        }
        // SAFETY:
        // - free and ours: `tail < tail_max`, checked above, and `&mut self` excludes a
        //   second writer.
        unsafe { self.slots.write(self.tail, value) };
        self.publish(1);
        Ok(())
    }

    /// Appends copies of the first elements of `values`, as many as fit into the ring. Returns the
    /// number of values appended.
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = garrick_core::ring::channel(4);
    /// assert_eq!(producer.push_slice(&[1, 2, 3, 4, 5]), 4);
    /// assert_eq!(consumer.peek().as_slices(), (&[1, 2, 3, 4][..], &[][..]));
    /// ```
    #[inline]
    pub fn push_slice(&mut self, values: &[T]) -> usize
    where
        T: Copy,
    {
        let mut poke = self.poke(values.len());
        poke.write_slice(values);
        poke.commit()
    }

    /// Appends the items of `values` until there are no more items or the ring is full. Returns the
    /// number of items appended.
    ///
    /// The iterator is advanced only if there is a slot for its next item, so no item is lost. Pass
    /// `&mut iterator` to keep the remaining items. If the iterator panics, the items that it has
    /// already returned are published.
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, _consumer) = garrick_core::ring::channel(4);
    /// let mut numbers = 0..6;
    /// assert_eq!(producer.push_iter(&mut numbers), 4);
    /// assert_eq!(numbers, 4..6);
    /// ```
    #[inline]
    pub fn push_iter(&mut self, values: impl IntoIterator<Item = T>) -> usize {
        let mut values = values.into_iter();
        let room = self.free();
        let mut made = Made::new(self);
        made.write_while(room, |_| values.next());
        made.count
    }

    /// Appends `make(0)`, `make(1)`, and so on, up to `max` values or until the ring is full.
    /// Returns the number of values appended.
    ///
    /// All values are published together. If `make` panics, the values that it has already returned
    /// are published.
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = garrick_core::ring::channel(4);
    /// assert_eq!(producer.produce_batch(3, |index| index * index), 3);
    /// assert_eq!(consumer.peek().as_slices().0, [0, 1, 4]);
    /// ```
    #[inline]
    pub fn produce_batch(&mut self, max: usize, mut make: impl FnMut(usize) -> T) -> usize {
        let room = self.free_up_to(max);
        let mut made = Made::new(self);
        made.write_while(room, |index| Some(make(index)));
        made.count
    }

    /// Appends the result of `map` for each element of `values`, until the ring is full. Returns
    /// the number of elements mapped.
    ///
    /// All results are published together. If `map` panics, the results that it has already
    /// returned are published.
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = garrick_core::ring::channel(4);
    /// assert_eq!(producer.push_mapped(&[1, 2, 3, 4, 5], |n| n * n), 4);
    /// assert_eq!(consumer.peek().as_slices().0, [1, 4, 9, 16]);
    /// ```
    #[inline]
    pub fn push_mapped<In>(&mut self, values: &[In], mut map: impl FnMut(&In) -> T) -> usize {
        let room = self.free_up_to(values.len());
        let mut made = Made::new(self);
        while made.count < room {
            // SAFETY:
            // - free: `room` is at most `free_seen`.
            // - nobody else: `made` holds the producer by `&mut`, and lends the run to this loop
            //   alone.
            let output = unsafe { made.producer.free_run(made.count, room) };
            map_run(&values[made.count..], output, &mut made.count, &mut map);
        }
        made.count
    }

    /// Opens up to `max` free slots for writing in place.
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = garrick_core::ring::channel(4);
    ///
    /// let mut poke = producer.poke(3);
    /// poke.push("a").unwrap();
    /// poke.extend(["b", "c", "no room"]);
    /// assert_eq!(poke.commit(), 3);
    ///
    /// assert_eq!(consumer.readable(), 3);
    /// ```
    #[inline]
    pub fn poke(&mut self, max: usize) -> Poke<'_, T> {
        let room = self.free_up_to(max);
        Poke::new(self, room)
    }

    /// Returns the maximum number of values in the ring.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Returns the number of values pushed since the ring was created. The number wraps around
    /// after `usize::MAX`.
    #[inline]
    pub fn position(&self) -> usize {
        self.tail
    }

    /// Reads the current [position](super::Consumer::position) of the consumer, and returns the
    /// number of free slots. When this call returns, there may already be more free slots, but
    /// never fewer.
    #[inline]
    pub fn free(&mut self) -> usize {
        let head = self.shared.head.look();
        self.tail_max = head.wrapping_add(self.capacity());
        if self.slots.is_roomy() {
            self.settle(head);
        }
        self.free_seen()
    }

    /// Makes the ring use all its slots one after another. The change takes effect soon, after
    /// fewer than [`capacity`](Self::capacity) more values. The change cannot be undone.
    ///
    /// Call this method if the producer and the consumer run on different cores. This method has an
    /// effect only if the ring has more slots than its capacity
    /// ([`try_roomy_channel`](super::try_roomy_channel)), and if the capacity is more than one
    /// value.
    #[inline]
    pub fn spread(&mut self) {
        if self.spread == Spread::No && self.slots.is_roomy() && self.capacity() > 1 {
            let mask = self.capacity() - 1;
            let from = self.tail.wrapping_add(mask) & !mask;
            self.spread = Spread::From(from);
            self.shared.spread.set(self.spread);
            self.slots.settle(self.tail, self.spread);
        }
    }

    /// Returns true if [`spread`](Self::spread) was called and had an effect.
    #[inline]
    pub fn is_spread(&self) -> bool {
        self.spread != Spread::No
    }

    /// Updates `spread` after the producer has read the consumer's count `head`. If the consumer
    /// has taken all values that were pushed before [`spread`](Self::spread) took effect, sets
    /// `spread` to [`Spread::Whole`].
    #[inline]
    fn settle(&mut self, head: usize) {
        if let Spread::From(from) = self.spread
            && !is_before(head, from)
        {
            self.spread = Spread::Whole;
            self.shared.spread.set(self.spread);
        }
        self.slots.settle(self.tail, self.spread);
    }

    /// Returns the number of slots that the producer knows to be free. Does not read the
    /// [position](super::Consumer::position) of the consumer again, so there may be more free
    /// slots, but never fewer.
    #[inline]
    pub fn free_seen(&self) -> usize {
        self.tail_max.wrapping_sub(self.tail)
    }

    /// Returns true if the consumer was dropped. Once the consumer was dropped, newly pushed values
    /// are never read, and no more slots become free.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.shared.head.is_gone()
    }

    /// Returns the number of free slots, but at most `max`. Reads the count of the consumer only if
    /// fewer than `max` slots are known to be free.
    #[inline]
    pub(super) fn free_up_to(&mut self, max: usize) -> usize {
        if self.free_seen() < max {
            self.free();
        }
        self.free_seen().min(max)
    }

    /// Publishes the next `count` slots to the consumer. Their values must have been written.
    #[inline]
    pub(super) fn publish(&mut self, count: usize) {
        debug_assert!(count <= self.free_seen(), "only free slots were written");
        self.tail = self.tail.wrapping_add(count);
        self.shared.tail.publish(self.tail);
    }

    /// Returns a slice of slots that begins at slot number `from`, counted from the tail. The slice
    /// ends before slot number `to`, or earlier where the slots wrap.
    ///
    /// # Safety
    ///
    /// `from <= to <= free_seen()`, and no other code accesses the slots of this range during `'a`.
    #[inline]
    pub(super) unsafe fn free_run<'a>(&self, from: usize, to: usize) -> &'a mut [MaybeUninit<T>] {
        debug_assert!(
            from <= to && to <= self.free_seen(),
            "only free slots are written"
        );
        let (start, slots) = (self.tail.wrapping_add(from), &self.slots);
        // SAFETY:
        // - free and ours: below `tail + free_seen`, by the caller's word.
        // - no wrap: `run_len` ends where the slots wrap.
        unsafe { slots.writable(start, slots.run_len(start, to - from)) }
    }

    /// Writes the results of `next` into successive slots, beginning at `tail + *written`. Stops
    /// when `next` returns `None` or `*written` reaches `room`. The argument of `next` is the
    /// number of slots written so far. Exactly the first `*written` slots are full afterwards, even
    /// if `next` panics.
    ///
    /// # Safety
    ///
    /// `room` is at most `free_seen()`, and no other code writes the first `room` free slots during
    /// the call.
    #[inline]
    pub(super) unsafe fn write_while(
        &self,
        written: &mut usize,
        room: usize,
        mut next: impl FnMut(usize) -> Option<T>,
    ) {
        debug_assert!(room <= self.free_seen(), "only free slots are written");
        while *written < room {
            // SAFETY: the caller's word.
            let run = unsafe { self.free_run(*written, room) };
            let mut tally = Tally::new(written);
            for slot in run {
                let Some(value) = next(tally.count) else {
                    return;
                };
                slot.write(value);
                tally.count += 1;
            }
        }
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.shared.tail.leave();
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("capacity", &self.capacity())
            .field("head", &self.shared.head.count_relaxed())
            .field("tail", &self.tail)
            .field("closed", &self.is_closed())
            .finish()
    }
}

/// Guard of values that are written and not yet published. Dropping the guard publishes the values,
/// even after a panic.
pub(super) struct Made<'a, T> {
    /// Producer whose slots were written.
    pub(super) producer: &'a mut Producer<T>,
    /// Number of full slots, beginning at `Producer::tail`. At most `Producer::free_seen`.
    pub(super) count: usize,
}

impl<'a, T> Made<'a, T> {
    #[inline]
    pub(super) fn new(producer: &'a mut Producer<T>) -> Self {
        Self { producer, count: 0 }
    }

    /// Calls [`Producer::write_while`] for the slots that the producer knows to be free.
    #[inline]
    fn write_while(&mut self, room: usize, next: impl FnMut(usize) -> Option<T>) {
        let room = room.min(self.producer.free_seen());
        // SAFETY:
        // - free: `room` was cut to `free_seen`.
        // - nobody else: we hold the producer by `&mut`.
        unsafe { self.producer.write_while(&mut self.count, room, next) }
    }
}

impl<T> Drop for Made<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.count > 0 {
            self.producer.publish(self.count);
        }
    }
}

/// Counter for the steps of a loop. The count can stay in a register. Dropping the counter writes
/// the count to `total`, even after a panic.
pub(super) struct Tally<'a> {
    /// Variable that receives the count.
    total: &'a mut usize,
    /// Number of steps of the loop so far.
    pub(super) count: usize,
}

impl<'a> Tally<'a> {
    #[inline]
    pub(super) fn new(total: &'a mut usize) -> Self {
        let count = *total;
        Self { total, count }
    }
}

impl Drop for Tally<'_> {
    #[inline]
    fn drop(&mut self) {
        *self.total = self.count;
    }
}
