//! A chunked queue: linked arrays of 128, 256, 512, 512, ... slots.
//!
//! The algorithm is a variant of the array-linked queues of Gidenstam, Sundell and Tsigas (2010)
//! and of crossbeam's `SegQueue`. In contrast to these queues, *one* word contains the address of
//! the newest chunk, the next free index in it, and some marks. So one atomic add claims a slot and
//! identifies its chunk.
//!
//! ```text
//!     tail:  [ index, 16 bits ][ address of the newest chunk, 48 bits, of which the low 6 are marks ]
//!                                                 |
//!     consumer's chunk            ...             v
//!     [ r r . . . . . | next ] --> [ . . . | next ] --> [ . . x x _ _ _ _ | null ]     r read
//!           ^                                                   ^                      . ready
//!           consumer's index                                    tail's index           x claimed
//! ```
//!
//! **Reclamation** needs no reference counts. A producer accesses a chunk only in two cases:
//! - After it has claimed a slot, it writes the value and sets the `ready` flag of the slot.
//! - After it has replaced the chunk in `tail`, it sets the `next` of the chunk.
//!
//! The consumer leaves a chunk after it has seen all `ready` flags and the `next` of the chunk.
//! From this moment on, no producer accesses the chunk. If all slots are claimed, a producer sees
//! this from the word `tail` alone, because the marks include the length class of the chunk. So the
//! producer does not access the full chunk. A new chunk may have the same address as a freed chunk.
//! This does no harm, because the word always describes its *current* chunk.
//!
//! `push` is wait-free, except at the end of a chunk, where it is only lock-free: a producer that
//! finds no free slot tries to install a new chunk. `try_pop` is wait-free. It returns `None` if
//! the slot of the oldest value is claimed but not ready yet. There can be any number of
//! [`Producer`]s, on any threads. There is one [`Consumer`].

mod chunk;
mod tail;

use std::{fmt, ptr, time::Duration};

use crossbeam_utils::CachePadded;
use garrick_core::prim::{
    Arc,
    atomic::{
        AtomicPtr, AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
};

use super::wait::{Doorbell, Doze, Sleeper, Waiter};
use super::{PopTimeoutError, Queue, Receiver, SendError, Sender};
use chunk::{Chunk, Class};
use tail::Tail;

/// A type that selects the [chunked queue](self) in code that is generic over [`Queue`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Chunked;

impl Queue for Chunked {
    type Sender<T: Send + 'static> = Producer<T>;
    type Receiver<T: Send + 'static> = Consumer<T>;

    fn channel<T: Send + 'static>() -> (Producer<T>, Consumer<T>) {
        channel()
    }
}

struct Shared<T> {
    /// A [`Tail`] word. Producers change the word to claim slots and to install chunks. The
    /// consumer sets and clears the marks in the word.
    tail: CachePadded<AtomicU64>,

    /// Empty chunk of the largest class, kept for reuse, or null. If this field is null, the
    /// consumer stores an empty chunk here. A producer takes the chunk out again.
    spare: CachePadded<AtomicPtr<Chunk<T>>>,

    /// Oldest of the chunks that remained when the consumer was dropped. Written by the destructor
    /// of the consumer, read by the destructor of `Shared`.
    left_at: AtomicPtr<Chunk<T>>,

    doorbell: Doorbell,
}

/// The sending half of a chunked queue. Created by [`channel`].
pub struct Producer<T> {
    shared: Arc<Shared<T>>,
}

/// The receiving half of a chunked queue. Created by [`channel`].
pub struct Consumer<T> {
    reader: Reader<T>,
    waiter: Waiter,
}

/// The consumer, without the state that it needs to wait.
struct Reader<T> {
    shared: Arc<Shared<T>>,
    /// Oldest chunk, which is not freed before the consumer moves to the next chunk.
    chunk: *mut Chunk<T>,
    /// Index of the next slot to read in `chunk`, or the length of `chunk` if all slots have been
    /// read.
    index: usize,
}

// SAFETY: a slot is reached by one side at a time, so values are moved between threads, never
// shared: `T: Send` is enough. (The atomic pointers in `Shared` would not ask for it.)
unsafe impl<T: Send> Send for Producer<T> {}
// SAFETY: as above; `&Producer` moves values too, and shares none.
unsafe impl<T: Send> Sync for Producer<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Reader<T> {}

