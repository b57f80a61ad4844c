//! Words and slots that owner and thieves share, and the steal lock.
use std::{mem::MaybeUninit, ptr::NonNull};

use crossbeam_utils::CachePadded;
use garrick_core::fence::Asymmetric;
use garrick_core::prim::{
    UnsafeCell,
    atomic::{
        AtomicBool, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
    hint, thread,
};

/// Number of times that the owner checks a taken lock before it yields its core. A thief holds the
/// lock for one `membarrier(2)`, from 2 µs. Much longer means that the thief was preempted.
const SPINS_MAX: usize = if cfg!(garrick_loom) { 1 } else { 256 };

/// State that both sides reach. The three parts have different readers and writers, so none shares
/// a cache line with another.
///
/// The counts do not wrap at the number of slots. They use wrapping arithmetic, and
/// [`Buffer::read`] and [`Buffer::write`] mask them to an index.
pub(super) struct Shared<T> {
    /// One past the newest value. Written by the owner, read by thieves. The owner lowers it before
    /// it knows whether it may take the value there, so it may stand one below `head`.
    pub(super) tail: CachePadded<AtomicUsize>,

    /// Oldest value that is not claimed. Written under the lock, read by the owner in each pop. A
    /// thief raises it before it knows whether it may have the values, so it may stand above
    /// `tail`.
    pub(super) head: CachePadded<AtomicUsize>,

    /// The lock and the state that it guards.
    steal: CachePadded<StealSide<T>>,
}

struct StealSide<T> {
    /// True while the lock is held. Taken by the one thief that steals, and by the owner in its
    /// slow paths.
    locked: AtomicBool,

    /// Count below which everything has been copied out, so that the owner may write there again.
    /// Written under the lock, read by the owner at any time. Equal to `head` whenever the lock is
    /// free; never too high.
    done: AtomicUsize,

    /// Slots. Written by the owner, read by thieves, both under the lock; the owner keeps a copy.
    buffer: UnsafeCell<Buffer<T>>,

    /// Pair of fences. Never changes. Read by thieves; the owner keeps a copy.
    fence: Asymmetric,
}

// SAFETY: values are moved between threads, never shared (README, "Who may touch a slot"), so
// `T: Send` is enough.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above; `buffer` is only reached under the lock.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(super) fn new(buffer: Buffer<T>, fence: Asymmetric) -> Self {
        Self {
            tail: CachePadded::new(AtomicUsize::new(0)),
            head: CachePadded::new(AtomicUsize::new(0)),
            steal: CachePadded::new(StealSide {
                locked: AtomicBool::new(false),
                done: AtomicUsize::new(0),
                buffer: UnsafeCell::new(buffer),
                fence,
            }),
        }
    }

    #[inline]
    pub(super) fn fence(&self) -> Asymmetric {
        self.steal.fence
    }

    /// Returns the number of unclaimed values at some recent moment: a hint for all threads except
    /// a lock holder that has passed the fence.
    #[inline]
    pub(super) fn len(&self) -> usize {
        // Relaxed: a hint; a thread that acts on it looks again under the lock.
        distance(self.head.load(Relaxed), self.tail.load(Relaxed))
    }

    /// Returns true if every value is gone, copied out by thieves or popped.
    #[inline]
    pub(super) fn is_drained(&self) -> bool {
        let done = self.done();
        // Acquire: pairs with the Release in `Worker::publish_tail`; what the owner did before it
        // took the last value is seen.
        distance(done, self.tail.load(Acquire)) == 0
    }

    /// Returns how far thieves have finished, for the owner, which may write below that.
    #[inline]
    pub(super) fn done(&self) -> usize {
        // Acquire: pairs with the Release in `Guard::set_done`; the thief has read every slot below
        // `done` before the owner overwrites it.
        self.steal.done.load(Acquire)
    }

    /// Takes the lock, if it is free.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<Guard<'_, T>> {
        let locked = &self.steal.locked;
        // Relaxed: only saves others the cache line of an attempt that would fail.
        let free = !locked.load(Relaxed);
        // Acquire: pairs with the Release in `Guard::drop`; we see the head, the buffer and,
        // through the fence, the tail that the last holder saw.
        let taken = free
            && locked
                .compare_exchange(false, true, Acquire, Relaxed)
                .is_ok();
        // Lazily: a guard unlocks when it is dropped.
        taken.then(|| Guard { shared: self })
    }

    /// Takes the lock, waiting for at most the thieves ahead. For the owner alone: a thief never
    /// waits.
    #[cold]
    pub(super) fn lock(&self) -> Guard<'_, T> {
        let mut spins = 0;
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            spins += 1;
            if spins < SPINS_MAX {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // Relaxed: `&mut self` means that every handle is gone, and dropping the `Arc`
        // synchronized.
        let head = self.head.load(Relaxed);
        let len = distance(head, self.tail.load(Relaxed));
        let buffer = self.steal.buffer.with(|buffer| {
            // SAFETY: nobody else is left to write it.
            unsafe { *buffer }
        });
        let mut left = Left { buffer, head, len };
        left.drop_values();
    }
}

/// State that a deque's last handle leaves behind. Created by the drop of [`Shared`] alone, which
/// owns all of it.
struct Left<T> {
    buffer: Buffer<T>,
    /// Oldest value.
    head: usize,
    /// Number of values left.
    len: usize,
}

