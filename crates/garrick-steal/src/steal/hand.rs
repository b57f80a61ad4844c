//! State of a worker: its own deque, and its access to the global queue and the other deques.
use crossbeam_utils::CachePadded;
use garrick_core::fence::Asymmetric;
use garrick_core::prim::Arc;

use super::{
    bell::Ticket,
    shared::{Mark, Shared, Verdict},
    stats::Tally,
    wait::{Hunter, Supplier},
};
use crate::deque::{self, Full, Steal};
use crate::queue::TrySendError;

/// Interval between fair receives: every 64th receive is fair. A fair receive takes the oldest
/// value of a queue, so that old values are received even if new values arrive fast. The interval
/// is a power of two, because the fast path divides the count of receives by the interval.
const FAIR_EVERY: u64 = if cfg!(garrick_loom) { 4 } else { 64 };

/// Returns true if the next receive is fair: it takes an old value, so that no value waits forever.
/// `received` is the number of earlier receives.
#[inline(always)]
fn is_fair(received: u64) -> bool {
    received % FAIR_EVERY == FAIR_EVERY - 1
}

pub(super) struct Hand<T> {
    /// This worker's own deque.
    deque: deque::Worker<T>,
    pub(super) shared: Arc<Shared<T>>,
    /// Counter of the values that arrive in this worker's deque, and of the batches that this
    /// worker moves. Other threads read the counter to detect such arrivals and moves. Written by
    /// this worker.
    mark: Arc<CachePadded<Mark>>,
    /// Copy of the pair of memory fences that all deques of the channel share.
    fence: Asymmetric,
    /// True if the next fair receive (every 64th receive) takes the oldest value of the worker's
    /// own deque. False if the next fair receive takes the oldest value of the global queue.
    is_far_end_next: bool,
    /// Index of this worker.
    pub(super) id: usize,
    /// Index of the worker from which this worker last stole values. At first, this worker's own
    /// index.
    victim: usize,
    /// Maximum number of values that are moved at a time: half of the deque's capacity, but at
    /// least 1.
    half: usize,
    tally: Tally,
    /// Values that are being moved between two queues. Empty between calls.
    batch: Vec<T>,
    /// Buffer for the counters that [`Shared::verdict`] compares to check that the channel is
    /// empty.
    marks: Vec<u64>,
}

impl<T> Hand<T> {
    pub(super) fn new(
        id: usize,
        deque: deque::Worker<T>,
        tally: Tally,
        shared: Arc<Shared<T>>,
    ) -> Self {
        let half = (deque.capacity() / 2).max(1);
        Self {
            deque,
            mark: shared.places[id].mark.clone(),
            fence: shared.fence,
            is_far_end_next: false,
            id,
            victim: id,
            half,
            tally,
            // Never more than half a deque and one value, so that nothing is allocated later.
            batch: Vec::with_capacity(half + 1),
            marks: Vec::with_capacity(shared.places.len()),
            shared,
        }
    }

    #[inline(always)]
    pub(super) fn try_send(&mut self, value: T) -> Result<(), TrySendError<T>> {
        match self.deque.push(value) {
            Ok(()) => self.sent(),
            Err(Full(value)) => self.send_to_full(value),
        }
    }

    /// Completes a send after the value was pushed to this worker's deque. Wakes a receiver, or
    /// takes the value back if the channel is closed.
    #[inline(always)]
    fn sent(&mut self) -> Result<(), TrySendError<T>> {
        self.mark.came();
        // Pairs with the heavy fences of a receiver that goes to wait and of `Shared::close`:
        // either we see them, or they see the value.
        self.fence.light();
        if self.shared.bell.is_quiet() {
            Ok(())
        } else {
            self.sent_unquietly()
        }
    }

    #[cold]
    fn sent_unquietly(&mut self) -> Result<(), TrySendError<T>> {
        // Only a thief takes from the other end, and it takes our value after all others: a value
        // found here is ours.
        if self.shared.bell.is_closed()
            && let Some(value) = self.deque.pop()
        {
            self.tally.other_comings.add(1);
            return Err(TrySendError::Closed(value));
        }
        self.shared.announce();
        Ok(())
    }

    #[cold]
    fn send_to_full(&mut self, value: T) -> Result<(), TrySendError<T>> {
        if self.shared.bell.is_closed() {
            return Err(TrySendError::Closed(value));
        }
        self.overflow();
        match self.deque.push(value) {
            Ok(()) => self.sent(),
            Err(Full(value)) => Err(TrySendError::Full(value)),
        }
    }

