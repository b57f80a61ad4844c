//! State that all handles share, and the check that the whole channel is empty.
//!
//! A *place* is the deque of a worker or the global queue. Checking one place after another does
//! not prove that the channel is empty. While a thread checks the second place, a value may arrive
//! in the first place, and the last value of the second place may be taken. So each place has a
//! counter, its *mark*, which changes with every value that arrives:
//!
//! ```text
//!     read all marks      m1  m2  m3        odd: a value is moving there, so the check fails
//!     check all places     0   0   0
//!     read all marks      m1  m2  m3        unchanged? then no value arrived in between, so each
//!                                           empty place stayed empty, and in the end all were empty
//! ```
//!
//! This check is the double collect of Afek and others, "Atomic Snapshots of Shared Memory" (1993).
//! A mark never has the same value twice.
//!
//! A value that is *moved* between two places is in neither place for a while. So a worker that
//! moves a batch makes its mark an odd number before it takes the batch. When the batch is in the
//! new place, the worker makes the mark an even number again. A value that is *sent* is first
//! pushed, and then the mark changes. If a check happens in between, the send has not returned yet,
//! so the send counts as later than the check.
//!
//! **Close.** A send pushes the value to the deque, passes a light fence, and checks if the channel
//! is closed. A close marks the channel as closed, passes a heavy fence, and then marks it as
//! *settled*. So either each thread that sees that the channel is settled also sees the value, or
//! the sender sees the close. In the second case, the sender takes the value back. If a thief has
//! already taken the value, the value counts as received.
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
    bell::{Bell, Shown},
    global::Global,
    stats::{Stats, TallyReader},
};
use crate::deque::Stealer;

pub(super) struct Shared<T> {
    /// The waiting receivers, and the flag that is set when the channel is closed. Every send reads
    /// this field, but the field rarely changes. So the field has its own cache line.
    pub(super) bell: CachePadded<Bell>,

    /// The senders that are waiting for room in the global queue, or in their own deques.
    pub(super) room: CachePadded<Bell>,

    pub(super) global: Global<T>,

    /// The shared part of each worker's state, ordered by the indices of the workers. The list
    /// never changes.
    pub(super) places: Box<[Place<T>]>,

    /// The pair of memory fences, which never changes. The deques use the same pair.
    pub(super) fence: Asymmetric,

    /// True once the channel is closed and all sends that did not see the close are visible. Read
    /// by receivers.
    is_settled: AtomicBool,

    /// Number of workers and outside senders. When this number becomes 0, the channel closes.
    senders: AtomicUsize,

    /// Number of workers and outside receivers. When this number becomes 0, the channel closes.
    receivers: AtomicUsize,
}

/// Part of a worker's state that other threads access.
pub(super) struct Place<T> {
    pub(super) stealer: Stealer<T>,
    pub(super) mark: Arc<CachePadded<Mark>>,
    pub(super) stats: TallyReader,
    /// Ticket by which the worker is listed in `Shared::room`, while the worker waits for room.
    pub(super) shown: Shown,
}

/// A counter that changes with each value that arrives in a worker's deque. The counter is odd
/// while the worker moves a batch. Written by the worker, read by threads that check if the whole
/// channel is empty.
pub(super) struct Mark(AtomicU64);

/// The result of a check of all deques and the global queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Verdict {
    /// All deques and the global queue were empty at one moment.
    Empty,
    /// All deques and the global queue were empty at one moment, and no more values can arrive.
    Closed,
    /// There was a value, or a value arrived or moved during the check.
    Unclear,
}

impl Mark {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Records that a value has arrived. Only the worker that owns this counter may call the
    /// methods that change the counter.
    #[inline(always)]
    pub(super) fn came(&self) {
        // Relaxed: only the owner writes it.
        self.end(self.0.load(Relaxed));
    }

    /// Records that a move of values begins. Returns the number to pass to [`end`](Self::end).
    pub(super) fn begin(&self) -> u64 {
        // Relaxed: only the owner writes it.
        let mark = self.0.load(Relaxed);
        debug_assert!(mark.is_multiple_of(2), "one thing comes at a time");
        // Relaxed: a thread that finds the old place empty after the move has begun sees this by
        // the way in which it has found out: `Shared::verdict`.
        self.0.store(mark.wrapping_add(1), Relaxed);
        mark
    }

    /// Records that the move of values is finished. `mark` is the number that
    /// [`begin`](Self::begin) returned.
    #[inline(always)]
    pub(super) fn end(&self, mark: u64) {
        // Release: pairs with the Acquire in `load`; a thread that sees this mark sees the values
        // that arrived.
        self.0.store(mark.wrapping_add(2), Release);
    }

