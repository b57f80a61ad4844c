//! A counter with two sides. One side advances the count, and the other side can wait until the
//! count reaches a target. A waiting thread is woken once, when the count reaches its target.
//!
//! One side, the [`Mover`], counts its progress (values sent, slots freed). The other side holds a
//! [`Watch`]. Before a thread of that side goes to sleep, it stores two numbers: `wanted` is the
//! count that it waits for, and `waiter` identifies the thread. When the mover reaches the wanted
//! count, the mover gets the number of the thread, and must wake the thread. So there is one
//! wake-up per sleep instead of one per value, and no thread polls.
//!
//! ```text
//!              the mover writes                 the watching side writes
//!         [ count ]  [ closed ]                 [ wanted ]  [ waiter ]
//!             |          |                           |           |
//!   advance:  1. count = 105                arm:  1. waiter = 3, wanted = 128
//!             2. fence                            2. fence
//!             3. wanted reached? take it          3. count reached, or closed? then do not sleep
//!                and wake `waiter`
//! ```
//!
//! Each side writes its own word, passes a sequentially consistent fence, and then reads the word
//! of the other side. This is Dekker's handshake ("Cooperating sequential processes", 1965). So at
//! least one side sees the write of the other side: either the watching side sees that its count
//! was reached, or the mover sees `wanted`.
//!
//! When the mover resets `wanted` to 0, by a swap, the mover must send one wake-up. So there is at
//! most one wake-up for each [`Watch::arm`]. A wake-up can come too early. This happens if the
//! mover reads that `wanted` was reached, and the watching side stores a new `wanted` before the
//! mover's swap. The woken thread must therefore check the count, and arm again if its target was
//! not reached.
//!
//! | operation | who | progress |
//! | --- | --- | --- |
//! | [`Mover::advance`], [`Mover::close`] | the one mover | wait-free |
//! | [`Watch::count`], [`Watch::is_closed`] | any thread | wait-free |
//! | [`Watch::arm`] | one watching side at a time | wait-free |
//!
//! A count has 64 bits and does not wrap in practice. At a billion steps per second this would take
//! five centuries.
use std::fmt;

use crossbeam_utils::CachePadded;

use crate::prim::{
    Arc,
    atomic::{
        AtomicBool, AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
        fence,
    },
};

#[cfg(all(test, garrick_loom))]
mod loom_tests;
#[cfg(all(test, not(garrick_loom)))]
mod tests;

/// A target for [`Watch::arm`] that no count reaches. A waiter with this target is woken only when
/// the gate is closed.
pub const CLOSE_ONLY: u64 = u64::MAX;

/// Value of `wanted` while no thread is waiting.
const NOBODY: u64 = 0;

/// Creates a gate, which is a count that the [`Mover`] advances. A thread with a [`Watch`] can wait
/// until the count reaches a target. The count starts at 0.
///
/// # Examples
///
/// ```
/// let (mut mover, watch) = garrick_core::gate::new();
/// let worker = 7;
///
/// watch.arm(3, worker);
/// assert!(watch.count() < 3); // Not reached: the worker may rest.
///
/// assert_eq!(mover.advance(2), None);
/// assert_eq!(mover.advance(2), Some(worker)); // Reached: wake it.
/// assert_eq!(mover.advance(2), None); // It has been woken.
/// ```
pub fn new() -> (Mover, Watch) {
    let gate = Arc::new(CachePadded::new(Gate {
        count: AtomicU64::new(0),
        closed: AtomicBool::new(false),
        wanted: AtomicU64::new(NOBODY),
        waiter: AtomicU32::new(0),
    }));
    let watch = Watch {
        gate: Arc::clone(&gate),
    };
    (Mover { gate, count: 0 }, watch)
}

/// State that two sides share: the mover advances the count, and the watching side waits for the
/// count. All words are in one cache line, which the mover's core usually owns. A thread on the
/// watching side writes to this cache line only when the thread is about to sleep.
struct Gate {
    /// Count of the gate. Written by the mover (which advances the count), read by the watching
    /// side (which waits for the count).
    count: AtomicU64,
    /// True once the gate was closed. Written once by the mover (which advances the count), read by
    /// the watching side.
    closed: AtomicBool,
    /// Count that the watching side waits for, or `NOBODY`. Written by the watching side. Reset to
    /// `NOBODY` by the mover (which advances the count) when the count is reached or the gate is
    /// closed.
    wanted: AtomicU64,
    /// Number of the thread to wake. The watching side writes this number before `wanted`. The
    /// mover (which advances the count) reads it after the mover has reset `wanted`.
    waiter: AtomicU32,
}