/// Creates an unbounded chunked queue.
///
/// A push aborts the process if more than 32,000 threads push at the same time and all of them find
/// the same chunk of the queue full.
///
/// # Examples
///
/// ```
/// use garrick_steal::queue::{Receiver, Sender, chunked};
///
/// let (producer, mut consumer) = chunked::channel();
/// producer.push_many(0..1000).unwrap();
/// assert_eq!(consumer.len(), 1000);
/// let mut received = Vec::new();
/// assert_eq!(consumer.pop_many(&mut received, 300), 300);
/// assert!(received.into_iter().eq(0..300));
/// ```
pub fn channel<T>() -> (Producer<T>, Consumer<T>) {
    let chunk = Chunk::alloc(Class::FIRST);
    let (doorbell, waiter) = Doorbell::new();
    let shared = Arc::new(Shared {
        tail: CachePadded::new(AtomicU64::new(Tail::new(chunk, Class::FIRST, 0).0)),
        spare: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
        left_at: AtomicPtr::new(chunk),
        doorbell,
    });
    let producer = Producer {
        shared: shared.clone(),
    };
    let reader = Reader {
        shared,
        chunk,
        index: 0,
    };
    (producer, Consumer { reader, waiter })
}

impl<T> Producer<T> {
    /// Claims at least one and at most `count_max` contiguous slots. Returns the first slot and the
    /// number of slots, or `None` if the queue is closed.
    fn claim_many(&self, count_max: usize) -> Option<(Tail, usize)> {
        // Relaxed: the exchange below acquires.
        let mut tail = Tail(self.shared.tail.load(Relaxed));
        loop {
            if tail.is_closed() {
                return None;
            }
            if tail.is_full() {
                self.shared.grow();
                tail = Tail(self.shared.tail.load(Relaxed));
                continue;
            }
            let count = count_max.min(tail.free());
            let next = tail.claim(count);
            // Acquire: pairs with the Release in `Shared::grow`; the chunk is initialized.
            let word = &self.shared.tail;
            match word.compare_exchange_weak(tail.0, next.0, Acquire, Relaxed) {
                Ok(_) => return Some((tail, count)),
                Err(now) => tail = Tail(now),
            }
        }
    }

    /// Wakes the consumer if it was waiting when the slots were claimed. The values of these slots
    /// must already be ready.
    #[inline]
    fn announce(&self, claimed: Tail) {
        if claimed.is_dozing() {
            self.shared.doorbell.ring();
        }
    }
}

impl<T: Send> Sender<T> for Producer<T> {
    #[inline]
    fn push(&self, value: T) -> Result<(), SendError<T>> {
        loop {
            // Acquire: pairs with the Release in `Shared::grow`; the chunk is initialized. A claim
            // that overshoots the chunk's end claims nothing; each thread makes at most one before
            // `Shared::grow` ensures that 16 bits suffice.
            let tail = Tail(self.shared.tail.fetch_add(Tail::ONE, Acquire));
            if tail.is_closed() {
                return Err(SendError(value));
            }
            if !tail.is_full() {
                // SAFETY: the slot is claimed by us alone, so it is unwritten, and its chunk lives
                // until it has been read.
                unsafe { Chunk::write(tail.chunk(), tail.index(), value) };
                self.announce(tail);
                return Ok(());
            }
            self.shared.grow();
        }
    }

    fn push_many(&self, values: impl IntoIterator<Item = T>) -> Result<(), SendError<Vec<T>>> {
        // The iterator runs to its end first: a claimed slot must be filled.
        let values: Vec<T> = values.into_iter().collect();
        let mut values = values.into_iter();
        while values.len() > 0 {
            let Some((tail, count)) = self.claim_many(values.len()) else {
                return Err(SendError(values.collect()));
            };
            for (index, value) in (tail.index()..).zip(values.by_ref().take(count)) {
                // SAFETY: as in `push`, for each of the `count` slots. After the last one the chunk
                // may be gone, and is not touched.
                unsafe { Chunk::write(tail.chunk(), index, value) };
            }
            self.announce(tail);
        }
        Ok(())
    }

