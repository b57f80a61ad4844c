//! The global queue, which all handles share. The queue contains the values that did not fit into
//! the workers' deques, and the values of senders that are not workers.
//!
//! The queue is a ring under a lock, because values go through it in batches. Taking the lock once
//! for 128 values costs less than an atomic claim for each value. Two counts let other threads
//! check the queue without the lock.
//!
//! ```text
//!     overflow, outside senders --lock--> [ oldest ... newest ] --lock--> workers, outside receivers
//!                               pushed += n              taken += n         empty: pushed == taken
//! ```
use std::{collections::VecDeque, sync::PoisonError};

use crossbeam_utils::CachePadded;
use garrick_core::prim::{
    Mutex, MutexGuard,
    atomic::{
        AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use super::Capacity;

pub(super) struct Global<T> {
    queue: Mutex<Queue<T>>,

    /// Number of values pushed so far. Wraps around. Written under the lock, read by any thread.
    pushed: CachePadded<AtomicUsize>,

    /// Number of values taken so far. Wraps around. Written under the lock, read by any thread.
    taken: CachePadded<AtomicUsize>,

    /// Maximum number of values in the queue. Never changes.
    capacity: usize,
}

struct Queue<T> {
    values: VecDeque<T>,
    /// Number of values that workers are about to move from their full deques to the queue, and for
    /// which room is reserved.
    reserved: usize,
    /// True if the queue no longer accepts values from senders that are not workers.
    is_closed: bool,
}

/// The reason why the queue rejected the values of a sender that is not a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Full,
    Closed,
}

impl<T> Global<T> {
    pub(super) fn new(capacity: Capacity) -> Self {
        Self {
            queue: Mutex::new(Queue {
                values: VecDeque::new(),
                reserved: 0,
                is_closed: false,
            }),
            pushed: CachePadded::new(AtomicUsize::new(0)),
            taken: CachePadded::new(AtomicUsize::new(0)),
            capacity: capacity.count(),
        }
    }

    #[inline]
    pub(super) fn is_bounded(&self) -> bool {
        self.capacity != usize::MAX
    }

    /// Returns the number of values pushed so far. If a second call returns the same number, no
    /// value was pushed in between.
    #[inline]
    pub(super) fn pushed(&self) -> usize {
        // Relaxed: the count publishes nothing. A thread finds the values by this same count, and
        // the lock publishes the values themselves.
        self.pushed.load(Relaxed)
    }

    /// Returns the number of values in the queue at some recent moment. If the number is 0, the
    /// caller sees all writes that were made before the last value was taken.
    #[inline]
    pub(super) fn len(&self) -> usize {
        // Acquire: pairs with the Release in `count_taken`; the thread that took the last values
        // had first marked that it was moving them, and `Shared::verdict` reads the marks again
        // after this load.
        let taken = self.taken.load(Acquire);
        // A push between the two loads may be counted or not. A value that was pushed and taken
        // since the first load makes the difference too large, but never negative, because `taken`
        // is the older of the two numbers.
        self.pushed().wrapping_sub(taken)
    }

    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        // No code that panics runs under the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves room for up to `count` values of a worker. The worker must then call
    /// [`push_reserved`](Self::push_reserved). Returns the number of values for which room was
    /// reserved.
    pub(super) fn reserve(&self, count: usize) -> usize {
        if !self.is_bounded() {
            return count;
        }
        let mut queue = self.lock();
        let granted = count.min(self.room(&queue));
        queue.reserved += granted;
        granted
    }

    /// Appends `values`, and releases the room for `reserved` values. The length of `values` must
    /// be at most `reserved`.
    pub(super) fn push_reserved(&self, values: &mut Vec<T>, reserved: usize) {
        let mut queue = self.lock();
        if self.is_bounded() {
            queue.reserved -= reserved;
        }
        let count = values.len();
        queue.values.extend(values.drain(..));
        self.count_pushed(count);
    }

    /// Appends values of a sender that is not a worker, until the queue is full. The remaining
    /// values stay in `values`. If the queue is closed, appends nothing.
    pub(super) fn push_outside(&self, values: &mut VecDeque<T>) -> Result<(), Refusal> {
        let mut queue = self.lock();
        if queue.is_closed {
            return Err(Refusal::Closed);
        }
        let count = values.len().min(self.room(&queue));
        queue.values.extend(values.drain(..count));
        self.count_pushed(count);
        if values.is_empty() {
            Ok(())
        } else {
            Err(Refusal::Full)
        }
    }

    /// Appends one value of a sender that is not a worker. If the value is rejected, returns the
    /// value and the reason.
    pub(super) fn push_one(&self, value: T) -> Result<(), (T, Refusal)> {
        let mut queue = self.lock();
        if queue.is_closed {
            return Err((value, Refusal::Closed));
        }
        if self.room(&queue) == 0 {
            return Err((value, Refusal::Full));
        }
        queue.values.push_back(value);
        self.count_pushed(1);
        Ok(())
    }

    /// Takes the oldest value.
    pub(super) fn pop(&self) -> Option<T> {
        if self.len() == 0 {
            return None;
        }
        let mut queue = self.lock();
        let value = queue.values.pop_front()?;
        self.count_taken(1);
        Some(value)
    }

    /// Moves a share of the values to the end of `into`, oldest first. The share is the number of
    /// values divided by `sharers`, rounded up, but at most `count_max`.
    pub(super) fn pop_share(&self, sharers: usize, count_max: usize, into: &mut Vec<T>) {
        let mut queue = self.lock();
        let count = queue.values.len().div_ceil(sharers).min(count_max);
        into.extend(queue.values.drain(..count));
        self.count_taken(count);
    }

    /// Closes the queue, so that it rejects values of senders that are not workers.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Returns true if the queue had room for another value at some recent moment.
    pub(super) fn has_room(&self) -> bool {
        let queue = self.lock();
        self.room(&queue) > 0
    }

    fn room(&self, queue: &Queue<T>) -> usize {
        self.capacity - queue.values.len() - queue.reserved
    }

    fn count_pushed(&self, count: usize) {
        // Relaxed: only lock holders write it, and we hold the lock.
        let pushed = self.pushed.load(Relaxed).wrapping_add(count);
        // Relaxed: as in `pushed`.
        self.pushed.store(pushed, Relaxed);
    }

    fn count_taken(&self, count: usize) {
        // Relaxed: only lock holders write it, and we hold the lock.
        let taken = self.taken.load(Relaxed).wrapping_add(count);
        // Release: pairs with the Acquire in `len`; publishes the writes of this thread and of the
        // earlier lock holders.
        self.taken.store(taken, Release);
    }
}