/// The exclusive right to advance the count of a gate. Created by [`new`].
///
/// Dropping the mover does not close the gate, because [`close`](Self::close) may return a waiter
/// that the caller must wake.
pub struct Mover {
    /// State shared with the watching side, which waits for the count.
    gate: Arc<CachePadded<Gate>>,
    /// Local copy of `Gate::count`, always exact.
    count: u64,
}

/// A handle that reads the count of a gate and can request a wake-up. Created by [`new`].
#[derive(Clone)]
pub struct Watch {
    /// State shared with the mover, which advances the count.
    gate: Arc<CachePadded<Gate>>,
}

impl Mover {
    /// Advances the count by `by`. If a waiter must now be woken, returns its number. The caller
    /// must then wake it.
    ///
    /// All writes before this call are visible to a thread that reads the new count.
    #[inline]
    #[must_use = "the caller must wake the returned waiter"]
    pub fn advance(&mut self, by: u64) -> Option<u32> {
        self.count += by;
        // Release: pairs with the Acquire in `Watch::count`; publishes all earlier writes.
        self.gate.count.store(self.count, Release);
        // SeqCst: pairs with the fence in `Watch::arm`; we see `wanted`, or the watch sees our
        // count.
        fence(SeqCst);
        // Relaxed: the swap in `take` orders the later accesses.
        let wanted = self.gate.wanted.load(Relaxed);
        if wanted == NOBODY || wanted > self.count {
            return None;
        }
        self.take()
    }

    /// Closes the gate. If a waiter must now be woken, returns its number. The caller must then
    /// wake it.
    ///
    /// Do not advance the count after this call.
    #[must_use = "the caller must wake the returned waiter"]
    pub fn close(&mut self) -> Option<u32> {
        // Release: pairs with the Acquire in `Watch::is_closed`; publishes the last count and all
        // earlier writes.
        self.gate.closed.store(true, Release);
        // SeqCst: pairs with the fence in `Watch::arm`; we see `wanted`, or the watch sees the
        // close.
        fence(SeqCst);
        self.take()
    }

    /// Returns the exact count. Only this mover, the side of the gate that advances the count, can
    /// change it.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Resets `wanted`. Returns the number of the waiter that the caller must now wake, if any.
    #[cold]
    fn take(&self) -> Option<u32> {
        // Acquire: pairs with the Release in `Watch::arm`; we see the waiter that belongs to it, or
        // a later one.
        let taken = self.gate.wanted.swap(NOBODY, Acquire);
        // Relaxed: the swap above orders it.
        (taken != NOBODY).then(|| self.gate.waiter.load(Relaxed))
    }
}

impl Watch {
    /// Returns a recent count of the gate. When this call returns, the count may already be higher,
    /// but never lower.
    #[inline]
    pub fn count(&self) -> u64 {
        // Acquire: pairs with the Release in `Mover::advance`; the work that was counted is
        // visible.
        self.gate.count.load(Acquire)
    }

    /// Returns true if the [`Mover`] has closed the gate. The [`count`](Self::count) of a closed
    /// gate does not change any more.
    #[inline]
    pub fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release in `Mover::close`.
        self.gate.closed.load(Acquire)
    }

    /// Requests that `waiter` be woken when the count reaches `target` or the gate is closed.
    /// Replaces an earlier request.
    ///
    /// `waiter` is any number that identifies the thread to wake, such as the number of a worker.
    /// [`Mover::advance`] or [`Mover::close`] returns this number.
    ///
    /// After this call, check [`count`](Self::count) and [`is_closed`](Self::is_closed). Sleep only
    /// if the count has not reached the target and the gate is not closed. If the count reached the
    /// target before this call, the mover does not wake the waiter.
    ///
    /// # Panics
    ///
    /// Panics if `target` is 0, because the count starts at 0.
    #[track_caller]
    pub fn arm(&self, target: u64, waiter: u32) {
        assert!(target != NOBODY, "the target of a gate must be at least 1");
        // Relaxed: the Release below orders it.
        self.gate.waiter.store(waiter, Relaxed);
        // Release: pairs with the Acquire in `Mover::take`; publishes the waiter.
        self.gate.wanted.store(target, Release);
        // SeqCst: pairs with the fences in `Mover::advance` and `Mover::close`; the mover
        // sees what is wanted, or the caller sees its count or its close.
        fence(SeqCst);
    }
}

impl fmt::Debug for Mover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mover")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("count", &self.count())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