    /// Takes the newest value of this worker's deque. Only a fair receive (every 64th one) takes
    /// the oldest value of a queue instead.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<T> {
        let received = self.tally.received.get();
        let value = if is_fair(received) {
            self.pop_fairly()?
        } else {
            self.deque.pop()?
        };
        self.tally.received.set(received + 1);
        Some(value)
    }

    pub(super) fn len(&self) -> usize {
        self.deque.len()
    }

    /// Moves the older half of this worker's deque to the global queue, or fewer values if the
    /// global queue has less room.
    fn overflow(&mut self) {
        let mark = self.mark.begin();
        let reserved = self.shared.global.reserve(self.half);
        let moved = self.deque.pop_oldest_into(&mut self.batch, reserved);
        self.tally.overflowed.add(moved as u64);
        self.shared.global.push_reserved(&mut self.batch, reserved);
        self.moved(mark);
        if moved < reserved {
            // A sender may have found no room because of places that were reserved here and not
            // used.
            self.shared.announce_room();
        }
    }

    /// Finishes a move of values. `mark` is the number that [`Mark::begin`] returned at the
    /// beginning of the move.
    fn moved(&mut self, mark: u64) {
        self.tally.other_comings.add(1);
        self.mark.end(mark);
    }

    #[cold]
    fn pop_fairly(&mut self) -> Option<T> {
        self.take_oldest().or_else(|| self.deque.pop())
    }

    /// Takes the oldest value of the global queue or of this worker's deque, alternately.
    fn take_oldest(&mut self) -> Option<T> {
        self.is_far_end_next = !self.is_far_end_next;
        if self.is_far_end_next {
            let oldest = self.shared.global.pop();
            if oldest.is_some() {
                self.shared.announce_room();
            }
            oldest
        } else {
            self.deque.pop_oldest()
        }
    }

    /// Takes this worker's share of the values in the global queue. Returns the oldest value, and
    /// keeps the other values in this worker's deque.
    fn take_share(&mut self) -> Option<T> {
        if self.shared.global.len() == 0 {
            return None;
        }
        let room = self.deque.make_room_for(self.half).min(self.half);
        let sharers = self.shared.places.len();
        let mark = self.mark.begin();
        self.shared
            .global
            .pop_share(sharers, room + 1, &mut self.batch);
        self.keep(mark, Shared::announce_room)
    }

    /// Steals from the other workers. Starts with the worker from which the last theft succeeded.
    fn steal(&mut self) -> Option<T> {
        let workers = self.shared.places.len();
        let first = self.victim;
        (0..workers).find_map(|step| {
            let victim = (first + step) % workers;
            if victim == self.id {
                return None;
            }
            self.steal_from(victim)
        })
    }

    fn steal_from(&mut self, victim: usize) -> Option<T> {
        // The look is cheap. Making room and showing a mark would be wasted on an empty place.
        if self.shared.places[victim].stealer.is_empty() {
            return None;
        }
        let room = self.deque.make_room_for(self.half).min(self.half);
        let mark = self.mark.begin();
        let stealer = &self.shared.places[victim].stealer;
        if let Steal::Success(count) = stealer.steal_half_into(&mut self.batch, room + 1) {
            self.victim = victim;
            self.tally.stolen.add(count as u64);
        }
        self.keep(mark, |shared| shared.announce_room_of(victim))
    }

    /// Finishes the move of a batch to this worker. Returns the oldest value and pushes the other
    /// values to the worker's deque, newest first, so that the oldest are popped first. If there is
    /// a value, calls `announce_room` for the queue from which the batch comes. Wakes a waiting
    /// receiver if values were pushed.
    fn keep(&mut self, mark: u64, announce_room: impl FnOnce(&Shared<T>)) -> Option<T> {
        let is_more = self.batch.len() > 1;
        let mut batch = self.batch.drain(..);
        let oldest = batch.next();
        for value in batch.rev() {
            let kept = self.deque.push(value);
            debug_assert!(kept.is_ok(), "room was made before the batch was taken");
        }
        self.moved(mark);
        if oldest.is_some() {
            announce_room(&self.shared);
        }
        if is_more {
            self.shared.announce();
        }
        oldest
    }
}

impl<T> Hunter<T> for Hand<T> {
    fn look(&mut self) -> Option<T> {
        // A pop from an empty deque would write to a cache line that thieves read.
        let own = if self.deque.is_empty() {
            None
        } else {
            self.deque.pop()
        };
        let value = own.or_else(|| self.take_share()).or_else(|| self.steal())?;
        self.tally.received.add(1);
        Some(value)
    }

    fn verdict(&mut self) -> Verdict {
        self.shared.verdict(&mut self.marks)
    }

    fn shared(&self) -> &Shared<T> {
        &self.shared
    }
}

impl<T> Supplier<T> for Hand<T> {
    fn try_send(&mut self, value: T) -> Result<(), TrySendError<T>> {
        Self::try_send(self, value)
    }

    fn has_room(&mut self, ticket: Ticket) -> bool {
        // Shown before the look under the steal lock: see `Shared::announce_room_of`.
        self.shared.places[self.id].shown.show(ticket);
        self.deque.has_room() || self.shared.global.has_room()
    }
}
