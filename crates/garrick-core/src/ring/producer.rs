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
/// Dropping it closes the ring: the consumer still gets what was published.
///
/// ```compile_fail
/// // A producer of `'static` references is not a producer of shorter ones: what it pushed would be read
/// // as `'static`.
/// use garrick_core::ring::Producer;
///
/// fn shorten<'a>(producer: Producer<&'static str>) -> Producer<&'a str> {
///     producer
/// }
/// ```
pub struct Producer<T> {
    /// Both ends, and the memory that `slots` points to.
    shared: Arc<Shared<T>>,

    /// Our own view of the slots.
    pub(super) slots: Slots<T>,

    /// Our own copy of the shared tail, always exact. Slots from here to `tail_max` are free and ours
    /// alone.
    pub(super) tail: usize,

    /// The tail of a full ring: one capacity ahead of the head as we last saw it. The real head may be
    /// further.
    tail_max: usize,

    /// From which count on the values go round in all slots.
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
    /// A closed ring takes values too, until it is full; ask [`is_closed`](Self::is_closed) where that
    /// matters.
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
    /// [`Full`] gives the value back if no slot is free.
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

    /// Copies as much of `values` as there is room for, and says how much: the first that many.
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

    /// Appends what `values` yields, until it ends or the ring is full, and says how many it took.
    ///
    /// A value is asked for only when there is a slot for it, so none is lost: pass `&mut iterator` to
    /// keep the rest. If `values` panics, what it yielded before is published.
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

    /// Appends `make(0)`, `make(1)`, ... as far as there is room and at most `max` values, and says how
    /// many.
    ///
    /// They are published together. If `make` panics, what it made before is published.
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

    /// Appends what `map` makes of each of `values`, as far as there is room, and says of how many.
    ///
    /// They are published together. If `map` panics, what it made before is published.
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
            // - nobody else: `made` holds the producer by `&mut`, and lends the run to this loop alone.
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

    /// How many values there can be in the ring.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// How many values were pushed since the ring was made, wrapping at the size of a `usize`.
    #[inline]
    pub fn position(&self) -> usize {
        self.tail
    }

    /// How many slots are free. Looks at the consumer's end; by the time it answers there may be more,
    /// never less.
    #[inline]
    pub fn free(&mut self) -> usize {
        let head = self.shared.head.look();
        self.tail_max = head.wrapping_add(self.capacity());
        if self.slots.is_roomy() {
            self.settle(head);
        }
        self.free_seen()
    }

    /// Has the values go round in all slots of the ring, soon and for good, if it has more than may be full
    /// ([`try_roomy_channel`](super::try_roomy_channel)): for halves that work on different cores. A ring for a single value
    /// stays as it is.
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

    /// Whether [`spread`](Self::spread) was called and made a difference.
    #[inline]
    pub fn is_spread(&self) -> bool {
        self.spread != Spread::No
    }

    /// The consumer was at `head`: all that lay elsewhere may be gone.
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

    /// How many slots are free as far as we know without looking: there may be more, never less.
    #[inline]
    pub fn free_seen(&self) -> usize {
        self.tail_max.wrapping_sub(self.tail)
    }

    /// Whether the consumer was dropped. If so, what is pushed will not be read, and
    /// [`free`](Self::free) tells what was: all slots but those that the consumer left full.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.shared.head.is_gone()
    }

    /// How many slots are free, at most `max`; looks at the other end only if it must.
    #[inline]
    pub(super) fn free_up_to(&mut self, max: usize) -> usize {
        if self.free_seen() < max {
            self.free();
        }
        self.free_seen().min(max)
    }

    /// Gives the next `count` slots, which are full now, to the consumer.
    #[inline]
    pub(super) fn publish(&mut self, count: usize) {
        debug_assert!(count <= self.free_seen(), "only free slots were written");
        self.tail = self.tail.wrapping_add(count);
        self.shared.tail.publish(self.tail);
    }

    /// What lies side by side of the slots from number `from` to number `to`, counted from the tail.
    ///
    /// # Safety
    ///
    /// `from <= to <= free_seen()`, and nobody else touches those slots during `'a`.
    #[inline]
    pub(super) unsafe fn free_run<'a>(&self, from: usize, to: usize) -> &'a mut [MaybeUninit<T>] {
        debug_assert!(
            from <= to && to <= self.free_seen(),
            "only free slots are written"
        );
        let (start, slots) = (self.tail.wrapping_add(from), &self.slots);
        // SAFETY:
        // - free and ours: below `tail + free_seen`, by the caller's word.
        // - no wrap: `run_len` is what lies side by side.
        unsafe { slots.writable(start, slots.run_len(start, to - from)) }
    }

    /// Writes what `next` yields into the slots from `tail + *written` on, until it yields no more or
    /// `*written` reaches `room`. `next` is told how many are written. Also after a panic of `next`
    /// exactly the first `*written` slots are full.
    ///
    /// # Safety
    ///
    /// `room` is at most `free_seen()`, and nobody else writes those slots during the call.
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

/// Values that are written and not yet published: published at the end of the scope, also when that
/// ends by a panic.
pub(super) struct Made<'a, T> {
    /// The half whose free slots were written.
    pub(super) producer: &'a mut Producer<T>,
    /// How many slots from `Producer::tail` on are full. At most `Producer::free_seen`.
    pub(super) count: usize,
}

impl<'a, T> Made<'a, T> {
    #[inline]
    pub(super) fn new(producer: &'a mut Producer<T>) -> Self {
        Self { producer, count: 0 }
    }

    /// See [`Producer::write_while`].
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

/// Counts in a register what a loop has done, and tells `total` at the end, also after a panic.
pub(super) struct Tally<'a> {
    /// Where the count belongs.
    total: &'a mut usize,
    /// The count so far.
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