impl<T> Left<T> {
    fn drop_values(&mut self) {
        while self.len > 0 {
            // SAFETY:
            // - alive: freed by our own drop only.
            // - initialized: `head..tail` is, and nobody else is left to read it.
            // - read once: `head` moves past it before its drop, which may panic.
            let value = unsafe { self.buffer.read(self.head) };
            self.head = self.head.wrapping_add(1);
            self.len -= 1;
            drop(value);
        }
    }
}

impl<T> Drop for Left<T> {
    fn drop(&mut self) {
        // After a value's drop has panicked: the others are dropped all the same.
        self.drop_values();
        // SAFETY: every handle is gone, so this was the last copy of the buffer.
        unsafe { self.buffer.free() };
    }
}

/// The steal lock, held. Its holder may move `head` and `done` and use the buffer.
pub(super) struct Guard<'a, T> {
    shared: &'a Shared<T>,
}

impl<T> Guard<'_, T> {
    #[inline]
    pub(super) fn head(&self) -> usize {
        // Relaxed: only lock holders write it, and we hold the lock.
        self.shared.head.load(Relaxed)
    }

    #[inline]
    pub(super) fn set_head(&self, head: usize) {
        // Relaxed: the fences order it against the owner's pop; thieves see it through the lock.
        self.shared.head.store(head, Relaxed);
    }

    /// Publishes that every slot below `done` has been read.
    #[inline]
    pub(super) fn set_done(&self, done: usize) {
        // Release: pairs with the Acquire in `Shared::done`; our reads of the slots are over.
        self.shared.steal.done.store(done, Release);
    }

    #[inline]
    pub(super) fn buffer(&self) -> Buffer<T> {
        self.shared.steal.buffer.with(|buffer| {
            // SAFETY: only the lock holder writes it, and that is us.
            unsafe { *buffer }
        })
    }

    /// Replaces the buffer by `new`. Returns the old buffer, which the caller must free.
    pub(super) fn replace_buffer(&self, new: Buffer<T>) -> Buffer<T> {
        self.shared.steal.buffer.with_mut(|buffer| {
            // SAFETY: only the lock holder reads or writes it, and that is us.
            unsafe { std::mem::replace(&mut *buffer, new) }
        })
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `Shared::try_lock`.
        self.shared.steal.locked.store(false, Release);
    }
}

type Slot<T> = UnsafeCell<MaybeUninit<T>>;

/// A power of two of slots, by pointer. The protocol determines which of its copies may do what.
pub(super) struct Buffer<T> {
    slots: NonNull<Slot<T>>,
    mask: usize,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Buffer<T> {}

impl<T> Buffer<T> {
    /// Allocates at least `capacity` slots, which [`Buffer::free`] frees.
    #[track_caller]
    pub(super) fn new(capacity: usize) -> Self {
        let count = slot_count(capacity);
        let slots: Box<[Slot<T>]> = (0..count)
            .map(|_| UnsafeCell::new(MaybeUninit::uninit()))
            .collect();
        let slots = NonNull::from(Box::leak(slots)).cast();
        Self {
            slots,
            mask: count - 1,
        }
    }

    /// Frees the slots, not the values in them.
    ///
    /// # Safety
    ///
    /// No copy of this buffer may be used afterwards.
    pub(super) unsafe fn free(self) {
        let slots = NonNull::slice_from_raw_parts(self.slots, self.mask + 1);
        // SAFETY:
        // - allocated: `new` leaked a box of `mask + 1` slots.
        // - freed once: the caller's promise.
        drop(unsafe { Box::from_raw(slots.as_ptr()) });
    }

    /// Writes `value` to slot number `count`, wrapped to the buffer.
    ///
    /// # Safety
    ///
    /// The buffer must be alive, and no other code may use this slot.
    #[inline(always)]
    pub(super) unsafe fn write(self, count: usize, value: T) {
        // SAFETY:
        // - in bounds: `count & mask <= mask`, and there are `mask + 1` slots.
        // - alive, exclusive: the caller's promise.
        unsafe {
            let slot = self.slots.add(count & self.mask).as_ref();
            slot.with_mut(|slot| slot.cast::<T>().write(value));
        }
    }

    /// Moves the value out of slot number `count`, wrapped to the buffer.
    ///
    /// # Safety
    ///
    /// The buffer must be alive, the slot initialized, no other code may be writing it, and the
    /// value must not be used through any other copy.
    #[inline(always)]
    pub(super) unsafe fn read(self, count: usize) -> T {
        // SAFETY:
        // - in bounds: as in `write`.
        // - alive, initialized, read once: the caller's promise.
        unsafe {
            let slot = self.slots.add(count & self.mask).as_ref();
            slot.with(|slot| slot.cast::<T>().read())
        }
    }
}

/// Returns the number of slots of a deque of `capacity` values.
#[track_caller]
pub(super) fn slot_count(capacity: usize) -> usize {
    // Half of the counts are left over, so that the sign of a difference shows which of two is
    // ahead.
    const CAPACITY_MAX: usize = 1 << (usize::BITS - 2);
    assert!(
        capacity <= CAPACITY_MAX,
        "a deque's capacity must not exceed a quarter of the address space"
    );
    capacity.next_power_of_two()
}

/// Returns how far `to` is ahead of `from`, or 0 where it is behind: a claim or a pop in progress.
#[inline(always)]
pub(super) fn distance(from: usize, to: usize) -> usize {
    (to.wrapping_sub(from) as isize).max(0) as usize
}
