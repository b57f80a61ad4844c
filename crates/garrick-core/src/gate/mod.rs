//! A count that one side advances and the other side can wait on. A waiting thread is woken once,
//! when its target is reached.
//!
//! One side, the [`Mover`], counts its progress (values sent, slots freed). The other side holds a
//! [`Watch`]. Before it rests, it registers the count that it waits for. The mover that reaches
//! this count learns which worker to wake. So one wake-up is sent per rest and not per value,
//! without polling.
//!
//! ```text
//!              the mover writes                 the watching side writes
//!         [ count ]  [ closed ]                 [ wanted ]  [ waiter ]
//!             |          |                           |           |
//!   advance:  1. count = 105                arm:  1. waiter = 3, wanted = 128
//!             2. fence                            2. fence
//!             3. wanted reached? take it          3. count reached, or closed? then do not rest
//!                and wake `waiter`
//! ```
//!
//! Each side first writes its own word and then reads the other's, with a sequentially consistent
//! fence between (Dekker's handshake, as in "Cooperating sequential processes", 1965). At least one
//! of the two sees the other: either the watching side sees that its count was reached, or the
//! mover sees what is wanted. The thread that takes `wanted` away, by a swap to 0, owes one
//! wake-up. So there is at most one wake-up for each [`Watch::arm`]. A wake-up may come early, when
//! a new `wanted` has just replaced an old `wanted` that was reached. The woken thread then checks
//! the count and arms again.
//!
//! | operation | who | progress |
//! | --- | --- | --- |
//! | [`Mover::advance`], [`Mover::close`] | the one mover | wait-free |
//! | [`Watch::count`], [`Watch::is_closed`] | anyone | wait-free |
//! | [`Watch::arm`] | one watching side at a time | wait-free |
//!
//! Counts have 64 bits and do not wrap in practice: a billion per second fill them in five
//! centuries.
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

/// Target that no count reaches: a waiter for it is woken by the close alone.
pub const CLOSE_ONLY: u64 = u64::MAX;

/// Value of `wanted` while no one waits.
const NOBODY: u64 = 0;

/// Creates a gate whose count stands at 0.
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

/// State shared by both sides. All words lie in one cache line, the mover's: the watching side
/// writes to it only when it is about to rest.
struct Gate {
    /// Progress of the mover. Written by the mover, read by the watching side.
    count: AtomicU64,
    /// True once the mover will not move any more. Written once, by the mover; read by the watching
    /// side.
    closed: AtomicBool,
    /// Count that the watching side waits for, or `NOBODY`. Written by the watching side. Reset to
    /// `NOBODY` by the mover that has reached it.
    wanted: AtomicU64,
    /// Worker to wake. Written by the watching side before `wanted`, read by the mover after it
    /// took `wanted`.
    waiter: AtomicU32,
}

/// The exclusive right to advance a gate's count; from [`new`].
///
/// Dropping the mover does not close the gate: closing may owe a wake-up, which the caller must
/// send.
pub struct Mover {
    /// Shared with the watches.
    gate: Arc<CachePadded<Gate>>,
    /// Local copy of `Gate::count`, always exact.
    count: u64,
}

/// Observes the count of a gate's [`Mover`] and can request a wake-up; from [`new`].
#[derive(Clone)]
pub struct Watch {
    /// Shared with the mover.
    gate: Arc<CachePadded<Gate>>,
}

impl Mover {
    /// Advances the count by `by`. Returns the waiter that must be woken now, if any.
    ///
    /// What was done before is visible to any thread that sees the new count or gets the wake-up.
    #[inline]
    #[must_use = "whoever takes a waiter must wake it"]
    pub fn advance(&mut self, by: u64) -> Option<u32> {
        self.count += by;
        // Release: pairs with the Acquire in `Watch::count`; publishes what was done before.
        self.gate.count.store(self.count, Release);
        // SeqCst: pairs with the fence in `Watch::arm`; we see what is wanted, or it sees our
        // count.
        fence(SeqCst);
        // Relaxed: the swap in `take` orders what follows.
        let wanted = self.gate.wanted.load(Relaxed);
        if wanted == NOBODY || wanted > self.count {
            return None;
        }
        self.take()
    }

    /// Closes the gate: the count will not move any more. Returns the waiter that must be woken
    /// now, if any.
    #[must_use = "whoever takes a waiter must wake it"]
    pub fn close(&mut self) -> Option<u32> {
        // Release: pairs with the Acquire in `Watch::is_closed`; the last count, and all that was
        // done before, comes before it.
        self.gate.closed.store(true, Release);
        // SeqCst: pairs with the fence in `Watch::arm`; we see that it waits, or it sees the close.
        fence(SeqCst);
        self.take()
    }

    /// Returns the exact count.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Takes `wanted` away, and with it the duty to wake the waiter.
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
    /// Returns the count of the mover. The real count may be higher by the time this returns, never
    /// lower.
    #[inline]
    pub fn count(&self) -> u64 {
        // Acquire: pairs with the Release in `Mover::advance`; what the count stands for has been
        // done.
        self.gate.count.load(Acquire)
    }

    /// Returns true if the mover has closed the gate. If so, [`count`](Self::count) is final from
    /// now on.
    #[inline]
    pub fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release in `Mover::close`.
        self.gate.closed.load(Acquire)
    }

    /// Requests that `waiter` be woken when the count reaches `target` or the gate is closed.
    /// Replaces the earlier request.
    ///
    /// Check [`count`](Self::count) and [`is_closed`](Self::is_closed) afterwards, and rest only if
    /// neither satisfies the wait. A mover that reached the target before this call does not wake
    /// the waiter.
    ///
    /// # Panics
    ///
    /// Panics if `target` is 0, which is reached from the start.
    #[track_caller]
    pub fn arm(&self, target: u64, waiter: u32) {
        assert!(target != NOBODY, "a count of 0 need not be waited for");
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
