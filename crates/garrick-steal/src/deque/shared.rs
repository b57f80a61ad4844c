//! State that the owner and the thieves share, and the lock for stealing.
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

/// Number of times that the owner tries to take the lock before it yields its core. A thief holds
/// the lock for about one `membarrier(2)`, which takes at least 2 µs. If a thief holds the lock
/// much longer, the thief was preempted.
const SPINS_MAX: usize = if cfg!(garrick_loom) { 1 } else { 256 };

/// State that the owner and the thieves access. The three parts have different readers and writers,
/// so each part has its own cache line.
///
/// The counts wrap around at the maximum of `usize`, not at the number of slots. [`Buffer::read`]
/// and [`Buffer::write`] convert a count into an index by a mask.
pub(super) struct Shared<T> {
    /// Position after the newest value. Written by the owner, read by thieves. A pop lowers the
    /// tail before it is known whether the pop gets the value. So the tail may be one below `head`
    /// for a moment.
    pub(super) tail: CachePadded<AtomicUsize>,

    /// Position of the oldest value that no thief has claimed. Written under the lock, read by the
    /// owner in each pop. A thief raises the head before it is known whether the thief gets the
    /// values. So the head may be above `tail` for a moment.
    pub(super) head: CachePadded<AtomicUsize>,

    /// The lock for stealing, and the state that this lock guards.
    steal: CachePadded<StealSide<T>>,
}

struct StealSide<T> {
    /// True while the lock is held, by a thief or by the owner in a slow path.
    locked: AtomicBool,

    /// Position below which all values have been copied out, so that the owner may write to their
    /// slots again. The position may be too low, but is never too high. While the lock is free, it
    /// is equal to `head`. Written under the lock, read by any thread at any time.
    done: AtomicUsize,

    /// Pointer to the slots. The owner replaces this pointer under the lock, and thieves read this
    /// pointer under the lock. The owner has its own copy.
    buffer: UnsafeCell<Buffer<T>>,

    /// The pair of memory fences, which never changes. Read by thieves. The owner has its own copy.
    fence: Asymmetric,
}

// SAFETY: values are moved between threads, never shared (README, "Who may access a slot"), so
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

    /// Returns the number of values that no thief had claimed at some recent moment. The number may
    /// be outdated, unless the caller holds the steal lock and has passed its memory fence.
    #[inline]
    pub(super) fn len(&self) -> usize {
        // Relaxed: a hint; a thread that relies on it reads the counts again under the lock.
        distance(self.head.load(Relaxed), self.tail.load(Relaxed))
    }

    /// Returns true if all values have been popped, or copied out by thieves, or if the owner and a
    /// thief compete for the last one.
    #[inline]
    pub(super) fn is_drained(&self) -> bool {
        let done = self.done();
        // Acquire: pairs with the Release in `Worker::publish_tail`; if the owner took the last
        // value, all its writes before are visible.
        distance(done, self.tail.load(Acquire)) == 0
    }

    /// Returns the position below which all values have been copied out. The owner may reuse the
    /// slots of these values.
    #[inline]
    pub(super) fn done(&self) -> usize {
        // Acquire: pairs with the Release in `Guard::set_done`; the thief has read every slot below
        // `done` before the owner overwrites it.
        self.steal.done.load(Acquire)
    }

    /// Takes the lock if it is free.
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

    /// Waits for the lock and takes it. Only the owner calls this method, because a thief never
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

/// The remaining values and the buffer of a deque whose last handle was dropped. Created only when
/// [`Shared`], which owns them, is dropped.
struct Left<T> {
    buffer: Buffer<T>,
    /// Position of the oldest value.
    head: usize,
    /// Number of values that were left in the deque.
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

/// Guard of the steal lock. The thread that holds the lock may change `head` and `done`, and may
/// use the buffer.
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

    /// Publishes that all slots below `done` have been read.
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

    /// Replaces the buffer with `new`. Returns the old buffer, which the caller must free.
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

/// Pointer to an array of slots. The number of slots is a power of two. The pointer can be copied.
/// The protocol of the deque determines which slots a thread may access through its copy.
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
    /// Allocates at least `capacity` slots. [`Buffer::free`] frees them.
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

    /// Frees the slots without dropping values.
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

    /// Writes `value` to the slot with the index `count` modulo the number of slots.
    ///
    /// # Safety
    ///
    /// The buffer must not have been freed, and no other code may access this slot.
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

    /// Moves the value out of the slot with the index `count` modulo the number of slots.
    ///
    /// # Safety
    ///
    /// The buffer must not have been freed, and the slot must be initialized. No other code may
    /// write to the slot. The value must not be used through another copy.
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

/// Returns the number of slots of a deque with room for `capacity` values.
#[track_caller]
pub(super) fn slot_count(capacity: usize) -> usize {
    // Half of the counts are left over, so that the sign of a difference shows which of two is
    // ahead.
    const CAPACITY_MAX: usize = 1 << (usize::BITS - 2);
    assert!(
        capacity <= CAPACITY_MAX,
        "the capacity of a deque must be at most {CAPACITY_MAX}, but is {capacity}"
    );
    capacity.next_power_of_two()
}

/// Returns the distance from the position `from` to the position `to`, or 0 if `to` is behind
/// `from`. While a thief claims values, or the owner pops a value, `to` can be behind for a moment.
#[inline(always)]
pub(super) fn distance(from: usize, to: usize) -> usize {
    (to.wrapping_sub(from) as isize).max(0) as usize
}