    /// Returns the number of recorded events: arrivals of values, and moves of batches.
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

    /// Returns the approximate number of values in all deques and the global queue.
    pub(super) fn len(&self) -> usize {
        let local = |place: &Place<T>| place.stealer.len();
        self.global.len() + self.places.iter().map(local).sum::<usize>()
    }

    /// Checks all deques and the global queue one after another. Returns true if one of them has a
    /// value.
    ///
    /// If the caller has passed a fence that pairs with a sender's fence, the check does not miss a
    /// value that this sender sent before its fence.
    pub(super) fn has_work(&self) -> bool {
        self.global.len() > 0 || self.places.iter().any(|place| !place.stealer.is_empty())
    }

    /// Returns true if a receiver must not wait, because there is a value, or because no more
    /// values can arrive.
    pub(super) fn is_disturbed(&self) -> bool {
        self.is_settled() || self.has_work()
    }

    /// Checks whether all deques and the global queue were empty at one moment. Uses `marks` as a
    /// buffer.
    pub(super) fn verdict(&self, marks: &mut Vec<u64>) -> Verdict {
        // Read before the check. Otherwise a value could still arrive after the check and before
        // the close.
        let is_settled = self.is_settled();
        marks.clear();
        marks.extend(self.places.iter().map(|place| place.mark.load()));
        let pushed = self.global.pushed();
        let is_empty = marks.iter().all(|mark| mark.is_multiple_of(2))
            && self.global.len() == 0
            && self.places.iter().all(|place| place.stealer.is_drained());
        // If a place is empty because its last value was taken, the marks below must show what the
        // taker's thread did before. Mostly an Acquire above has read a Release that came after the
        // take, or a tail that the owner lowered for it. But the owner also lowers the tail if it
        // loses the last value to a thief, and the thief may not have written `done` yet. This
        // fence pairs with the heavy fence of the thief: either the thief sees the lowered tail
        // that we have seen, and does not take the value, or we see the marks.
        self.fence.light();
        let is_still = is_empty
            && self.global.pushed() == pushed
            && (self.places.iter().zip(&*marks)).all(|(place, mark)| place.mark.load() == *mark);
        match (is_still, is_settled) {
            (false, _) => Verdict::Unclear,
            (true, false) => Verdict::Empty,
            (true, true) => Verdict::Closed,
        }
    }

    /// Wakes a waiting receiver after a value has arrived. The caller must have published the
    /// value.
    #[inline(always)]
    pub(super) fn announce(&self) {
        // Pairs with the heavy fence before the last look of a receiver that goes to wait.
        self.fence.light();
        if self.bell.is_awaited() {
            self.bell.ring();
        }
    }

    /// Wakes a sender that is waiting for room in the global queue. The caller must already have
    /// made room, under the lock of the queue.
    ///
    /// No fence is needed here. A sender first joins the waiting senders, and then checks for room
    /// under the same lock. If the sender checks before the caller makes room, the caller sees the
    /// waiting sender. If the sender checks later, it sees the room.
    #[inline]
    pub(super) fn announce_room(&self) {
        if self.global.is_bounded() && self.room.is_awaited() {
            self.room.ring();
        }
    }

    /// Wakes the worker with the index `owner` if it is waiting for room. The caller must already
    /// have taken values from the worker's deque.
    ///
    /// The worker is woken by its ticket, because no other sender can use this room. A thief seldom
    /// steals from a waiting worker. The worker waits because the global queue is full, but a thief
    /// first looks for values in the global queue, and steals only if it has found none.
    ///
    /// No fence is needed here. A worker first shows its ticket, and then checks for room under the
    /// steal lock, which the caller has held. If the worker checks before the theft, the caller
    /// sees the ticket. If the worker checks later, it sees the room.
    #[inline]
    pub(super) fn announce_room_of(&self, owner: usize) {
        if let Some(ticket) = self.places[owner].shown.ticket() {
            self.room.ring_for(ticket);
        }
    }

    /// Closes the channel, so that it accepts no more values. Returns true if the channel was open.
    pub(super) fn close(&self) -> bool {
        if !self.bell.close() {
            return false;
        }
        self.global.close();
        // Pairs with the light fence in `Hand::sent`: if a send did not see the close, its value is
        // visible to every thread that sees that we are settled.
        self.fence.heavy();
        // Release: pairs with the Acquire in `is_settled`. A thread that sees us
        // settled sees what was sent before.
        self.is_settled.store(true, Release);
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
        // Relaxed: the fence after each send orders the sent values before the close.
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
