//! State that all handles share, and the check that every place is empty.
//!
//! A look at one place after the other proves nothing. During the look at the second place, a value
//! may come to the first, and the second may lose its last value. So each place has a mark that
//! changes with every value that comes:
//!
//! ```text
//!     read all marks      m1  m2  m3        odd: something is on its way there, so the look is void
//!     look at all places   0   0   0
//!     read all marks      m1  m2  m3        the same? then nothing came anywhere in between, so that
//!                                           what was empty stayed empty: all were, at the last look
//! ```
//!
//! That is the double collect of Afek and others, "Atomic Snapshots of Shared Memory" (1993), on
//! places whose marks never repeat.
//!
//! A value that is *moved* is in no place for a while. So a worker's mark is odd from before the
//! worker takes a batch out of one place until the batch is in the other. A value that is *sent*
//! changes the mark once it is there. If a look falls between the two, the send has not returned,
//! and counts as later than the look.
//!
//! **Close.** A send puts the value into the deque, passes a light fence and checks whether the
//! channel is closed. A close marks the channel closed, passes a heavy fence and settles. So either
//! every thread that sees the channel settled can see the value, or the sender sees the close. In
//! the second case the sender takes the value back, unless a thief was faster: then the value is
//! received.
use crossbeam_utils::CachePadded;
use garrick_core::fence::Asymmetric;
use garrick_core::prim::{
    Arc,
    atomic::{
        AtomicBool, AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use super::{
    Capacity,
    bell::Bell,
    global::Global,
    stats::{Stats, TallyReader},
};
use crate::deque::Stealer;

pub(super) struct Shared<T> {
    /// Waiting receivers, and whether the channel is closed. Read by every send, so on a cache line
    /// of its own that changes only when a receiver waits.
    pub(super) bell: CachePadded<Bell>,

    /// Senders that wait for room in the global queue.
    pub(super) room: CachePadded<Bell>,

    pub(super) global: Global<T>,

    /// One place for each worker, in the order of their numbers. Fixed.
    pub(super) places: Box<[Place<T>]>,

    /// Pair of fences. Fixed, and equal to that of the deques.
    pub(super) fence: Asymmetric,

    /// True once the channel is closed and every send that did not see the close is visible. Read
    /// by receivers.
    is_settled: AtomicBool,

    /// Number of live workers and outside senders. At 0 the channel closes.
    senders: AtomicUsize,

    /// Number of live workers and outside receivers. At 0 the channel closes.
    receivers: AtomicUsize,
}

/// Part of a worker that other threads see.
pub(super) struct Place<T> {
    pub(super) stealer: Stealer<T>,
    pub(super) mark: Arc<CachePadded<Mark>>,
    pub(super) stats: TallyReader,
}

/// A counter that changes with each value that comes to a worker's deque, and is odd while a batch
/// is moved. Written by the worker, read by threads that check whether all places are empty.
pub(super) struct Mark(AtomicU64);

/// Result of a look at all places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Verdict {
    /// All places were empty at one moment.
    Empty,
    /// All places were empty at one moment, and no value can come any more.
    Closed,
    /// There was something, or it came during the look.
    Unclear,
}

impl Mark {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Records that a value has come. Like all writing methods, for the owner alone.
    #[inline(always)]
    pub(super) fn came(&self) {
        // Relaxed: only the owner writes it.
        self.end(self.0.load(Relaxed));
    }

    /// Marks values as on their way from now on. Returns the mark to pass to [`end`](Self::end).
    pub(super) fn begin(&self) -> u64 {
        // Relaxed: only the owner writes it.
        let mark = self.0.load(Relaxed);
        debug_assert!(mark.is_multiple_of(2), "one thing comes at a time");
        // Relaxed: a thread that sees that a value has left its old place sees this by the Release
        // of that.
        self.0.store(mark.wrapping_add(1), Relaxed);
        mark
    }

    /// Records that the values have come.
    #[inline(always)]
    pub(super) fn end(&self, mark: u64) {
        // Release: pairs with the Acquire in `load`; a thread that sees this mark sees what came.
        self.0.store(mark.wrapping_add(2), Release);
    }

    /// Returns how often something has come.
    pub(super) fn count(&self) -> u64 {
        // Relaxed: a count.
        self.0.load(Relaxed) / 2
    }

    fn load(&self) -> u64 {
        // Acquire: pairs with the Release in `end`.
        self.0.load(Acquire)
    }
}

impl<T> Place<T> {
    pub(super) fn stats(&self) -> Stats {
        self.stats.get(self.mark.count())
    }
}

impl<T> Shared<T> {
    pub(super) fn new(places: Box<[Place<T>]>, capacity: Capacity, fence: Asymmetric) -> Self {
        let workers = places.len();
        Self {
            bell: CachePadded::new(Bell::new()),
            room: CachePadded::new(Bell::new()),
            global: Global::new(capacity),
            places,
            fence,
            is_settled: AtomicBool::new(false),
            // The outside handles are counted here, too.
            senders: AtomicUsize::new(workers + 1),
            receivers: AtomicUsize::new(workers + 1),
        }
    }

    /// Returns the number of values in all places at about the same moment.
    pub(super) fn len(&self) -> usize {
        let local = |place: &Place<T>| place.stealer.len();
        self.global.len() + self.places.iter().map(local).sum::<usize>()
    }

    /// Returns true if a look at every place, one after the other, finds a value.
    ///
    /// After a fence that pairs with a sender's fence, the look does not miss what that sender sent
    /// before.
    pub(super) fn has_work(&self) -> bool {
        self.global.len() > 0 || self.places.iter().any(|place| !place.stealer.is_empty())
    }

    /// Returns true if waiting is pointless: there is a value, or no value can come any more.
    pub(super) fn is_disturbed(&self) -> bool {
        self.is_settled() || self.has_work()
    }

    /// Checks whether all places are empty at one moment. `marks` is scratch space.
    pub(super) fn verdict(&self, marks: &mut Vec<u64>) -> Verdict {
        // Read before the look. Otherwise a value could still come after the look and before the
        // close.
        let is_settled = self.is_settled();
        marks.clear();
        marks.extend(self.places.iter().map(|place| place.mark.load()));
        let pushed = self.global.pushed();
        let is_still = marks.iter().all(|mark| mark.is_multiple_of(2))
            && self.global.len() == 0
            && self.places.iter().all(|place| place.stealer.is_drained())
            && self.global.pushed() == pushed
            && (self.places.iter().zip(&*marks)).all(|(place, mark)| place.mark.load() == *mark);
        match (is_still, is_settled) {
            (false, _) => Verdict::Unclear,
            (true, false) => Verdict::Empty,
            (true, true) => Verdict::Closed,
        }
    }

    /// Wakes a waiting receiver after a value came. The caller has published the value.
    #[inline(always)]
    pub(super) fn announce(&self) {
        // Pairs with the heavy fence before the last look of a receiver that goes to wait.
        self.fence.light();
        if self.bell.is_awaited() {
            self.bell.ring();
        }
    }

    /// Wakes a waiting sender after room was made in the global queue. The caller has just made the
    /// room, under the queue's lock.
    ///
    /// No fence is needed here. A sender that goes to wait looks for room under that lock, after it
    /// has joined the waiting senders. If its look came before our change we see it waiting, and if
    /// we came first it sees the room.
    #[inline]
    pub(super) fn announce_room(&self) {
        if self.global.is_bounded() && self.room.is_awaited() {
            self.room.ring();
        }
    }

    /// Closes the channel: it takes no more values. Returns true if the channel was open.
    pub(super) fn close(&self) -> bool {
        if !self.bell.close() {
            return false;
        }
        self.global.close();
        // Pairs with the light fence in `Hand::sent`: what a send that did not see the close has
        // sent is visible to every thread that sees us settled.
        self.fence.heavy();
        // Release: pairs with the Acquire in `is_settled`. A thread that sees us
        // settled sees what was sent before.
        self.is_settled.store(true, Release);
        // Only threads wait for room; among the waiting receivers may be a waker that panics.
        self.room.wake_all();
        self.bell.wake_all();
        true
    }

    pub(super) fn is_settled(&self) -> bool {
        // Acquire: pairs with the Release in `close`.
        self.is_settled.load(Acquire)
    }

    pub(super) fn add_sender(&self) {
        // Relaxed: made from a live one, so the count is not 0 and nothing depends on it.
        self.senders.fetch_add(1, Relaxed);
    }

    pub(super) fn add_receiver(&self) {
        // Relaxed: as above.
        self.receivers.fetch_add(1, Relaxed);
    }

    pub(super) fn remove_sender(&self) {
        // Relaxed: what was sent before is ordered before the close by the fence after each send.
        if self.senders.fetch_sub(1, Relaxed) == 1 {
            self.close();
        }
    }

    pub(super) fn remove_receiver(&self) {
        // Relaxed: as above.
        if self.receivers.fetch_sub(1, Relaxed) == 1 {
            self.close();
        }
    }

    pub(super) fn stats(&self) -> Vec<Stats> {
        self.places.iter().map(Place::stats).collect()
    }
}
