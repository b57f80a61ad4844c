//! The reading half of a ring.
use std::fmt;

use super::{Peek, producer::Tally, shared::Shared, slots::Slots};
use crate::{copy, prim::Arc};

/// The reading half of a ring.
///
/// Dropping the consumer closes the ring. The producer can detect this. Values that are still in
/// the ring are dropped after both halves have been dropped.
pub struct Consumer<T> {
    /// State shared with the producer. It owns the memory that `slots` points to.
    shared: Arc<Shared<T>>,

    /// The consumer's view of the ring's slots.
    pub(super) slots: Slots<T>,

    /// Private copy of the shared head. Always exact. The slots from `head` to `tail_seen` are
    /// full, and only the consumer accesses them.
    pub(super) head: usize,

    /// Tail that the consumer read last. The current tail may be further ahead.
    tail_seen: usize,
}

// SAFETY:
// - one owner: the half is not `Sync`, since its view of the slots is not, so it moves as a whole.
// - what it points to is `Shared<T>`, which is `Send` and `Sync` for the same `T`.
unsafe impl<T: Send> Send for Consumer<T> {}

impl<T> Consumer<T> {
    pub(super) fn new(shared: Arc<Shared<T>>, slots: Slots<T>, start: usize) -> Self {
        Self {
            shared,
            slots,
            head: start,
            tail_seen: start,
        }
    }

    /// Takes the oldest value. Returns `None` if the ring is empty.
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = garrick_core::ring::channel(2);
    /// producer.push_iter(["first", "second"]);
    /// assert_eq!(consumer.try_pop(), Some("first"));
    /// ```
    #[inline]
    pub fn try_pop(&mut self) -> Option<T> {
        if self.readable_seen() == 0 && self.readable() == 0 {
            return None;
        }
        // SAFETY:
        // - full and ours: `head < tail_seen`, checked above, and `&mut self` excludes a second
        //   reader.
        // - read once: `release` moves `head` past the slot.
        let value = unsafe { self.slots.read(self.head) };
        self.release(1);
        Some(value)
    }

    /// Takes the oldest values, at most `values.len()`, and copies them to the start of `values`.
    /// Returns the number of values taken.
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = garrick_core::ring::channel(4);
    /// producer.push_slice(&[1, 2, 3]);
    ///
    /// let mut values = [0; 2];
    /// assert_eq!(consumer.pop_slice(&mut values), 2);
    /// assert_eq!(values, [1, 2]);
    /// ```
    #[inline]
    pub fn pop_slice(&mut self, values: &mut [T]) -> usize
    where
        T: Copy,
    {
        let count = self.readable_up_to(values.len());
        let (first, second) = self.slices(count);
        let (values_first, values_second) = values[..count].split_at_mut(first.len());
        copy::overwrite(values_first, first);
        copy::overwrite(values_second, second);
        self.release_some(count);
        count
    }

    /// Takes up to `max` values, oldest first, and passes each value to `each`. Returns the number
    /// of values taken.
    ///
    /// The slots of all values taken become free at the same time, after the last call of `each`.
    /// If `each` panics, the values already passed to it are lost, and the other values stay in the
    /// ring.
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = garrick_core::ring::channel(4);
    /// producer.push_iter(["a".to_string(), "b".to_string()]);
    ///
    /// let mut all = Vec::new();
    /// assert_eq!(consumer.pop_each(usize::MAX, |value| all.push(value)), 2);
    /// assert_eq!(all, ["a", "b"]);
    /// ```
    #[inline]
    pub fn pop_each(&mut self, max: usize, mut each: impl FnMut(T)) -> usize {
        let count = self.readable_up_to(max);
        let mut taken = Taken::new(self);
        while taken.count < count {
            let run = taken.run(count);
            let mut tally = Tally::new(&mut taken.count);
            for index in 0..run.len() {
                tally.count += 1;
                // SAFETY:
                // - valid, full and ours: `Taken::run` says so for all of `run`.
                // - read once: the count of taken values has passed the slot, so it will be
                //   released.
                each(unsafe { run.cast::<T>().add(index).read() });
            }
        }
        count
    }

