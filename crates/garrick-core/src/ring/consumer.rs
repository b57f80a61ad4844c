//! The reading half of a ring.
use std::fmt;

use super::{Peek, producer::Tally, shared::Shared, slots::Slots};
use crate::{copy, prim::Arc};

/// The reading half of a ring.
///
/// Dropping it closes the ring: the producer can learn of it, and what is left is dropped when both
/// halves are gone.
pub struct Consumer<T> {
    /// Both ends, and the memory that `slots` points to.
    shared: Arc<Shared<T>>,

    /// Our own view of the slots.
    pub(super) slots: Slots<T>,

    /// Our own copy of the shared head, always exact. Slots from here to `tail_seen` are full and ours
    /// alone.
    pub(super) head: usize,

    /// The tail as we last saw it; the real one may be ahead.
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

    /// Takes the oldest value, if there is one.
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
        // - full and ours: `head < tail_seen`, checked above, and `&mut self` excludes a second reader.
        // - read once: `release` moves `head` past the slot.
        let value = unsafe { self.slots.read(self.head) };
        self.release(1);
        Some(value)
    }

    /// Copies the oldest values into `values` and takes them, and says how many: the first that many of
    /// `values` are overwritten.
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

    /// Takes up to `max` values, oldest first, hands each to `each`, and says how many.
    ///
    /// Their slots become free together, at the end. If `each` panics, the values it was given are gone
    /// and the others stay.
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
                // - read once: the count of taken values has passed the slot, so it will be released.
                each(unsafe { run.cast::<T>().add(index).read() });
            }
        }
        count
    }

    /// Shows up to `max` values to `each`, oldest first, drops them, and says how many.
    ///
    /// `each` gets one slice, or two where the values wrap. The slots of a slice become free together
    /// when `each` has returned. If `each` panics, the slice it was given stays in the ring.
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

    /// Opens all values that are there for reading in place.
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

    /// How many values there can be in the ring.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// How many values were taken since the ring was made, wrapping at the size of a `usize`.
    #[inline]
    pub fn position(&self) -> usize {
        self.head
    }

    /// How many values are there. Looks at the producer's end; by the time it answers there may be more,
    /// never less.
    #[inline]
    pub fn readable(&mut self) -> usize {
        self.tail_seen = self.shared.tail.look();
        if self.slots.is_roomy() {
            // In this order: the word that concerns the values seen is there by now.
            self.slots.settle(self.head, self.shared.spread.get());
        }
        self.readable_seen()
    }

    /// How many values are there as far as we know without looking: there may be more, never less.
    #[inline]
    pub fn readable_seen(&self) -> usize {
        self.tail_seen.wrapping_sub(self.head)
    }

    /// Whether the producer was dropped. If so, all that it published can be seen from now on.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.shared.tail.is_gone()
    }

    /// Whether the producer was dropped and everything it published was taken: nothing will come.
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

    /// How many values are there, at most `max`; looks at the other end only if it must.
    #[inline]
    pub(super) fn readable_up_to(&mut self, max: usize) -> usize {
        if self.readable_seen() < max {
            self.readable();
        }
        self.readable_seen().min(max)
    }

    /// The oldest `count` values that were seen, as two slices; the second is empty but where they wrap.
    #[inline]
    pub(super) fn slices(&self, count: usize) -> (&[T], &[T]) {
        let first = self.run(0, count);
        (first, self.run(first.len(), count))
    }

    /// What lies side by side of the values from number `from` to number `to`, counted from the oldest.
    #[inline]
    pub(super) fn run(&self, from: usize, to: usize) -> &[T] {
        assert!(
            from <= to && to <= self.readable_seen(),
            "only full slots are read"
        );
        let (start, slots) = (self.head.wrapping_add(from), &self.slots);
        // SAFETY:
        // - full and not written: all below `tail_seen`, checked above; the producer keeps off until
        //   `release`, which takes `&mut self`, so not during the borrow of `&self`.
        // - no wrap: `run_len` is what lies side by side.
        unsafe { slots.readable(start, slots.run_len(start, to - from)) }
    }

    /// Drops the next `count` values where they are and frees their slots, also if a drop panics.
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

    /// Gives the next `count` slots, whose values were moved out or dropped, back to the producer.
    #[inline]
    fn release(&mut self, count: usize) {
        debug_assert!(count <= self.readable_seen(), "only full slots were taken");
        self.head = self.head.wrapping_add(count);
        self.shared.head.publish(self.head);
    }

    /// As `release`, but leaves the shared line alone if there is nothing to say.
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

/// Slots whose values were moved out: freed at the end of the scope, also when that ends by a panic.
pub(super) struct Taken<'a, T> {
    /// The half that took them.
    pub(super) consumer: &'a mut Consumer<T>,
    /// How many slots from `Consumer::head` on are empty now. At most `Consumer::readable_seen`.
    pub(super) count: usize,
}

impl<'a, T> Taken<'a, T> {
    #[inline]
    pub(super) fn new(consumer: &'a mut Consumer<T>) -> Self {
        Self { consumer, count: 0 }
    }

    /// The next slots side by side that were not taken yet, out of the first `count_max`. They are
    /// full and ours until they are released.
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
        // - full and ours: all below `tail_seen`, checked above, and we hold the consumer by `&mut`.
        // - no wrap: `run_len` is what lies side by side.
        unsafe { slots.run(start, slots.run_len(start, count_max - self.count)) }
    }
}

impl<T> Drop for Taken<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.consumer.release_some(self.count);
    }
}