    fn is_closed(&self) -> bool {
        Tail(self.shared.tail.load(Relaxed)).is_closed()
    }
}

impl<T> Shared<T> {
    /// Replaces a full chunk with a new chunk in `tail`. Does nothing if another thread does this
    /// first, or if the queue is closed.
    #[cold]
    fn grow(&self) {
        // Relaxed: the exchange below acquires.
        let mut tail = Tail(self.tail.load(Relaxed));
        if !tail.must_grow() {
            return;
        }
        if tail.is_overrun() {
            // Not a panic: a panic could be caught, and the push tried again.
            std::process::abort();
        }
        let class = tail.class().larger();
        let fresh = self.fresh_chunk(class);
        while tail.must_grow() {
            // A doze mark stays: the consumer sleeps until a slot is ready.
            let next = Tail::new(fresh, class, 0).with_marks_of(tail);
            // Release: pairs with the Acquires on `tail` in `Producer`; publishes the chunk. Later
            // read-modify-writes of the word carry the release on.
            // Acquire: pairs with the same Release of the thread that installed `tail`'s chunk; we
            // write to it.
            match self.tail.compare_exchange(tail.0, next.0, AcqRel, Relaxed) {
                Ok(_) => {
                    // SAFETY: the consumer does not leave that chunk before it sees this `next`,
                    // which we alone set: the exchange that replaces a chunk succeeds once.
                    unsafe { Chunk::link(tail.chunk(), fresh) };
                    return;
                }
                Err(now) => tail = Tail(now),
            }
        }
        // SAFETY: `fresh` was not published.
        unsafe { self.retire(fresh) };
    }

    fn fresh_chunk(&self, class: Class) -> *mut Chunk<T> {
        // Relaxed: a look that saves the exchange when there is nothing.
        if class == Class::LAST && !self.spare.load(Relaxed).is_null() {
            // Acquire: pairs with the Release in `retire`; the thread that emptied the chunk is
            // done with it.
            let spare = self.spare.swap(ptr::null_mut(), Acquire);
            if !spare.is_null() {
                return spare;
            }
        }
        Chunk::alloc(class)
    }

    /// Keeps an empty chunk for reuse, or frees it.
    ///
    /// # Safety
    ///
    /// The caller is the only owner of the chunk, and no slot is ready.
    unsafe fn retire(&self, chunk: *mut Chunk<T>) {
        // SAFETY: the caller's.
        let class = unsafe { (*chunk).reset() };
        // Release: pairs with the Acquire in `fresh_chunk`; we are done with the chunk.
        let kept = class == Class::LAST
            && (self.spare)
                .compare_exchange(ptr::null_mut(), chunk, Release, Relaxed)
                .is_ok();
        if !kept {
            // SAFETY: the caller's; every chunk came out of a box.
            drop(unsafe { Box::from_raw(chunk) });
        }
    }
}

impl<T> Reader<T> {
    fn chunk(&self) -> &Chunk<T> {
        // SAFETY: a chunk lives until we leave it.
        unsafe { &*self.chunk }
    }

    /// Moves to the next chunk after all slots of the current chunk were read. Returns true if
    /// there is a next chunk.
    #[cold]
    fn turn_over(&mut self) -> bool {
        let next = self.chunk().next();
        if next.is_null() {
            return false;
        }
        let emptied = std::mem::replace(&mut self.chunk, next);
        self.index = 0;
        // SAFETY: every slot was ready and is read, and `next` is set, so no producer is in there.
        unsafe { self.shared.retire(emptied) };
        true
    }

    /// Returns the value that `tail` has if all claimed slots have been read.
    fn tail_if_idle(&self) -> Tail {
        Tail::new(self.chunk, self.chunk().class(), self.index)
    }
}

impl<T> Sleeper<T> for Reader<T> {
    #[inline]
    fn try_pop(&mut self) -> Option<T> {
        if self.index == self.chunk().len() && !self.turn_over() {
            return None;
        }
        // SAFETY: `index` is the first unread slot, and we are the only reader.
        let value = unsafe { self.chunk().take(self.index) }?;
        self.index += 1;
        Some(value)
    }