    /// Passes up to `max` values to `each` in slices, oldest first, and then drops the values.
    /// Returns the number of values consumed.
    ///
    /// `each` is called once, or twice if the values wrap around the end of the ring. When a call
    /// returns, all slots of its slice become free. If `each` panics, the values of its slice stay
    /// in the ring. If a destructor panics, the other values of the slice are dropped nevertheless.
    /// If another destructor panics, too, the process aborts, as it does for a [`Vec`].
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = garrick_core::ring::channel(4);
    /// producer.push_slice(&[1, 2, 3]);
    ///
    /// let mut sum = 0;
    /// consumer.consume_batch(usize::MAX, |values| sum += values.iter().sum::<i32>());
    /// assert_eq!(sum, 6);
    /// ```
    #[inline]
    pub fn consume_batch(&mut self, max: usize, mut each: impl FnMut(&[T])) -> usize {
        let count = self.readable_up_to(max);
        let mut left = count;
        while left > 0 {
            let run = self.run(0, left);
            each(run);
            let run_len = run.len();
            self.skip(run_len);
            left -= run_len;
        }
        count
    }

    /// Opens all available values for reading in place, without taking them out of the ring.
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = garrick_core::ring::channel(4);
    /// producer.push_slice(&[1, 2, 3]);
    ///
    /// let mut peek = consumer.peek();
    /// assert_eq!(peek.iter().sum::<i32>(), 6);
    /// peek.advance(2);
    ///
    /// assert_eq!(consumer.try_pop(), Some(3));
    /// ```
    #[inline]
    pub fn peek(&mut self) -> Peek<'_, T> {
        self.readable();
        Peek::new(self)
    }

    /// Returns the maximum number of values in the ring.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Returns the number of values taken since the ring was created. The number wraps around after
    /// `usize::MAX`.
    #[inline]
    pub fn position(&self) -> usize {
        self.head
    }

    /// Reads the current [position](super::Producer::position) of the producer, and returns the
    /// number of available values. When this call returns, there may already be more values, but
    /// never fewer.
    #[inline]
    pub fn readable(&mut self) -> usize {
        self.tail_seen = self.shared.tail.look();
        if self.slots.is_roomy() {
            // In this order: the spread word for the values seen is visible by now.
            self.slots.settle(self.head, self.shared.spread.get());
        }
        self.readable_seen()
    }

    /// Returns the number of values that the consumer knows to be available. Does not read the
    /// [position](super::Producer::position) of the producer again, so there may be more values,
    /// but never fewer.
    #[inline]
    pub fn readable_seen(&self) -> usize {
        self.tail_seen.wrapping_sub(self.head)
    }

    /// Returns true if the producer was dropped. Once this method returns true, all values that the
    /// producer has published are visible to the consumer.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.shared.tail.is_gone()
    }

    /// Returns true if the producer was dropped and all its published values were taken. Then no
    /// more values will arrive.
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = garrick_core::ring::channel(4);
    /// producer.try_push(1).unwrap();
    /// drop(producer);
    ///
    /// assert!(!consumer.is_finished());
    /// consumer.try_pop();
    /// assert!(consumer.is_finished());
    /// ```
    #[inline]
    pub fn is_finished(&mut self) -> bool {
        // In this order: a tail seen before the close might miss the last values.
        self.is_closed() && self.readable() == 0
    }

    /// Returns the number of available values, but at most `max`. Reads the count of the producer
    /// only if fewer than `max` values are known to be available.
    #[inline]
    pub(super) fn readable_up_to(&mut self, max: usize) -> usize {
        if self.readable_seen() < max {
            self.readable();
        }
        self.readable_seen().min(max)
    }

    /// Returns the oldest `count` values as two slices. The second slice is empty unless the values
    /// wrap.
    #[inline]
    pub(super) fn slices(&self, count: usize) -> (&[T], &[T]) {
        let first = self.run(0, count);
        (first, self.run(first.len(), count))
    }

    /// Returns a slice that begins at value number `from`, counted from the oldest value. The slice
    /// ends before value number `to`, or earlier where the values wrap.
    #[inline]
    pub(super) fn run(&self, from: usize, to: usize) -> &[T] {
        assert!(
            from <= to && to <= self.readable_seen(),
            "only full slots are read"
        );
        let (start, slots) = (self.head.wrapping_add(from), &self.slots);
        // SAFETY:
        // - full and not written: all below `tail_seen`, checked above; the producer keeps off
        //   until `release`, which takes `&mut self`, so not during the borrow of `&self`.
        // - no wrap: `run_len` ends where the slots wrap.
        unsafe { slots.readable(start, slots.run_len(start, to - from)) }
    }

    /// Drops the next `count` values in place and frees their slots, even if a drop panics.
    #[inline]
    pub(super) fn skip(&mut self, count: usize) {
        assert!(count <= self.readable_seen(), "only full slots are skipped");
        let mut taken = Taken::new(self);
        taken.count = count;
        // SAFETY:
        // - full and ours: all below `tail_seen`, checked above, and we have `&mut self`.
        // - free afterwards, also after a panic: `taken` releases them.
        unsafe {
            let consumer = &*taken.consumer;
            consumer.slots.drop_range(consumer.head, count);
        }
    }

    /// Passes the next `count` slots back to the producer. Their values must have been moved out or
    /// dropped.
    #[inline]
    fn release(&mut self, count: usize) {
        debug_assert!(count <= self.readable_seen(), "only full slots were taken");
        self.head = self.head.wrapping_add(count);
        self.shared.head.publish(self.head);
    }

    /// Calls `release` if `count` is not 0. If `count` is 0, does nothing, so that the shared cache
    /// line is not written.
    #[inline]
    fn release_some(&mut self, count: usize) {
        if count > 0 {
            self.release(count);
        }
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        self.shared.head.leave();
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("capacity", &self.capacity())
            .field("head", &self.head)
            .field("tail", &self.shared.tail.count_relaxed())
            .field("closed", &self.is_closed())
            .finish()
    }
}

