//! The owner's side of the deque: push, pop, and the slow paths, which involve thieves.
use std::{cell::Cell, fmt, marker::PhantomData};

use garrick_core::fence::Asymmetric;
use garrick_core::prim::{
    Arc,
    atomic::Ordering::{Relaxed, Release},
};

use super::{
    Full, Stealer,
    shared::{Buffer, Shared, distance},
};

/// The owner's handle to a deque. Pushes new values, pops the newest value, and creates
/// [`Stealer`]s for other threads.
///
/// After the worker has been dropped, the stealers can still take its values. The remaining values
/// are dropped when the worker and all stealers have been dropped.
///
/// A worker can be sent to another thread, but it cannot be shared between threads:
///
/// ```compile_fail,E0277
/// fn shared(_: impl Sync) {}
/// shared(garrick_steal::deque::bounded::<u8>(1));
/// ```
pub struct Worker<T> {
    /// State shared with the thieves.
    shared: Arc<Shared<T>>,
    /// The owner's copy of `Shared::tail`. The copy is exact while no method of the owner is
    /// running.
    tail: usize,
    /// Tail at which the deque may be full: the last `done` that the owner has read, plus the
    /// capacity. When the tail reaches this position, the owner must read `done` again.
    full_at: usize,
    /// The owner's copy of the pointer to the buffer. The copy is always current, because only the
    /// owner replaces the buffer.
    buffer: Buffer<T>,
    /// The owner's copy of the pair of memory fences, so that the fast path does not load the
    /// shared pair.
    fence: Asymmetric,
    /// Maximum number of values in the deque. At most the number of slots.
    capacity: usize,
    /// Behaviour of a push to a full deque.
    growth: Growth,
    /// Makes the worker `Send` but not `Sync`, because only one thread at a time may use it.
    not_sync: PhantomData<Cell<T>>,
}

/// Behaviour of a push to a full deque.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// The deque never grows. A push to a full deque returns the value as an error.
    Never,
    /// A push moves the values to a buffer with twice as many slots.
    Doubles,
}

// SAFETY: a worker reaches the values that it owns and may move them to another thread with itself,
// which `T: Send` allows; `Shared` is `Send + Sync` by the protocol.
unsafe impl<T: Send> Send for Worker<T> {}

impl<T> Worker<T> {
    #[track_caller]
    pub(super) fn new(capacity: usize, growth: Growth, fence: Asymmetric) -> Self {
        let buffer = Buffer::new(capacity);
        Self {
            shared: Arc::new(Shared::new(buffer, fence)),
            tail: 0,
            full_at: capacity,
            buffer,
            fence,
            capacity,
            growth,
            not_sync: PhantomData,
        }
    }

    /// Creates a handle that another thread can use to steal from this deque.
    pub fn stealer(&self) -> Stealer<T> {
        Stealer::new(self.shared.clone())
    }

