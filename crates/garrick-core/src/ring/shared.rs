//! State that the two halves of a ring share.
use crossbeam_utils::CachePadded;

use super::{
    slots::{Slots, Storage},
    spread::Word,
};
use crate::prim::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

pub(super) struct Shared<T> {
    /// The end at which values are taken. Written by the consumer, read by the producer.
    pub(super) head: CachePadded<End>,

    /// The end at which values are pushed. Written by the producer, read by the consumer.
    pub(super) tail: CachePadded<End>,

    /// Determines from which value on the ring uses all its slots instead of only the first
    /// `capacity` slots. Written at most twice by the producer, read by the consumer.
    pub(super) spread: Word,

    /// View of the slots for the destructor of this struct. The producer and the consumer use their
    /// own views instead. The slots in `head..tail` are full, and the others are free.
    slots: Slots<T>,

    /// Memory that `slots` points to. Freed after `Drop` has dropped the values.
    _storage: Storage<T>,
}

/// One end of the ring, which belongs to the producer or to the consumer. Written by its owner,
/// read by the other half of the ring. Each end has its own cache line, so that the halves seldom
/// slow each other down.
pub(super) struct End {
    /// Number of values that have passed this end since the ring was created. This count wraps
    /// around after `usize::MAX`. A mask converts the count into the index of a slot. Written by
    /// the half that owns this end, read by the other half.
    count: AtomicUsize,

    /// True once the producer or consumer at this end was dropped. Written once by the `Drop` of
    /// this half, and read by the other half.
    gone: AtomicBool,
}

// SAFETY:
// - a slot is reached by one half at a time (see `Producer` and `Consumer`), so values of type `T`
//   are moved between threads and never shared: `T: Send` is enough.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Creates an empty ring whose counts begin at `start`.
    pub(super) fn new(storage: Storage<T>, slots: Slots<T>, start: usize) -> Self {
        Self {
            head: CachePadded::new(End::new(start)),
            tail: CachePadded::new(End::new(start)),
            spread: Word::new(),
            slots,
            _storage: storage,
        }
    }
}

impl End {
    fn new(start: usize) -> Self {
        Self {
            count: AtomicUsize::new(start),
            gone: AtomicBool::new(false),
        }
    }

    /// Publishes `count` to the half at the other end of the ring. The caller's accesses to the
    /// slots below `count` happen before the other half reads `count`.
    #[inline]
    pub(super) fn publish(&self, count: usize) {
        // Release: pairs with the Acquire in `End::look`. On the tail it publishes the values
        // written below `count`; on the head it publishes that our reads below `count` are over.
        self.count.store(count, Release);
    }

    /// Reads the count that was last published at this end.
    #[inline]
    pub(super) fn look(&self) -> usize {
        // Acquire: pairs with the Release in `End::publish`. On the tail we see the values below it
        // before we read them; on the head the reads below it are over before we write there.
        self.count.load(Acquire)
    }

    /// Records that the producer or consumer at this end was dropped.
    pub(super) fn leave(&self) {
        // Release: pairs with the Acquire in `End::is_gone`; the last `publish` comes before it.
        self.gone.store(true, Release);
    }

    /// Returns true if the producer or consumer at this end was dropped. The next `look` then
    /// returns the final count.
    #[inline]
    pub(super) fn is_gone(&self) -> bool {
        // Acquire: pairs with the Release in `End::leave`.
        self.gone.load(Acquire)
    }

    /// Returns the number of values that have passed this end, by a relaxed load. Used for `Debug`
    /// output and in `Drop`.
    pub(super) fn count_relaxed(&self) -> usize {
        // Relaxed: no slot is accessed based on it, except by `Shared::drop`, which is alone.
        self.count.load(Relaxed)
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let (head, tail) = (self.head.count_relaxed(), self.tail.count_relaxed());
        self.slots.settle(head, self.spread.get());
        // SAFETY:
        // - full: `head..tail` is, by the invariant of the ring; its length is at most the
        //   capacity.
        // - exclusive: `&mut self` means that both halves are gone, and the `Arc` synchronized with
        //   the drop of each.
        unsafe { self.slots.drop_range(head, tail.wrapping_sub(head)) }
    }
}