    fn doze(&mut self) -> Doze {
        let idle = self.tail_if_idle();
        // Relaxed: the mark carries nothing. A claim before it is seen by the failure, a claim
        // after it rings.
        let exchange = &self.shared.tail;
        match exchange.compare_exchange(idle.0, idle.dozing().0, Relaxed, Relaxed) {
            Ok(_) => Doze::Marked,
            Err(_) => Doze::Disturbed,
        }
    }

    fn rise(&mut self) {
        // Relaxed: it only saves producers from ringing in vain.
        self.shared.tail.fetch_and(!Tail::DOZING, Relaxed);
    }

    fn doorbell(&self) -> &Doorbell {
        &self.shared.doorbell
    }
}

impl<T: Send> Receiver<T> for Consumer<T> {
    #[inline]
    fn try_pop(&mut self) -> Option<T> {
        self.reader.try_pop()
    }

    fn blocking_pop(&mut self) -> Option<T> {
        self.waiter.pop(&mut self.reader, None).ok()
    }

    fn pop_timeout(&mut self, timeout: Duration) -> Result<T, PopTimeoutError> {
        self.waiter.pop(&mut self.reader, Some(timeout))
    }

    /// Returns the number of values, including values whose push is in progress. The time is
    /// proportional to the number of chunks.
    fn len(&self) -> usize {
        // Relaxed: a hint; the chunks are reached by their `next`.
        let tail = Tail(self.reader.shared.tail.load(Relaxed));
        let mut chunk = self.reader.chunk;
        let mut len = 0;
        while !chunk.is_null() && chunk != tail.chunk() {
            // SAFETY: chunks from ours on live until we leave ours, which needs `&mut self`.
            let passed = unsafe { &*chunk };
            len += passed.len();
            chunk = passed.next();
        }
        if !chunk.is_null() {
            len += tail.claimed();
        }
        len.saturating_sub(self.reader.index)
    }

    fn is_closed(&self) -> bool {
        !self.reader.shared.doorbell.has_senders()
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        self.shared.doorbell.add_sender();
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.shared.doorbell.remove_sender();
    }
}

impl<T> Drop for Reader<T> {
    fn drop(&mut self) {
        // Relaxed: the mark carries nothing; a claim before it fills its slot, a claim after it is
        // refused.
        self.shared.tail.fetch_or(Tail::CLOSED, Relaxed);
        // A value that is still being written is dropped with `Shared`, so that no thread waits
        // here.
        loop {
            let value = self.try_pop();
            // Relaxed: dropping the `Arc` synchronizes. Stored before the value's drop, which may
            // panic.
            self.shared.left_at.store(self.chunk, Relaxed);
            if value.is_none() {
                break;
            }
        }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let mut left = Left {
            // Relaxed: both halves are gone, and dropping the `Arc` synchronized.
            chunk: self.left_at.load(Relaxed),
            spare: self.spare.load(Relaxed),
        };
        left.free_chunks();
    }
}

/// Chunks of a queue whose last handle was dropped. Created only when [`Shared`], which owns them,
/// is dropped.
struct Left<T> {
    /// Oldest chunk, or null.
    chunk: *mut Chunk<T>,
    /// Empty chunk that was kept for reuse, or null.
    spare: *mut Chunk<T>,
}

impl<T> Left<T> {
    fn free_chunks(&mut self) {
        while !self.chunk.is_null() {
            // SAFETY: nobody else is left; every chunk came out of a box, whose drop sees to the
            // values. It leaves the chain before its drop, which may panic.
            let owned = unsafe { Box::from_raw(self.chunk) };
            self.chunk = owned.next();
        }
    }
}

impl<T> Drop for Left<T> {
    fn drop(&mut self) {
        // After a value's drop has panicked: the other chunks are freed all the same.
        self.free_chunks();
        if !self.spare.is_null() {
            // SAFETY: as above; in no other chain.
            drop(unsafe { Box::from_raw(self.spare) });
        }
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tail = Tail(self.shared.tail.load(Relaxed));
        f.debug_struct("Producer").field("tail", &tail).finish()
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tail = Tail(self.reader.shared.tail.load(Relaxed));
        f.debug_struct("Consumer")
            .field("chunk", &self.reader.chunk)
            .field("index", &self.reader.index)
            .field("tail", &tail)
            .finish()
    }
}
