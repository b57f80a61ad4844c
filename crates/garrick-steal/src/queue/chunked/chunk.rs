//! An array of slots. Each slot has a flag that shows whether its value is ready.

use std::{mem::MaybeUninit, ops::Range, ptr};

use garrick_core::prim::{
    UnsafeCell,
    atomic::{
        AtomicBool, AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// Length of the chunks of each class. The first chunks are short, so that a small queue needs
/// little memory. Later chunks are long, so that a busy queue seldom changes chunks. Under loom,
/// all chunks are tiny, so that even a model with few values changes chunks.
const LENS: [usize; 3] = if cfg!(garrick_loom) {
    [1, 1, 2]
} else {
    [128, 256, 512]
};

/// Length class of a chunk, which determines its number of slots.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Class(u8);

impl Class {
    pub(super) const FIRST: Self = Self(0);
    pub(super) const LAST: Self = Self(LENS.len() as u8 - 1);

    #[inline]
    pub(super) fn len(self) -> usize {
        LENS[self.0 as usize]
    }

    pub(super) fn larger(self) -> Self {
        Self((self.0 + 1).min(Self::LAST.0))
    }

    pub(super) fn number(self) -> u8 {
        self.0
    }

    /// Returns the class whose [`number`](Self::number) is `number`.
    #[inline]
    pub(super) fn from_number(number: u8) -> Self {
        Self(number)
    }
}

struct Slot<T> {
    /// True while the slot has a value. Set by the producer that claimed the slot, cleared by the
    /// consumer.
    is_ready: AtomicBool,

    /// Value of the slot. The producer writes it before it sets `is_ready`. The consumer reads it
    /// after it has seen `is_ready`.
    value: UnsafeCell<MaybeUninit<T>>,
}

/// A chunk of slots. Because of its alignment, the low six bits of its address are available for
/// marks.
#[repr(align(64))]
pub(super) struct Chunk<T> {
    /// Next chunk. Set once by the producer that replaced this chunk in the tail. Read by the
    /// consumer.
    next: AtomicPtr<Chunk<T>>,

    class: Class,

    slots: Box<[Slot<T>]>,
}

impl<T> Chunk<T> {
    pub(super) fn alloc(class: Class) -> *mut Self {
        let empty = || Slot {
            is_ready: AtomicBool::new(false),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Box::into_raw(Box::new(Self {
            next: AtomicPtr::new(ptr::null_mut()),
            class,
            slots: std::iter::repeat_with(empty).take(class.len()).collect(),
        }))
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn class(&self) -> Class {
        self.class
    }

    /// Fills a slot. Takes a pointer instead of a reference, because the chunk may be freed before
    /// the function returns.
    ///
    /// # Safety
    ///
    /// The caller has claimed the slot in this chunk and fills it only once.
    #[inline]
    pub(super) unsafe fn write(chunk: *mut Self, index: usize, value: T) {
        // SAFETY: the chunk lives until the slot is ready.
        let slot: *const Slot<T> = unsafe { &raw const (&(*chunk).slots)[index] };
        // Relaxed: the claim of the slot has made all that was done to it before visible.
        // SAFETY: as above.
        debug_assert!(unsafe { !(*slot).is_ready.load(Relaxed) }, "filled twice");
        // SAFETY:
        // - valid: as above, and the store of `is_ready` is the last use.
        // - exclusive: the claim is ours, and the consumer stays away until the slot is ready.
        unsafe {
            (*slot).value.with_mut(|place| (*place).write(value));
            // Release: pairs with the Acquire in `take`; publishes the value.
            (*slot).is_ready.store(true, Release);
        }
    }

    /// Takes the value out of a slot. Returns `None` if the value is not ready.
    ///
    /// # Safety
    ///
    /// The caller must be the consumer, or own the chunk.
    #[inline]
    pub(super) unsafe fn take(&self, index: usize) -> Option<T> {
        let slot = &self.slots[index];
        // Acquire: pairs with the Release in `write`.
        if !slot.is_ready.load(Acquire) {
            return None;
        }
        // SAFETY: ready means initialized and left by its producer; only the consumer gets here,
        // and clears the flag below.
        let value = slot
            .value
            .with_mut(|place| unsafe { (*place).assume_init_read() });
        // Relaxed: the next reader is the consumer, or a thread that gets the chunk from it, with
        // an ordering of its own.
        slot.is_ready.store(false, Relaxed);
        Some(value)
    }

    /// Returns the next chunk, or null if there is none yet.
    pub(super) fn next(&self) -> *mut Self {
        // Acquire: pairs with the Release in `link`; the next chunk is initialized.
        self.next.load(Acquire)
    }

    /// Sets the next chunk. Takes a pointer instead of a reference, because the chunk may be freed
    /// before the function returns.
    ///
    /// # Safety
    ///
    /// The caller has replaced this chunk in the tail.
    pub(super) unsafe fn link(chunk: *mut Self, next: *mut Self) {
        debug_assert!(!next.is_null() && next != chunk, "a chunk after itself");
        // SAFETY: the chunk lives until this store is seen.
        // Release: pairs with the Acquire in `next`.
        unsafe { (*chunk).next.store(next, Release) };
    }

    /// Prepares an empty chunk for reuse, and returns the length class of the chunk.
    pub(super) fn reset(&self) -> Class {
        debug_assert!(
            // Relaxed: as below.
            !self.slots.iter().any(|slot| slot.is_ready.load(Relaxed)),
            "a chunk is used again with a value in it"
        );
        // Relaxed: the caller owns the chunk.
        self.next.store(ptr::null_mut(), Relaxed);
        self.class
    }
}

impl<T> Drop for Chunk<T> {
    fn drop(&mut self) {
        let indices = 0..self.len();
        let chunk = self;
        Left { chunk, indices }.drop_values();
    }
}

/// Values of a chunk that is dropped. Created only by the destructor of the chunk.
struct Left<'a, T> {
    chunk: &'a mut Chunk<T>,
    /// Indices of the slots that were not emptied yet.
    indices: Range<usize>,
}

impl<T> Left<'_, T> {
    fn drop_values(&mut self) {
        for index in self.indices.by_ref() {
            // SAFETY: we own the chunk. What is ready was never read.
            drop(unsafe { self.chunk.take(index) });
        }
    }
}

impl<T> Drop for Left<'_, T> {
    fn drop(&mut self) {
        // After a value's drop has panicked: the others are dropped all the same.
        self.drop_values();
    }
}