    /// Adds `value` as the newest value.
    ///
    /// # Errors
    ///
    /// Returns the value in [`Full`] if a bounded deque is full. A growing deque never returns this
    /// error.
    ///
    /// # Panics
    ///
    /// Panics if a growing deque cannot allocate more memory.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), Full<T>> {
        if self.tail == self.full_at && self.make_room(1) == 0 {
            return Err(Full(value));
        }
        self.push_into_room(value);
        Ok(())
    }

    /// Takes the newest value. Returns `None` if there is none.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let buffer = self.buffer;
        // Announce which value we want, and then check whether a thief wants it, too: README, "The
        // race".
        let tail = self.tail.wrapping_sub(1);
        self.publish_tail(tail);
        self.fence.light();
        // Relaxed: the fence orders it; a value that no claim has reached was written by ourselves.
        let head = self.shared.head.load(Relaxed);
        if (tail.wrapping_sub(head) as isize) < 0 {
            return self.pop_contended(tail);
        }
        self.tail = tail;
        // SAFETY:
        // - alive: only we replace the buffer.
        // - initialized: `head <= tail`, and it was below our old tail.
        // - read once: any thief whose claim reaches it will see our tail and shrink (README, "The
        //   race"), and our tail is below it now.
        Some(unsafe { buffer.read(tail) })
    }

    /// Takes the oldest value, as a thief does. Returns `None` if there is none.
    ///
    /// The call costs an atomic read-modify-write operation, but no fence.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut worker = garrick_steal::deque::bounded(4);
    /// worker.push(1).unwrap();
    /// worker.push(2).unwrap();
    /// assert_eq!(worker.pop_oldest(), Some(1));
    /// ```
    pub fn pop_oldest(&mut self) -> Option<T> {
        let mut oldest = None;
        self.take_oldest(1, |value| oldest = Some(value));
        oldest
    }

    /// Moves up to `count_max` of the oldest values to the end of `into`, oldest first. Returns the
    /// number of values moved.
    ///
    /// The whole call needs only as much synchronization as a single
    /// [`pop_oldest`](Self::pop_oldest).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut worker = garrick_steal::deque::bounded(4);
    /// (0..4).for_each(|value| worker.push(value).unwrap());
    /// let mut oldest = Vec::new();
    /// assert_eq!(worker.pop_oldest_into(&mut oldest, 3), 3);
    /// assert_eq!(oldest, [0, 1, 2]);
    /// ```
    pub fn pop_oldest_into(&mut self, into: &mut Vec<T>, count_max: usize) -> usize {
        // Room is made first, so that nothing is allocated under the lock, except where an
        // unsettled claim of a thief hid values.
        into.reserve(self.len().min(count_max));
        self.take_oldest(count_max, |value| into.push(value))
    }

    /// Takes up to `count_max` of the oldest values, and calls `each` with each of them. Returns
    /// the number of values taken, and updates `full_at`. If a thief is stealing, waits for the
    /// thief first.
    pub(super) fn take_oldest(&mut self, count_max: usize, mut each: impl FnMut(T)) -> usize {
        if self.shared.done() == self.tail {
            self.full_at = self.tail.wrapping_add(self.capacity);
            return 0;
        }
        let guard = self.shared.lock();
        let head = guard.head();
        let count = distance(head, self.tail).min(count_max);
        let end = head.wrapping_add(count);
        // Before the copies: if `each` panics, no value is read again.
        guard.set_head(end);
        for offset in 0..count {
            // SAFETY:
            // - alive: only we replace the buffer.
            // - initialized: `head + offset < tail`, and both are exact here, under the lock.
            // - read once: `head` is past it.
            each(unsafe { self.buffer.read(head.wrapping_add(offset)) });
        }
        guard.set_done(end);
        self.full_at = end.wrapping_add(self.capacity);
        count
    }

    /// Returns the number of values in the deque. Values that a thief has already claimed are not
    /// counted. Thieves may claim more values at any time.
    #[inline]
    pub fn len(&self) -> usize {
        // Relaxed: a hint, as documented.
        distance(self.shared.head.load(Relaxed), self.tail)
    }

    /// Returns true if there are no values, or if thieves have claimed all of them.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the maximum number of values in the deque. For a growing deque, returns the current
    /// capacity.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Starts the positions of an empty deque at `count` instead of 0, to test positions that wrap
    /// around.
    #[cfg(all(test, not(garrick_loom)))]
    pub(super) fn start_at(&mut self, count: usize) {
        assert!(self.is_empty(), "only an empty deque can start elsewhere");
        let guard = self.shared.lock();
        guard.set_head(count);
        guard.set_done(count);
        drop(guard);
        self.tail = count;
        self.full_at = count.wrapping_add(self.capacity);
        self.publish_tail(count);
    }

    /// Returns true if `shared` is the shared state of this deque.
    pub(super) fn owns(&self, shared: &Arc<Shared<T>>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    /// Makes room for `count` more values if possible. Returns the number of values for which there
    /// is room now.
    pub(crate) fn make_room_for(&mut self, count: usize) -> usize {
        if self.room() < count {
            self.make_room(count);
        }
        self.room()
    }

    /// Returns true if there is room for another value. If a thief is stealing, waits for the thief
    /// first.
    ///
    /// If the result is false, each later theft begins after this call, so the thief sees all
    /// earlier writes of the owner.
    pub(crate) fn has_room(&mut self) -> bool {
        // Reads what the thieves have taken under the lock, except from an empty deque.
        self.take_oldest(0, drop);
        self.room() > 0
    }

    /// Adds `value` as the newest value. The caller must have checked that there is room.
    #[inline(always)]
    pub(super) fn push_into_room(&mut self, value: T) {
        debug_assert!(self.room() > 0, "room must be made before a push");
        // SAFETY:
        // - alive: only we replace the buffer.
        // - exclusive: `tail < done + capacity`, so the thief that emptied this slot has finished,
        //   and no thief claims it before we publish it; `&mut self` excludes a second owner.
        unsafe { self.buffer.write(self.tail, value) };
        self.tail = self.tail.wrapping_add(1);
        self.publish_tail(self.tail);
    }

    /// Publishes `tail` to the thieves.
    #[inline(always)]
    fn publish_tail(&self, tail: usize) {
        // Release: pairs with the Acquire in `Stealer::claim`; publishes every slot below `tail`.
        // It must be Release in a pop too: a thief that reads the lowered tail still relies on the
        // pushes before.
        self.shared.tail.store(tail, Release);
    }

    #[inline]
    fn room(&self) -> usize {
        self.full_at.wrapping_sub(self.tail)
    }

    /// Reads which values the thieves have finished copying. If there is still not enough room, and
    /// if the deque may grow, grows it. Returns the number of values for which there is room now.
    #[cold]
    fn make_room(&mut self, count: usize) -> usize {
        self.full_at = self.shared.done().wrapping_add(self.capacity);
        if self.growth == Growth::Doubles && self.room() < count {
            self.grow(self.capacity - self.room() + count);
        }
        self.room()
    }

    /// Moves all values to a new buffer, which has at least `capacity_min` slots and at least twice
    /// as many as the old buffer.
    #[cold]
    fn grow(&mut self, capacity_min: usize) {
        let capacity = super::shared::slot_count(capacity_min.max(2 * self.capacity));
        let new = Buffer::new(capacity);
        let guard = self.shared.lock();
        let head = guard.head();
        let mut count = head;
        while count != self.tail {
            // SAFETY:
            // - alive: both buffers are ours.
            // - initialized: `head..tail` is, and both are exact here, under the lock.
            // - read once: the old slots are freed below, without their values.
            // - exclusive: nobody else knows `new`.
            unsafe { new.write(count, self.buffer.read(count)) };
            count = count.wrapping_add(1);
        }
        let old = guard.replace_buffer(new);
        // SAFETY: thieves use a buffer only under the lock, which we hold; our own copy goes next.
        unsafe { old.free() };
        self.buffer = new;
        self.capacity = capacity;
        self.full_at = head.wrapping_add(capacity);
    }

    /// Finishes the pop of the value at the position `tail`, which a thief may have claimed. The
    /// lowered tail is already published.
    #[cold]
    fn pop_contended(&mut self, tail: usize) -> Option<T> {
        let old_tail = tail.wrapping_add(1);
        // An empty deque is the common reason, and `done` proves it without the lock.
        let value = if self.shared.done() == old_tail {
            None
        } else {
            self.pop_under_lock(tail)
        };
        self.tail = if value.is_some() { tail } else { old_tail };
        self.publish_tail(self.tail);
        value
    }

    /// Takes the steal lock, so that no thief is claiming values. Then takes the value at the
    /// position `tail`, if no thief has taken this value.
    fn pop_under_lock(&self, tail: usize) -> Option<T> {
        let guard = self.shared.lock();
        let is_ours = guard.head() != tail.wrapping_add(1);
        is_ours.then(|| {
            // SAFETY:
            // - alive: only we replace the buffer.
            // - initialized: `head <= tail`, and it was below our old tail.
            // - read once: under the lock no claim is open, and the published tail is below it.
            unsafe { self.buffer.read(tail) }
        })
    }
}

impl<T> fmt::Debug for Worker<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("len", &self.len())
            .field("capacity", &self.capacity)
            .field("growth", &self.growth)
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}