/// Guard of slots whose values were moved out. Dropping the guard frees the slots, even after a
/// panic.
pub(super) struct Taken<'a, T> {
    /// Consumer that took the values.
    pub(super) consumer: &'a mut Consumer<T>,
    /// Number of slots, beginning at `Consumer::head`, whose values were moved out. At most
    /// `Consumer::readable_seen`.
    pub(super) count: usize,
}

impl<'a, T> Taken<'a, T> {
    #[inline]
    pub(super) fn new(consumer: &'a mut Consumer<T>) -> Self {
        Self { consumer, count: 0 }
    }

    /// Returns the slots whose values were not taken yet, up to the point where the slots wrap.
    /// Considers only the first `count_max` slots, beginning at `Consumer::head`. The returned
    /// slots are full, and only the consumer accesses them until they are released.
    #[inline]
    pub(super) fn run(&self, count_max: usize) -> *mut [T] {
        let consumer = &*self.consumer;
        assert!(
            self.count <= count_max && count_max <= consumer.readable_seen(),
            "only full slots are taken"
        );
        let start = consumer.head.wrapping_add(self.count);
        let slots = &consumer.slots;
        // SAFETY:
        // - full and ours: all below `tail_seen`, checked above, and we hold the consumer by
        //   `&mut`.
        // - no wrap: `run_len` ends where the slots wrap.
        unsafe { slots.run(start, slots.run_len(start, count_max - self.count)) }
    }
}

impl<T> Drop for Taken<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.consumer.release_some(self.count);
    }
}
